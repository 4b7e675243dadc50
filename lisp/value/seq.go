package value

// Seq gives coll as a seq, or nil when it is empty.
func Seq(t *Thread, coll Value) Value {
	switch coll.Kind() {
	case KindNil, KindEmptyList:
		return Nil
	case KindList, KindCons, KindChunkedCons, KindVecSeq, KindArraySeq, KindStringSeq, KindRange, KindGenSeq, KindMapSeq:
		return coll
	case KindLazySeq:
		return As[LazySeq](coll).seq(t)
	case KindVector:
		t.Charge(cellBytes)
		return newVecSeq(As[Vector](coll), 0)
	case KindMapEntry:
		t.Charge(cellBytes)
		e := As[MapEntry](coll)
		return NewArraySeq([]Value{e.k, e.v})
	case KindArrayMap, KindHashMap, KindSortedMap, KindHashSet, KindSortedSet:
		t.Charge(cellBytes)
		return newMapSeq(t, newMapIter(coll, partEntries), 8)
	case KindRecord:
		return newMapSeq(t, As[Record](coll).iter(t, partEntries), 8)
	case KindString:
		t.Charge(cellBytes)
		return newStringSeq(coll.Text())
	}
	return seqOther(t, coll)
}

// Seqable tells whether Seq takes v.
func Seqable(v Value) bool {
	k := v.Kind()
	return k.IsColl() || k == KindNil || k == KindString || k == KindArray || k == KindEduction
}

func notSeqable(t *Thread, who string, v Value) *Exception {
	ex := ArgError("%s: got %s (%s), want a collection, a string or nil", who, Brief(t, v), v.Kind())
	switch v.Kind() {
	case KindFn, KindMultiFn, KindProtocolFn:
		ex.Hint = "the function comes first, the collection last"
	}
	return ex
}

// First gives the first element of coll, or nil.
func First(t *Thread, coll Value) Value {
	switch coll.Kind() {
	case KindNil, KindEmptyList:
		return Nil
	case KindList:
		return As[List](coll).first
	case KindCons:
		return As[ConsCell](coll).first
	case KindChunkedCons:
		return As[ChunkedCons](coll).xs[0]
	case KindVecSeq:
		return As[VecSeq](coll).xs[0]
	case KindArraySeq:
		return As[ArraySeq](coll).xs[0]
	case KindMapSeq:
		return As[MapSeq](coll).xs[0]
	case KindRange:
		return As[Range](coll).at(0)
	case KindStringSeq:
		r, _ := As[StringSeq](coll).split()
		return r
	case KindGenSeq:
		return As[GenSeq](coll).first(t)
	case KindMapEntry:
		return As[MapEntry](coll).k
	case KindVector:
		if v := As[Vector](coll); v.count > 0 {
			return v.Nth(0)
		}
		return Nil
	case KindArrayMap, KindHashMap, KindSortedMap, KindHashSet, KindSortedSet:
		it := newMapIter(coll, partEntries)
		t.Charge(entryBytes)
		if k, v, ok := it.next(); ok {
			return it.element(k, v)
		}
		return Nil
	}
	s := Seq(t, coll)
	if s.IsNil() {
		return Nil
	}
	return First(t, s)
}

// Next gives coll without its first element as a seq, or nil when nothing is left.
func Next(t *Thread, coll Value) Value {
	switch coll.Kind() {
	case KindNil, KindEmptyList:
		return Nil
	case KindList:
		return As[List](coll).tail()
	case KindCons:
		return Seq(t, As[ConsCell](coll).rest)
	case KindChunkedCons:
		c := As[ChunkedCons](coll)
		if len(c.xs) > 1 {
			t.Charge(cellBytes)
			return chunked(c.xs[1:], c.rest)
		}
		return Seq(t, c.rest)
	case KindVecSeq:
		return As[VecSeq](coll).next(t)
	case KindArraySeq:
		t.Charge(cellBytes)
		return NewArraySeq(As[ArraySeq](coll).xs[1:])
	case KindMapSeq:
		return As[MapSeq](coll).next(t)
	case KindRange:
		t.Charge(cellBytes)
		return As[Range](coll).from(1)
	case KindStringSeq:
		t.Charge(cellBytes)
		_, rest := As[StringSeq](coll).split()
		return newStringSeq(rest)
	case KindGenSeq:
		return As[GenSeq](coll).tail(t)
	case KindVector:
		t.Charge(cellBytes)
		return newVecSeq(As[Vector](coll), 1)
	}
	s := Seq(t, coll)
	if s.IsNil() {
		return Nil
	}
	return Next(t, s)
}

// Rest gives coll without its first element, computing no more than it must; the empty list when nothing is left.
func Rest(t *Thread, coll Value) Value {
	switch coll.Kind() {
	case KindCons:
		return orEmpty(As[ConsCell](coll).rest)
	case KindChunkedCons:
		if c := As[ChunkedCons](coll); len(c.xs) == 1 {
			return orEmpty(c.rest)
		}
	case KindGenSeq:
		g := As[GenSeq](coll)
		if g.how == genIterate && g.next.Load() == nil {
			t.Charge(2 * lazyBytes)
			return NewLazyGo(g.tail, coll)
		}
	case KindLazySeq:
		s := Seq(t, coll)
		if s.IsNil() {
			return EmptyList
		}
		return Rest(t, s)
	}
	return orEmpty(Next(t, coll))
}

func orEmpty(s Value) Value {
	if s.IsNil() {
		return EmptyList
	}
	return s
}

// ChunkOf parts a chunked seq into its first chunk, which is not to be written, and what comes after; false when s is not
// chunked.
func ChunkOf(t *Thread, s Value) (chunk []Value, rest Value, ok bool) {
	switch s.Kind() {
	case KindChunkedCons:
		c := As[ChunkedCons](s)
		return c.xs, orEmpty(c.rest), true
	case KindVecSeq:
		v := As[VecSeq](s)
		t.Charge(cellBytes)
		return v.xs, orEmpty(newVecSeq(v.v, v.at+len(v.xs))), true
	case KindArraySeq:
		xs := As[ArraySeq](s).xs
		if len(xs) <= 32 {
			return xs, EmptyList, true
		}
		t.Charge(cellBytes)
		return xs[:32:32], NewArraySeq(xs[32:]), true
	case KindRange:
		r := As[Range](s)
		xs := r.chunk(t)
		t.Charge(cellBytes)
		return xs, orEmpty(r.from(int64(len(xs)))), true
	}
	return nil, Nil, false
}
