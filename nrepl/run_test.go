package nrepl

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func sleep(d time.Duration) string { return fmt.Sprintf("(joker.time/sleep %d)", d.Nanoseconds()) }

// TestOutputStreams: what is printed comes while the evaluation runs, flushed or not.
func TestOutputStreams(t *testing.T) {
	p := open(t, start(t, Config{}))
	id := p.send(Message{"op": "eval", "code": `(print "early") ` + loop})
	p.await("out", func(m Message) bool { return m["id"] == id && m["out"] == "early" })
	p.ask(Message{"op": "interrupt"})
	p.done(id)
	ms := p.eval(`(print "abc")`)
	if ms[0]["out"] != "abc" {
		t.Errorf("got %v, want the output before the value", ms)
	}
	ms = p.eval(`(do (println 1) (binding [*out* *err*] (println 2)) (println 3))`)
	var order []string
	for _, m := range ms {
		for _, k := range []string{"out", "err"} {
			if s, ok := m[k].(string); ok {
				order = append(order, k+s)
			}
		}
	}
	if !slices.Equal(order, []string{"out1\n", "err2\n", "out3\n"}) {
		t.Errorf("got %q, want the order in which it was printed", order)
	}
}

// TestLateOutput: what a future prints after the evaluation's end carries its id.
func TestLateOutput(t *testing.T) {
	p := open(t, start(t, Config{}))
	id := p.send(Message{"op": "eval", "code": `(future ` + sleep(150*time.Millisecond) + ` (println "late")) :ret`})
	p.done(id)
	m := p.await("late", func(m Message) bool { return m["out"] == "late\n" })
	if m["id"] != id || m["session"] != p.ses {
		t.Errorf("got %v, want the id and the session of the evaluation", m)
	}
}

// TestCharactersAreWhole prints characters of several bytes over the ends of chunks.
func TestCharactersAreWhole(t *testing.T) {
	p := open(t, start(t, Config{Chunk: 100}))
	ms := p.eval(`(print "a") (print (apply str (repeat 500 "─𝄞λ")))`)
	for _, m := range ms {
		if s, _ := m["out"].(string); !utf8.ValidString(s) || len(s) > 100 {
			t.Fatalf("got a message with %d bytes, %q, want whole characters in at most 100", len(s), s)
		}
	}
	if got, want := text(ms, "out"), "a"+strings.Repeat("─𝄞λ", 500); got != want {
		t.Errorf("got %d bytes of output, want %d as printed", len(got), len(want))
	}
	ms = p.eval(`(apply str (repeat 500 "─𝄞λ"))`, Message{"nrepl.middleware.print/stream?": "1", "nrepl.middleware.print/buffer-size": 61})
	for _, v := range values(ms) {
		if !utf8.ValidString(v) {
			t.Fatalf("got the value %q, want whole characters", v)
		}
	}
	if got, want := text(ms, "value"), `"`+strings.Repeat("─𝄞λ", 500)+`"`; got != want {
		t.Errorf("got a value of %d bytes, want %d as printed", len(got), len(want))
	}
}

func TestOutputGoesToWhoEvaluates(t *testing.T) {
	s := start(t, Config{})
	a, b := open(t, s), open(t, s)
	one := a.send(Message{"op": "eval", "code": sleep(20*time.Millisecond) + `(println "one")`})
	two := b.send(Message{"op": "eval", "code": sleep(10*time.Millisecond) + `(println "two")` + sleep(40*time.Millisecond)})
	if x, y := text(a.done(one), "out"), text(b.done(two), "out"); x != "one\n" || y != "two\n" {
		t.Errorf("got %q and %q, want each its own", x, y)
	}
	if strings.Contains(text(a.messages(nil), "out"), "two") {
		t.Error("the output of one reached the other")
	}
}

