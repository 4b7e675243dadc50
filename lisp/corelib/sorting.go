package corelib

import (
	"math"
	"slices"

	"github.com/reflection-dev/zeno/lisp/value"
)

// sorting are the functions of order and equality.
func sorting() []Def {
	return []Def{
		{Name: "sort", Arglists: "([coll] [comp coll])", Doc: "A seq of the elements in the order of compare, or of a comparator. Equal ones stay in order.",
			F1: func(t *Thread, c Value) Value { return sort2(t, value.Nil, c) },
			F2: func(t *Thread, cmp, c Value) Value {
				if cmp.IsNil() { // sort takes it, as Clojure's does
					return sort2(t, cmp, c)
				}
				return sort2(t, comparing(t, "sort", cmp), c)
			}},
		{Name: "sort-by", Arglists: "([keyfn coll] [keyfn comp coll])", Doc: "A seq of the elements in the order of keyfn of each.",
			F2: func(t *Thread, k, c Value) Value { return sortBy(t, k, value.Nil, c) },
			F3: func(t *Thread, k, cmp, c Value) Value { return sortBy(t, k, comparing(t, "sort-by", cmp), c) }},
		{Name: "compare", Arglists: "([x y])", Doc: "Negative, zero or positive as x comes before, with or after y; nil is before everything.",
			F2: func(t *Thread, x, y Value) Value { return value.Int(int64(value.Compare(t, x, y))) }},
		{Name: "comparator", Arglists: "([pred])", Doc: "A comparator of a predicate that tells whether its first argument is less.", F1: comparator},
		{Name: "=", Arglists: "([x] [x y] [x y & more])", Doc: "Tells whether the arguments are equal: numbers of one sort by value, collections by their elements.",
			F1: func(*Thread, Value) Value { return value.True }, F2: func(t *Thread, x, y Value) Value { return value.Bool(value.Equal(t, x, y)) },
			N: func(t *Thread, args []Value) Value { return value.Bool(allEqual(t, args)) }, Min: 3},
		{Name: "not=", Arglists: "([x] [x y] [x y & more])", Doc: "The opposite of =.",
			F1: func(*Thread, Value) Value { return value.False }, F2: func(t *Thread, x, y Value) Value { return value.Bool(!value.Equal(t, x, y)) },
			N: func(t *Thread, args []Value) Value { return value.Bool(!allEqual(t, args)) }, Min: 3},
		{Name: "identical?", Arglists: "([x y])", Doc: "Tells whether the arguments are the same object.", F2: func(_ *Thread, x, y Value) Value { return value.Bool(value.Identical(x, y)) }},
		{Name: "distinct?", Arglists: "([x] [x y] [x y & more])", Doc: "Tells whether no two of the arguments are equal.",
			N: func(t *Thread, args []Value) Value {
				return value.Bool(value.Count(t, value.NewSet(t, args...)) == len(args))
			}, Min: 1},
		{Name: "hash", Arglists: "([x])", Doc: "A hash that agrees with =, 32 bits wide.", F1: func(t *Thread, x Value) Value { return hash32(value.Hash(t, x)) }},
		{Name: "hash-combine", Arglists: "([x y])", Doc: "A hash made of two.", F2: hashCombine},
		{Name: "hash-ordered-coll", Arglists: "([coll])", Doc: "A hash of the elements in order.", F1: func(t *Thread, c Value) Value { return hash32(value.Hash(t, vec(t, c))) }},
		{Name: "hash-unordered-coll", Arglists: "([coll])", Doc: "A hash of the elements in any order.", F1: hashUnordered},
		{Name: "mix-collection-hash", Arglists: "([hash-basis count])", Doc: "The final mix of a collection's hash.", F2: hashCombine},
	}
}

func allEqual(t *Thread, args []Value) bool {
	for i := 1; i < len(args); i++ {
		t.Step()
		if !value.Equal(t, args[i-1], args[i]) {
			return false
		}
	}
	return true
}

func comparator(t *Thread, pred Value) Value {
	c := &closure{name: "comparator", f2: func(t *Thread, x, y Value) Value {
		switch {
		case t.Call2(pred, x, y).Truthy():
			return value.Int(-1)
		case t.Call2(pred, y, x).Truthy():
			return value.Int(1)
		}
		return value.Int(0)
	}}
	return c.make(t, pred)
}

// comparing gives a comparator that a program passed.
func comparing(t *Thread, who string, cmp Value) Value {
	if !value.IsCallable(t, cmp) {
		panic(value.TypeError(t, who, cmp, "a function as comparator"))
	}
	return cmp
}

func sort2(t *Thread, cmp, coll Value) Value {
	if coll.Kind() == value.KindArray {
		return sortArray(t, cmp, coll)
	}
	xs := value.ToSlice(t, coll)
	t.Watch(xs)
	sortSlice(t, cmp, xs)
	t.Unwatch()
	return withMetaOf(t, orElse(value.NewArraySeq(xs), value.EmptyList), coll)
}

// sortSlice sorts in place. Integers alone need no comparator of Lisp.
func sortSlice(t *Thread, cmp Value, xs []Value) {
	if cmp.IsNil() && allInts(t, xs) {
		t.Steps(len(xs) * int(math.Log2(float64(len(xs)+2))))
		slices.SortFunc(xs, func(a, b Value) int {
			switch x, y := a.Int(), b.Int(); {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		return
	}
	value.SortStable(t, xs, func(a, b Value) bool { return value.Comparator(t, cmp, a, b) < 0 })
}

func allInts(t *Thread, xs []Value) bool {
	t.Steps(len(xs) >> 3)
	for _, x := range xs {
		if !x.IsInt() {
			return false
		}
	}
	return true
}

func sortBy(t *Thread, key, cmp, coll Value) Value {
	xs := value.ToSlice(t, coll)
	n := len(xs)
	if n < 2 { // key is not called
		return withMetaOf(t, orElse(value.NewArraySeq(xs), value.EmptyList), coll)
	}
	t.Charge(48 * n)
	t.Pin(48 * n)
	keys, order := make([]Value, n), make([]Value, n)
	t.Watch(xs)
	t.Watch(keys)
	for i, x := range xs {
		keys[i] = t.Call1(key, x)
		order[i] = value.Int(int64(i))
	}
	value.SortStable(t, order, func(a, b Value) bool { return value.Comparator(t, cmp, keys[a.Int()], keys[b.Int()]) < 0 })
	for i, at := range order {
		keys[i] = xs[at.Int()]
	}
	t.Unwatch()
	t.Unwatch()
	t.Unpin(48 * n)
	return withMetaOf(t, orElse(value.NewArraySeq(keys), value.EmptyList), coll)
}

// narrow makes a hash of 32 bits, as programs know them.
func hash32(h uint64) Value { return value.Int(int64(int32(h ^ h>>32))) }

func hashCombine(t *Thread, x, y Value) Value {
	a, b := uint32(value.Wrap(t, "hash-combine", x)), uint32(value.Wrap(t, "hash-combine", y))
	return value.Int(int64(int32(a ^ (b + 0x9e3779b9 + a<<6 + a>>2))))
}

func hashUnordered(t *Thread, coll Value) Value { return hash32(value.HashUnordered(t, coll)) }
