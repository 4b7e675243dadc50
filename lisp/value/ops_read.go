package value

import "unicode/utf8"

// Counted tells whether Count answers at once.
func Counted(v Value) bool {
	switch k := v.Kind(); k {
	case KindNil, KindEmptyList, KindList, KindVecSeq, KindArraySeq, KindRange, KindTransientVector, KindTransientMap, KindTransientSet, KindArray:
		return true
	default:
		return k.IsVector() || k.IsMap() || k.IsSet()
	}
}

// Count counts the elements of v: a collection, a string (its code points), or nil.
func Count(t *Thread, v Value) int {
	switch k := v.Kind(); k {
	case KindNil, KindEmptyList:
		return 0
	case KindList:
		return As[List](v).count
	case KindVector:
		return As[Vector](v).Len()
	case KindMapEntry:
		return 2
	case KindArrayMap, KindHashMap, KindSortedMap:
		return mapLen(v)
	case KindHashSet, KindSortedSet:
		return setLen(v)
	case KindRecord:
		return As[Record](v).Len()
	case KindString:
		s := As[String](v)
		t.Steps(len(s.s) >> 6)
		return s.Len()
	case KindVecSeq:
		s := As[VecSeq](v)
		return s.v.Len() - s.at
	case KindArraySeq:
		return len(As[ArraySeq](v).xs)
	case KindRange:
		return int(As[Range](v).n)
	case KindMapSeq:
		s := As[MapSeq](v)
		return len(s.xs) + s.more.left
	case KindStringSeq:
		s := As[StringSeq](v).s
		t.Steps(len(s) >> 6)
		return utf8.RuneCountInString(s)
	case KindGenSeq:
		if g := As[GenSeq](v); g.how == genRepeat && g.n >= 0 {
			return int(g.n)
		}
	case KindArray:
		return As[Array](v).Len()
	case KindTransientVector, KindTransientMap, KindTransientSet:
		return transientLen(t, v)
	}
	return countSeq(t, v)
}

// countSeq counts a seq by going along it, as far as it must.
func countSeq(t *Thread, v Value) int {
	if !v.Kind().IsSeq() {
		if !Seqable(v) {
			panic(Errorf("UnsupportedOperationException", "count: got %s (%s), want a collection, a string or nil", Brief(t, v), v.Kind()))
		}
		v = Seq(t, v)
	}
	n := 0
	for {
		t.Step()
		switch v.Kind() {
		case KindCons:
			n++
			v = As[ConsCell](v).rest
		case KindChunkedCons:
			c := As[ChunkedCons](v)
			n += len(c.xs)
			v = c.rest
		case KindLazySeq:
			v = As[LazySeq](v).seq(t)
		case KindGenSeq:
			if g := As[GenSeq](v); g.how == genRepeat && g.n >= 0 {
				return n + int(g.n)
			}
			n++
			v = Next(t, v)
		default:
			return n + Count(t, v)
		}
	}
}

// Nth gives element i of a vector, seq, string or nil; false if there is none.
func Nth(t *Thread, coll Value, i int) (x Value, ok bool) {
	switch k := coll.Kind(); k {
	case KindNil:
		return Nil, false
	case KindVector:
		if v := As[Vector](coll); uint(i) < uint(v.count) {
			return v.Nth(i), true
		}
		return Nil, false
	case KindMapEntry:
		e := As[MapEntry](coll)
		if i == 0 {
			return e.k, true
		}
		return e.v, i == 1
	case KindString:
		return As[String](coll).nth(t, i)
	case KindVecSeq:
		s := As[VecSeq](coll)
		if i < 0 || i >= s.v.Len()-s.at {
			return Nil, false
		}
		return s.v.Nth(s.at + i), true
	case KindArraySeq:
		if xs := As[ArraySeq](coll).xs; uint(i) < uint(len(xs)) {
			return xs[i], true
		}
		return Nil, false
	case KindRange:
		if r := As[Range](coll); i >= 0 && int64(i) < r.n {
			return r.at(int64(i)), true
		}
		return Nil, false
	case KindArray:
		return As[Array](coll).nth(i)
	case KindTransientVector:
		return As[TransientVector](coll).nth(t, i)
	default:
		if !k.IsSeq() && k != KindEduction {
			panic(Errorf("UnsupportedOperationException", "nth: got %s (%s), want a vector, a seq or a string", Brief(t, coll), k))
		}
	}
	if i < 0 {
		return Nil, false
	}
	found := false
	Each(t, coll, func(y Value) bool {
		x, found = y, i == 0
		i--
		return !found
	})
	if !found {
		x = Nil
	}
	return x, found
}

