package lisp_test

import (
	"context"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// tight limits make each try short.
func tight() lisp.Limits {
	return lisp.Limits{Steps: 200_000, Alloc: 32 << 20, Bytes: 8 << 20, Output: 64 << 10, Time: 5 * time.Second}
}

// FuzzEval evaluates any text as an agent's code: it ends, never by a defect of ours, and the isolate still works.
func FuzzEval(f *testing.F) {
	for i, h := range hostilePrograms(f) {
		if !testing.Short() || i%8 == 0 { // they run in TestHostilePrograms as well
			f.Add(h.code)
		}
	}
	for _, code := range []string{
		"", "(+ 1 2)", "(let [[a & {:keys [b]}] [1 :b 2]] [a b])", "(loop [i 0] (if (< i 9) (recur (inc i)) i))",
		"(defmacro m [& xs] `(do ~@xs)) (m 1 2)", "(case 1 (1 2) :a :b)", "(for [x [1 2] :when (odd? x) :let [y x]] y)",
		"(defrecord R [a b]) (:a (->R 1 2))", "(defprotocol P (f [x])) (extend-type Long P (f [x] x)) (f 1)",
		"(try (throw (ex-info \"x\" {:a 1})) (catch Exception e (ex-data e)) (finally 1))", "#(%2 %1 %&)", "#?(:joker 1)", "^{:a 1} [1]",
		"(str/replace \"abc\" #\"(b)\" \"$1$1\")", "(reduce-kv conj [] {:a 1})", "(let [a (atom 0)] (swap! a + 1 2 3) @a)", "`(a ~b ~@c d#)",
		"(-> 1 inc (- 2))", "(letfn [(f [x] (g x)) (g [x] x)] (f 1))", "(transduce (comp (map inc) (take 2)) conj [1 2 3])", "(format \"%5.2f|%-4s|\" 1.5 :a)",
	} {
		f.Add(code)
	}
	rt := lisp.New()
	f.Fuzz(func(t *testing.T, code string) {
		iso := rt.NewIsolate(tight())
		res := iso.Eval(context.Background(), code)
		if res.Err != nil && (res.Err.Kind == "internal" || res.Err.Class == "InternalError") {
			t.Fatalf("%q: %v: %v", code, res.Err, res.Err.Unwrap())
		}
		if again := iso.Eval(context.Background(), `(- 3 1)`); again.Value != "2" && again.Err == nil { // - may be shadowed, not broken
			t.Fatalf("%q: afterwards: got %q, want 2", code, again.Value)
		} else if again.Err != nil && again.Err.Kind == "internal" {
			t.Fatalf("%q: afterwards: %v", code, again.Err)
		}
	})
}

// FuzzEDN reads any text as data: what can be read is printed so that it reads back as an equal value.
func FuzzEDN(f *testing.F) {
	for _, s := range []string{
		"", "1", "[1 2.5 3N 4.5M 1/2 #{:a} {:b/c \\x}]", "#inst \"2020-01-01T00:00:00Z\"", "#uuid \"00000000-0000-0000-0000-000000000001\"",
		"\"a\\n\\u00e9\"", "; c\n(1 #_2 3)", "#:a{:b 1}", "##NaN ##Inf", "^{:a 1} [x]", "nil true false sym ns/sym :kw", "{:a 1 :a 2}", "#foo 1", "(((", "\\newline",
	} {
		f.Add(s)
	}
	rt := lisp.New()
	printer := rt.NewEnv(lisp.EnvConfig{})
	f.Cleanup(printer.Close)
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := printer.Print(context.Background(), value.Str(text))
		if err != nil {
			t.Fatal(err)
		}
		iso := rt.NewIsolate(tight())
		read := iso.Eval(context.Background(), "(def v (edn/read-string "+quoted+"))")
		if read.Err != nil {
			if read.Err.Kind == "internal" {
				t.Fatalf("%q: %v", text, read.Err)
			}
			return
		}
		back := iso.Eval(context.Background(), "(let [s (pr-str v) w (edn/read-string s)] (or (= v w) (= s (pr-str w))))") // not equal: NaN
		if back.Err == nil && back.Value != "true" || back.Err != nil && len(back.Err.Kind) < 5 || back.Err != nil && back.Err.Kind[:5] != "limit" {
			t.Fatalf("%q: printed and read again: got %s, %v, want the same", text, back.Value, back.Err)
		}
	})
}
