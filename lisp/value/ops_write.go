package value

// Assoc gives coll with v under k: a map, a record, or a vector, where k is an index up to the length. nil is a map.
func Assoc(t *Thread, coll, k, v Value) Value {
	switch coll.Kind() {
	case KindNil:
		t.Charge(arrayMapBytes + 2*valueBytes)
		return Of(newArrayMap([]Value{k, v}))
	case KindArrayMap:
		return As[ArrayMap](coll).assoc(t, k, v)
	case KindHashMap:
		return As[HashMap](coll).assoc(t, k, v)
	case KindSortedMap:
		return As[SortedMap](coll).assoc(t, k, v)
	case KindRecord:
		return As[Record](coll).assoc(t, k, v)
	case KindVector, KindMapEntry:
		vec := vectorOf(coll)
		return Of(vec.AssocN(t, vectorIndex(t, "assoc", k, vec.Len()+1), v))
	}
	panic(TypeError(t, "assoc", coll, "a map, a vector or nil"))
}

// vectorIndex gives k as an index below n.
func vectorIndex(t *Thread, who string, k Value, n int) int {
	if !k.IsInt() {
		panic(ArgError("%s: got key %s (%s) of a vector, want an integer", who, Brief(t, k), k.Kind()))
	}
	if i := k.Int(); i >= 0 && i < int64(n) {
		return int(i)
	}
	panic(IndexError(who, clampIndex(k.Int()), n))
}

// Dissoc gives a map without the entry of k. nil stays nil.
func Dissoc(t *Thread, m, k Value) Value {
	switch m.Kind() {
	case KindNil:
		return Nil
	case KindArrayMap:
		return As[ArrayMap](m).dissoc(t, k)
	case KindHashMap:
		return As[HashMap](m).dissoc(t, k)
	case KindSortedMap:
		return As[SortedMap](m).dissoc(t, k)
	case KindRecord:
		return As[Record](m).dissoc(t, k)
	}
	panic(TypeError(t, "dissoc", m, "a map or nil"))
}

// Conj adds x to coll where that is cheap: at the front of a list or seq, at the end of a vector, anywhere in a set; to a
// map it adds an entry, a vector of two, or all of another map.
func Conj(t *Thread, coll, x Value) Value {
	switch k := coll.Kind(); {
	case k == KindNil:
		return conjList(t, EmptyList, x)
	case k == KindVector:
		return Of(As[Vector](coll).Conj(t, x))
	case k == KindEmptyList || k == KindList:
		return conjList(t, coll, x)
	case k.IsSeq():
		return Cons(t, x, coll)
	case k == KindMapEntry:
		return Of(vectorOf(coll).Conj(t, x))
	case k.IsMap():
		return conjMap(t, coll, x)
	case k == KindHashSet:
		return As[HashSet](coll).conj(t, x)
	case k == KindSortedSet:
		return As[SortedSet](coll).conj(t, x)
	}
	panic(TypeError(t, "conj", coll, "a collection or nil"))
}

func conjMap(t *Thread, m, x Value) Value {
	eachEntry(t, x, func(k, v Value) { m = Assoc(t, m, k, v) })
	return m
}

// eachEntry gives the entries that conj to a map adds for x.
func eachEntry(t *Thread, x Value, f func(k, v Value)) {
	switch kind := x.Kind(); {
	case kind == KindNil:
	case kind == KindMapEntry:
		e := As[MapEntry](x)
		f(e.k, e.v)
	case kind == KindVector:
		v := As[Vector](x)
		if v.Len() != 2 {
			panic(ArgError("conj: got a vector of %d for a map, want a key and a value", v.Len()))
		}
		f(v.Nth(0), v.Nth(1))
	case kind.IsMap():
		EachKV(t, x, func(k, v Value) bool {
			f(k, v)
			return true
		})
	default:
		Each(t, x, func(e Value) bool {
			if e.Kind() != KindMapEntry {
				panic(TypeError(t, "conj", e, "a map entry, to add to a map"))
			}
			f(As[MapEntry](e).k, As[MapEntry](e).v)
			return true
		})
	}
}

// Disj gives a set without x. nil stays nil.
func Disj(t *Thread, s, x Value) Value {
	switch s.Kind() {
	case KindNil:
		return Nil
	case KindHashSet:
		return As[HashSet](s).disj(t, x)
	case KindSortedSet:
		return As[SortedSet](s).disj(t, x)
	}
	panic(TypeError(t, "disj", s, "a set or nil"))
}

// Peek gives the element that Pop takes: the first of a list, the last of a vector.
func Peek(t *Thread, coll Value) Value {
	switch coll.Kind() {
	case KindNil, KindEmptyList:
		return Nil
	case KindList:
		return As[List](coll).first
	case KindVector:
		if v := As[Vector](coll); v.count > 0 {
			return v.Nth(v.Len() - 1)
		}
		return Nil
	case KindMapEntry:
		return As[MapEntry](coll).v
	}
	panic(TypeError(t, "peek", coll, "a list or vector"))
}

// Pop gives coll without the element that Peek gives.
func Pop(t *Thread, coll Value) Value {
	switch coll.Kind() {
	case KindNil:
		return Nil
	case KindEmptyList:
		panic(StateError("pop: got an empty list, want an element"))
	case KindList:
		l := As[List](coll)
		if l.rest == nil {
			return EmptyList
		}
		return Of(l.rest)
	case KindVector, KindMapEntry:
		v := vectorOf(coll)
		if v.count == 0 {
			panic(StateError("pop: got an empty vector, want an element"))
		}
		return Of(v.Pop(t))
	}
	panic(TypeError(t, "pop", coll, "a list or vector"))
}

// Empty gives the empty collection of coll's sort, with its metadata; nil for what is no collection.
func Empty(t *Thread, coll Value) Value {
	var out Value
	switch k := coll.Kind(); {
	case k == KindVector:
		out = EmptyVector
	case k == KindMapEntry:
		return Nil
	case k == KindSortedMap:
		out = NewSortedMap(t, As[SortedMap](coll).cmp)
	case k == KindSortedSet:
		out = NewSortedSet(t, As[SortedSet](coll).cmp)
	case k == KindRecord:
		panic(Errorf("UnsupportedOperationException", "empty: got a record, want a collection that can be empty"))
	case k.IsMap():
		out = EmptyMap
	case k == KindHashSet:
		out = EmptySet
	case k.IsSeq():
		out = EmptyList
	default:
		return Nil
	}
	if b := metaBox(coll); b != nil && !b.M.IsNil() {
		return WithMeta(t, out, b.M)
	}
	return out
}
