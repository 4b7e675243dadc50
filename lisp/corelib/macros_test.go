package corelib

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// macroBench is an environment that holds the macros and nothing else: enough to expand.
type macroBench struct {
	t      *value.Thread
	macros map[string]value.Value
}

func newMacroBench(l limit.Limits) *macroBench {
	core := value.NewNamespace(coreName)
	b := &macroBench{macros: map[string]value.Value{}}
	for _, m := range macros() {
		if m.Macro {
			b.macros[m.Name] = value.Of(value.NewBuiltin(coreName+"/"+m.Name, &m))
		}
	}
	env := value.NewEnv(core, nil)
	env.Home = env.Create("user")
	b.t = value.NewThread(value.NewRun(context.Background(), l), env)
	return b
}

func (b *macroBench) read(tb testing.TB, src string) value.Value {
	tb.Helper()
	form, err := read.New(b.t, src, read.Options{File: "test.joke", CurrentNS: "user"}).Read()
	if err != nil {
		tb.Fatalf("read %s: %v", src, err)
	}
	return form
}

// expand expands a form once. An exception that it throws is returned.
func (b *macroBench) expand(form value.Value) (out value.Value, ex *value.Exception) {
	m := b.t.Mark()
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*value.Exception)
			if !ok {
				panic(r)
			}
			b.t.Unwind(m)
			ex = e
		}
	}()
	xs := value.ToSlice(b.t, form)
	f := b.macros[value.As[value.Symbol](xs[0]).Name]
	return b.t.Call(f, append([]value.Value{form, value.Nil}, xs[1:]...)...), nil
}

var freshNumber = regexp.MustCompile(`__\d+`)

// shown prints an expansion with its fresh names numbered from 1 and clojure.core/x as core/x.
func (b *macroBench) shown(v value.Value) string {
	numbers := map[string]string{}
	s := freshNumber.ReplaceAllStringFunc(value.PrStr(b.t, v), func(n string) string {
		if numbers[n] == "" {
			numbers[n] = string(rune('0' + len(numbers) + 1))
		}
		return numbers[n]
	})
	return strings.ReplaceAll(s, coreName+"/", "core/")
}

