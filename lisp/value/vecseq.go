package value

import "unicode/utf8"

// VecSeq is a seq over a vector, from some index.
type VecSeq struct {
	Header
	meta *MetaBox
	v    *Vector
	at   int
	xs   []Value // from at to the end of its leaf; never empty
}

func newVecSeq(v *Vector, at int) Value {
	if at >= v.Len() {
		return Nil
	}
	return Of(&VecSeq{Header: Head(KindVecSeq), v: v, at: at, xs: v.Chunk(at)})
}

func (s *VecSeq) next(t *Thread) Value {
	t.Charge(cellBytes)
	if len(s.xs) > 1 {
		return Of(&VecSeq{Header: Head(KindVecSeq), v: s.v, at: s.at + 1, xs: s.xs[1:]})
	}
	return newVecSeq(s.v, s.at+1)
}

// ArraySeq is a seq over a slice that no one writes any more.
type ArraySeq struct {
	Header
	meta *MetaBox
	xs   []Value // never empty
}

// NewArraySeq makes a seq of xs, which it keeps; nil when there are none.
func NewArraySeq(xs []Value) Value {
	if len(xs) == 0 {
		return Nil
	}
	return Of(&ArraySeq{Header: Head(KindArraySeq), xs: xs})
}

// ChunkedCons puts some elements before a seq.
type ChunkedCons struct {
	Header
	meta *MetaBox
	xs   []Value // never empty
	rest Value   // nil or a seq
}

// NewChunkedCons puts the elements of chunk, which it keeps, before rest, which is nil or a seq.
func NewChunkedCons(t *Thread, chunk []Value, rest Value) Value {
	t.Charge(cellBytes)
	return chunked(chunk, rest)
}

// StringSeq is a seq of the characters of a string.
type StringSeq struct {
	Header
	meta *MetaBox
	s    string // never empty
}

func newStringSeq(s string) Value {
	if s == "" {
		return Nil
	}
	return Of(&StringSeq{Header: Head(KindStringSeq), s: s})
}

func (s *StringSeq) split() (Value, string) {
	r, n := utf8.DecodeRuneInString(s.s)
	return Char(r), s.s[n:]
}

// MapSeq is a seq over a map or a set: some of its elements, and where to go on.
type MapSeq struct {
	Header
	meta *MetaBox
	xs   []Value // never empty
	more *mapIter
}

// part says what a seq over a map gives.
type part uint8

const (
	partEntries part = iota
	partKeys
	partVals
)

// newMapSeq gives the next n elements of it as a seq, or nil. It owns it.
func newMapSeq(t *Thread, it *mapIter, n int) Value {
	n = min(n, it.left)
	if n <= 0 {
		return Nil
	}
	size := valueBytes
	if it.part == partEntries {
		size += entryBytes
	}
	t.Charge(n*size + cellBytes)
	xs := make([]Value, 0, n)
	for len(xs) < n {
		k, v, ok := it.next()
		if !ok {
			break
		}
		xs = append(xs, it.element(k, v))
	}
	if len(xs) == 0 {
		return Nil
	}
	return Of(&MapSeq{Header: Head(KindMapSeq), xs: xs, more: it})
}

func (s *MapSeq) next(t *Thread) Value {
	if len(s.xs) > 1 {
		t.Charge(cellBytes)
		return Of(&MapSeq{Header: Head(KindMapSeq), xs: s.xs[1:], more: s.more})
	}
	return s.beyond(t)
}

// beyond gives the seq after all of xs. The iterator is copied: others may go on from here too.
func (s *MapSeq) beyond(t *Thread) Value {
	if s.more.left == 0 {
		return Nil
	}
	t.Charge(s.more.bytes())
	return newMapSeq(t, s.more.clone(), 32)
}
