package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// iterating is the options of iteration; nil stands for what Clojure takes by default.
type iterating struct{ step, some, val, key Value }

func iteration(t *Thread, args []Value) Value {
	var opts Value
	if rest := args[1:]; len(rest)%2 == 1 { // options may come, or end, as a map
		opts = value.Conj(t, value.NewMap(t, rest[:len(rest)-1]...), rest[len(rest)-1])
	} else {
		opts = value.NewMap(t, rest...)
	}
	opt := func(name string) Value { return get2(t, opts, value.Kw(name)) }
	it := iterating{args[0], opt("somef"), opt("vf"), opt("kf")}
	return it.from(t, opt("initk"))
}

// from gives the results from key k on.
func (it iterating) from(t *Thread, k Value) Value {
	return lazily(t, func(t *Thread) Value {
		ret := t.Call1(it.step, k)
		some := !ret.IsNil()
		if !it.some.IsNil() {
			some = t.Call1(it.some, ret).Truthy()
		}
		if !some {
			return value.Nil
		}
		val, next := callOr(t, it.val, ret), callOr(t, it.key, ret)
		if next.IsNil() {
			return value.NewList(t, val)
		}
		return value.Cons(t, val, it.from(t, next))
	}, k, it.step, it.some, it.val, it.key)
}

// callOr calls f, or gives x itself if there is no f.
func callOr(t *Thread, f, x Value) Value {
	if f.IsNil() {
		return x
	}
	return t.Call1(f, x)
}

func xmlSeq(t *Thread, root Value) Value {
	branch := native1(t, func(_ *Thread, x Value) Value { return value.Bool(x.Kind() != value.KindString) })
	kids := native1(t, func(t *Thread, x Value) Value { return value.Seq(t, get2(t, x, zipContent)) })
	return treeSeq(t, branch, kids, root)
}