func TestMacroExpansion(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"(when a b c)", "(if a (do b c))"},
		{"(when-not a b)", "(if a nil (do b))"},
		{"(if-not a b)", "(if (core/not a) b nil)"},
		{"(if-not a b c)", "(if (core/not a) b c)"},
		{"(and)", "true"}, {"(and a)", "a"}, {"(or)", "nil"}, {"(or a)", "a"},
		{"(and a b c)", "(let* [test1 a] (if test1 (let* [test1 b] (if test1 c test1)) test1))"},
		{"(or a b)", "(let* [test1 a] (if test1 test1 b))"},
		{"(cond)", "nil"},
		{"(cond a b :else c)", "(if a b (if :else c nil))"},
		{"(condp = x 1 :a 2 :>> f :b)", "(let* [pred1 = expr2 x] (if (pred1 1 expr2) :a (let* [got3 (pred1 2 expr2)] (if got3 (f got3) :b))))"},
		{"(condp = x 1 :a)", `(let* [pred1 = expr2 x] (if (pred1 1 expr2) :a (core/no-clause* "condp" expr2)))`},
		{"(case x 1 :a (2 3) :b :c)", "(let* [case1 x] (case* case1 :c [[1 :a] [2 :b] [3 :b]]))"},
		{"(case x 1 :a (2 3) (f) :c)", "(let* [case1 x clause2 (case* case1 -1 [[1 0] [2 1] [3 1]])] (case* clause2 :c [[0 :a] [1 (f)]]))"},
		{"(case x)", `(let* [case1 x] (core/no-clause* "case" case1))`},
		{"(case x d)", "(let* [case1 x] d)"},
		{"(assert x)", "(if x nil (throw (core/assert-error* (quote x))))"},
		{"(assert x \"m\")", `(if x nil (throw (core/assert-error* (quote x) "m")))`},
		{"(comment a b)", "nil"},

		{"(-> a b (c d))", "(c (b a) d)"},
		{"(->> a b (c d))", "(c d (b a))"},
		{"(-> a)", "a"},
		{"(some-> a b (c d))", "(let* [some1 a some1 (if (core/nil? some1) nil (b some1))] (if (core/nil? some1) nil (c some1 d)))"},
		{"(some->> a)", "a"},
		{"(cond-> a b (c d) e f)", "(let* [cond1 a cond1 (if b (c cond1 d) cond1)] (if e (f cond1) cond1))"},
		{"(cond->> a b (c d))", "(let* [cond1 a] (if b (c d cond1) cond1))"},
		{"(as-> a x (b x) (c x))", "(let* [x a x (b x)] (c x))"},
		{"(as-> a x)", "(let* [x a] x)"},
		{"(doto a (b c) d)", "(let* [doto1 a] (b doto1 c) (d doto1) doto1)"},

		{"(let [a 1 b 2] a b)", "(let* [a 1 b 2] a b)"},
		{"(let [] 1)", "(let* [] 1)"},
		{"(loop [a 1] a)", "(loop* [a 1] a)"},
		{"(loop [[a] x b a] (recur a))", "(let* [loop1 x a (core/nth loop1 0 nil) b a] (loop* [loop1 loop1 b b] (let* [a (core/nth loop1 0 nil)] (recur a))))"},
		{"(if-let [a b] c d)", "(let* [test1 b] (if test1 (let* [a test1] c) d))"},
		{"(when-let [a b] c d)", "(let* [test1 b] (if test1 (let* [a test1] c d) nil))"},
		{"(if-some [a b] c)", "(let* [test1 b] (if (core/nil? test1) nil (let* [a test1] c)))"},
		{"(when-first [a b] c)", "(let* [seq1 (core/seq b)] (if seq1 (let* [a (core/first seq1)] c)))"},

		{"(fn [a] a)", "(fn* ([a] a))"},
		{"(fn f ([] 1) ([a & b] a))", "(fn* f ([] 1) ([a & b] a))"},
		{"(fn [[a] & {b :b}] a)", "(fn* ([arg1 & arg2] (let* [a (core/nth arg1 0 nil) map3 (core/kwargs* arg2) b (core/get map3 :b)] a)))"},
		{"(fn [x] {:pre [(p x)] :post [(q %)]} x)", "(fn* ([x] (if (p x) nil (throw (core/assert-error* (quote (p x))))) (let* [% (do x)] (if (q %) nil (throw (core/assert-error* (quote (q %))))) %)))"},
		{"(fn [x] {:pre 1})", "(fn* ([x] {:pre 1}))"},
		{"(letfn [(f [a] (g a)) (g [b] b)] (f 1))", "(letfn* [f (fn* f ([a] (g a))) g (fn* g ([b] b))] (f 1))"},
		{"(defn f [x] x)", "(def f (fn* ([x] x)))"},
		{"(defmacro m [x] x)", "(def m (fn* ([&form &env x] x)))"},
		{"(defonce a 1)", "(if (core/bound? (def a)) nil (def a 1))"},
		{"(declare a b)", "(do (def a) (def b))"},

		{"(while a b)", "(loop* [] (if a (do b (recur))))"},
		{"(dotimes [i 3] b)", "(let* [n1 (core/long 3)] (loop* [i 0] (if (core/< i n1) (do b (recur (core/inc i))))))"},
		{"(doseq [x xs] b c)", "(core/doseq* (fn* [x] (do b c true)) xs)"},
		{"(doseq [x xs :when a y ys :while b :let [z 1]] c)", "(core/doseq* (fn* [x] (if a (do (core/doseq* (fn* [y] (if b (let* [z 1] (do c true)) false)) ys) true) true)) xs)"},
		{"(for [x xs] b)", "(core/for* (fn* [x] (try b)) xs)"},
		{"(for [[x] xs :when a y ys :while c] b)", "(core/for-cat* (fn* [item1] (let* [x (core/nth item1 0 nil)] (if a (core/for* (fn* [y] (if c (try b) (core/for-stop*))) ys) (core/for-skip*)))) xs)"},

		{"(binding [*a* 1] b)", "(binding* [*a* 1] b)"},
		{"(with-redefs [a 1] b)", "(core/with-redefs-fn (core/hash-map (var a) 1) (fn* [] b))"},
		{"(with-local-vars [a 1] b)", "(let* [a (core/local-var*)] (core/with-bindings* (core/hash-map a 1) (fn* [] b)))"},
		{"(with-open [a b c d] e)", "(let* [a b] (try (let* [c d] (try e (finally (core/close! c)))) (finally (core/close! a))))"},
		{"(with-out-str a b)", "(core/with-out-str* (fn* [] a b))"},
		{"(bound-fn [a] a)", "(core/bound-fn* (fn* ([a] a)))"},
		{"(lazy-seq a)", "(lazy-seq* a)"}, {"(delay a)", "(delay* a)"},
		{"(future a)", "(core/future-call (fn* [] a))"},
		{"(lazy-cat a b)", "(core/concat (lazy-seq* a) (lazy-seq* b))"},
		{"(vswap! v f 1)", "(let* [vol1 v] (core/vreset! vol1 (f (core/deref vol1) 1)))"},
		{"(locking a b)", "(core/locking* a (fn* [] b))"},
		{"(dosync a b)", "(core/dosync* (fn* [] a b))"},
		{"(areduce a i r 0 e)", "(let* [array1 a n2 (core/alength array1)] (loop* [i 0 r 0] (if (core/< i n2) (recur (core/inc i) e) r)))"},

		{"(ns a.b)", "(do (core/in-ns (quote a.b)) nil)"},
		{"(ns a.b \"d\" (:require [c :as d] e) (:use f))", `(do (core/in-ns (quote a.b)) (core/reset-meta! (core/in-ns (quote a.b)) {:doc "d"}) (core/require (quote [c :as d]) (quote e)) (core/use (quote f)) nil)`},
		{"(ns a (:refer-clojure :exclude [map]) (:import (java.io IOException)) (:gen-class))", "(do (core/in-ns (quote a)) (core/refer (quote clojure.core) (quote :exclude) (quote [map])) (core/import (java.io IOException)) nil)"},
		{"(import java.io.IOException [java.lang Exception])", "(do nil)"},
	} {
		b := newMacroBench(limit.Trusted())
		got, ex := b.expand(b.read(t, c.src))
		if ex != nil {
			t.Errorf("%s: threw %s", c.src, ex.Error())
		} else if s := b.shown(got); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.src, s, c.want)
		}
	}
}

