package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// colls are the functions of every sort of collection.
func colls() []Def {
	return []Def{
		{Name: "conj", Arglists: "([] [coll] [coll x] [coll x & xs])", Doc: "coll with x added where that is cheap: at the end of a vector, at the front of a list.",
			F0: func(*Thread) Value { return value.EmptyVector }, F1: func(_ *Thread, c Value) Value { return c }, F2: value.Conj, N: conjMany, Min: 3},
		{Name: "empty", Arglists: "([coll])", Doc: "An empty collection of the same sort, or nil.", F1: value.Empty},
		{Name: "get", Arglists: "([map key] [map key not-found])", Doc: "The value of key in a map, set, vector or string; nil or not-found when there is none.",
			F2: get2, F3: get3},
		{Name: "get-in", Arglists: "([m ks] [m ks not-found])", Doc: "The value at a path of keys in nested collections.", F2: getIn2, F3: getIn3},
		{Name: "contains?", Arglists: "([coll key])", Doc: "Tells whether coll has the key: for a vector the index, for a set the element.",
			F2: func(t *Thread, c, k Value) Value { return value.Bool(value.Contains(t, c, k)) }},
		{Name: "find", Arglists: "([map key])", Doc: "The entry of key, or nil.", F2: find},
		{Name: "assoc", Arglists: "([map key val] [map key val & kvs])", Doc: "A map with key mapped to val, or a vector with val at an index up to its length.",
			F3: value.Assoc, N: assocMany, Min: 4},
		{Name: "assoc-in", Arglists: "([m ks v])", Doc: "Nested maps with v at a path of keys; levels that are missing are made.", F3: assocIn},
		{Name: "update", Arglists: "([m k f] [m k f & args])", Doc: "A map with the value of k replaced by f of it and args.",
			F3: func(t *Thread, m, k, f Value) Value {
				v, _ := value.Get(t, m, k)
				return value.Assoc(t, m, k, t.Call1(f, v))
			}, N: update, Min: 4},
		{Name: "update-in", Arglists: "([m ks f & args])", Doc: "Nested maps with the value at a path of keys replaced by f of it and args.", N: updateIn, Min: 3},
		{Name: "dissoc", Arglists: "([map] [map key] [map key & ks])", Doc: "A map without the entries of the keys.",
			F1: func(_ *Thread, m Value) Value { return m }, F2: value.Dissoc, N: func(t *Thread, args []Value) Value { return foldArgs(t, value.Dissoc, args) }, Min: 3},
		{Name: "disj", Arglists: "([set] [set key] [set key & ks])", Doc: "A set without the elements.",
			F1: func(_ *Thread, s Value) Value { return s }, F2: value.Disj, N: func(t *Thread, args []Value) Value { return foldArgs(t, value.Disj, args) }, Min: 3},
		{Name: "peek", Arglists: "([coll])", Doc: "The first of a list, the last of a vector; nil when it is empty.", F1: value.Peek},
		{Name: "pop", Arglists: "([coll])", Doc: "A list or vector without the element that peek gives; throws when it is empty.", F1: value.Pop},
		{Name: "list", Arglists: "([& items])", Doc: "A list of the items.", N: func(t *Thread, args []Value) Value { return value.NewList(t, args...) }},
		{Name: "list*", Arglists: "([args] [a args] [a b args] [a b c args] [a b c d & more])", Doc: "A seq of the arguments before the last and then the elements of the last.",
			F1: value.Seq, N: func(t *Thread, args []Value) Value { n := len(args) - 1; return spread(t, args[:n], args[n]) }, Min: 2},
		{Name: "vector", Arglists: "([& items])", Doc: "A vector of the items.", N: func(t *Thread, args []Value) Value { return value.NewVector(t, args) }},
		{Name: "vec", Arglists: "([coll])", Doc: "A vector of the elements of coll.", F1: vec},
		{Name: "subvec", Arglists: "([v start] [v start end])", Doc: "The vector of the elements from start until end, the end of v by default.", F2: subvec2, F3: subvec3},
		{Name: "hash-map", Arglists: "([& keyvals])", Doc: "A map of keys and values in turn.", N: func(t *Thread, args []Value) Value { return value.NewMap(t, args...) }},
		{Name: "array-map", Arglists: "([& keyvals])", Doc: "A map of keys and values in turn, which keeps their order as long as there are no more than 64 and no key is added.", N: func(t *Thread, args []Value) Value { return value.NewOrderedMap(t, args) }},
		{Name: "seq-to-map-for-destructuring", Arglists: "([s])", Doc: "The map that a seq of keyword arguments stands for.", F1: seqToMap},
		{Name: "hash-set", Arglists: "([& keys])", Doc: "A set of the arguments.", N: func(t *Thread, args []Value) Value { return value.NewSet(t, args...) }},
		{Name: "set", Arglists: "([coll])", Doc: "A set of the distinct elements of coll.", F1: toSet},
		{Name: "sorted-map", Arglists: "([& keyvals])", Doc: "A map of keys and values in turn, sorted by compare of the keys.",
			N: func(t *Thread, args []Value) Value { return value.NewSortedMap(t, value.Nil, args...) }},
		{Name: "sorted-map-by", Arglists: "([comparator & keyvals])", Doc: "A map of keys and values in turn, sorted by the comparator.",
			N: func(t *Thread, args []Value) Value { return value.NewSortedMap(t, args[0], args[1:]...) }, Min: 1},
		{Name: "sorted-set", Arglists: "([& keys])", Doc: "A set of the arguments, sorted by compare.",
			N: func(t *Thread, args []Value) Value { return value.NewSortedSet(t, value.Nil, args...) }},
		{Name: "sorted-set-by", Arglists: "([comparator & keys])", Doc: "A set of the arguments, sorted by the comparator.",
			N: func(t *Thread, args []Value) Value { return value.NewSortedSet(t, args[0], args[1:]...) }, Min: 1},
	}
}

