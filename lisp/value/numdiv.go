package value

import (
	"math"
	"math/big"
)

func divideByZero() *Exception { return Errorf("ArithmeticException", "Divide by zero") }

// Div is a / b: exact for exact numbers. Doubles divide by zero to an infinity; exact numbers throw.
func Div(t *Thread, a, b Value) Value {
	if a.IsFloat() && b.IsFloat() {
		return Float(a.Float() / b.Float())
	}
	switch ranks(t, "/", a, b) {
	case rankFloat:
		return Float(ToFloat(t, a) / ToFloat(t, b))
	case rankDec:
		return divDec(t, decOf(t, a), decOf(t, b))
	case rankRatio:
		y := ratOf(b)
		if y.Sign() == 0 {
			panic(divideByZero())
		}
		x := ratOf(a)
		chargeRat(t, x, y)
		return NewRatio(new(big.Rat).Quo(x, y))
	case rankBig:
		return divBig(t, BigOf(a), BigOf(b))
	}
	return divInt(t, a.Int(), b.Int())
}

func divInt(t *Thread, x, y int64) Value {
	if y == 0 {
		panic(divideByZero())
	}
	if x%y == 0 {
		return Int(x / y)
	}
	t.Charge(160)
	return NewRatio(big.NewRat(x, y))
}

func divBig(t *Thread, x, y *big.Int) Value {
	if y.Sign() == 0 {
		panic(divideByZero())
	}
	chargeLowest(t, x, y)
	return NewRatio(new(big.Rat).SetFrac(x, y))
}

func divDec(t *Thread, x, y *BigDec) Value {
	if y.Unscaled.Sign() == 0 {
		panic(divideByZero())
	}
	if mc, ok := t.mathContext(); ok {
		return Of(decQuoContext(t, x, y, mc))
	}
	return Of(decQuo(t, x, y))
}

// Quot divides and drops the fraction.
func Quot(t *Thread, a, b Value) Value {
	if a.IsInt() && b.IsInt() && b.Int() != 0 {
		return Int(a.Int() / b.Int())
	}
	r := ranks(t, "quot", a, b)
	checkDivisor(t, b)
	switch r {
	case rankFloat:
		return quotFloat(t, ToFloat(t, a)/ToFloat(t, b))
	case rankDec:
		return Of(decQuot(t, decOf(t, a), decOf(t, b)))
	case rankRatio:
		return NewBigInt(quotRat(t, ratOf(a), ratOf(b)))
	}
	x, y := BigOf(a), BigOf(b)
	chargeDiv(t, x, y)
	return NewBigInt(new(big.Int).Quo(x, y))
}

func checkDivisor(t *Thread, b Value) {
	if NumSign(t, "quot", b) == 0 && !isNaN(b) {
		panic(divideByZero())
	}
}

func isNaN(v Value) bool { return v.IsFloat() && v.Float() != v.Float() }

// quotFloat truncates q; what is no finite number has no quotient.
func quotFloat(t *Thread, q float64) Value {
	if math.IsNaN(q) || math.IsInf(q, 0) {
		panic(Errorf("NumberFormatException", "quot: got %s, want a finite quotient", FormatFloat(q)))
	}
	if q = math.Trunc(q); q == 0 {
		q = 0 // no negative zero
	}
	return Float(q)
}

func quotRat(t *Thread, x, y *big.Rat) *big.Int {
	chargeRat(t, x, y)
	n := new(big.Int).Mul(x.Num(), y.Denom())
	d := new(big.Int).Mul(x.Denom(), y.Num())
	chargeDiv(t, n, d)
	return n.Quo(n, d)
}

// Rem is what Quot leaves; it has the sign of a.
func Rem(t *Thread, a, b Value) Value {
	if a.IsInt() && b.IsInt() && b.Int() != 0 {
		return Int(a.Int() % b.Int())
	}
	r := ranks(t, "rem", a, b)
	checkDivisor(t, b)
	switch r {
	case rankFloat:
		x, y := ToFloat(t, a), ToFloat(t, b)
		return Float(x - quotFloat(t, x/y).Float()*y)
	case rankDec:
		x, y := decOf(t, a), decOf(t, b)
		return Of(decSub(t, x, decMul(t, decQuot(t, x, y), y)))
	case rankRatio:
		q := quotRat(t, ratOf(a), ratOf(b))
		return Sub(t, a, Mul(t, NewBigInt(q), b))
	}
	x, y := BigOf(a), BigOf(b)
	chargeDiv(t, x, y)
	return NewBigInt(new(big.Int).Rem(x, y))
}

// Mod is the remainder with the sign of b.
func Mod(t *Thread, a, b Value) Value {
	if a.IsInt() && b.IsInt() && b.Int() != 0 {
		m := a.Int() % b.Int()
		if m != 0 && (m < 0) != (b.Int() < 0) {
			m += b.Int()
		}
		return Int(m)
	}
	m := Rem(t, a, b)
	if s := NumSign(t, "mod", m); s == 0 || (s > 0) == (NumSign(t, "mod", b) > 0) {
		return m
	}
	return Add(t, m, b)
}

// NumSign is -1, 0 or 1; NaN has sign 0.
func NumSign(t *Thread, who string, v Value) int {
	switch v.Kind() {
	case KindInt:
		return signOf(v.Int())
	case KindFloat:
		return signOf(v.Float())
	case KindBigInt:
		return As[BigInt](v).X.Sign()
	case KindRatio:
		return As[Ratio](v).X.Sign()
	case KindBigDec:
		return As[BigDec](v).Unscaled.Sign()
	}
	panic(TypeError(t, who, v, "a number"))
}

func signOf[N int64 | float64](n N) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
