//go:build !safevalue

package value

import "unsafe"

// Value is one Lisp value in two words. The pointer word alone decides the type: nil, the address of a tag, or an object
// whose first field is its Header. The integer word is only payload (an int, the bits of a float, a rune), never kind,
// length or index: a Value torn by a data race is then at worst a wrong number, never a wrong pointer.
//
// The zero Value is nil. Two Values are identical when == says so.
type Value struct {
	p unsafe.Pointer
	n uint64
}

func immediate(tag *Header, n uint64) Value { return Value{unsafe.Pointer(tag), n} }

func (v Value) is(tag *Header) bool { return v.p == unsafe.Pointer(tag) }

// Of wraps an object.
func Of(o Object) Value {
	return Value{p: (*[2]unsafe.Pointer)(unsafe.Pointer(&o))[1]}
}

// As gives the object behind v, which must be a *T: ask Kind first.
func As[T any](v Value) *T { return (*T)(v.p) }

// Kind tells the type of v.
func (v Value) Kind() Kind {
	if v.p == nil {
		return KindNil
	}
	return (*Header)(v.p).kind
}

// IsNil tells whether v is nil.
func (v Value) IsNil() bool { return v.p == nil }

// Truthy is false for nil and false only.
func (v Value) Truthy() bool { return v.p != nil && v.p != unsafe.Pointer(&tagFalse) }

func (v Value) header() *Header { return (*Header)(v.p) }

// address tells objects apart that are equal only to themselves. Go moves no object of the heap.
func (v Value) address() uint64 { return uint64(uintptr(v.p)) }

// valueBytes is the size of a Value.
const valueBytes = 16
