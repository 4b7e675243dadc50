package nrepl

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// These tests speak as real clients do: with their ops, their keys and their order, and hold what each of them breaks on.
// All go through the same stations: connect, evaluate, load a file, complete, look up, show an error, jump, interrupt, quit.

const clientFile = "(ns kit.client)\n\n(defn greet \"Greets.\" [who & more]\n  (str \"hello \" who))\n\n(greet \"you\")\n"

// cancelled starts an endless loop and stops it with the keys that a client sends. It gives the replies of both.
func (p *peer) cancelled(t *testing.T, eval, interrupt Message) (run, op []Message) {
	t.Helper()
	eval["code"] = loop
	id := p.send(eval)
	time.Sleep(40 * time.Millisecond)
	if _, ok := interrupt["interrupt-id"]; ok {
		interrupt["interrupt-id"] = id
	}
	op = p.ask(interrupt)
	return p.done(id), op
}

// errorLine is what CIDER looks for in what it shows of an error, to find its place.
var errorLine = regexp.MustCompile(`(?:Syntax error |Unexpected error )[^\n]*(?:compiling |macroexpanding |reading source )[^\n]*at \(([^:]+):(\d+):(\d+)\)\.|Execution error [^\n]*at [^\n]*\(([^:]+):(\d+)`)

func TestCIDER(t *testing.T) {
	s := start(t, Config{})
	p, tooling := connect(t, s), connect(t, s)
	p.ses = p.clone()
	tooling.ses = p.clone()
	m := last(p.ask(Message{"op": "describe"}))
	ops, _ := m["ops"].(Message)
	for _, name := range strings.Fields("cider/complete cider/info cider/eldoc cider/macroexpand cider/ns-list cider/apropos cider/undef cider/format-code cider/test-var-query") {
		if ops[name] == nil {
			t.Errorf("%s is not there, and the command is refused", name)
		}
	}
	print := Message{"nrepl.middleware.print/stream?": "1", "nrepl.middleware.print/print": "cider.nrepl.pprint/pprint", "nrepl.middleware.print/quota": 1048576,
		"nrepl.middleware.print/buffer-size": 4096, "nrepl.middleware.print/options": Message{"right-margin": 70}, "inhibit-cider-middleware": "true", "content-type": "true"}
	ms := p.eval("(when-let [requires (resolve 'clojure.main/repl-requires)]\n  (clojure.core/apply clojure.core/require @requires))", print)
	if text(ms, "err") != "" || text(ms, "value") != "nil" {
		t.Errorf("connect: got %v", ms)
	}
	ms = p.eval("(+ 1 2)", print, Message{"file": "*cider-repl*", "line": 42, "column": 7})
	if text(ms, "value") != "3" || field(ms, "ns") != "user" || len(last(ms)) != 3 { // value and done in one message: no prompt in 1.x
		t.Errorf("eval: got %v", ms)
	}
	ms = p.ask(Message{"op": "load-file", "file": clientFile, "file-path": "/tmp/kit/client.clj", "file-name": "client.clj", "nrepl.middleware.print/stream?": []any{}})
	if !slices.Equal(values(ms), []string{`"hello you"`}) {
		t.Errorf("load-file: got %v", ms)
	}
	if got := tooling.candidates(Message{"op": "cider/complete", "prefix": "gre", "ns": "kit.client", "context": ":same", "enhanced-cljs-completion?": "t"}); got["greet"]["type"] != "function" {
		t.Errorf("complete: got %v", got)
	}
	e := last(tooling.ask(Message{"op": "cider/eldoc", "ns": "kit.client", "sym": "greet"}))
	if lists, _ := e["eldoc"].([]any); len(lists) != 1 || !slices.Equal(texts(lists[0]), []string{"who", "&", "more"}) || e["type"] != "function" {
		t.Errorf("eldoc: got %v", e)
	}
	if i := last(tooling.ask(Message{"op": "cider/info", "ns": "kit.client", "sym": "greet"})); i["file"] != "file:/tmp/kit/client.clj" || i["line"] != int64(3) {
		t.Errorf("jump: got %v", i)
	}
	ms = p.eval("(nope 1)", print, Message{"file": "/tmp/kit/client.clj", "line": 8, "column": 1})
	if got := errorLine.FindStringSubmatch(text(ms, "err")); got == nil || got[1] != "/tmp/kit/client.clj" || got[2] != "8" {
		t.Errorf("error: got %q, want its place in it", text(ms, "err"))
	}
	if ms := p.ask(Message{"op": "cider/analyze-last-stacktrace", "nrepl.middleware.print/print": "cider.nrepl.pprint/pprint"}); ms[0]["class"] == nil || ms[0]["stacktrace"] == nil {
		t.Errorf("the error's buffer: got %v", ms)
	}
	ms = tooling.ask(Message{"op": "cider/macroexpand", "expander": "macroexpand-1", "code": "(when a b)", "ns": "kit.client", "display-namespaces": "tidy", "print-meta": []any{}})
	if text(ms, "expansion") != "(if a (do b))" {
		t.Errorf("macroexpand: got %v", ms)
	}
	run, op := p.cancelled(t, Message{"op": "eval"}, Message{"op": "interrupt", "interrupt-id": ""})
	if status(run) != "done interrupted" || status(op) != "done" {
		t.Errorf("interrupt: got %v and %v", run, op)
	}
	for _, sid := range []string{tooling.ses, p.ses} { // synchronous: done must come
		if got := status(p.ask(Message{"op": "close", "session": sid})); got != "done session-closed" {
			t.Errorf("quit: got %s", got)
		}
	}
}

