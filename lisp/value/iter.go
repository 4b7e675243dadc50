package value

import "unicode/utf8"

// Iter gives the elements of anything seqable, one by one, each a step, without making a cell for each. It holds on to no
// element that it has given.
type Iter struct {
	xs   []Value // elements at hand
	rest Value   // where to go on
	at   int     // index in rest when that is a vector
	m    *mapIter
	s    string
	i, n int64 // what is left of a range …
	step int64
}

// NewIter starts an iteration over coll.
func NewIter(coll Value) Iter { return Iter{rest: coll} }

// Next gives the next element; false at the end.
func (it *Iter) Next(t *Thread) (Value, bool) {
	t.Step()
	if len(it.xs) > 0 {
		x := it.xs[0]
		it.xs = it.xs[1:]
		return x, true
	}
	if it.n > 0 {
		x := Int(it.i)
		it.i += it.step
		it.n--
		return x, true
	}
	return it.refill(t)
}

// refill gives the next element from the next part of the collection.
func (it *Iter) refill(t *Thread) (Value, bool) {
	for {
		switch {
		case it.m != nil:
			return it.entry(t)
		case it.s != "":
			r, n := utf8.DecodeRuneInString(it.s)
			it.s = it.s[n:]
			return Char(r), true
		}
		switch it.rest.Kind() {
		case KindNil, KindEmptyList:
			return Nil, false
		case KindList:
			l := As[List](it.rest)
			it.rest = l.tail()
			return l.first, true
		case KindCons:
			c := As[ConsCell](it.rest)
			it.rest = c.rest
			return c.first, true
		case KindGenSeq:
			return it.generate(t)
		case KindLazySeq:
			l := As[LazySeq](it.rest)
			it.rest = Nil // the seq may be long: hold nothing of it while it is computed
			it.rest = l.seq(t)
			continue
		}
		if it.open(t); len(it.xs) > 0 {
			x := it.xs[0]
			it.xs = it.xs[1:]
			return x, true
		}
		if it.n > 0 {
			return it.Next(t)
		}
	}
}

// open sets the iteration up for a part that is more than one element.
func (it *Iter) open(t *Thread) {
	switch v := it.rest; v.Kind() {
	case KindChunkedCons:
		c := As[ChunkedCons](v)
		it.xs, it.rest = c.xs, c.rest
	case KindVector:
		vec := As[Vector](v)
		if it.at >= vec.Len() {
			it.rest, it.at = Nil, 0
			return
		}
		it.xs = vec.Chunk(it.at)
		it.at += len(it.xs)
	case KindVecSeq:
		s := As[VecSeq](v)
		it.xs, it.rest, it.at = s.xs, Of(s.v), s.at+len(s.xs)
	case KindArraySeq:
		it.xs, it.rest = As[ArraySeq](v).xs, Nil
	case KindMapSeq:
		s := As[MapSeq](v)
		it.xs, it.rest = s.xs, Nil
		if s.more.left > 0 {
			t.Charge(s.more.bytes())
			it.m = s.more.clone()
		}
	case KindRange:
		r := As[Range](v)
		it.i, it.n, it.step, it.rest = r.start, r.n, r.step, Nil
	case KindString:
		it.s, it.rest = v.Text(), Nil
	case KindStringSeq:
		it.s, it.rest = As[StringSeq](v).s, Nil
	case KindArrayMap, KindHashMap, KindSortedMap, KindHashSet, KindSortedSet:
		it.m, it.rest = newMapIter(v, partEntries), Nil
	case KindRecord:
		it.m, it.rest = As[Record](v).iter(t, partEntries), Nil
	default:
		it.rest = Seq(t, v)
	}
}

func (it *Iter) entry(t *Thread) (Value, bool) {
	if it.m.part == partEntries {
		t.Charge(entryBytes)
	}
	k, v, ok := it.m.next()
	if !ok {
		it.m = nil
		return Nil, false
	}
	return it.m.element(k, v), true
}

// generate gives the next element of a seq made by a rule. What follows is computed only when it is asked for.
func (it *Iter) generate(t *Thread) (Value, bool) {
	g := As[GenSeq](it.rest)
	x := g.first(t)
	if g.how == genIterate {
		t.Holding(it.rest, func() { it.rest = Rest(t, it.rest) })
	} else {
		it.rest = g.tail(t)
	}
	return x, true
}

