package value

import (
	"math"
	"math/big"
	"strconv"
	"sync/atomic"
)

// The numeric tower: 64-bit integers and doubles are immediate values; big integers, ratios and big decimals are objects.
// An operation on two numbers works in the higher of their ranks (integer, big integer, ratio, decimal, float), as in
// Clojure. The big.Int and big.Rat behind an object are never written once it is made.

// BigInt is an integer of any size. Unlike an integer it never overflows, and it stays a BigInt even where it is small.
type BigInt struct {
	Header
	X    *big.Int
	Java bool // made by biginteger: printed without the N
	hash atomic.Uint64
}

// Ratio is a fraction in lowest terms whose denominator is above one.
type Ratio struct {
	Header
	X    *big.Rat
	hash atomic.Uint64
}

// BigDec is Unscaled × 10^-Scale, exactly. Two of different scale may be equal: 1.0M and 1.00M.
type BigDec struct {
	Header
	Unscaled *big.Int
	Scale    int32
	hash     atomic.Uint64
}

// NewBigInt makes a BigInt, which takes x. The caller has charged for it.
func NewBigInt(x *big.Int) Value { return Of(&BigInt{Header: Head(KindBigInt), X: x}) }

// NewBigInteger makes a BigInt that prints without its N.
func NewBigInteger(x *big.Int) Value { return Of(&BigInt{Header: Head(KindBigInt), X: x, Java: true}) }

// NewRatio makes a ratio of x, which it takes; a BigInt when the denominator is one.
func NewRatio(x *big.Rat) Value {
	if x.IsInt() {
		return NewBigInt(new(big.Int).Set(x.Num()))
	}
	return Of(&Ratio{Header: Head(KindRatio), X: x})
}

// NewBigDec makes the decimal unscaled × 10^-scale, which takes unscaled.
func NewBigDec(unscaled *big.Int, scale int32) Value { return Of(newDec(unscaled, int64(scale))) }

// newDec checks the scale, which arithmetic may have taken out of its range.
func newDec(u *big.Int, scale int64) *BigDec {
	switch {
	case scale > math.MaxInt32:
		panic(Errorf("ArithmeticException", "big decimal: underflow"))
	case scale < math.MinInt32:
		panic(Errorf("ArithmeticException", "big decimal: overflow"))
	}
	return &BigDec{Header: Head(KindBigDec), Unscaled: u, Scale: int32(scale)}
}

// Integer makes an integer of x: a plain one where it fits, else a BigInt.
func Integer(x *big.Int) Value {
	if x.IsInt64() {
		return Int(x.Int64())
	}
	return NewBigInt(x)
}

// rank orders the kinds of numbers: the higher of two decides how an operation is done.
type rank uint8

const (
	rankNone rank = iota
	rankInt
	rankBig
	rankRatio
	rankDec
	rankFloat
)

func rankOf(v Value) rank {
	switch v.Kind() {
	case KindInt:
		return rankInt
	case KindBigInt:
		return rankBig
	case KindRatio:
		return rankRatio
	case KindBigDec:
		return rankDec
	case KindFloat:
		return rankFloat
	}
	return rankNone
}

// ranks gives the rank in which who works on a and b, and throws when one is no number.
func ranks(t *Thread, who string, a, b Value) rank {
	x, y := rankOf(a), rankOf(b)
	if x == rankNone {
		panic(TypeError(t, who, a, "a number"))
	}
	if y == rankNone {
		panic(TypeError(t, who, b, "a number"))
	}
	return max(x, y)
}

// BigOf gives the integer behind v, an int or BigInt, as a big.Int that must not be written.
func BigOf(v Value) *big.Int {
	if v.IsInt() {
		return big.NewInt(v.Int())
	}
	return As[BigInt](v).X
}

// ratOf gives v, of rank ratio or below, as a big.Rat that must not be written.
func ratOf(v Value) *big.Rat {
	if v.Kind() == KindRatio {
		return As[Ratio](v).X
	}
	return new(big.Rat).SetInt(BigOf(v))
}

// decOf gives v, of rank decimal or below, as a decimal; a ratio without a finite expansion throws.
func decOf(t *Thread, v Value) *BigDec {
	switch v.Kind() {
	case KindBigDec:
		return As[BigDec](v)
	case KindRatio:
		r := As[Ratio](v).X
		return decQuo(t, newDec(r.Num(), 0), newDec(r.Denom(), 0))
	}
	return newDec(BigOf(v), 0)
}

// ToFloat gives the double nearest to v; what is no number throws.
func ToFloat(t *Thread, v Value) float64 {
	switch v.Kind() {
	case KindFloat:
		return v.Float()
	case KindInt:
		return float64(v.Int())
	case KindBigInt:
		x := As[BigInt](v).X
		t.Steps(words(x) / 32)
		f, _ := x.Float64()
		return f
	case KindRatio: // by way of 16 digits, as the JVM does it
		r := As[Ratio](v).X
		return decFloat(t, decQuoContext(t, newDec(r.Num(), 0), newDec(r.Denom(), 0), decimal64))
	case KindBigDec:
		return decFloat(t, As[BigDec](v))
	}
	panic(TypeError(t, "number", v, "a number"))
}

func decFloat(t *Thread, d *BigDec) float64 {
	f, _ := strconv.ParseFloat(bigText(t, d.Unscaled)+"e"+strconv.Itoa(-int(d.Scale)), 64)
	return f
}
