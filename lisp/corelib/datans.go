package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// dataNS is clojure.data.
func dataNS() []Def {
	return []Def{{Name: "diff", Arglists: "([a b])",
		Doc: "A vector of what is only in a, what is only in b and what is in both, going into maps, sets and sequential collections.", F2: diff}}
}

// Diff is clojure.data/diff for Go code: what only a has, what only b has, what both have.
func Diff(t *Thread, a, b Value) Value { return diff(t, a, b) }

func triple(t *Thread, a, b, both Value) Value {
	t.Charge(48)
	return value.NewVectorOwned(t, []Value{a, b, both})
}

func diff(t *Thread, a, b Value) Value {
	ka, kb := a.Kind(), b.Kind()
	t.Step()
	switch {
	case value.Equal(t, a, b):
		return triple(t, value.Nil, value.Nil, a)
	case ka.IsMap() && kb.IsMap():
		return diffMaps(t, a, b)
	case ka.IsSet() && kb.IsSet():
		return diffSets(t, a, b)
	case ka.IsSequential() && kb.IsSequential():
		return diffRows(t, a, b)
	}
	return triple(t, a, b, value.Nil)
}

// keyDiff is the difference of two values under one key: the parts, and whether the key stands in each part.
type keyDiff struct {
	part [3]Value
	has  [3]bool
}

func diffAt(t *Thread, a, b Value) keyDiff {
	var d keyDiff
	v := value.As[value.Vector](diff(t, a, b))
	for i := range d.part {
		d.part[i] = v.Nth(i)
	}
	same := !d.part[2].IsNil() || a.IsNil() && b.IsNil()
	d.has = [3]bool{!same || !d.part[0].IsNil(), !same || !d.part[1].IsNil(), same}
	return d
}

func diffMaps(t *Thread, a, b Value) Value {
	var out [3]Value
	put := func(i int, k, v Value) {
		if out[i].IsNil() {
			out[i] = value.EmptyMap
		}
		out[i] = value.Assoc(t, out[i], k, v)
	}
	t.Enter()
	value.EachKV(t, a, func(k, va Value) bool {
		vb, ok := value.Get(t, b, k)
		if !ok {
			put(0, k, va)
			return true
		}
		d := diffAt(t, va, vb)
		for i := range out {
			if d.has[i] {
				put(i, k, d.part[i])
			}
		}
		return true
	})
	t.Leave()
	value.EachKV(t, b, func(k, v Value) bool {
		if _, ok := value.Get(t, a, k); !ok {
			put(1, k, v)
		}
		return true
	})
	return triple(t, out[0], out[1], out[2])
}

func diffSets(t *Thread, a, b Value) Value {
	return triple(t, notEmpty(t, difference(t, []Value{toSet(t, a), b})), notEmpty(t, difference(t, []Value{toSet(t, b), a})),
		notEmpty(t, intersection(t, []Value{toSet(t, a), toSet(t, b)})))
}

// diffRows compares by index. Where a side has nothing of its own its part is nil; a part ends with its last element.
func diffRows(t *Thread, a, b Value) Value {
	xs, ys := value.ToSlice(t, a), value.ToSlice(t, b)
	n := max(len(xs), len(ys))
	t.Charge(48 * n)
	var out [3][]Value
	t.Enter()
	for i := range n {
		t.Step()
		switch {
		case i >= len(ys):
			out[0] = extend(out[0], i, xs[i])
		case i >= len(xs):
			out[1] = extend(out[1], i, ys[i])
		default:
			d := diffAt(t, xs[i], ys[i])
			for j := range out {
				if d.has[j] {
					out[j] = extend(out[j], i, d.part[j])
				}
			}
		}
	}
	t.Leave()
	return triple(t, row(t, out[0]), row(t, out[1]), row(t, out[2]))
}

// extend puts v at index i, with nils before it.
func extend(xs []Value, i int, v Value) []Value {
	for len(xs) < i {
		xs = append(xs, value.Nil)
	}
	return append(xs, v)
}

func row(t *Thread, xs []Value) Value {
	if len(xs) == 0 {
		return value.Nil
	}
	return value.NewVector(t, xs)
}