// TestInterrupt ends endless programs of several kinds, and the session goes on. How fast: BenchmarkInterrupt.
func TestInterrupt(t *testing.T) {
	s := start(t, Config{Patience: time.Hour}) // none is given up: each must end
	p := open(t, s)
	for _, code := range []string{loop + " :after", sleep(time.Hour), "(count (range))", "(iterate inc 0)", "(while true (println 1))", "@(promise)",
		"(try " + loop + " (catch Throwable e :caught) (finally (println :finally)))", "(dorun (map (fn [_] " + sleep(time.Millisecond) + ") (range)))",
		"(apply str (repeat \"x\"))"} {
		before := open(t, s)
		before.ses = p.ses
		id := before.send(Message{"op": "eval", "code": code})
		before.ask(Message{"op": "describe"}) // so it has been read
		time.Sleep(60 * time.Millisecond)
		if got := status(p.ask(Message{"op": "interrupt", "interrupt-id": id})); got != "done" {
			t.Errorf("%s: the op got %s, want done", code, got)
		}
		ms := before.done(id)
		if got := status(ms); got != "done interrupted" || values(ms) != nil || text(ms, "err") != "" || strings.Contains(text(ms, "out"), "finally") {
			t.Errorf("%s: got %v, want interrupted and done and nothing else", code, tail(ms, 3))
		}
		_ = before.nc.Close()
		p.wants("(+ 1 1)", "2")
	}
}

func TestInterruptNamesAnEvaluation(t *testing.T) {
	p := open(t, start(t, Config{}))
	if got := status(p.ask(Message{"op": "interrupt"})); got != "done session-idle" {
		t.Errorf("idle: got %s", got)
	}
	running := p.send(Message{"op": "eval", "code": loop, "id": int64(1)})
	waiting := p.send(Message{"op": "eval", "code": ":never"})
	behind := p.send(Message{"op": "eval", "code": ":behind"})
	time.Sleep(30 * time.Millisecond)
	if got := status(p.ask(Message{"op": "interrupt", "interrupt-id": "other"})); got != "done error interrupt-id-mismatch" {
		t.Errorf("another id: got %s", got)
	}
	p.ask(Message{"op": "interrupt", "interrupt-id": waiting})
	if ms := p.done(waiting); status(ms) != "done interrupted" || values(ms) != nil {
		t.Errorf("one that waits: got %v, want it interrupted before it ran", ms)
	}
	p.ask(Message{"op": "interrupt", "interrupt-id": running})
	if got := status(p.done(running)); got != "done interrupted" {
		t.Errorf("the one that runs: got %s", got)
	}
	if ms := p.done(behind); values(ms)[0] != ":behind" {
		t.Errorf("the one behind: got %v, want it to run", ms)
	}
	time.Sleep(30 * time.Millisecond)
	if ms := p.messages(running); !has(last(ms), "done") {
		t.Errorf("got %v after done", last(ms))
	}
}

// TestBusySession answers what needs no turn while an evaluation runs.
func TestBusySession(t *testing.T) {
	s := start(t, Config{})
	p := open(t, s)
	id := p.send(Message{"op": "eval", "code": loop})
	for _, m := range []Message{{"op": "describe"}, {"op": "completions", "prefix": "map"}, {"op": "complete", "prefix": "map"}, {"op": "lookup", "sym": "map"},
		{"op": "info", "sym": "map"}, {"op": "eldoc", "sym": "map"}, {"op": "ns-list"}, {"op": "ls-sessions"}, {"op": "clone"}, {"op": "stacktrace"}, {"op": "classpath"},
		{"op": "format-code", "code": "(a)"}} {
		p.ask(m)
	}
	open(t, s).wants(":b", ":b")
	if got := status(p.ask(Message{"op": "close"})); got != "done session-closed" {
		t.Errorf("close: got %s", got)
	}
	if got := status(p.done(id)); got != "done interrupted" {
		t.Errorf("the evaluation: got %s, want it interrupted", got)
	}
}