// TestCalva: replies find their request by session and id, and status is compared as a whole.
func TestCalva(t *testing.T) {
	p := connect(t, start(t, Config{}))
	first := last(p.ask(Message{"op": "clone"}))
	p.ses = first["new-session"].(string)
	m := last(p.ask(Message{"op": "describe", "id": "1", "verbose": 1}))
	if _, ok := m["ops"].(Message); !ok || m["session"] != p.ses {
		t.Fatalf("describe: got %v", m)
	}
	if c := last(p.ask(Message{"op": "clone", "id": "2"})); c["session"] != p.ses {
		t.Errorf("clone: got %v, want the session of the request", c)
	}
	ms := p.eval("(+ 1 2)", Message{"ns": "user", "file": "x.cljs", "line": 1, "column": 1, "pprint": 1, "fileName": "x", "nrepl.middleware.print/print": "cider.nrepl.pprint/pprint"})
	if values(ms)[0] != "3" || strings.HasSuffix(values(ms)[0], "\n") {
		t.Errorf("eval: got %v", ms)
	}
	ms = p.ask(Message{"op": "load-file", "file": clientFile, "fileName": "client.clj", "filePath": "/tmp/kit/client.clj", "file-name": "client.clj", "file-path": "/tmp/kit/client.clj", "pprint": 1})
	if !slices.Equal(values(ms), []string{`"hello you"`}) {
		t.Errorf("load-file: got %v", ms)
	}
	if got := texts(last(p.ask(Message{"op": "ns-list"}))["ns-list"]); !slices.Contains(got, "kit.client") {
		t.Errorf("ns-list: got %v", got)
	}
	if got := texts(last(p.ask(Message{"op": "classpath"}))["classpath"]); got != nil {
		t.Errorf("classpath: got %v", got)
	}
	if got := p.candidates(Message{"op": "complete", "ns": "kit.client", "symbol": "gre", "context": ""}); got["greet"] == nil {
		t.Errorf("complete: got %v", got)
	}
	if i := last(p.ask(Message{"op": "info", "ns": "kit.client", "symbol": "greet"})); i["arglists-str"] != "[who & more]" || i["file"] != "file:/tmp/kit/client.clj" || i["line"] != int64(3) || i["doc"] != "Greets." {
		t.Errorf("hover and jump: got %v", i)
	}
	if got := last(p.ask(Message{"op": "info", "ns": "kit.client", "symbol": "zzz"})); !has(got, "no-info") || !has(got, "done") {
		t.Errorf("hover over nothing: got %v", got)
	}
	ms = p.eval(`(throw (ex-info "kit-calva" {}))`)
	if field(ms, "ex") == nil || !strings.Contains(text(ms, "err"), "kit-calva") { // without ex it is a success
		t.Errorf("error: got %v", ms)
	}
	if ms := p.ask(Message{"op": "stacktrace"}); ms[0]["stacktrace"] == nil || status(ms) != "done" {
		t.Errorf("stacktrace: got %v", ms)
	}
	id := p.send(Message{"op": "eval", "code": "(read-line)"})
	need := p.await("need-input", func(m Message) bool { return m["id"] == id && m["status"] != nil })
	if s := Status(need); len(s) != 1 || s[0] != "need-input" {
		t.Errorf("read-line: got %v", need)
	}
	p.raw(encoded(t, Message{"op": "stdin", "stdin": "typed\n", "session": p.ses}))
	if got := values(p.done(id)); got[0] != `"typed"` {
		t.Errorf("read-line: got %v", got)
	}
	run, op := p.cancelled(t, Message{"op": "eval"}, Message{"op": "interrupt", "interrupt-id": ""})
	if status(run) != "done interrupted" || status(op) != "done" {
		t.Errorf("interrupt: got %v and %v", run, op)
	}
	p.raw(encoded(t, Message{"op": "close", "session": p.ses}))
	p.await("close without an id", func(m Message) bool { return has(m, "session-closed") && m["id"] == nil })
}