func TestMacroDestructuring(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"a", "[a x]"},
		{"[a b]", "[vec1 x a (core/nth vec1 0 nil) b (core/nth vec1 1 nil)]"},
		{"[]", "[vec1 x]"},
		{"[:as all]", "[vec1 x all vec1]"},
		{"[a & r :as all]", "[vec1 x all vec1 seq2 (core/seq vec1) a (core/first seq2) seq3 (core/next seq2) r seq3]"},
		{"[& r]", "[vec1 x seq2 (core/seq vec1) r seq2]"},
		{"[a & [b]]", "[vec1 x seq2 (core/seq vec1) a (core/first seq2) seq3 (core/next seq2) b (core/nth seq3 0 nil)]"},
		{"[[a]]", "[vec1 x vec2 (core/nth vec1 0 nil) a (core/nth vec2 0 nil)]"},
		{"[& {:keys [a]}]", "[vec1 x seq2 (core/seq vec1) map3 (core/kwargs* seq2) a (core/get map3 :a)]"},
		{"{a :a}", "[map1 x map2 (core/kwargs* map1) a (core/get map2 :a)]"},
		{"{:keys [a b/c :d :e/f]}", "[map1 x map2 (core/kwargs* map1) a (core/get map2 :a) c (core/get map2 :b/c) d (core/get map2 :d) f (core/get map2 :e/f)]"},
		{"{:q/keys [a] :q/syms [b]}", "[map1 x map2 (core/kwargs* map1) a (core/get map2 :q/a) b (core/get map2 (quote q/b))]"},
		{"{:syms [a] :strs [b]}", `[map1 x map2 (core/kwargs* map1) a (core/get map2 (quote a)) b (core/get map2 "b")]`},
		{"{:keys [a] :or {a 1} :as m}", "[map1 x map2 (core/kwargs* map1) m map2 a (core/get map2 :a 1)]"},
		{"{[a] :v, b (f)}", "[map1 x map2 (core/kwargs* map1) vec3 (core/get map2 :v) a (core/nth vec3 0 nil) b (core/get map2 (f))]"},
	} {
		b := newMacroBench(limit.Trusted())
		got, ex := b.expand(b.read(t, "(let ["+c.pattern+" x])"))
		want := "(let* " + c.want + ")"
		if ex != nil {
			t.Errorf("%s: threw %s", c.pattern, ex.Error())
		} else if s := b.shown(got); s != want {
			t.Errorf("%s:\n got %s\nwant %s", c.pattern, s, want)
		}
	}
}