func (s *String) nth(t *Thread, i int) (Value, bool) {
	if i < 0 || i >= len(s.s) {
		return Nil, false
	}
	if s.size.Load() == 0 {
		t.Steps(len(s.s) >> 6)
	}
	if s.ASCII() {
		return Char(rune(s.s[i])), true
	}
	t.Steps(i >> 3)
	for _, r := range s.s {
		if i == 0 {
			return Char(r), true
		}
		i--
	}
	return Nil, false
}

// Get looks k up in coll: a map, record, set, vector, string or transient. It is false where there is nothing, and for
// everything else.
func Get(t *Thread, coll, k Value) (Value, bool) {
	switch coll.Kind() {
	case KindArrayMap:
		m := As[ArrayMap](coll)
		if i := m.index(t, k); i >= 0 {
			return m.kvs[i+1], true
		}
		return Nil, false
	case KindHashMap:
		_, v, ok := As[HashMap](coll).root.find(t, Hash(t, k), k)
		return v, ok
	case KindSortedMap, KindRecord:
		_, v, ok := mapGet(t, coll, k)
		return v, ok
	case KindHashSet, KindSortedSet:
		return setGet(t, coll, k)
	case KindVector, KindMapEntry, KindString, KindTransientVector, KindArray:
		if k.IsInt() {
			return Nth(t, coll, clampIndex(k.Int()))
		}
	case KindTransientMap:
		return As[TransientMap](coll).get(t, k)
	case KindTransientSet:
		return As[TransientSet](coll).get(t, k)
	case KindTaggedLiteral, KindReaderConditional, KindInstance:
		return field(t, coll, k)
	}
	return Nil, false
}

// clampIndex makes an index of any integer, one out of range staying so where int has 32 bits.
func clampIndex(i int64) int { return int(max(-1, min(i, maxVector<<1))) }

// Contains tells whether coll has the key k: for a vector or string an index, for a set an element.
func Contains(t *Thread, coll, k Value) bool {
	switch kind := coll.Kind(); {
	case kind == KindNil:
		return false
	case kind == KindVector || kind == KindMapEntry || kind == KindString || kind == KindTransientVector || kind == KindArray:
		if !k.IsInt() {
			if kind == KindString || kind == KindArray {
				panic(ArgError("contains?: got key %s of a %s, want an index", Brief(t, k), kind))
			}
			return false
		}
		return k.Int() >= 0 && k.Int() < int64(Count(t, coll))
	case kind.IsMap() || kind.IsSet() || kind == KindTransientMap || kind == KindTransientSet:
		_, ok := Get(t, coll, k)
		return ok
	}
	panic(ArgError("contains?: got %s (%s), want a map, set, vector or string", Brief(t, coll), coll.Kind()))
}

// Find gives the entry of k in a map or vector.
func Find(t *Thread, m, k Value) (Value, bool) {
	switch kind := m.Kind(); {
	case kind == KindNil:
		return Nil, false
	case kind.IsMap():
		key, v, ok := mapGet(t, m, k)
		if !ok {
			return Nil, false
		}
		t.Charge(entryBytes)
		return NewMapEntry(key, v), true
	case kind.IsVector() || kind == KindTransientVector || kind == KindTransientMap:
		v, ok := Get(t, m, k)
		if !ok {
			return Nil, false
		}
		t.Charge(entryBytes)
		return NewMapEntry(k, v), true
	}
	panic(ArgError("find: got %s (%s), want a map or vector", Brief(t, m), m.Kind()))
}