// TestConjure asks for the sessions first, interrupts without an id, and knows only the names without cider/.
func TestConjure(t *testing.T) {
	p := connect(t, start(t, Config{}))
	p.ask(Message{"op": "describe"})
	if got := last(p.ask(Message{"op": "ls-sessions"})); len(got["sessions"].([]any)) != 0 {
		t.Errorf("ls-sessions: got %v, want an empty list", got)
	}
	p.ses = p.clone()
	if got := values(p.eval("#?(:clj 'Clojure :cljs 'ClojureScript :cljr 'ClojureCLR :default 'Unknown)")); got[0] != "Unknown" {
		t.Errorf("session type: got %v", got)
	}
	ms := p.eval("(+ 1 2)", Message{"file": "/tmp/kit/client.clj", "line": 3, "column": 4, "nrepl.middleware.print/print": "clojure.pprint/pprint",
		"nrepl.middleware.print/options": Message{"associative": 1, "level": 500, "length": 500}, "nrepl.middleware.print/quota": 1048576})
	if values(ms)[0] != "3" {
		t.Errorf("eval: got %v", ms)
	}
	if ms := p.ask(Message{"op": "load-file", "file": clientFile, "file-path": "/tmp/kit/client.clj", "file-name": "client.clj"}); values(ms)[0] != `"hello you"` {
		t.Errorf("load-file: got %v", ms)
	}
	p.eval("(in-ns 'kit.client)")
	if got := p.candidates(Message{"op": "complete", "symbol": "gre", "ns": "kit.client", "extra-metadata": []any{"arglists", "doc"}, "enhanced-cljs-completion?": "t"}); !slices.Equal(texts(got["greet"]["arglists"]), []string{"[who & more]"}) {
		t.Errorf("complete: got %v", got)
	}
	if got := p.candidates(Message{"op": "completions", "prefix": "gre", "ns": "kit.client"}); got["greet"] == nil {
		t.Errorf("completions: got %v", got)
	}
	if i := last(p.ask(Message{"op": "lookup", "sym": "greet", "ns": "kit.client"}))["info"].(Message); i["line"] != int64(3) || i["file"] == nil || i["arglists-str"] != "[who & more]" {
		t.Errorf("lookup: got %v", i)
	}
	if i := last(p.ask(Message{"op": "info", "symbol": "greet", "ns": "kit.client", "download-sources-jar": 1})); i["column"] != int64(1) {
		t.Errorf("info: got %v", i)
	}
	if ms := p.eval("(nope)"); !strings.Contains(text(ms, "err"), "nope") || field(ms, "ex") == nil {
		t.Errorf("error: got %v", ms)
	}
	run, _ := p.cancelled(t, Message{"op": "eval"}, Message{"op": "interrupt"})
	if status(run) != "done interrupted" {
		t.Errorf("interrupt: got %v", run)
	}
	p.ask(Message{"op": "close"})
}

