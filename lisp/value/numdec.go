package value

import (
	"math"
	"math/big"
)

// Decimal arithmetic follows java.math.BigDecimal: sums keep the larger scale, products add scales, a quotient is exact
// or throws, and within with-precision every result is rounded.

// mathContext is a precision in digits and how to round to it.
type mathContext struct {
	digits int
	mode   rounding
}

type rounding string

var decimal64 = mathContext{16, "HALF_EVEN"}

// roundings are the modes that with-precision takes.
var roundings = [...]rounding{"CEILING", "FLOOR", "HALF_UP", "HALF_DOWN", "HALF_EVEN", "UP", "DOWN", "UNNECESSARY"}

// mathContext gives what the dynamic var *math-context* is bound to on t: a vector of a precision and a mode's name.
func (t *Thread) mathContext() (mathContext, bool) {
	if t.Binds == nil || t.Env == nil || t.Env.Core == nil {
		return mathContext{}, false
	}
	v := t.Env.Core.Var("*math-context*")
	if v == nil {
		return mathContext{}, false
	}
	c := v.Get(t)
	if c.IsNil() {
		return mathContext{}, false
	}
	return readContext(t, c), true
}

func readContext(t *Thread, c Value) mathContext {
	if c.Kind() != KindVector {
		panic(TypeError(t, "*math-context*", c, "a vector of precision and rounding mode"))
	}
	digits, _ := Nth(t, c, 0)
	mode, _ := Nth(t, c, 1)
	if !digits.IsInt() || digits.Int() < 0 || digits.Int() > math.MaxInt32 {
		panic(ArgError("with-precision: got %s, want a number of digits", Brief(t, digits)))
	}
	mc := mathContext{int(digits.Int()), "HALF_UP"}
	switch mode.Kind() {
	case KindSymbol:
		mc.mode = rounding(As[Symbol](mode).Name)
	case KindKeyword:
		mc.mode = rounding(As[Keyword](mode).Name)
	case KindString:
		mc.mode = rounding(mode.Text())
	}
	for _, r := range roundings {
		if r == mc.mode {
			return mc
		}
	}
	panic(ArgError("with-precision: got rounding mode %s, want one of %v", mc.mode, roundings))
}

// inContext rounds d as with-precision asks.
func inContext(t *Thread, d *BigDec) *BigDec {
	if mc, ok := t.mathContext(); ok {
		return decRound(t, d, mc)
	}
	return d
}

func decAdd(t *Thread, x, y *BigDec) *BigDec {
	a, b, s := align(t, x, y)
	chargeLinear(t, a, b)
	return inContext(t, newDec(new(big.Int).Add(a, b), s))
}

func decSub(t *Thread, x, y *BigDec) *BigDec {
	a, b, s := align(t, x, y)
	chargeLinear(t, a, b)
	return inContext(t, newDec(new(big.Int).Sub(a, b), s))
}

func decMul(t *Thread, x, y *BigDec) *BigDec {
	chargeMul(t, x.Unscaled, y.Unscaled)
	return inContext(t, newDec(new(big.Int).Mul(x.Unscaled, y.Unscaled), int64(x.Scale)+int64(y.Scale)))
}

// align writes x and y at the larger of their scales.
func align(t *Thread, x, y *BigDec) (a, b *big.Int, scale int64) {
	a, b = x.Unscaled, y.Unscaled
	switch d := int64(x.Scale) - int64(y.Scale); {
	case d > 0:
		return a, shift10(t, b, d), int64(x.Scale)
	case d < 0:
		return shift10(t, a, -d), b, int64(y.Scale)
	}
	return a, b, int64(x.Scale)
}

// shift10 is x × 10^n.
func shift10(t *Thread, x *big.Int, n int64) *big.Int {
	if n == 0 || x.Sign() == 0 {
		return x
	}
	p := pow10(t, n)
	chargeMul(t, x, p)
	return p.Mul(x, p)
}

// decQuo is x / y exactly, at the smallest scale that is not below the difference of theirs.
func decQuo(t *Thread, x, y *BigDec) *BigDec {
	scale := int64(x.Scale) - int64(y.Scale)
	if y.Unscaled.Sign() == 0 {
		panic(divideByZero())
	}
	if x.Unscaled.Sign() == 0 {
		return newDec(new(big.Int), min(max(scale, math.MinInt32), math.MaxInt32))
	}
	chargeLowest(t, x.Unscaled, y.Unscaled)
	f := new(big.Rat).SetFrac(x.Unscaled, y.Unscaled)
	k, ok := expansion(t, f.Denom())
	if !ok {
		panic(Errorf("ArithmeticException", "Non-terminating decimal expansion; no exact representable decimal result. "+
			"Use with-precision, or a ratio"))
	}
	n := shift10(t, f.Num(), k)
	chargeDiv(t, n, f.Denom())
	return newDec(new(big.Int).Quo(n, f.Denom()), scale+k)
}