// foldArgs calls f with a collection and each of the other arguments in turn.
func foldArgs(t *Thread, f func(t *Thread, coll, x Value) Value, args []Value) Value {
	out := args[0]
	for _, x := range args[1:] {
		t.Step()
		out = f(t, out, x)
	}
	return out
}

func conjMany(t *Thread, args []Value) Value {
	if len(args) < 40 || !canTransient(args[0]) {
		return foldArgs(t, value.Conj, args)
	}
	return value.Persistent(t, foldArgs(t, value.ConjT, append([]Value{value.Transient(t, args[0])}, copied(t, args[1:])...)))
}

func get2(t *Thread, coll, k Value) Value {
	v, _ := value.Get(t, coll, k)
	return v
}

func get3(t *Thread, coll, k, other Value) Value {
	if v, ok := value.Get(t, coll, k); ok {
		return v
	}
	return other
}

func getIn2(t *Thread, m, ks Value) Value { return getIn3(t, m, ks, value.Nil) }

func getIn3(t *Thread, m, ks, other Value) Value {
	value.Each(t, ks, func(k Value) bool {
		v, ok := value.Get(t, m, k)
		if !ok {
			m = other
			return false
		}
		m = v
		return true
	})
	return m
}

func find(t *Thread, m, k Value) Value {
	if e, ok := value.Find(t, m, k); ok {
		return e
	}
	return value.Nil
}

func assocMany(t *Thread, args []Value) Value {
	if len(args)%2 == 0 {
		panic(value.ArgError("assoc: got no value for key %s, want keys and values in turn", value.Brief(t, args[len(args)-1])))
	}
	m := args[0]
	for i := 1; i < len(args); i += 2 {
		t.Step()
		m = value.Assoc(t, m, args[i], args[i+1])
	}
	return m
}

