package value

import "sync/atomic"

// GenSeq is an endless seq made by a rule, or a finite repetition.
type GenSeq struct {
	Header
	how  genRule
	meta *MetaBox
	f    Value // iterate: the function; cycle: the whole seq
	x    Value // iterate, repeat: the first element; cycle: what is left of this round
	n    int64 // repeat: how many, or -1 for no end
	next atomic.Pointer[GenSeq]
}

type genRule uint32

const (
	genIterate genRule = iota
	genRepeat
	genCycle
)

// NewIterate gives x, (f x), (f (f x)) and so on.
func NewIterate(f, x Value) Value {
	return Of(&GenSeq{Header: Head(KindGenSeq), how: genIterate, f: f, x: x})
}

// NewRepeat gives x for ever.
func NewRepeat(x Value) Value {
	return Of(&GenSeq{Header: Head(KindGenSeq), how: genRepeat, x: x, n: -1})
}

// NewRepeatN gives x n times.
func NewRepeatN(x Value, n int64) Value {
	if n <= 0 {
		return EmptyList
	}
	return Of(&GenSeq{Header: Head(KindGenSeq), how: genRepeat, x: x, n: n})
}

// NewCycle gives the elements of coll over and over; the empty list when there are none.
func NewCycle(t *Thread, coll Value) Value {
	s := Seq(t, coll)
	if s.IsNil() {
		return EmptyList
	}
	t.Charge(2 * cellBytes)
	return Of(&GenSeq{Header: Head(KindGenSeq), how: genCycle, f: s, x: s})
}

func (g *GenSeq) first(t *Thread) Value {
	if g.how == genCycle {
		return First(t, g.x)
	}
	return g.x
}

// rest gives the seq after the first element; nil only after the last of a finite repetition. The function of an iterate
// is called here, at most once for each element unless threads race.
func (g *GenSeq) tail(t *Thread) Value {
	switch g.how {
	case genRepeat:
		if g.n < 0 {
			return Of(g)
		}
		if g.n == 1 {
			return Nil
		}
		t.Charge(2 * cellBytes)
		return NewRepeatN(g.x, g.n-1)
	case genCycle:
		t.Charge(2 * cellBytes)
		s := Next(t, g.x)
		if s.IsNil() {
			s = g.f
		}
		return Of(&GenSeq{Header: Head(KindGenSeq), how: genCycle, f: g.f, x: s})
	}
	if n := g.next.Load(); n != nil {
		return Of(n)
	}
	n := &GenSeq{Header: Head(KindGenSeq), how: genIterate, f: g.f}
	t.Holding(Of(g), func() { // whoever walks the seq may hold it nowhere that is measured
		t.Charge(2 * cellBytes)
		n.x = t.Call1(g.f, g.x)
	})
	if !g.next.CompareAndSwap(nil, n) {
		n = g.next.Load()
	}
	return Of(n)
}