// TestMacroMalformed holds the texts of errors, and that each points at its form.
func TestMacroMalformed(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"(when)", "when: got 0 arguments, want 1 or more"},
		{"(if-let [a 1])", "if-let: got 1 argument, want 2 or 3"},
		{"(let [x] x)", "let: got 1 form in [x], want an even number: a name and a value each time"},
		{"(let (x 1) x)", "let: got (x 1), want a vector of bindings"},
		{"(let [1 2] 3)", "let: got 1 to bind, want a name, a vector or a map"},
		{"(let [a/b 1] b)", "let: got the qualified name a/b to bind, want a plain one"},
		{"(let [[& a b] x])", "let: got 2 forms after &, want 1: the name of the rest"},
		{"(let [[a :b c] x])", "let: got :b in a vector pattern, want :as and a name at its end"},
		{"(let [{:a b} x])", "let: got :a on the left of a map pattern, want a name or pattern there, its key on the right"},
		{"(let [{:keys a} x])", "let: got :keys a, want a vector of names"},
		{"(let [{:keys [1]} x])", "let: got 1 in :keys, want a name"},
		{"(let [{:keys [a] :or [a 1]} x])", "let: got :or [a 1], want a map from name to default"},
		{"(when-let [])", "when-let: got 0 forms in [], want 2: a name and a value"},
		{"(cond a)", "cond: got 1 form, want an even number: a test and an expression each time"},
		{"(cond-> a b)", "cond->: got 1 form after the value, want an even number: a test and a form each time"},
		{"(case x 1 :a 1 :b)", "case: got 1 twice, want each constant once"},
		{"(case x (1 1) :a)", "case: got 1 twice, want each constant once"},
		{"(condp = 1 2 :>>)", "condp: got :>> as the last form, want a function after it"},
		{"(fn)", "fn: got 0 arguments, want 1 or more"},
		{"(fn f)", "fn: got no parameters, want a vector of them"},
		{"(fn [& a b] a)", "fn: got 2 forms after &, want 1: the name of the rest"},
		{"(fn 1)", "fn: got 1, want a vector of parameters or ([params] body…)"},
		{"(defn 5 [])", "defn: got 5, want a plain name"},
		{"(defn f)", "defn: got 1 argument, want 2 or more"},
		{"(for [] 1)", "for: got no bindings, want a name and a collection"},
		{"(for [:let [a 1] x [1]] x)", "for: got :let first, want a name and a collection before any modifier"},
		{"(doseq [x xs :foo 1])", "doseq: got the modifier :foo, want :let, :when or :while"},
		{"(letfn [f] 1)", "letfn: got f, want (name [params] body…)"},
		{"(ns a (:foo b))", "ns: got (:foo b), want :require, :use, :refer, :refer-clojure, :import or :load first"},
		{"(import java.util.Date)", "import: got Date in java.util.Date, want an exception or a record type; there are no Java classes here"},
		{"(.. a b)", "..: got host interop, which this dialect has none of; use functions and ->"},
	} {
		b := newMacroBench(limit.Trusted())
		got, ex := b.expand(b.read(t, "\n "+c.src))
		switch {
		case ex == nil:
			t.Errorf("%s: got %s, want an error", c.src, b.shown(got))
		case ex.Error() != c.want:
			t.Errorf("%s:\n got %s\nwant %s", c.src, ex.Error(), c.want)
		case ex.Pos == nil || ex.Pos.Line != 2 || ex.Pos.Column != 2:
			t.Errorf("%s: got position %v, want 2:2", c.src, ex.Pos)
		}
	}
}

func TestMacroExpansionKeepsPlaces(t *testing.T) {
	b := newMacroBench(limit.Trusted())
	got, _ := b.expand(b.read(t, "(->\n a\n (b 1)\n c)"))
	if p := value.PosOf(got); p == nil || p.Line != 4 {
		t.Errorf("outer form: got %v, want the place of its step, line 4", p)
	}
	inner := value.First(b.t, value.Rest(b.t, got))
	if p := value.PosOf(inner); p == nil || p.Line != 3 {
		t.Errorf("inner form: got %v, want line 3", p)
	}
	got, _ = b.expand(b.read(t, "\n(when a b)"))
	if p := value.PosOf(got); p == nil || p.Line != 2 {
		t.Errorf("when: got %v, want line 2", p)
	}
}

