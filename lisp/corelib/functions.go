package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// functions are those that take and give functions.
func functions() []Def {
	return []Def{
		{Name: "apply", Arglists: "([f args] [f x args] [f x y args] [f x y z args] [f a b c d & args])",
			Doc: "Calls f with the given arguments followed by the elements of the last one.", N: applyFn, Min: 2},
		{Name: "partial", Arglists: "([f] [f x] [f x & more])",
			Doc: "A function that calls f with the given arguments before its own.", F1: func(_ *Thread, f Value) Value { return f }, N: partialFn, Min: 2},
		{Name: "comp", Arglists: "([] [f] [f g] [f g & fs])",
			Doc: "The composition of functions: the last is called with all arguments, each other with the result of the one after it.",
			N:   compFn},
		{Name: "complement", Arglists: "([f])", Doc: "A function that tells the opposite of f.", F1: complementFn},
		{Name: "constantly", Arglists: "([x])", Doc: "A function of any arguments that gives x.", F1: constantlyFn},
		{Name: "identity", Arglists: "([x])", Doc: "Gives x.", F1: func(_ *Thread, x Value) Value { return x }},
		{Name: "juxt", Arglists: "([f] [f g] [f g h] [f g h & fs])",
			Doc: "A function that gives the vector of what each of fs gives for its arguments.", N: juxtFn, Min: 1},
		{Name: "fnil", Arglists: "([f x] [f x y] [f x y z])",
			Doc: "A function that calls f with the given values in place of its first arguments that are nil.", N: fnilFn, Min: 2, Max: 4},
		{Name: "memoize", Arglists: "([f])", Doc: "A function that calls f once for each list of arguments and remembers the result.", F1: memoizeFn},
		{Name: "trampoline", Arglists: "([f] [f & args])",
			Doc: "Calls f, then what it gives for as long as that is a function, and gives the first result that is not.", N: trampolineFn, Min: 1},
		{Name: "some-fn", Arglists: "([p] [p & ps])",
			Doc: "A function that gives the first true result of any predicate for any of its arguments.", N: someFnFn, Min: 1},
		{Name: "every-pred", Arglists: "([p] [p & ps])",
			Doc: "A function that tells whether every predicate is true of every one of its arguments.", N: everyPredFn, Min: 1},
	}
}

func applyFn(t *Thread, args []Value) Value {
	n := len(args) - 1
	f, last := args[0], args[n]
	if v, ok := applyLazily(t, f, args[1:n], last); ok {
		return v
	}
	xs := value.ToSlice(t, last)
	if n == 1 {
		return t.Call(f, xs...)
	}
	t.Steps(len(xs) >> 3)
	t.Charge(16 * (n + len(xs)))
	all := append(append(make([]Value, 0, n-1+len(xs)), args[1:n]...), xs...)
	return t.Call(f, all...)
}

// applyLazily calls, without reading all arguments, a function that takes the rest of them as a seq, and those of the core
// that are lazy in their arguments: (apply concat endless) works.
func applyLazily(t *Thread, f Value, args []Value, last Value) (Value, bool) {
	if f.Kind() != value.KindFn {
		return f, false
	}
	fn := value.As[value.Fn](f)
	switch b := fn.Code.Builtin; {
	case fn.Code.Rest != nil:
		return applyRest(t, fn, args, last)
	case b != nil && b.Name == "concat" && !value.Counted(last):
		return lazyConcat(t, spread(t, args, last)), true
	}
	return f, false
}

// applyRest takes the arguments that fn wants before its &, and leaves the others as they are; false when there are so few
// that another arity may be meant.
func applyRest(t *Thread, fn *value.Fn, args []Value, last Value) (Value, bool) {
	n := fn.Code.Required
	s := spread(t, args, last)
	t.Charge(16 * n)
	first := make([]Value, n)
	for i := range first {
		if s = value.Seq(t, s); s.IsNil() {
			return s, false
		}
		t.Step()
		first[i], s = value.First(t, s), value.Rest(t, s)
	}
	if s = value.Seq(t, s); s.IsNil() {
		return s, false
	}
	return fn.Code.Rest(t, fn, first, s), true
}

// spread puts args before the seq of last.
func spread(t *Thread, args []Value, last Value) Value {
	for i := len(args) - 1; i >= 0; i-- {
		last = value.Cons(t, args[i], last)
	}
	return last
}

func partialFn(t *Thread, args []Value) Value {
	f, pre := args[0], copied(t, args[1:])
	c := &closure{name: "partial", more: func(t *Thread, args []Value) Value {
		all := with(t, pre, args)
		v := t.Call(f, all...)
		t.Pop(len(all))
		return v
	}}
	if len(pre) == 1 {
		a := pre[0]
		c.f0 = func(t *Thread) Value { return t.Call1(f, a) }
		c.f1 = func(t *Thread, x Value) Value { return t.Call2(f, a, x) }
	}
	return c.make(t, append(pre[:len(pre):len(pre)], f)...)
}

