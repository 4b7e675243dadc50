package value

// Sizes that constructors charge, in bytes as the allocator rounds them.
const (
	cellBytes = 64 // a seq cell of any sort
)

// metaBox gives the metadata box of v, or nil.
func metaBox(v Value) *MetaBox {
	switch v.Kind() {
	case KindSymbol:
		return As[Symbol](v).meta
	case KindEmptyList:
		return As[EmptySeq](v).meta
	case KindList:
		return As[List](v).meta
	case KindCons:
		return As[ConsCell](v).meta
	case KindLazySeq:
		return As[LazySeq](v).meta
	case KindChunkedCons:
		return As[ChunkedCons](v).meta
	case KindVecSeq:
		return As[VecSeq](v).meta
	case KindArraySeq:
		return As[ArraySeq](v).meta
	case KindStringSeq:
		return As[StringSeq](v).meta
	case KindRange:
		return As[Range](v).meta
	case KindGenSeq:
		return As[GenSeq](v).meta
	case KindMapSeq:
		return As[MapSeq](v).meta
	case KindVector:
		return As[Vector](v).meta
	case KindArrayMap:
		return As[ArrayMap](v).meta
	case KindHashMap:
		return As[HashMap](v).meta
	case KindSortedMap:
		return As[SortedMap](v).meta
	case KindRecord:
		return As[Record](v).meta
	case KindHashSet:
		return As[HashSet](v).meta
	case KindSortedSet:
		return As[SortedSet](v).meta
	case KindFn:
		return As[Fn](v).meta
	case KindMultiFn, KindProtocolFn:
		return As[Generic](v).meta
	}
	return nil
}

// withBox copies v with another metadata box; false when values of its kind carry none.
func withBox(v Value, b *MetaBox) (Value, bool) {
	switch v.Kind() {
	case KindSymbol:
		s := As[Symbol](v)
		return Of(&Symbol{Header: Head(KindSymbol), NS: s.NS, Name: s.Name, hash: s.hash, meta: b}), true
	case KindVector:
		return Of(As[Vector](v).withBox(b)), true
	case KindArrayMap:
		m := As[ArrayMap](v)
		return Of(&ArrayMap{Header: Head(KindArrayMap), meta: b, kvs: m.kvs}), true
	case KindHashMap:
		m := As[HashMap](v)
		return Of(&HashMap{Header: Head(KindHashMap), meta: b, root: m.root, count: m.count}), true
	case KindSortedMap:
		m := As[SortedMap](v)
		return Of(&SortedMap{Header: Head(KindSortedMap), meta: b, root: m.root, cmp: m.cmp}), true
	case KindRecord:
		return Of(As[Record](v).withBox(b)), true
	case KindHashSet:
		s := As[HashSet](v)
		return Of(&HashSet{Header: Head(KindHashSet), meta: b, root: s.root, count: s.count}), true
	case KindSortedSet:
		s := As[SortedSet](v)
		return Of(&SortedSet{Header: Head(KindSortedSet), meta: b, root: s.root, cmp: s.cmp}), true
	case KindMapEntry:
		e := As[MapEntry](v)
		return Of(tailVector([]Value{e.k, e.v}, b)), true
	case KindFn:
		f := As[Fn](v)
		return Of(&Fn{Header: Head(KindFn), meta: b, Code: f.Code, Caps: f.Caps}), true
	case KindMultiFn, KindProtocolFn:
		g := As[Generic](v)
		return Of(&Generic{Header: Head(v.Kind()), meta: b, Impl: g.Impl}), true
	}
	return seqWithBox(v, b)
}