func TestMacroDefinitionMetadata(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"(defn f [x] x)", "{:arglists (quote ([x]))}"},
		{`(defn f "d" {:added "1"} [x] x)`, `{:arglists (quote ([x])), :doc "d", :added "1"}`},
		{"(defn f ([x] x) ([x y] y) {:k 1})", "{:arglists (quote ([x] [x y])), :k 1}"},
		{"(defn- f [] 1)", "{:arglists (quote ([])), :private true}"},
		{"(defn ^:dynamic ^String f [] 1)", "{:tag (quote String), :dynamic true, :arglists (quote ([]))}"},
		{"(defmacro m [x & more] x)", "{:arglists (quote ([x & more])), :macro true}"},
		{"(defmacro m [x] {:a x})", "{:arglists (quote ([x])), :macro true}"},
	} {
		b := newMacroBench(limit.Trusted())
		got, ex := b.expand(b.read(t, c.src))
		if ex != nil {
			t.Errorf("%s: threw %s", c.src, ex.Error())
			continue
		}
		name, _ := value.Nth(b.t, got, 1)
		want := b.read(t, c.want)
		if m := value.Meta(name); !value.Equal(b.t, m, want) {
			t.Errorf("%s: got %s, want %s", c.src, value.PrStr(b.t, m), c.want)
		}
	}
}

// TestMacroFnHasNoPlaceInItsMetadata: the compiler gives a function the metadata of its form.
func TestMacroFnHasNoPlaceInItsMetadata(t *testing.T) {
	b := newMacroBench(limit.Trusted())
	for src, want := range map[string]string{"(fn [] 1)": "nil", "^:a (fn [] 1)": "{:a true}"} {
		got, _ := b.expand(b.read(t, src))
		if s := value.PrStr(b.t, value.Meta(got)); s != want || value.PosOf(got) == nil {
			t.Errorf("%s: got metadata %s and place %v, want %s and a place", src, s, value.PosOf(got), want)
		}
	}
}

func TestMacroKwargs(t *testing.T) {
	b := newMacroBench(limit.Trusted())
	for _, c := range []struct{ args, want string }{
		{"()", "{}"}, {"({:x 5})", "{:x 5}"}, {"(:x)", ":x"}, {"(:x 1 :y 2)", "{:x 1, :y 2}"},
		{"(:x 1 {:y 2})", "{:x 1, :y 2}"}, {"(:x 1 {:x 2})", "{:x 2}"}, {"(:x 1 nil)", "{:x 1}"},
		{"(:x 1 :x 2)", "{:x 2}"}, {"[1 2]", "[1 2]"}, {"nil", "nil"},
	} {
		if got := value.PrStr(b.t, kwargsMap(b.t, b.read(t, c.args))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.args, got, c.want)
		}
	}
}

// TestMacroExpansionIsBounded: what a macro call expands to is charged, and a deep pattern is stopped before the Go stack is.
func TestMacroExpansionIsBounded(t *testing.T) {
	small := limit.Defaults()
	small.Steps, small.Depth = 20_000, 500
	for _, c := range []struct {
		name string
		form func(*value.Thread) value.Value
		kind limit.Kind
	}{
		{"deep pattern", func(t *value.Thread) value.Value {
			p := value.Sym("a")
			for range 5_000 {
				p = value.NewVectorOwned(t, []value.Value{p})
			}
			return value.NewList(t, value.Sym("let"), value.NewVectorOwned(t, []value.Value{p, value.Nil}))
		}, limit.Depth},
		{"wide cond", func(t *value.Thread) value.Value {
			xs := make([]value.Value, 40_000)
			return value.Cons(t, value.Sym("cond"), value.NewArraySeq(xs))
		}, limit.Steps},
	} {
		free := newMacroBench(limit.Trusted())
		form := c.form(free.t)
		if c.kind == limit.Steps { // the same form is fine where nothing binds
			if _, ex := free.expand(form); ex != nil {
				t.Errorf("%s: threw %s without a limit", c.name, ex.Error())
			}
		}
		if got := macroTripped(newMacroBench(small), form); got != c.kind {
			t.Errorf("%s: got %q, want the %s limit", c.name, got, c.kind)
		}
	}
}

func macroTripped(b *macroBench, form value.Value) (kind limit.Kind) {
	defer func() {
		if e, ok := recover().(*limit.Error); ok {
			kind = e.Kind
		}
	}()
	b.expand(form)
	return ""
}
