package value

import "math"

// Range is a finite run of integers. It takes no room and knows its length.
type Range struct {
	Header
	meta        *MetaBox
	start, step int64
	n           int64 // elements, at least 1
}

// NewRange gives the integers from start until end, which is not among them; the empty list when there are none.
func NewRange(start, end, step int64) Value {
	n := rangeLen(start, end, step)
	if n <= 0 {
		return EmptyList
	}
	return Of(&Range{Header: Head(KindRange), start: start, step: step, n: n})
}

// rangeLen counts the integers of a range, in unsigned arithmetic: the width may not fit 63 bits.
func rangeLen(start, end, step int64) int64 {
	var width, stride uint64
	switch {
	case step > 0 && start < end:
		width, stride = uint64(end)-uint64(start), uint64(step)
	case step < 0 && start > end:
		width, stride = uint64(start)-uint64(end), -uint64(step)
	default:
		return 0
	}
	return int64(min((width-1)/stride+1, math.MaxInt64))
}

func (r *Range) at(i int64) Value { return Int(r.start + i*r.step) }

// from gives the range without its first i elements, or nil.
func (r *Range) from(i int64) Value {
	if i >= r.n {
		return Nil
	}
	return Of(&Range{Header: Head(KindRange), start: r.start + i*r.step, step: r.step, n: r.n - i})
}

// chunk computes the first elements, at most 32.
func (r *Range) chunk(t *Thread) []Value {
	n := int(min(r.n, 32))
	t.Charge(n * valueBytes)
	xs := make([]Value, n)
	for i := range xs {
		xs[i] = r.at(int64(i))
	}
	return xs
}

// NewNumRange gives the numbers from start towards end by step, of any kind of number; a nil end means no end. It is lazy,
// in chunks of 32.
func NewNumRange(t *Thread, start, end, step Value) Value {
	if start.IsInt() && end.IsInt() && step.IsInt() && step.Int() != 0 {
		return NewRange(start.Int(), end.Int(), step.Int())
	}
	down := NumLess(t, step, Int(0))
	t.Charge(2 * lazyBytes)
	return NewLazyGo(func(t *Thread) Value { return numChunk(t, start, end, step, down) }, start, end, step)
}

func numChunk(t *Thread, x, end, step Value, down bool) Value {
	t.Charge(33 * valueBytes)
	xs := make([]Value, 0, 32)
	for len(xs) < 32 {
		t.Step()
		if !end.IsNil() && (NumEq(t, x, end) || NumLess(t, x, end) == down) {
			return chunked(xs, Nil)
		}
		xs = append(xs, x)
		x = AddP(t, x, step)
	}
	return chunked(xs, NewNumRange(t, x, end, step))
}

func chunked(xs []Value, rest Value) Value {
	if len(xs) == 0 {
		return rest
	}
	return Of(&ChunkedCons{Header: Head(KindChunkedCons), xs: xs, rest: rest})
}