func assocIn(t *Thread, m, ks, v Value) Value {
	return alongPath(t, m, path(t, ks), func(Value) Value { return v })
}

func updateIn(t *Thread, args []Value) Value {
	return alongPath(t, args[0], path(t, args[1]), func(old Value) Value { return callMore(t, args[2], old, args[3:]) })
}

// path gives the keys of a path; an empty one is the key nil, as in Clojure.
func path(t *Thread, ks Value) []Value {
	xs := value.ToSlice(t, ks)
	if len(xs) == 0 {
		xs = []Value{value.Nil}
	}
	return xs
}

// alongPath goes down a path and comes back with what change makes of its end.
func alongPath(t *Thread, m Value, ks []Value, change func(old Value) Value) Value {
	t.Charge(16 * len(ks))
	levels := make([]Value, len(ks))
	for i, k := range ks {
		t.Step()
		levels[i] = m
		m, _ = value.Get(t, m, k)
	}
	out := change(m)
	for i := len(ks) - 1; i >= 0; i-- {
		t.Step()
		out = value.Assoc(t, levels[i], ks[i], out)
	}
	return out
}

func update(t *Thread, args []Value) Value {
	old, _ := value.Get(t, args[0], args[1])
	return value.Assoc(t, args[0], args[1], callMore(t, args[2], old, args[3:]))
}

// callWith calls f with x and then args.
func callMore(t *Thread, f, x Value, args []Value) Value {
	switch len(args) {
	case 0:
		return t.Call1(f, x)
	case 1:
		return t.Call2(f, x, args[0])
	}
	all := t.Push(1 + len(args))
	all[0] = x
	copy(all[1:], args)
	v := t.Call(f, all...)
	t.Pop(len(all))
	return v
}

func vec(t *Thread, coll Value) Value {
	if coll.Kind() == value.KindVector {
		if !value.Meta(coll).IsNil() {
			return value.WithMeta(t, coll, value.Nil)
		}
		return coll
	}
	return value.NewVectorOwned(t, value.ToSlice(t, coll))
}

func subvec2(t *Thread, v, start Value) Value {
	return subvec3(t, v, start, value.Int(int64(value.Count(t, vectorArg(t, "subvec", v)))))
}

func vectorArg(t *Thread, who string, v Value) Value {
	if !v.Kind().IsVector() {
		panic(value.TypeError(t, who, v, "a vector"))
	}
	return v
}

func subvec3(t *Thread, v, start, end Value) Value {
	n := int64(value.Count(t, vectorArg(t, "subvec", v)))
	from, to := value.Wrap(t, "subvec", start), value.Wrap(t, "subvec", end)
	if from < 0 || to < from || to > n {
		panic(value.Errorf("IndexOutOfBoundsException", "subvec: got %d to %d, want a stretch of 0 to %d", from, to, n))
	}
	if v.Kind() == value.KindMapEntry {
		v = value.NewVector(t, value.ToSlice(t, v))
	}
	return value.As[value.Vector](v).Subvec(t, int(from), int(to))
}

func toSet(t *Thread, coll Value) Value {
	if coll.Kind().IsSet() {
		if !value.Meta(coll).IsNil() {
			return value.WithMeta(t, coll, value.Nil)
		}
		return coll
	}
	b := newCollector(t, value.EmptySet)
	value.Each(t, coll, func(x Value) bool {
		b.add(x)
		return true
	})
	return b.done()
}

// seqToMap makes a map of keyword arguments: one map, or keys and values in turn and perhaps a last map.
func seqToMap(t *Thread, s Value) Value {
	xs := value.ToSlice(t, s)
	n := len(xs)
	switch {
	case n == 0:
		return value.EmptyMap
	case n == 1:
		return xs[0]
	case n%2 == 1:
		return value.Conj(t, value.NewMap(t, xs[:n-1]...), xs[n-1])
	}
	return value.NewMap(t, xs...)
}
