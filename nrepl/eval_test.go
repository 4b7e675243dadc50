package nrepl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEval(t *testing.T) {
	p := open(t, start(t, Config{}))
	p.wants("(+ 1 2)", "3")
	p.wants("1 (+ 1 1) 3", "1", "2", "3")
	p.wants(`nil "" false`, "nil", `""`, "false")
	p.wants(`"héλ𝄞"`, `"héλ𝄞"`)
	p.wants("^{:line 1, :column 1} (+ 1 2)", "3")
	p.wants("#?(:clj 'clj :cljs 'cljs :default 'unknown)", "unknown")
	p.wants("(when-let [requires (resolve 'clojure.main/repl-requires)]\n  (clojure.core/apply clojure.core/require @requires))", "nil")
	for _, code := range []string{"", "   ", ";; c", "#_x"} {
		if ms := p.eval(code); len(ms) != 1 || status(ms) != "done" {
			t.Errorf("%q: got %v, want nothing but done", code, ms)
		}
	}
}

// TestShapeOfReplies holds what real clients break on: one thing a message, done last and alone, id and session in all.
func TestShapeOfReplies(t *testing.T) {
	p := open(t, start(t, Config{}))
	ms := p.eval(`(println "x") (binding [*out* *err*] (println "y")) (throw (ex-info "z" {})) 5`)
	for i, m := range ms {
		if m["id"] != ms[0]["id"] || m["session"] != p.ses {
			t.Errorf("%v: want the id and the session of the request", m)
		}
		kinds := 0
		for _, k := range []string{"out", "err", "value", "status"} {
			if _, ok := m[k]; ok {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%v: got %d kinds of news in a message, want 1", m, kinds)
		}
		if _, ok := m["value"]; ok && m["ns"] != "user" {
			t.Errorf("%v: want the namespace with the value", m)
		}
		if has(m, "done") != (i == len(ms)-1) || has(m, "done") && len(Status(m)) != 1 {
			t.Errorf("message %d of %d, %v: want done last and alone", i, len(ms), m)
		}
	}
	if got := values(ms); !slices.Equal(got, []string{"nil", "nil", "5"}) {
		t.Errorf("got values %q, want the forms after an error to run", got)
	}
	if got := text(ms, "out"); got != "x\n" {
		t.Errorf("out: got %q", got)
	}
}

func TestIDs(t *testing.T) {
	p := open(t, start(t, Config{}))
	for _, id := range []any{"a", int64(7001), int64(-1), "", []any{"x", int64(1)}, Message{"k": "v"}} {
		p.send(Message{"op": "eval", "code": "1", "id": id})
		p.await("done", func(m Message) bool { return has(m, "done") && fmt.Sprint(m["id"]) == fmt.Sprint(id) })
	}
	p.raw("d2:op8:describee")
	p.await("a reply without id", func(m Message) bool { _, ok := m["id"]; return !ok && has(m, "done") })
	p.raw("d3:foo3:bar2:id1:xe")
	p.await("a reply without op", func(m Message) bool { return m["id"] == "x" && has(m, "unknown-op") && has(m, "done") })
	ms := p.ask(Message{"op": "no-such-op"})
	if status(ms) != "done error unknown-op" || field(ms, "op") != "no-such-op" || field(ms, "session") != p.ses {
		t.Errorf("unknown op: got %v, want it told in the session %s", ms, p.ses)
	}
}

func TestErrors(t *testing.T) {
	p := open(t, start(t, Config{}))
	at := Message{"file": "/tmp/kit/foo.clj", "line": 10, "column": 3}
	for _, c := range []struct{ code, headline, ex, more string }{
		{`(throw (ex-info "kit-boom" {:k 1}))`, `^Execution error \(ExceptionInfo\) at user/eval \(/tmp/kit/foo.clj:10:3\)\.$`, "ExceptionInfo", "kit-boom\n{:k 1}\n"},
		{"\n (undefined-kit-fn 1)", `^Syntax error compiling at \(/tmp/kit/foo.clj:11:3\)\.$`, "UnresolvedSymbolException", "undefined-kit-fn"},
		{"(+ 1 2", `^Syntax error reading source at \(/tmp/kit/foo.clj:10:9\)\.$`, "ParseError", "close the ("},
		{") 1", `^Syntax error reading source at \(/tmp/kit/foo.clj:10:3\)\.$`, "ParseError", "unmatched )"},
		{"(if)", `^Syntax error compiling at \(/tmp/kit/foo.clj:10:3\)\.$`, "CompilerException", "if: got 0 forms"},
		{`(+ 1 "a")`, `^Execution error \(ClassCastException\) at \S+ \(/tmp/kit/foo.clj:10:3\)\.$`, "ClassCastException", "want a number"},
		{"(map inc 5)", `^Error printing return value \(`, "", "5"},
		{"(defn kit-rec [n] (+ 1 (kit-rec (inc n)))) (kit-rec 0)", `^Execution error \(StackOverflowError\) at user/kit-rec `, "StackOverflowError", "loop/recur"},
	} {
		ms := p.eval(c.code, at)
		err := text(ms, "err")
		first, _, _ := strings.Cut(err, "\n")
		if !regexp.MustCompile(c.headline).MatchString(first) {
			t.Errorf("%s: got the line %q, want %s", c.code, first, c.headline)
		}
		if !strings.HasSuffix(err, "\n") || !strings.Contains(err, c.more) {
			t.Errorf("%s: got %q, want %q in it and a line end", c.code, err, c.more)
		}
		if status(ms) != "done eval-error" || field(ms, "ex") == nil || field(ms, "root-ex") == nil || c.ex != "" && field(ms, "ex") != c.ex {
			t.Errorf("%s: got %v, want %s", c.code, ms, c.ex)
		}
	}
	if got := values(p.eval("1 (+ 1 2")); !slices.Equal(got, []string{"1"}) {
		t.Errorf("before the fault in the text: got %q, want 1", got)
	}
	ms := p.eval(`(throw (ex-info "outer" {} (ex-info "inner" {})))`)
	if !strings.Contains(text(ms, "err"), "Caused by: ExceptionInfo: inner") {
		t.Errorf("cause: got %q", text(ms, "err"))
	}
	p.wants("(+ 1 1)", "2")
}

func TestPlaces(t *testing.T) {
	p := open(t, start(t, Config{}))
	got := values(p.eval("\n(def kit-line 1) ((juxt :line :column :file) (meta #'kit-line))", Message{"file": "/tmp/kit/foo.clj", "line": 10, "column": 3}))
	if len(got) != 2 || got[1] != `[11 1 "/tmp/kit/foo.clj"]` {
		t.Errorf("got %q, want line 11 of the file", got)
	}
	for _, line := range []any{int64(9007199254740991), int64(-5), "x", "12", []any{}} {
		if got := values(p.eval("(+ 1 1)", Message{"line": line, "column": line})); !slices.Equal(got, []string{"2"}) {
			t.Errorf("line %v: got %q, want 2", line, got)
		}
	}
}

// TestWrongTypes: whatever a key holds, the request is answered.
func TestWrongTypes(t *testing.T) {
	s := start(t, Config{})
	p := open(t, s)
	for name, o := range s.ops {
		for _, key := range append(strings.Fields(o.requires+" "+o.optional), "ns", "session") {
			for _, v := range []any{int64(5), []any{}, []any{"x"}, Message{}, Message{"a": int64(1)}, "", "\xff\x00", "zz zz("} {
				if key == "id" || name == "close" || strings.HasPrefix(name, "undef") {
					continue
				}
				m := Message{"op": name, "code": "(+ 1 2)", "file": "(+ 1 2)", "prefix": "ma", "sym": "map", "ns": "user"}
				m[key] = v
				p.ask(m)
			}
		}
	}
	p.wants("(+ 1 2)", "3")
	for _, m := range []Message{{"op": "eval"}, {"op": "eval", "code": 5}, {"op": "eval", "code": []any{"1"}}, {"op": "eval", "code": "1", "ns": 5},
		{"op": "load-file"}, {"op": "load-file", "file": 5}, {"op": "stdin", "stdin": 5}, {"op": "completions", "prefix": 5}, {"op": "lookup", "sym": 5},
		{"op": "apropos"}, {"op": "apropos", "query": "("}, {"op": "macroexpand"}, {"op": "macroexpand", "code": "1", "expander": "no"}, {"op": "test"},
		{"op": "test-var-query"}, {"op": "format-code"}, {"op": "ns-vars", "ns": "nope"}, {"op": "undef-all", "ns": "clojure.core"}} {
		if ms := p.ask(m); !strings.Contains(status(ms), "error") || values(ms) != nil {
			t.Errorf("%v: got %v, want an error", m, ms)
		}
	}
}

func TestOrder(t *testing.T) {
	p := open(t, start(t, Config{}))
	p.eval("(def kit-log (atom []))")
	var ids []any
	want := "["
	for i := range 200 {
		ids = append(ids, p.send(Message{"op": "eval", "code": fmt.Sprintf("(swap! kit-log conj %d)", i)}))
		want += fmt.Sprint(i, " ")
	}
	for _, id := range ids {
		p.done(id)
	}
	p.wants("@kit-log", strings.TrimSpace(want)+"]")
}

func TestLoadFile(t *testing.T) {
	p := open(t, start(t, Config{}))
	ms := p.ask(Message{"op": "load-file", "file": "(ns kit.lf)\n(println \"loading\")\n(def a 41)\n(+ a 1)\n", "file-path": "/tmp/kit/lf.clj", "file-name": "lf.clj"})
	if got := values(ms); !slices.Equal(got, []string{"42"}) || text(ms, "out") != "loading\n" || field(ms, "ns") != nil || status(ms) != "done" {
		t.Errorf("got %v, want one value without a namespace", ms)
	}
	if got := field(p.eval("1"), "ns"); got != "user" {
		t.Errorf("afterwards: got namespace %v, want user", got)
	}
	p.wants("((juxt :line :file) (meta #'kit.lf/a))", `[3 "/tmp/kit/lf.clj"]`)
	ms = p.ask(Message{"op": "load-file", "file": "(ns kit.lf2)\n(println \"a\")\n(undefined-kit 1)\n(println \"no\")\n", "file-path": "/tmp/kit/lf2.clj"})
	if text(ms, "out") != "a\n" || !strings.Contains(text(ms, "err"), "lf2.clj:3") || status(ms) != "done eval-error" || field(ms, "ex") == nil {
		t.Errorf("an error: got %v, want it to stop at line 3", ms)
	}
	if got := values(p.ask(Message{"op": "load-file", "file": "(ns kit.lf3)", "file-name": "lf3.clj"})); !slices.Equal(got, []string{"nil"}) {
		t.Errorf("a namespace only: got %q, want nil", got)
	}
}
