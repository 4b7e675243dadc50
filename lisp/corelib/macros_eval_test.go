package corelib

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// macroProgramBench is an environment of the macros and a handful of functions: what expansions call and what the programs below
// use, straight over lisp/value.
func macroProgramBench(l limit.Limits) *value.Thread {
	core := value.NewNamespace(coreName)
	for _, b := range append(macros(), macroFewFunctions()...) {
		v := core.Intern(b.Name)
		v.SetRoot(value.Of(value.NewBuiltin(v.FullName(), &b)))
		v.Macro.Store(b.Macro)
	}
	env := value.NewEnv(core, nil)
	env.Home = env.Create("user")
	env.Eval = compile.Eval
	return value.NewThread(value.NewRun(context.Background(), l), env)
}

func macroProgram(t *value.Thread, src string) (v value.Value, err error) {
	m := t.Mark()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *value.Exception:
			t.Unwind(m)
			err = r
		case *limit.Error:
			err = r
		default:
			panic(r)
		}
	}()
	r := read.New(t, src, read.Options{File: "test.joke", CurrentNS: "user", CoreNS: coreName,
		Resolve: compile.Qualify})
	for {
		form, err := r.Read()
		if errors.Is(err, io.EOF) {
			return v, nil
		}
		if err != nil {
			return v, err
		}
		v = compile.Eval(t, form)
	}
}

func macroFewFunctions() []value.Builtin {
	type (
		th = *value.Thread
		va = value.Value
	)
	is := func(name string, f func(va) bool) value.Builtin {
		return value.Builtin{Name: name, F1: func(_ th, x va) va { return value.Bool(f(x)) }}
	}
	fold := func(name string, f func(th, va, va) va) value.Builtin {
		return value.Builtin{Name: name, N: func(t th, xs []va) va {
			acc := xs[0]
			for _, x := range xs[1:] {
				acc = f(t, acc, x)
			}
			return acc
		}, Min: 1}
	}
	all := func(name string, f func(th, []va) va) value.Builtin { return value.Builtin{Name: name, N: f} }
	return []value.Builtin{
		fold("+", value.Add), fold("-", value.Sub), fold("*", value.Mul), fold("/", value.Div),
		fold("conj", value.Conj),
		is("nil?", func(x va) bool { return x.IsNil() }), is("not", func(x va) bool { return !x.Truthy() }),
		is("seq?", func(x va) bool { return x.Kind().IsSeq() }),
		is("odd?", func(x va) bool { return x.Int()%2 != 0 }), is("even?", func(x va) bool { return x.Int()%2 == 0 }),
		is("pos?", func(x va) bool { return x.Int() > 0 }), is("zero?", func(x va) bool { return x.Int() == 0 }),
		is("bound?", func(x va) bool { _, ok := value.As[value.Var](x).Root(); return ok }),
		{Name: "inc", F1: value.Inc}, {Name: "dec", F1: value.Dec}, {Name: "long", F1: func(_ th, x va) va { return x }},
		{Name: "=", F2: func(t th, a, b va) va { return value.Bool(value.Equal(t, a, b)) }},
		{Name: "<", F2: func(t th, a, b va) va { return value.Bool(value.NumLess(t, a, b)) }},
		{Name: ">", F2: func(t th, a, b va) va { return value.Bool(value.NumLess(t, b, a)) }},
		{Name: "seq", F1: value.Seq}, {Name: "first", F1: value.First}, {Name: "next", F1: value.Next}, {Name: "rest", F1: value.Rest},
		{Name: "cons", F2: value.Cons}, {Name: "count", F1: func(t th, x va) va { return value.Int(int64(value.Count(t, x))) }},
		{Name: "nth", F3: func(t th, c, i, d va) va {
			if c.Kind().IsMap() || c.Kind().IsSet() {
				panic(value.TypeError(t, "nth", c, "a sequential collection"))
			}
			if x, ok := value.Nth(t, c, int(i.Int())); ok {
				return x
			}
			return d
		}},
		{Name: "get", F2: func(t th, m, k va) va { x, _ := value.Get(t, m, k); return x },
			F3: func(t th, m, k, d va) va {
				if x, ok := value.Get(t, m, k); ok {
					return x
				}
				return d
			}},
		all("list", func(t th, xs []va) va { return value.NewList(t, xs...) }),
		all("vector", func(t th, xs []va) va { return value.NewVector(t, xs) }),
		all("hash-map", func(t th, xs []va) va { return value.NewMap(t, xs...) }),
		all("concat", func(t th, xs []va) va {
			var out []va
			for _, x := range xs {
				out = append(out, value.ToSlice(t, x)...)
			}
			return value.NewList(t, out...)
		}),
		{Name: "apply", F2: func(t th, f, xs va) va { return t.Call(f, value.ToSlice(t, xs)...) }},
		{Name: "range", F0: func(t th) va {
			return value.NewNumRange(t, value.Int(0), value.Nil, value.Int(1))
		}, F1: func(_ th, n va) va { return value.NewRange(0, n.Int(), 1) }},
		{Name: "iterate", F2: func(_ th, f, x va) va { return value.NewIterate(f, x) }},
		{Name: "atom", F1: func(t th, x va) va { return value.Of(value.NewAtom(t, x)) }},
		{Name: "deref", F1: func(t th, x va) va {
			switch x.Kind() {
			case value.KindAtom:
				return value.As[value.Atom](x).Get()
			case value.KindDelay:
				return value.As[value.Delay](x).Force(t)
			}
			v, _ := value.As[value.Future](x).Await(t, -1)
			return v
		}},
		all("swap!", func(t th, xs []va) va {
			args := append([]va{}, xs...)
			_, v := value.As[value.Atom](args[0]).Swap(t, func(old va) va {
				return t.Call(args[1], append([]va{old}, args[2:]...)...)
			})
			return v
		}),
		{Name: "future-call", F1: func(t th, f va) va { return value.Of(value.NewFuture(t, f)) }},
		{Name: "with-bindings*", F2: func(t th, m, f va) va {
			saved := t.Binds
			var vars []*value.Var
			var vals []va
			value.EachKV(t, m, func(k, v va) bool {
				vars, vals = append(vars, value.As[value.Var](k)), append(vals, v)
				return true
			})
			t.Bind(vars, vals)
			v := t.Call(f)
			t.Binds = saved
			return v
		}},
		{Name: "var-get", F1: func(t th, v va) va { return value.As[value.Var](v).Get(t) }},
		{Name: "var-set", F2: func(t th, v, x va) va { t.Box(value.As[value.Var](v)).Set(x); return x }},
		{Name: "message", F1: func(_ th, e va) va { return value.As[value.Exception](e).Message }},
		{Name: "meta-of", F1: func(_ th, x va) va { return value.Meta(x) }},
	}
}