// TestFireplace needs classpath at connect, and status to be a list.
func TestFireplace(t *testing.T) {
	s := start(t, Config{Paths: func() []string { return []string{"/home/x"} }})
	p := connect(t, s)
	p.ses = last(p.ask(Message{"op": "clone"}))["new-session"].(string)
	m := last(p.ask(Message{"op": "describe", "verbose?": 1}))
	if _, ok := m["status"].([]any); !ok || m["ops"].(Message)["classpath"] == nil {
		t.Fatalf("describe: got %v", m)
	}
	if got := texts(last(p.ask(Message{"op": "classpath", "session": p.ses}))["classpath"]); !slices.Equal(got, []string{"/home/x"}) {
		t.Errorf("classpath: got %v", got)
	}
	if got := values(p.eval("(clojure.core/when-not (clojure.core/find-ns 'no.such.zz) (clojure.core/str 1))", Message{"ns": "user"})); got[0] != `"1"` {
		t.Errorf("eval: got %v", got)
	}
	if ms := p.ask(Message{"op": "load-file", "file": clientFile, "file-path": "kit/client.clj", "file-name": "client.clj"}); values(ms)[0] != `"hello you"` {
		t.Errorf("load-file: got %v", ms)
	}
	if got := p.candidates(Message{"op": "complete", "symbol": "gre", "prefix": "gre", "ns": "kit.client", "context": "(__prefix__)", "extra-metadata": []any{"arglists", "doc"}}); got["greet"]["doc"] != "Greets." {
		t.Errorf("complete: got %v", got)
	}
	if i := last(p.ask(Message{"op": "info", "sym": "greet", "symbol": "greet", "ns": "kit.client"})); i["line"] != int64(3) || i["resource"] != "kit/client.clj" {
		t.Errorf("jump: got %v", i)
	}
	if ms := p.eval(`(throw (ex-info "kit-fire" {}))`); !strings.Contains(text(ms, "err"), "kit-fire") || field(ms, "ex") == nil {
		t.Errorf("error: got %v", ms)
	}
	if ms := p.ask(Message{"op": "stacktrace"}); ms[0]["stacktrace"] == nil {
		t.Errorf(":Stacktrace: got %v", ms)
	}
	run, _ := p.cancelled(t, Message{"op": "eval"}, Message{"op": "interrupt", "interrupt-id": ""})
	if status(run) != "done interrupted" {
		t.Errorf("interrupt: got %v", run)
	}
}

// TestNeat interrupts without an id and reads what is typed.
func TestNeat(t *testing.T) {
	p := connect(t, start(t, Config{}))
	p.ses = p.clone()
	p.ask(Message{"op": "describe"})
	if got := values(p.eval("(+ 1 2)", Message{"ns": "user"})); got[0] != "3" {
		t.Errorf("eval: got %v", got)
	}
	if ms := p.ask(Message{"op": "load-file", "file": clientFile, "file-path": "/tmp/kit/client.clj", "file-name": "client.clj"}); values(ms)[0] != `"hello you"` {
		t.Errorf("load-file: got %v", ms)
	}
	if got := p.candidates(Message{"op": "completions", "prefix": "gre", "ns": "kit.client"}); got["greet"]["type"] != "function" {
		t.Errorf("completions: got %v", got)
	}
	if i := last(p.ask(Message{"op": "lookup", "sym": "greet", "ns": "kit.client"}))["info"].(Message); i["doc"] != "Greets." || i["file"] != "file:/tmp/kit/client.clj" {
		t.Errorf("lookup: got %v", i)
	}
	if ms := p.eval("(nope)"); !strings.Contains(text(ms, "err"), "nope") || status(ms) != "done eval-error" {
		t.Errorf("error: got %v", ms)
	}
	id := p.send(Message{"op": "eval", "code": "(read-line)"})
	p.await("need-input", func(m Message) bool { return m["id"] == id && has(m, "need-input") })
	p.ask(Message{"op": "stdin", "stdin": "x\n"})
	p.done(id)
	run, op := p.cancelled(t, Message{"op": "eval"}, Message{"op": "interrupt"})
	if status(run) != "done interrupted" || status(op) != "done" {
		t.Errorf("interrupt: got %v and %v", run, op)
	}
	p.ask(Message{"op": "close"})
}

