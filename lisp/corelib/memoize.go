package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// memoizeFn remembers results in an atom, which counts as alive with the function. Two threads may compute one result
// twice.
func memoizeFn(t *Thread, f Value) Value {
	memo := value.NewAtom(t, value.EmptyMap)
	remember := func(t *Thread, key Value, call func() Value) Value {
		if v, ok := value.Get(t, memo.Get(), key); ok {
			return v
		}
		v := call()
		memo.Swap(t, func(m Value) Value { return value.Assoc(t, m, key, v) })
		return v
	}
	c := &closure{name: "memoize", f1: func(t *Thread, x Value) Value {
		return remember(t, value.NewList(t, x), func() Value { return t.Call1(f, x) })
	}}
	c.more = func(t *Thread, args []Value) Value {
		return remember(t, value.NewList(t, args...), func() Value { return t.Call(f, args...) })
	}
	return c.make(t, f, value.Of(memo))
}