// TestMacroPrograms runs programs. Values are those of Clojure 1.11, most of them from the conformance corpus.
func TestMacroPrograms(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"(let [[a b c] [1 2]] [a b c])", "[1 2 nil]"},
		{"(let [[a & r] [1 2 3]] [a r])", "[1 (2 3)]"},
		{"(let [[& r] []] r)", "nil"},
		{"(let [[a b & r :as all] [1 2 3 4]] [a b r all])", "[1 2 (3 4) [1 2 3 4]]"},
		{"(let [[a [b [c]]] [1 [2 [3]]]] [a b c])", "[1 2 3]"},
		{`(let [[a b] "xy"] [a b])`, `[\x \y]`},
		{"(let [[a b] (range)] [a b])", "[0 1]"},
		{"(let [[a & [b c]] [1 2 3]] [a b c])", "[1 2 3]"},
		{"(let [[a & [_ & more]] [1 2 3 4]] [a more])", "[1 (3 4)]"},
		{"(let [[:as x] [1 2]] x)", "[1 2]"},
		{"(let [{:keys [a] :or {a 5}} {:a false}] a)", "false"},
		{"(let [{:strs [x] :keys [y] :syms [z]} {\"x\" 1 :y 2 'z 3}] [x y z])", "[1 2 3]"},
		{"(let [{:x/keys [a b]} {:x/a 1 :x/b 2}] [a b])", "[1 2]"},
		{"(let [{:keys [x/a :y/b]} {:x/a 1 :y/b 2}] [a b])", "[1 2]"},
		{"(let [{::keys [a]} {::a 7}] a)", "7"},
		{"(let [n 1 {:keys [a] :or {a (inc n)}} {}] a)", "2"},
		{"(let [{:keys [a]} nil] a)", "nil"},
		{"(let [{:keys [a]} '(:a 1)] a)", "1"},
		{"(let [{:keys [a]} [[:a 1]]] a)", "nil"},
		{"(let [{:keys [a]} '(:a)] a)", "nil"},
		{"(let [{:keys [a] b :bb [c] :cs} {:a 1 :bb 2 :cs [3]}] [a b c])", "[1 2 3]"},
		{"(let [{:keys [a/x] :or {x 5}} {}] x)", "5"},
		{"((fn [& {:keys [x y] :or {y 9}}] [x y]) :x 1)", "[1 9]"},
		{"((fn [& {:keys [x] :as m}] m) :x 1 :z 2)", "{:x 1, :z 2}"},
		{"((fn [& {:keys [x]}] x))", "nil"},
		{"((fn [& {:keys [x]}] x) {:x 5})", "5"},
		{"((fn [& {:keys [x y]}] [x y]) :x 1 {:y 2})", "[1 2]"},
		{"((fn [& {:keys [x]}] x) :x)", "nil"},
		{"(do (defn f [[x y] & {:keys [z]}] [x y z]) (f [1 2] :z 3))", "[1 2 3]"},
		{"(loop [[x & xs] [1 2 3] acc 0] (if x (recur xs (+ acc x)) acc))", "6"},
		{"(loop [{:keys [n acc]} {:n 3 :acc 1}] (if (zero? n) acc (recur {:n (dec n) :acc (* acc n)})))", "6"},
		{"(loop [[a] [1] b a] (if (= b 1) (recur [5] 2) [a b]))", "[5 2]"},
		{"(let [nth 1 get 2 seq 3 [a & r] [1 2] {:keys [b]} {:b 3}] [nth get seq a r b])", "[1 2 3 1 (2) 3]"},
		{"(let [{:keys [fn if]} {:fn 1 :if 2}] [fn])", "[1]"},

		{"(if-let [[a b] [1 2]] (+ a b) :none)", "3"}, {"(let [x 10] (if-let [x nil] x x))", "10"},
		{"(if-some [x false] [x] :no)", "[false]"}, {"(when-first [x (range)] x)", "0"}, {"(when-first [x []] :never)", "nil"},
		{"(condp = 3 1 :one :default)", ":default"}, {"(condp < 5 10 :a 3 :b)", ":b"},
		{"(condp (fn [k m] (get m k)) {:a 1} :b :>> inc :a :>> inc)", "2"},
		{"(case 5 (1 2 3) :low (4 5 6) (list :mid) :hi)", "(:mid)"},
		{"(case 7 (1 2 3) :low (4 5 6) (list :mid) :hi)", ":hi"},
		{"(case [1 2] [1 2] :vec :no)", ":vec"}, {"(case nil nil :nil :other)", ":nil"}, {"(case 1.0 1 :int 1.0 :dbl :no)", ":dbl"},
		{"(let [x 1] (case 1 x :sym :no))", ":no"}, {"(case 1 () :a :b)", ":b"},
		{"(loop [i 10] (case i (0 -1) [:zero] (recur (dec i))))", "[:zero]"},
		{"(loop [i 0] (or (when (> i 3) i) (recur (inc i))))", "4"},
		{"(-> 5 (- 3))", "2"}, {"(->> 5 (- 3))", "-2"}, {"(some-> {:a {:b 1}} :a :b inc)", "2"}, {"(some-> {:a 1} :b (/ 0))", "nil"},
		{"(some-> false not)", "true"}, {"(cond-> [] (> 1 0) (conj :a) (< 1 0) (conj :b))", "[:a]"}, {"(cond-> 5)", "5"},
		{"(as-> [1 2] v (conj v 0) (count v))", "3"},
		{"(let [a (atom [])] (doto a (swap! conj 1) (swap! conj 2)) @a)", "[1 2]"},

		{"(defn f [x] {:pre [(pos? x)] :post [(odd? %)]} x) (f 1)", "1"},
		{"(defn f ([x] (f x 1)) ([x y] (+ x y))) (f 5)", "6"},
		{"(defmacro m [[a & b]] `(list ~@b ~a)) (m (1 2 3))", "(2 3 1)"},
		{"(defmacro m [] (list 'quote (first &form))) (m)", "m"},
		{"(defonce a 1) (defonce a 2) a", "1"}, {"(declare q) (defn p [] (q)) (defn q [] 3) (p)", "3"},
		{"(letfn [(ev [n] (if (zero? n) true (od (dec n)))) (od [n] (if (zero? n) false (ev (dec n))))] (ev 101))", "false"},
		{"(meta-of (fn [] 1))", "nil"}, {"(meta-of ^:a (fn [] 1))", "{:a true}"},
		{"(try (assert (= 1 2)) (catch AssertionError e (message e)))", `"Assert failed: (= 1 2)"`},
		{"(try (assert (= 1 2) \"no\") (catch AssertionError e (message e)))", `"Assert failed: no\n(= 1 2)"`},
		{"(try (case 3 1 :one) (catch IllegalArgumentException e (message e)))", `"case: got a value that no clause matches (No matching clause: 3); add a default as the last form"`},

		{"(let [a (atom 0)] (while (< @a 5) (swap! a inc)) @a)", "5"},
		{"(let [a (atom [])] (dotimes [i 3] (swap! a conj i)) @a)", "[0 1 2]"}, {"(dotimes [i -1] (throw 1))", "nil"},
		{"(let [a (atom [])] (doseq [x (range 10) :when (even? x) :while (< x 6) :let [y (* x x)]] (swap! a conj y)) @a)", "[0 4 16]"},
		{"(let [a (atom [])] (doseq [x [1 2 3] y [1 2 3] :while (< y x)] (swap! a conj [x y])) @a)", "[[2 1] [3 1] [3 2]]"},
		{"(doseq [])", "nil"}, {"(doseq [x nil] 1)", "nil"}, {"(doseq [x (range) :while (< x 50)] x)", "nil"},
		{"(for [x [1 2] y [:a :b]] [x y])", "([1 :a] [1 :b] [2 :a] [2 :b])"},
		{"(for [x (range 3) y (range x)] [x y])", "([1 0] [2 0] [2 1])"},
		{"(for [x [1 2 3] y [1 2 3] :while (< y x)] [x y])", "([2 1] [3 1] [3 2])"},
		{"(for [x [1 2 3] :when (odd? x) y [1 2] :when (even? y)] [x y])", "([1 2] [3 2])"},
		{"(for [x (range) :while (< x 70)] nil)", "(" + macroRepeat("nil", 70) + ")"},
		{"(for [x nil] x)", "()"}, {"(for [x (range 3) :while (< x 0)] x)", "()"}, {"(for [x [1 nil false]] x)", "(1 nil false)"},
		{"(first (for [x (range) :when (> (* x x) 50)] x))", "8"},
		{"(count (for [x (range 10) y (range 10) :when (< x y)] 1))", "45"},
		{"(count (for [x (range 100) y (range 100)] 1))", "10000"},
		{"(for [[a & r] [[1 2 3]] y r] [a y])", "([1 2] [1 3])"}, {"(for [a [1] b [a] c [b]] [a b c])", "([1 1 1])"},
		{"(let [seen (atom 0)] (first (for [x (iterate inc 0)] (do (swap! seen inc) x))) @seen)", "1"},
		{"(let [seen (atom 0)] (first (for [x (range 100)] (do (swap! seen inc) x))) @seen)", "32"},
		{"(let [seen (atom 0)] (first (for [x (iterate inc 0) y [1 2]] (swap! seen inc))) @seen)", "2"},
		{"(let [a (atom 0) s (for [x [1 2]] (do (swap! a inc) (if (< @a 2) (throw (assert-error* 'x)) x)))] (try (first s) (catch Error e nil)) (first s))", "1"},

		{"(lazy-cat [1] (lazy-seq nil) [2])", "(1 2)"}, {"@(delay 1 2)", "2"}, {"@(future 1 2)", "2"},
		{"(def ^:dynamic *x* 1) [(binding [*x* 2] *x*) *x*]", "[2 1]"},
		{"(with-local-vars [a 1 b 2] (var-set a 5) [(var-get a) (var-get b)])", "[5 2]"},
		{"(locking 'a (locking 'b 3))", "3"}, {"(let [a (atom 0)] (try (locking a (throw (assert-error* 1))) (catch Error e nil)) (locking a 2))", "2"},
		{"(let [a (atom 0) n (atom 0)] (doseq [f (for [_ (vector 1 2 3 4)] (future (dotimes [_ 50] (locking a (swap! n inc)))))] @f) @n)", "200"},
		{"(let [s (for [x (range 3)] (future (* x x)))] (for [f s] @f))", "(0 1 4)"},
	} {
		th := macroProgramBench(limit.Trusted())
		v, err := macroProgram(th, c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
		} else if got := value.PrStr(th, v); got != c.want {
			t.Errorf("%s: got %s, want %s", c.src, got, c.want)
		}
	}
}