// Each gives every element of coll, which may be anything seqable, to f, until f says false. What is still to come counts as
// alive meanwhile, and of a seq nothing else: it may be long, and computed as it is walked.
func Each(t *Thread, coll Value, f func(Value) bool) {
	held := t.Push(1)
	switch k := coll.Kind(); {
	case k == KindVector:
		held[0] = coll
		As[Vector](coll).Each(t, f)
	case k.IsSeq() && k != KindMapSeq:
		eachOfSeq(t, coll, held, f)
	default:
		held[0] = coll
		it := NewIter(coll)
		for {
			x, ok := it.Next(t)
			if !ok || !f(x) {
				break
			}
		}
	}
	held[0] = Value{}
	t.Pop(1)
}

// eachOfSeq keeps what follows in held, and the part at hand watched.
func eachOfSeq(t *Thread, coll Value, held []Value, f func(Value) bool) {
	it, at, last := NewIter(coll), t.Watch(nil), 0
	for {
		if last == 0 {
			held[0] = Value{} // the next part is computed now
		}
		x, ok := it.Next(t)
		if !ok {
			break
		}
		n := len(it.xs)
		if n >= last {
			held[0] = it.rest
			t.Rewatch(at, it.xs)
		}
		if last = n; !f(x) {
			break
		}
	}
	t.Unwatch()
}

// EachKV gives every entry of a map or record, which counts as alive meanwhile, to f, until f says false. nil has none.
func EachKV(t *Thread, m Value, f func(k, v Value) bool) {
	t.Push(1)[0] = m
	entries(t, m, f)
	t.Pop(1)
}

func entries(t *Thread, m Value, f func(k, v Value) bool) {
	switch m.Kind() {
	case KindNil:
	case KindArrayMap:
		kvs := As[ArrayMap](m).kvs
		for i := 0; i < len(kvs); i += 2 {
			t.Step()
			if !f(kvs[i], kvs[i+1]) {
				return
			}
		}
	case KindHashMap:
		As[HashMap](m).root.each(t, f)
	case KindSortedMap:
		As[SortedMap](m).root.each(t, f)
	case KindRecord:
		As[Record](m).each(t, f)
	default:
		panic(TypeError(t, "entries", m, "a map"))
	}
}

// ToSlice gives the elements of coll in a new slice.
func ToSlice(t *Thread, coll Value) []Value {
	n := 0
	if Counted(coll) {
		n = Count(t, coll)
		t.Charge(n * valueBytes)
	}
	pinned := n * valueBytes
	t.Pin(pinned)
	xs := make([]Value, 0, n)
	at := t.Watch(xs[:cap(xs)])
	Each(t, coll, func(x Value) bool {
		if len(xs) == cap(xs) {
			grow := max(16, len(xs))
			t.Charge((len(xs) + grow) * valueBytes)
			t.Pin(grow * valueBytes)
			pinned += grow * valueBytes
			xs = append(make([]Value, 0, len(xs)+grow), xs...)
			t.Rewatch(at, xs[:cap(xs)])
		}
		xs = append(xs, x)
		return true
	})
	t.Unwatch()
	t.Unpin(pinned)
	return xs
}

// Reduce folds coll with f from init; a reduced value ends it and is unwrapped. The result so far lies on the thread's
// stack, where it counts as alive.
func Reduce(t *Thread, f func(acc, x Value) Value, init, coll Value) Value {
	held := t.Push(1)
	held[0] = init
	reduce(t, f, held, coll)
	acc := held[0]
	held[0] = Value{}
	t.Pop(1)
	return Unreduced(acc)
}

func reduce(t *Thread, f func(acc, x Value) Value, acc []Value, coll Value) {
	if coll.Kind() == KindRange {
		r := As[Range](coll)
		for i := int64(0); i < r.n; i++ {
			t.Step()
			if acc[0] = f(acc[0], r.at(i)); acc[0].Kind() == KindReduced {
				return
			}
		}
		return
	}
	Each(t, coll, func(x Value) bool {
		acc[0] = f(acc[0], x)
		return acc[0].Kind() != KindReduced
	})
}