// expansion tells how many decimal places 1/d has; false when it has no end.
func expansion(t *Thread, d *big.Int) (int64, bool) {
	twos := int64(d.TrailingZeroBits())
	chargeLinear(t, d, d)
	rest := new(big.Int).Rsh(d, uint(twos))
	fives := int64(0)
	five, m := big.NewInt(5), new(big.Int)
	for rest.BitLen() > 1 {
		t.Steps(1 + words(rest)/64)
		q, r := new(big.Int).QuoRem(rest, five, m)
		if r.Sign() != 0 {
			return 0, false
		}
		rest = q
		fives++
	}
	return max(twos, fives), true
}

// decQuoContext is x / y to the digits of mc.
func decQuoContext(t *Thread, x, y *BigDec, mc mathContext) *BigDec {
	if mc.digits == 0 {
		return decQuo(t, x, y)
	}
	scale := int64(x.Scale) - int64(y.Scale)
	if x.Unscaled.Sign() == 0 {
		return newDec(new(big.Int), min(max(scale, math.MinInt32), math.MaxInt32))
	}
	// Enough digits that the quotient has at least three to spare, the last one sticky.
	extra := max(int64(mc.digits)+3+int64(digitsBound(y.Unscaled))-int64(digitsBound(x.Unscaled))+1, 0)
	n := shift10(t, x.Unscaled, extra)
	chargeDiv(t, n, y.Unscaled)
	q, r := new(big.Int).QuoRem(n, y.Unscaled, new(big.Int))
	exact := r.Sign() == 0
	s := scale + extra
	if !exact {
		q.Mul(q, bigTen)
		q.Add(q, big.NewInt(int64(x.Unscaled.Sign()*y.Unscaled.Sign())))
		s++
	}
	d := roundTo(t, q, s, mc)
	if exact && q.Cmp(shift10(t, d.Unscaled, s-int64(d.Scale))) == 0 {
		u, ds := decStrip(t, d.Unscaled, int64(d.Scale), scale)
		return newDec(u, ds)
	}
	return d
}

// decQuot is the integral part of x / y, at the scale that BigDecimal prefers.
func decQuot(t *Thread, x, y *BigDec) *BigDec {
	scale := int64(x.Scale) - int64(y.Scale)
	a, b, _ := align(t, x, y)
	chargeDiv(t, a, b)
	q := new(big.Int).Quo(a, b)
	if scale >= 0 {
		return newDec(shift10(t, q, scale), scale)
	}
	u, s := decStrip(t, q, 0, scale)
	return newDec(u, s)
}

// decStrip drops trailing zeros until the scale is lowest.
func decStrip(t *Thread, u *big.Int, scale, lowest int64) (*big.Int, int64) {
	if u.Sign() == 0 {
		if lowest == math.MinInt32 {
			return u, 0
		}
		return u, lowest
	}
	r := new(big.Int)
	for step := int64(1 << 20); step > 0; step /= 2 {
		for scale-step >= lowest && int64(u.TrailingZeroBits()) >= step && int64(u.BitLen()) > 3*step {
			p := pow10(t, step)
			chargeDiv(t, u, p)
			q, r := new(big.Int).QuoRem(u, p, r)
			if r.Sign() != 0 {
				break
			}
			u, scale = q, scale-step
		}
	}
	return u, scale
}

// magnitude is the exponent of the first digit of d: the place of its decimal point. It may be one too high.
func (d *BigDec) magnitude() int64 { return int64(digitsBound(d.Unscaled)) - int64(d.Scale) }

// decCmp orders decimals. Those of very different size are told apart without writing them at one scale.
func decCmp(t *Thread, x, y *BigDec) int {
	sx, sy := x.Unscaled.Sign(), y.Unscaled.Sign()
	if sx != sy {
		return signOf(int64(sx - sy))
	}
	if sx == 0 || x.Scale == y.Scale {
		return x.Unscaled.Cmp(y.Unscaled)
	}
	switch d := x.magnitude() - y.magnitude(); {
	case d > 2:
		return sx
	case d < -2:
		return -sx
	}
	// The difference of the scales is now about that of the lengths.
	a, b := x.Unscaled, y.Unscaled
	if d := int64(x.Scale) - int64(y.Scale); d > 0 {
		b = shift10(t, b, d)
	} else {
		a = shift10(t, a, -d)
	}
	t.Steps(min(words(a), words(b)) / 64)
	return a.Cmp(b)
}
