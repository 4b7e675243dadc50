package nrepl

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMacroexpand(t *testing.T) {
	p := open(t, start(t, Config{}))
	p.eval("(defmacro kit-twice [x] `(do ~x ~x)) (defmacro kit-loop [] (loop [] (recur))) (defmacro kit-fail [] (throw (ex-info \"no\" {})))")
	for _, c := range []struct{ code, expander, display, want string }{
		{"(when true 1)", "macroexpand-1", "tidy", "(if true (do 1))"},
		{"(kit-twice (when a b))", "macroexpand", "", "(do (when a b) (when a b))"},
		{"(kit-twice (when a b))", "macroexpand-all", "none", "(do (if a (do b)) (if a (do b)))"},
		{"(+ 1 2) ; no macro", "", "qualified", "(+ 1 2)"},
		{"`(map x)", "macroexpand", "none", "(seq (concat (list (quote map)) (list (quote x))))"},
		{"'(println :side-effect)", "macroexpand", "", "'(println :side-effect)"},
	} {
		ms := p.ask(Message{"op": "macroexpand", "code": c.code, "expander": c.expander, "display-namespaces": c.display, "ns": "user"})
		got := strings.NewReplacer("(apply list ", "(", "joker.core/", "", "clojure.core/", "").Replace(text(ms, "expansion"))
		if got = strings.Join(strings.Fields(got), " "); got != c.want && c.code[0] != '`' || status(ms) != "done" || text(ms, "out") != "" {
			t.Errorf("%s: got %q, %s, want %q", c.code, got, status(ms), c.want)
		}
	}
	for _, code := range []string{"(kit-fail)", "(", ")", "1 2", "#"} {
		ms := p.ask(Message{"op": "macroexpand", "code": code})
		if status(ms) != "done error macroexpand-error" || text(ms, "err") == "" {
			t.Errorf("%s: got %v, want an error", code, ms)
		}
	}
	id := p.send(Message{"op": "macroexpand", "code": "(kit-loop)"})
	time.Sleep(30 * time.Millisecond)
	p.ask(Message{"op": "interrupt"})
	if got := status(p.done(id)); got != "done interrupted" {
		t.Errorf("an endless macro: got %s, want it interrupted", got)
	}
	p.wants("[*1 *e]", "[#'user/kit-fail nil]") // nothing of it is left
}

func TestFormatCode(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"body", "(defn  f [x ]\n(let [y 1\nz 2]\n(+ x y)))", "(defn f [x]\n  (let [y 1\n        z 2]\n    (+ x y)))"},
		{"call", "(foo a\nb\n  c)", "(foo a\n     b\n     c)"},
		{"call without arguments on its line", "(foo\na\nb)", "(foo\n a\n b)"},
		{"data", "{:a 1,\n:b [1\n2]}", "{:a 1,\n :b [1\n     2]}"},
		{"blanks inside", "( foo   a )  \n\n\n\n[ 1 ]\n", "(foo a)\n\n[1]\n"},
		{"closing", "(foo\n  a\n)", "(foo\n a)"},
		{"comment before closing", "(foo a ; why\n)", "(foo a ; why\n     )"},
		{"comments", "; top\n(foo ; here\na)\n;; end", "; top\n(foo ; here\n a)\n;; end"},
		{"reader macros", "(map #(inc %) '(1 2) @a ^:x b #_(gone) `(~x ~@y) #'v)", "(map #(inc %) '(1 2) @a ^:x b #_(gone) `(~x ~@y) #'v)"},
		{"literals", `(str "a  (b" \( \newline #"[(]  " "x\"y")`, `(str "a  (b" \( \newline #"[(]  " "x\"y")`},
		{"a string of lines", "(foo \"a\n   b\"\nc)", "(foo \"a\n   b\"\n     c)"},
		{"conditional", "#?(:clj 1\n:default 2)", "#?(:clj 1\n   :default 2)"},
		{"prefix over a line", "'\n(a\nb)", "'(a\n  b)"},
		{"empty", "", ""},
		{"unicode", "(λé \"𝄞\" a\nb)", "(λé \"𝄞\" a\n    b)"},
	} {
		got, err := formatCode(c.src)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
		if again, err := formatCode(got); err != nil || again != got {
			t.Errorf("%s: formatted again it is %q, %v, want it to stay", c.name, again, err)
		}
	}
	for _, src := range []string{"(", ")", "(]", "\"a", "(foo \"a)"} {
		if got, err := formatCode(src); err == nil {
			t.Errorf("%q: got %q, want an error", src, got)
		}
	}
	p := open(t, start(t, Config{}))
	if got := text(p.ask(Message{"op": "format-code", "code": "(a\nb)"}), "formatted-code"); got != "(a\n b)" {
		t.Errorf("op: got %q", got)
	}
	if ms := p.ask(Message{"op": "cider/format-code", "code": "(a"}); status(ms) != "done error format-code-error" {
		t.Errorf("op: got %v", ms)
	}
	if got := text(p.ask(Message{"op": "format-edn", "edn": "{:a   1} #{2}", "right-margin": 20}), "formatted-edn"); got != "{:a 1}\n#{2}" {
		t.Errorf("format-edn: got %q", got)
	}
	if ms := p.ask(Message{"op": "format-edn", "edn": "{:a"}); status(ms) != "done error format-edn-error" {
		t.Errorf("format-edn: got %v", ms)
	}
}