func compFn(t *Thread, args []Value) Value {
	switch len(args) {
	case 0:
		return (&closure{name: "identity", f1: func(_ *Thread, x Value) Value { return x }}).make(t)
	case 1:
		return args[0]
	}
	fs := copied(t, args)
	last := len(fs) - 1
	then := func(t *Thread, v Value) Value {
		for i := last - 1; i >= 0; i-- {
			v = t.Call1(fs[i], v)
		}
		return v
	}
	c := &closure{name: "comp",
		f0:   func(t *Thread) Value { return then(t, t.Call(fs[last])) },
		f1:   func(t *Thread, x Value) Value { return then(t, t.Call1(fs[last], x)) },
		f2:   func(t *Thread, x, y Value) Value { return then(t, t.Call2(fs[last], x, y)) },
		more: func(t *Thread, args []Value) Value { return then(t, t.Call(fs[last], args...)) },
	}
	return c.make(t, fs...)
}

func complementFn(t *Thread, f Value) Value {
	not := func(v Value) Value { return value.Bool(!v.Truthy()) }
	c := &closure{name: "complement",
		f0:   func(t *Thread) Value { return not(t.Call(f)) },
		f1:   func(t *Thread, x Value) Value { return not(t.Call1(f, x)) },
		f2:   func(t *Thread, x, y Value) Value { return not(t.Call2(f, x, y)) },
		more: func(t *Thread, args []Value) Value { return not(t.Call(f, args...)) },
	}
	return c.make(t, f)
}

func constantlyFn(t *Thread, x Value) Value {
	c := &closure{name: "constantly",
		f0:   func(*Thread) Value { return x },
		f1:   func(*Thread, Value) Value { return x },
		f2:   func(*Thread, Value, Value) Value { return x },
		more: func(*Thread, []Value) Value { return x },
	}
	return c.make(t, x)
}

func juxtFn(t *Thread, args []Value) Value {
	fs := copied(t, args)
	all := func(t *Thread, call func(f Value) Value) Value {
		t.Charge(16 * len(fs))
		out := make([]Value, len(fs))
		t.Watch(out)
		for i, f := range fs {
			t.Step()
			out[i] = call(f)
		}
		t.Unwatch()
		return value.NewVectorOwned(t, out)
	}
	c := &closure{name: "juxt",
		f0:   func(t *Thread) Value { return all(t, func(f Value) Value { return t.Call(f) }) },
		f1:   func(t *Thread, x Value) Value { return all(t, func(f Value) Value { return t.Call1(f, x) }) },
		f2:   func(t *Thread, x, y Value) Value { return all(t, func(f Value) Value { return t.Call2(f, x, y) }) },
		more: func(t *Thread, args []Value) Value { return all(t, func(f Value) Value { return t.Call(f, args...) }) },
	}
	return c.make(t, fs...)
}

func fnilFn(t *Thread, args []Value) Value {
	f, subst := args[0], copied(t, args[1:])
	n := len(subst)
	c := &closure{name: "fnil", least: n, more: func(t *Thread, args []Value) Value {
		all := with(t, nil, args)
		for i, s := range subst {
			if all[i].IsNil() {
				all[i] = s
			}
		}
		v := t.Call(f, all...)
		t.Pop(len(all))
		return v
	}}
	if n == 1 {
		c.f1 = func(t *Thread, x Value) Value { return t.Call1(f, orElse(x, subst[0])) }
		c.f2 = func(t *Thread, x, y Value) Value { return t.Call2(f, orElse(x, subst[0]), y) }
	}
	return c.make(t, append(subst[:n:n], f)...)
}

func orElse(x, other Value) Value {
	if x.IsNil() {
		return other
	}
	return x
}

func trampolineFn(t *Thread, args []Value) Value {
	v := t.Call(args[0], args[1:]...)
	for v.Kind() == value.KindFn || v.Kind() == value.KindMultiFn || v.Kind() == value.KindProtocolFn {
		t.Step()
		v = t.Call(v)
	}
	return v
}

func someFnFn(t *Thread, args []Value) Value {
	ps := copied(t, args)
	try := func(t *Thread, x Value) Value {
		v := value.Nil
		for _, p := range ps {
			if v = t.Call1(p, x); v.Truthy() {
				return v
			}
		}
		return v
	}
	c := &closure{name: "some-fn",
		f0: func(*Thread) Value { return value.Nil },
		f1: try,
		more: func(t *Thread, args []Value) Value {
			v := value.Nil
			for _, p := range ps { // as in Clojure, the predicates go round outside the arguments
				for _, x := range args {
					if v = t.Call1(p, x); v.Truthy() {
						return v
					}
				}
			}
			if len(args) > 3 || len(ps) > 3 { // nor do these say what was false
				return value.Nil
			}
			return v
		}}
	return c.make(t, ps...)
}

func everyPredFn(t *Thread, args []Value) Value {
	ps := copied(t, args)
	all := func(t *Thread, xs []Value) Value {
		for _, p := range ps {
			for _, x := range xs {
				if !t.Call1(p, x).Truthy() {
					return value.False
				}
			}
		}
		return value.True
	}
	c := &closure{name: "every-pred",
		f0:   func(*Thread) Value { return value.True },
		more: all}
	return c.make(t, ps...)
}
