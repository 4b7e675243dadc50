package value

import "sync"

// Elem is what an array holds.
type Elem uint8

// The sorts of arrays.
const (
	ElemObject Elem = iota
	ElemBoolean
	ElemByte
	ElemShort
	ElemChar
	ElemInt
	ElemLong
	ElemFloat
	ElemDouble
)

// Array is a row of values of fixed length that can be written. Threads may share one: each access takes its lock, and no
// Lisp code runs under it.
type Array struct {
	Header
	elem Elem
	mu   sync.Mutex
	xs   []Value // the slice is never replaced
}

// NewArray makes an array of n zeros of the sort: nil, false, 0, 0.0 or the char 0.
func NewArray(t *Thread, elem Elem, n int) Value {
	t.Steps(n >> 3)
	t.Charge(cellBytes + n*valueBytes)
	xs := make([]Value, n)
	if zero := elem.zero(); !zero.IsNil() {
		for i := range xs {
			xs[i] = zero
		}
	}
	return NewArrayOwned(elem, xs)
}

// NewArrayOwned makes an array of xs, which it keeps.
func NewArrayOwned(elem Elem, xs []Value) Value {
	return Of(&Array{Header: Head(KindArray), elem: elem, xs: xs})
}

func (e Elem) zero() Value {
	switch e {
	case ElemObject:
		return Nil
	case ElemBoolean:
		return False
	case ElemChar:
		return Char(0)
	case ElemFloat, ElemDouble:
		return Float(0)
	}
	return Int(0)
}

// Elem tells what the array holds.
func (a *Array) Elem() Elem { return a.elem }

// Len counts the elements.
func (a *Array) Len() int { return len(a.xs) }

// Get gives element i, which must be there.
func (a *Array) Get(i int) Value {
	a.mu.Lock()
	v := a.xs[i]
	a.mu.Unlock()
	return v
}

// Set replaces element i, which must be there; v must fit the sort of the array.
func (a *Array) Set(i int, v Value) {
	a.mu.Lock()
	a.xs[i] = v
	a.mu.Unlock()
}

// Copy gives the elements as they are now in a new slice.
func (a *Array) Copy(t *Thread) []Value {
	t.Steps(len(a.xs) >> 3)
	t.Charge(len(a.xs) * valueBytes)
	xs := make([]Value, len(a.xs))
	a.mu.Lock()
	copy(xs, a.xs)
	a.mu.Unlock()
	return xs
}

// Replace writes xs, as many as there are elements, over all of them.
func (a *Array) Replace(xs []Value) {
	a.mu.Lock()
	copy(a.xs, xs)
	a.mu.Unlock()
}

// nth gives element i, if it is there.
func (a *Array) nth(i int) (Value, bool) {
	if uint(i) >= uint(len(a.xs)) {
		return Nil, false
	}
	return a.Get(i), true
}

// mark marks what the array holds, a part at a time, so that no one waits for long.
func (a *Array) mark(m *Marker) {
	m.Bytes(len(a.xs) * valueBytes)
	if a.elem != ElemObject {
		return
	}
	for i := range a.xs {
		m.Value(a.Get(i))
	}
}