// TestAbandoned: an evaluation that does not stop holds up nobody.
func TestAbandoned(t *testing.T) {
	env := newEnv(t)
	release := make(chan struct{})
	env.Raw().Create("kit.stuck").Intern("wait").SetRoot(stuck(release))
	p := open(t, start(t, Config{Env: env, Patience: 50 * time.Millisecond}))
	defer close(release)
	id := p.send(Message{"op": "eval", "code": `(def x 1) (kit.stuck/wait) (println "no") :never`})
	behind := p.send(Message{"op": "eval", "code": "x"})
	p.await("the def", func(m Message) bool { return m["value"] == "#'user/x" })
	p.ask(Message{"op": "interrupt"})
	if got := status(p.done(id)); got != "done interrupted" {
		t.Errorf("got %s, want interrupted", got)
	}
	if ms := p.done(behind); values(ms)[0] != "1" {
		t.Errorf("behind: got %v, want 1", ms)
	}
}

func TestStdin(t *testing.T) {
	p := open(t, start(t, Config{}))
	ask := func(code string) any {
		id := p.send(Message{"op": "eval", "code": code})
		m := p.await("need-input", func(m Message) bool { return m["id"] == id && has(m, "need-input") })
		if len(Status(m)) != 1 || m["session"] != p.ses {
			t.Errorf("got %v, want need-input as the only status, with the session", m)
		}
		return id
	}
	id := ask("(read-line)")
	if got := status(p.ask(Message{"op": "stdin", "stdin": "hello world\n"})); got != "done" {
		t.Errorf("stdin: got %s", got)
	}
	if got := values(p.done(id)); got[0] != `"hello world"` {
		t.Errorf("got %q", got)
	}
	id = ask("[(read-line) (read-line)]")
	p.ask(Message{"op": "stdin", "stdin": "a\nb\n"})
	if got := values(p.done(id)); got[0] != `["a" "b"]` {
		t.Errorf("two lines at once: got %q", got)
	}
	for _, end := range []any{"", []any{}} {
		id = ask("(read-line)")
		p.ask(Message{"op": "stdin", "stdin": end})
		if got := values(p.done(id)); got[0] != "nil" {
			t.Errorf("the end: got %q, want nil", got)
		}
	}
	id = ask("(read-line)") // the end was for one read
	p.raw("d7:session36:" + p.ses + "2:op5:stdin5:stdin5:noid\ne")
	if got := values(p.done(id)); got[0] != `"noid"` {
		t.Errorf("without an id: got %q", got)
	}
	id = ask("(read)")
	p.ask(Message{"op": "stdin", "stdin": "(+ 1\n"})
	p.ask(Message{"op": "stdin", "stdin": " 2)\n"})
	if got := values(p.done(id)); got[0] != "(+ 1 2)" {
		t.Errorf("a form over two lines: got %q", got)
	}
	id = ask(`(read-line) (println "no")`)
	p.ask(Message{"op": "interrupt"})
	if ms := p.done(id); status(ms) != "done interrupted need-input" || text(ms, "out") != "" {
		t.Errorf("interrupted: got %v", ms)
	}
	p.ask(Message{"op": "stdin", "stdin": "before\n"})
	p.wants("(read-line)", `"before"`)
}

// TestInputIsAskedOfWhoEvaluates and not of who made the session.
func TestInputIsAskedOfWhoEvaluates(t *testing.T) {
	s := start(t, Config{MaxInput: 100})
	a, b := open(t, s), connect(t, s)
	b.ses = a.ses
	id := b.send(Message{"op": "eval", "code": "(read-line)", "id": "from-b"})
	b.await("need-input", func(m Message) bool { return has(m, "need-input") })
	a.ask(Message{"op": "stdin", "stdin": "x\n"})
	b.done(id)
	if got := len(a.messages("from-b")); got != 0 {
		t.Errorf("got %d messages at the other connection, want 0", got)
	}
	if got := status(a.ask(Message{"op": "stdin", "stdin": strings.Repeat("x", 101)})); got != "bad-argument done error" {
		t.Errorf("too much: got %s", got)
	}
}