func macroRepeat(s string, n int) string {
	out := s
	for range n - 1 {
		out += " " + s
	}
	return out
}

func TestMacroProgramsThatThrow(t *testing.T) {
	for _, src := range []string{
		"(let [[a b] {:x 1}] a)", "(let [[a] #{1}] a)", "(let [x] x)", "(let [1 2] 3)", "(let [a/b 1] b)",
		"(cond false)", "(condp = 3 1 :one)", "(case 3 1 :one)", "(case 1)", "(case 1 1 :a 1 :b)",
		"(if-let [x 1])", "(when-let [])", "(for [] 1)", "(for [x [1] y] y)", "(first (for [x 5] x))", "(doseq [x 5] x)",
		"(defmacro m [x] x) (m)", "(defmacro m [x] x) (m 1 2)", "(defn f [x] {:pre [(pos? x)]} x) (f -1)",
		"(defn f [x] {:post [(pos? %)]} x) (f -1)", "(doseq [x [1]] (recur 1))", "(first (for [x [1]] (recur 1)))", "(loop [i 0] (doseq [x [1]] (recur 1)))",
		"(locking nil 1)", "((fn [& {:keys [a]}] a) :a 1 :b)",
	} {
		if v, err := macroProgram(macroProgramBench(limit.Trusted()), src); err == nil {
			t.Errorf("%s: got %v, want an exception", src, v)
		}
	}
}

