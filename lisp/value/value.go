package value

import (
	"math"
	"sync/atomic"
)

// Header is the first field of every object.
type Header struct {
	kind  Kind
	flags atomic.Uint32
}

func (h *Header) head() *Header { return h }

// Object is what a Value can point to: a struct that embeds Header as its first field.
type Object interface{ head() *Header }

// Head makes the header of an object of kind k.
func Head(k Kind) Header { return Header{kind: k} }

const flagPlain = 1 << iota // the object and all it holds are plain data: safe to hand to another environment

// The tags of values that need no object.
var (
	tagTrue  = Header{kind: KindBool}
	tagFalse = Header{kind: KindBool}
	tagInt   = Header{kind: KindInt}
	tagFloat = Header{kind: KindFloat}
	tagChar  = Header{kind: KindChar}
)

// Nil, True and False.
var (
	Nil   Value
	True  = immediate(&tagTrue, 0)
	False = immediate(&tagFalse, 0)
)

// Int makes an integer.
func Int(i int64) Value { return immediate(&tagInt, uint64(i)) }

// Float makes a double.
func Float(f float64) Value { return immediate(&tagFloat, math.Float64bits(f)) }

// Char makes a character.
func Char(r rune) Value { return immediate(&tagChar, uint64(uint32(r))) }

// Bool makes a boolean.
func Bool(b bool) Value {
	if b {
		return True
	}
	return False
}

// IsInt tells whether v is a 64-bit integer.
func (v Value) IsInt() bool { return v.is(&tagInt) }

// IsFloat tells whether v is a double.
func (v Value) IsFloat() bool { return v.is(&tagFloat) }

// Int gives the integer behind a KindInt.
func (v Value) Int() int64 { return int64(v.n) }

// Float gives the double behind a KindFloat.
func (v Value) Float() float64 { return math.Float64frombits(v.n) }

// Char gives the rune behind a KindChar.
func (v Value) Char() rune { return rune(uint32(v.n)) }
