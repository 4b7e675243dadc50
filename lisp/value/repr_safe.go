//go:build safevalue

package value

import "reflect"

// Value is one Lisp value in three words, without package unsafe: the form to check the other one against.
type Value struct {
	o Object
	n uint64
}

func immediate(tag *Header, n uint64) Value { return Value{tag, n} }

func (v Value) is(tag *Header) bool { return v.o == Object(tag) }

// Of wraps an object.
func Of(o Object) Value { return Value{o: o} }

// As gives the object behind v, which must be a *T: ask Kind first.
func As[T any](v Value) *T { return any(v.o).(*T) }

// Kind tells the type of v.
func (v Value) Kind() Kind {
	if v.o == nil {
		return KindNil
	}
	return v.o.head().kind
}

// IsNil tells whether v is nil.
func (v Value) IsNil() bool { return v.o == nil }

// Truthy is false for nil and false only.
func (v Value) Truthy() bool { return v.o != nil && v.o != Object(&tagFalse) }

func (v Value) header() *Header { return v.o.head() }

// address tells objects apart that are equal only to themselves. Go moves no object of the heap.
func (v Value) address() uint64 {
	if v.o == nil {
		return 0
	}
	return uint64(reflect.ValueOf(v.o).Pointer())
}

// valueBytes is the size of a Value.
const valueBytes = 24