// TestMacroCodeGrowsWithWhatIsWritten: nesting for, doseq, case, condp and the arrows must not multiply the code. With code
// that doubles at each level, 30 levels would run out of any limit.
func TestMacroCodeGrowsWithWhatIsWritten(t *testing.T) {
	nest := func(before, inner, after string, n int) string {
		out := inner
		for range n {
			out = before + out + after
		}
		return out
	}
	l := limit.Defaults()
	l.Steps = 200_000
	for _, src := range []string{
		nest("(for [x [1]] ", "1", ")", 30),
		nest("(doseq [x [1]] ", "1", ")", 30),
		nest("(case 1 (1 2 3) ", "(inc 1)", ")", 30),
		nest("(condp = 1 1 ", "(inc 1)", ")", 30),
		nest("(-> 1 (+ ", "1", "))", 30),
		nest("(some-> 1 (+ ", "1", "))", 30),
		nest("(if-let [a 1] ", "1", " 2)", 30),
		nest("(loop [[a] [1]] ", "1", ")", 30),
	} {
		if _, err := macroProgram(macroProgramBench(l), src); err != nil {
			t.Errorf("%.40s…: %v", src, err)
		}
	}
}

// TestMacroLoopsAreBounded: the loops that run in Go stop at a limit like any other, and leave the thread's locks free.
func TestMacroLoopsAreBounded(t *testing.T) {
	l := limit.Defaults()
	l.Steps = 100_000
	for _, src := range []string{
		"(doseq [x (range)] 1)", "(count (for [x (range)] x))", "(first (for [x (range) :when false] x))",
		"(first (for [x (range) y []] x))", "(locking 'a (while true))", "(dotimes [i 1000000000] i)",
	} {
		_, err := macroProgram(macroProgramBench(l), src)
		var le *limit.Error
		if !errors.As(err, &le) {
			t.Errorf("%s: got %v, want a limit", src, err)
		}
	}
}

// TestMacroForLetsGo: elements that :when skips are not kept alive by the seq that waits for one.
func TestMacroForLetsGo(t *testing.T) {
	l := limit.Defaults()
	l.Bytes, l.Steps = 1<<20, 50_000_000
	for _, src := range []string{
		"(first (for [x (range) :when (> x 300000)] x))",
		"(first (for [x (iterate inc 0) :when (> x 100000)] x))",
		"(first (for [x (range) :when (> x 100000) y [1]] x))",
		"(doseq [x (range) :while (< x 300000)] x)",
	} {
		if _, err := macroProgram(macroProgramBench(l), src); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
}