func TestPrinting(t *testing.T) {
	p := open(t, start(t, Config{MaxValue: 5000}))
	const k = "nrepl.middleware.print/"
	value := func(code string, m Message) (string, []Message) {
		t.Helper()
		ms := p.eval(code, m)
		return text(ms, "value"), ms
	}
	if v, ms := value("(range 200)", Message{k + "stream?": "1", k + "buffer-size": 64}); !strings.HasPrefix(v, "(0 1") || !strings.HasSuffix(v, "199)") || len(values(ms)) < 10 || ms[len(ms)-2]["ns"] != "user" {
		t.Errorf("stream: got %v, want chunks, the namespace, done", tail(ms, 3))
	}
	for _, no := range []any{[]any{}, "", int64(0), "false"} {
		if _, ms := value("(range 200)", Message{k + "stream?": no}); len(values(ms)) != 1 {
			t.Errorf("stream? %v: got %d values, want 1", no, len(values(ms)))
		}
	}
	if v, ms := value("(range 4000)", Message{k + "quota": 100, k + "stream?": "1"}); len(v) != 100 || status(ms) != "done "+keyTruncated {
		t.Errorf("quota of a stream: got %d bytes, %s", len(v), status(ms))
	}
	if v, ms := value("(iterate inc 0)", Message{k + "quota": 100}); len(v) != 100 || status(ms) != "done "+keyTruncated || !slices.Equal(texts(ms[0][k+"truncated-keys"]), []string{"value"}) {
		t.Errorf("quota: got %d bytes, %v", len(v), ms)
	}
	if v, ms := value("(iterate inc 0)", nil); len(v) != 5000 || status(ms) != "done "+keyTruncated {
		t.Errorf("without a quota: got %d bytes, %s, want those of Config.MaxValue", len(v), status(ms))
	}
	if v, ms := value("(iterate inc 0)", Message{k + "print": "cider.nrepl.pprint/pprint", k + "quota": 200}); len(v) != 200 || !strings.Contains(status(ms), keyTruncated) {
		t.Errorf("pretty with a quota: got %d bytes, %s", len(v), status(ms))
	}
	pretty := Message{k + "print": "cider.nrepl.pprint/pprint", k + "options": Message{"right-margin": 40}}
	if v, _ := value("{:aaaaaaaaaa (range 15) :bbbbbbbbbbbbb (range 15)}", pretty); strings.Count(v, "\n") < 2 || strings.HasSuffix(v, "\n") {
		t.Errorf("pretty: got %q, want several lines and no line end", v)
	}
	for _, fn := range []string{"cider.nrepl.pprint/pprint", "cider.nrepl.pprint/pr", "clojure.pprint/pprint"} {
		if v, _ := value("[(range 50) [[1]]]", Message{k + "print": fn, k + "options": Message{"length": 3, "print-level": 2}}); v != "[(0 1 2 ...) [#]]" {
			t.Errorf("%s: got %q", fn, v)
		}
	}
	if v, ms := value("{:a 1}", Message{k + "print": "no.such/printer"}); v != "{:a 1}" || status(ms) != "done nrepl.middleware.print/error" {
		t.Errorf("an unknown function: got %q, %s", v, status(ms))
	}
	p.eval(`(defn shout ([v w] (print (str "<" v ">"))) ([v w o] (print (str (:mark o) v))))`)
	if v, _ := value("7", Message{k + "print": "user/shout"}); v != "<7>" {
		t.Errorf("a function of the user's: got %q", v)
	}
	if v, _ := value("7", Message{k + "print": "user/shout", k + "options": Message{"mark": "!"}}); v != "!7" {
		t.Errorf("with options: got %q", v)
	}
	if v, ms := value("{:a 1}", Message{k + "quota": "abc", k + "buffer-size": -1, k + "options": "zz", k + "print": 5, k + "stream?": "1"}); v != "{:a 1}" {
		t.Errorf("nonsense: got %v", ms)
	}
	p.eval("(set! *print-length* 2)")
	if v, _ := value("[1 2 3]", nil); v != "[1 2 ...]" {
		t.Errorf("*print-length*: got %q", v)
	}
}
