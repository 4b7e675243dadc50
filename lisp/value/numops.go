package value

import "math/bits"

// The operations that programs spend their time in: integers first, then doubles; the rest of the tower stands in
// numarith.go.

// Add is a + b; integers that overflow throw.
func Add(t *Thread, a, b Value) Value {
	if a.IsInt() && b.IsInt() {
		x, y := a.Int(), b.Int()
		if s := x + y; (x^s)&(y^s) >= 0 {
			return Int(s)
		}
	}
	return addSlow(t, a, b)
}

func addSlow(t *Thread, a, b Value) Value {
	if a.IsFloat() && b.IsFloat() {
		return Float(a.Float() + b.Float())
	}
	return arith(t, &opAdd, a, b, false)
}

// Sub is a - b; integers that overflow throw.
func Sub(t *Thread, a, b Value) Value {
	if a.IsInt() && b.IsInt() {
		x, y := a.Int(), b.Int()
		if s := x - y; (x^y)&(x^s) >= 0 {
			return Int(s)
		}
	}
	return subSlow(t, a, b)
}

func subSlow(t *Thread, a, b Value) Value {
	if a.IsFloat() && b.IsFloat() {
		return Float(a.Float() - b.Float())
	}
	return arith(t, &opSub, a, b, false)
}

// Mul is a × b; integers that overflow throw.
func Mul(t *Thread, a, b Value) Value {
	if a.IsInt() && b.IsInt() {
		if p, ok := mulInt(a.Int(), b.Int()); ok {
			return Int(p)
		}
	}
	return mulSlow(t, a, b)
}

func mulSlow(t *Thread, a, b Value) Value {
	if a.IsFloat() && b.IsFloat() {
		return Float(a.Float() * b.Float())
	}
	return arith(t, &opMul, a, b, false)
}

// mulInt multiplies; false when the product has no room in 64 bits.
func mulInt(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	hi -= uint64(x>>63)&uint64(y) + uint64(y>>63)&uint64(x)
	return int64(lo), hi == uint64(int64(lo)>>63)
}

// AddP, SubP and MulP go to big integers where Add, Sub and Mul throw.
func AddP(t *Thread, a, b Value) Value {
	if a.IsInt() && b.IsInt() {
		x, y := a.Int(), b.Int()
		if s := x + y; (x^s)&(y^s) >= 0 {
			return Int(s)
		}
	}
	return arith(t, &opAdd, a, b, true)
}

// SubP is a - b, promoting.
func SubP(t *Thread, a, b Value) Value {
	if a.IsInt() && b.IsInt() {
		x, y := a.Int(), b.Int()
		if s := x - y; (x^y)&(x^s) >= 0 {
			return Int(s)
		}
	}
	return arith(t, &opSub, a, b, true)
}

// MulP is a × b, promoting.
func MulP(t *Thread, a, b Value) Value {
	if a.IsInt() && b.IsInt() {
		if p, ok := mulInt(a.Int(), b.Int()); ok {
			return Int(p)
		}
	}
	return arith(t, &opMul, a, b, true)
}

// Inc is a + 1.
func Inc(t *Thread, a Value) Value {
	if a.IsInt() && a.Int()+1 > a.Int() {
		return Int(a.Int() + 1)
	}
	return incSlow(t, a, 1)
}

// Dec is a - 1.
func Dec(t *Thread, a Value) Value {
	if a.IsInt() && a.Int()-1 < a.Int() {
		return Int(a.Int() - 1)
	}
	return incSlow(t, a, -1)
}

func incSlow(t *Thread, a Value, by int64) Value {
	if a.IsFloat() {
		return Float(a.Float() + float64(by))
	}
	if !a.Kind().IsNumber() {
		panic(TypeError(t, incName(by), a, "a number"))
	}
	return Add(t, a, Int(by))
}

func incName(by int64) string {
	if by < 0 {
		return "dec"
	}
	return "inc"
}

// IncP is a + 1, promoting.
func IncP(t *Thread, a Value) Value { return AddP(t, a, Int(1)) }

// DecP is a - 1, promoting.
func DecP(t *Thread, a Value) Value { return SubP(t, a, Int(1)) }

// Neg is -a; the lowest integer throws.
func Neg(t *Thread, a Value) Value { return negate(t, a, false) }

// NegP is -a, promoting.
func NegP(t *Thread, a Value) Value { return negate(t, a, true) }

func negate(t *Thread, a Value, promote bool) Value {
	switch a.Kind() {
	case KindInt:
		if a.Int() != -a.Int() || a.Int() == 0 {
			return Int(-a.Int())
		}
	case KindFloat:
		return Float(-a.Float())
	}
	return arith(t, &opSub, Int(0), a, promote)
}

// NumLess is a < b.
func NumLess(t *Thread, a, b Value) bool {
	if a.IsInt() && b.IsInt() {
		return a.Int() < b.Int()
	}
	if a.IsFloat() && b.IsFloat() {
		return a.Float() < b.Float()
	}
	return lessSlow(t, a, b)
}

// NumLessEq is a <= b; false when one is not a number that can be ordered (NaN).
func NumLessEq(t *Thread, a, b Value) bool {
	if a.IsInt() && b.IsInt() {
		return a.Int() <= b.Int()
	}
	if a.IsFloat() && b.IsFloat() {
		return a.Float() <= b.Float()
	}
	return lessEqSlow(t, a, b)
}

// NumEq is ==: equal as numbers, whatever their kinds.
func NumEq(t *Thread, a, b Value) bool {
	if a.IsInt() && b.IsInt() {
		return a.Int() == b.Int()
	}
	if a.IsFloat() && b.IsFloat() {
		return a.Float() == b.Float()
	}
	return eqSlow(t, a, b)
}
