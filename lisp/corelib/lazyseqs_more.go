package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// The other lazy seqs.

// lazyDistinct shares one transient set along the seq: its parts are computed in order, by one thread at a time. An element
// is noted last of all, when nothing can interrupt any more, so that it is not lost when the part is tried again.
func lazyDistinct(t *Thread, coll, seen Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		for range stretch {
			if s.IsNil() {
				return s
			}
			t.Step()
			x := value.First(t, s)
			if !value.Contains(t, seen, x) {
				out := value.Cons(t, x, lazyDistinct(t, value.Rest(t, s), seen))
				value.ConjT(t, seen, x)
				return out
			}
			s = value.Next(t, s)
		}
		return lazyDistinct(t, s, seen)
	}, coll, seen)
}

func lazyInterleave(t *Thread, colls []Value) Value {
	return lazily(t, func(t *Thread) Value {
		t.Charge(32 * len(colls))
		firsts, rests := make([]Value, len(colls)), make([]Value, len(colls))
		for i, c := range colls {
			t.Step()
			if rests[i] = value.Seq(t, c); rests[i].IsNil() {
				return value.Nil
			}
		}
		for i, s := range rests {
			firsts[i], rests[i] = value.First(t, s), value.Rest(t, s)
		}
		rest := lazyInterleave(t, rests)
		for i := len(firsts) - 1; i >= 0; i-- {
			rest = value.Cons(t, firsts[i], rest)
		}
		return rest
	}, colls...)
}

func lazyInterpose(t *Thread, sep, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		return value.Cons(t, value.First(t, s), interposed(t, sep, value.Rest(t, s)))
	}, sep, coll)
}

func interposed(t *Thread, sep, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		return value.Cons(t, sep, value.Cons(t, value.First(t, s), interposed(t, sep, value.Rest(t, s))))
	}, sep, coll)
}

func lazyReductions(t *Thread, f, init, coll Value) Value {
	if value.IsReduced(init) {
		return value.NewList(t, value.Unreduced(init))
	}
	return value.Cons(t, init, lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		return lazyReductions(t, f, t.Call2(f, init, value.First(t, s)), value.Rest(t, s))
	}, f, init, coll))
}

func lazyRepeatedly(t *Thread, n int64, f Value) Value {
	return lazily(t, func(t *Thread) Value {
		if n == 0 {
			return value.Nil
		}
		return value.Cons(t, t.Call(f), lazyRepeatedly(t, n-1, f))
	}, f)
}

// treeSeq walks a tree depth first. todo is a seq of seqs of nodes.
func treeSeq(t *Thread, branch, children, node Value) Value {
	return lazily(t, func(t *Thread) Value {
		rest := value.EmptyList
		if t.Call1(branch, node).Truthy() {
			kids := t.Call1(children, node)
			rest = lazyConcat(t, lazyTrees(t, branch, children, kids))
		}
		return value.Cons(t, node, rest)
	}, branch, children, node)
}

func lazyTrees(t *Thread, branch, children, kids Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, kids)
		if s.IsNil() {
			return s
		}
		return value.Cons(t, treeSeq(t, branch, children, value.First(t, s)), lazyTrees(t, branch, children, value.Rest(t, s)))
	}, branch, children, kids)
}

func flatten(t *Thread, x Value) Value {
	if k := x.Kind(); !k.IsSequential() && k != value.KindEduction {
		return value.EmptyList
	}
	return flattened(t, value.NewList(t, x))
}

// flattened gives the leaves of a stack of seqs: each thunk goes down as far as the next leaf.
func flattened(t *Thread, stack Value) Value {
	return lazily(t, func(t *Thread) Value {
		stack := stack
		for range stretch {
			t.Step()
			if stack.Kind() == value.KindEmptyList {
				return value.Nil
			}
			s, under := value.Seq(t, value.First(t, stack)), value.Rest(t, stack)
			if s.IsNil() {
				stack = under
				continue
			}
			x := value.First(t, s)
			stack = value.Conj(t, under, value.Rest(t, s))
			if k := x.Kind(); !k.IsSequential() && k != value.KindEduction {
				return value.Cons(t, x, flattened(t, stack))
			}
			stack = value.Conj(t, stack, x)
		}
		return flattened(t, stack)
	}, stack)
}