// TestRep is a command: it clones, evaluates with a line and a file, prints, and goes.
func TestRep(t *testing.T) {
	p := connect(t, start(t, Config{}))
	p.ses = p.clone()
	ms := p.eval(`(println "out") (+ 1 2)`, Message{"ns": "user", "line": 1, "column": 1, "file": "x.clj"})
	if text(ms, "out") != "out\n" || values(ms)[1] != "3" || strings.Contains(values(ms)[1], "\n") || field(ms, "ns") != "user" {
		t.Errorf("eval: got %v", ms)
	}
	if ms := p.eval("(nope)"); text(ms, "err") == "" || field(ms, "ex") == nil {
		t.Errorf("error: got %v", ms)
	}
	if ms := p.eval("1", Message{"ns": "no.such"}); !strings.Contains(status(ms), "namespace-not-found") || field(ms, "ns") != "no.such" {
		t.Errorf("an unknown namespace: got %v", ms)
	}
	if ms := p.ask(Message{"op": "info", "symbol": "map", "ns": "user"}); field(ms, "name") != "map" {
		t.Errorf("another op: got %v", ms)
	}
	if got := status(p.ask(Message{"op": "close"})); got != "done session-closed" {
		t.Errorf("close: got %s", got)
	}
}

// TestClojureMCP opens a connection for each evaluation, finds its session again, and interrupts from another connection.
func TestClojureMCP(t *testing.T) {
	s := start(t, Config{})
	one := connect(t, s)
	one.ask(Message{"op": "describe"})
	ses := one.clone()
	_ = one.nc.Close()

	two := connect(t, s)
	if got := texts(last(two.ask(Message{"op": "ls-sessions"}))["sessions"]); !slices.Contains(got, ses) {
		t.Fatalf("ls-sessions: got %v, want the session of the closed connection", got)
	}
	two.ses = ses
	two.wants("(def x 20) (inc x)", "#'user/x", "21")
	two.ask(Message{"op": "load-file", "file": clientFile, "file-path": "/tmp/kit/client.clj", "file-name": "client.clj"})
	if got := two.candidates(Message{"op": "completions", "prefix": "gre", "ns": "kit.client"}); got["greet"] == nil {
		t.Errorf("completions: got %v", got)
	}
	if i := last(two.ask(Message{"op": "lookup", "sym": "greet", "ns": "kit.client"}))["info"].(Message); i["line"] != int64(3) {
		t.Errorf("lookup: got %v", i)
	}
	if ms := two.eval("(nope)"); !strings.Contains(text(ms, "err"), "nope") {
		t.Errorf("error: got %v", ms)
	}
	id := two.send(Message{"op": "eval", "code": loop})
	two.ask(Message{"op": "describe"}) // so it has been read
	time.Sleep(40 * time.Millisecond)
	three := connect(t, s)
	if got := status(three.ask(Message{"op": "interrupt", "session": ses, "interrupt-id": id})); got != "done" {
		t.Errorf("interrupt: got %s", got)
	}
	if got := status(two.done(id)); got != "done interrupted" {
		t.Errorf("the evaluation: got %s", got)
	}
	two.wants("x", "20")
}