// FuzzFormatCode: nothing but blanks changes, and what is formatted stays.
func FuzzFormatCode(f *testing.F) {
	for _, s := range []string{"(a\nb)", "(a ; c\n)", "#(x %)", "#?@(:a [1])", "^{:a 1}\nb", "\"x", "'\n;c\n a", "\\( \\;", "#!x\n(", ", a,,b", "(,)", "#\n", "`\n"} {
		f.Add(s)
	}
	bare := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\r\n\f,", r) }), "")
	}
	f.Fuzz(func(t *testing.T, src string) {
		got, err := formatCode(src)
		if err != nil {
			return
		}
		if bare(got) != bare(src) {
			t.Fatalf("%q became %q", src, got)
		}
		again, err := formatCode(got)
		if err != nil || again != got {
			t.Fatalf("%q became %q and then %q, %v", src, got, again, err)
		}
	})
}

const testFile = `(ns kit.tests (:require [clojure.test :refer [deftest is testing use-fixtures]]))
(def fixed (atom 0))
(use-fixtures :each (fn [f] (swap! fixed inc) (f)))
(deftest good (is (= 1 1)) (is true))
(deftest bad
  (testing "sums"
    (is (= 3 (+ 1 1)) "no sum")))
(deftest throws (is (throw (ex-info "kit-boom" {}))))
(defn untested [] 1)
`

func TestTestOps(t *testing.T) {
	p := open(t, start(t, Config{}))
	p.ask(Message{"op": "load-file", "file": testFile, "file-path": "/tmp/kit/tests.clj"})
	m := last(p.ask(Message{"op": "test", "ns": "kit.tests", "load?": 1}))
	summary, _ := m["summary"].(Message)
	for k, n := range map[string]int64{"ns": 1, "var": 3, "test": 4, "pass": 2, "fail": 1, "error": 1} {
		if summary[k] != n {
			t.Errorf("summary: %s is %v, want %d", k, summary[k], n)
		}
	}
	results, _ := m["results"].(Message)["kit.tests"].(Message)
	bad, _ := results["bad"].([]any)
	if d := bad[0].(Message); d["type"] != "fail" || d["context"] != "sums" || d["message"] != "no sum" || d["line"] != int64(7) || d["file"] != "/tmp/kit/tests.clj" || !strings.Contains(d["expected"].(string), "(= 3 (+ 1 1))") {
		t.Errorf("the failure: got %v", d)
	}
	p.wants("@kit.tests/fixed", "3")
	ms := p.ask(Message{"op": "test-stacktrace", "ns": "kit.tests", "var": "throws", "index": 0})
	if ms[0]["message"] != "kit-boom" || ms[0]["stacktrace"] == nil {
		t.Errorf("test-stacktrace: got %v", ms)
	}
	if got := status(p.ask(Message{"op": "test-stacktrace", "ns": "kit.tests", "var": "good", "index": 0})); got != "done no-stacktrace" {
		t.Errorf("test-stacktrace of none: got %s", got)
	}
	vars := func(m Message) []string {
		t.Helper()
		r, _ := last(p.ask(m))["results"].(Message)
		ns, _ := r["kit.tests"].(Message)
		return sortedNames(ns)
	}
	q := Message{"exactly": []any{"kit.tests"}}
	for _, c := range []struct {
		m    Message
		want []string
	}{
		{Message{"op": "retest"}, []string{"bad", "throws"}},
		{Message{"op": "test", "ns": "kit.tests", "tests": []any{"good"}}, []string{"good"}},
		{Message{"op": "test-all"}, []string{"bad", "good", "throws"}},
		{Message{"op": "test-var-query", "var-query": Message{"ns-query": q}}, []string{"bad", "good", "throws"}},
		{Message{"op": "cider/test-var-query", "var-query": Message{"ns-query": q, "search": "^go", "search-property": "name"}}, []string{"good"}},
		{Message{"op": "test-var-query", "var-query": Message{"ns-query": q, "exactly": []any{"kit.tests/bad", "kit.tests/untested"}}}, []string{"bad"}},
		{Message{"op": "test-var-query", "var-query": Message{"ns-query": q, "search": "^none"}}, nil},
	} {
		if got := vars(c.m); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%v: ran %v, want %v", c.m, got, c.want)
		}
	}
	if got := status(p.ask(Message{"op": "test", "ns": "kit.nope"})); got != "done error namespace-not-found" {
		t.Errorf("no namespace: got %s", got)
	}
	p.eval("(in-ns 'kit.tests) (deftest endless (loop [] (recur)))")
	id := p.send(Message{"op": "test", "ns": "kit.tests", "tests": []any{"endless"}})
	time.Sleep(50 * time.Millisecond)
	p.ask(Message{"op": "interrupt"})
	if got := status(p.done(id)); got != "done interrupted" {
		t.Errorf("an endless test: got %s, want it interrupted", got)
	}
}