func seqWithBox(v Value, b *MetaBox) (Value, bool) {
	switch v.Kind() {
	case KindEmptyList:
		return Of(&EmptySeq{Header: Head(KindEmptyList), meta: b}), true
	case KindList:
		l := As[List](v)
		return Of(&List{Header: Head(KindList), meta: b, first: l.first, rest: l.rest, count: l.count}), true
	case KindCons:
		c := As[ConsCell](v)
		return Of(&ConsCell{Header: Head(KindCons), meta: b, first: c.first, rest: c.rest}), true
	case KindChunkedCons:
		c := As[ChunkedCons](v)
		return Of(&ChunkedCons{Header: Head(KindChunkedCons), meta: b, xs: c.xs, rest: c.rest}), true
	case KindVecSeq:
		s := As[VecSeq](v)
		return Of(&VecSeq{Header: Head(KindVecSeq), meta: b, v: s.v, at: s.at, xs: s.xs}), true
	case KindArraySeq:
		return Of(&ArraySeq{Header: Head(KindArraySeq), meta: b, xs: As[ArraySeq](v).xs}), true
	case KindStringSeq:
		return Of(&StringSeq{Header: Head(KindStringSeq), meta: b, s: As[StringSeq](v).s}), true
	case KindRange:
		r := As[Range](v)
		return Of(&Range{Header: Head(KindRange), meta: b, start: r.start, step: r.step, n: r.n}), true
	case KindGenSeq:
		g := As[GenSeq](v)
		return Of(&GenSeq{Header: Head(KindGenSeq), meta: b, how: g.how, f: g.f, x: g.x, n: g.n}), true
	case KindMapSeq:
		s := As[MapSeq](v)
		return Of(&MapSeq{Header: Head(KindMapSeq), meta: b, xs: s.xs, more: s.more}), true
	case KindLazySeq:
		// A copy must not run the thunk a second time: it waits for what the original holds.
		l := newLazyGo(func(*Thread) Value { return v }, v)
		l.meta = b
		return Of(l), true
	}
	return v, false
}

// Meta gives the metadata of v: a map or nil. A list that the reader saw has :line and :column in it.
func Meta(v Value) Value {
	switch v.Kind() {
	case KindVar:
		return As[Var](v).MetaMap()
	case KindNamespace:
		if p := As[Namespace](v).meta.Load(); p != nil {
			return *p
		}
		return Nil
	}
	b := metaBox(v)
	if b == nil {
		return Nil
	}
	if b.Pos == nil || b.Bare || v.Kind() != KindList && v.Kind() != KindEmptyList {
		return b.M
	}
	line, column := Of(kwLine), Of(kwColumn)
	if b.M.IsNil() {
		return Of(newArrayMap([]Value{line, Int(int64(b.Pos.Line)), column, Int(int64(b.Pos.Column))}))
	}
	if b.M.Kind() != KindArrayMap {
		return b.M
	}
	kvs := []Value{line, Int(int64(b.Pos.Line)), column, Int(int64(b.Pos.Column))}
	m := As[ArrayMap](b.M)
	for i := 0; i < len(m.kvs); i += 2 {
		if k := m.kvs[i]; k.Kind() != KindKeyword || !As[Keyword](k).Same(kwLine) && !As[Keyword](k).Same(kwColumn) {
			kvs = append(kvs, m.kvs[i], m.kvs[i+1])
		}
	}
	return Of(newArrayMap(kvs))
}

var (
	kwLine   = NewKeyword("", "line")
	kwColumn = NewKeyword("", "column")
)

// WithMeta gives v with m, a map or nil, for metadata. Where the reader saw v stays known, for error messages only.
func WithMeta(t *Thread, v, m Value) Value {
	if !m.IsNil() && !m.Kind().IsMap() {
		panic(TypeError(t, "with-meta", m, "a map or nil"))
	}
	b := &MetaBox{M: m}
	if old := metaBox(v); old != nil {
		b.Pos, b.Bare = old.Pos, true
	}
	if b.Pos == nil && m.IsNil() {
		b = nil
	}
	t.Charge(2 * cellBytes)
	out, ok := withBox(v, b)
	if !ok {
		panic(TypeError(t, "with-meta", v, "something that carries metadata: a collection, symbol or function"))
	}
	return out
}

// CanMeta tells whether WithMeta takes v.
func CanMeta(v Value) bool {
	k := v.Kind()
	return k.IsColl() || k == KindSymbol || k == KindFn || k == KindMultiFn || k == KindProtocolFn
}

// PosOf tells where the reader saw v, or nil.
func PosOf(v Value) *Pos {
	if b := metaBox(v); b != nil {
		return b.Pos
	}
	return nil
}

// WithPos notes where the reader saw v, if v can carry it.
func WithPos(v Value, p *Pos) Value {
	b := &MetaBox{Pos: p}
	if old := metaBox(v); old != nil {
		b.M = old.M
	}
	switch v.Kind() {
	case KindSymbol, KindEmptyList, KindList, KindCons, KindVector, KindArrayMap, KindHashMap, KindHashSet:
		out, _ := withBox(v, b)
		return out
	}
	return v
}
