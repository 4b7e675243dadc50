package value

import "math/big"

// decRound rounds d to the digits of mc; zero digits mean all.
func decRound(t *Thread, d *BigDec, mc mathContext) *BigDec {
	return roundTo(t, d.Unscaled, int64(d.Scale), mc)
}

// roundTo makes a decimal of u × 10^-scale with at most the digits of mc.
func roundTo(t *Thread, u *big.Int, scale int64, mc mathContext) *BigDec {
	if mc.digits == 0 {
		return newDec(u, scale)
	}
	for {
		drop := int64(digits(t, u) - mc.digits)
		if drop <= 0 {
			return newDec(u, scale)
		}
		u, scale = dropDigits(t, u, drop, mc.mode), scale-drop // 999 may round to 1000: look again
	}
}

// digits counts the decimal digits of x exactly; zero has one.
func digits(t *Thread, x *big.Int) int {
	n := digitsBound(x)
	if n <= 1 {
		return 1
	}
	if x.CmpAbs(pow10(t, int64(n-1))) < 0 {
		return n - 1
	}
	return n
}

// dropDigits divides u by 10^n, rounding in the mode.
func dropDigits(t *Thread, u *big.Int, n int64, mode rounding) *big.Int {
	p := pow10(t, n)
	chargeDiv(t, u, p)
	q, r := new(big.Int).QuoRem(u, p, new(big.Int))
	if r.Sign() == 0 {
		return q
	}
	half := new(big.Int).Abs(r)
	half.Lsh(half, 1)
	if roundsUp(q, half.Cmp(p), u.Sign(), mode) {
		q.Add(q, big.NewInt(int64(u.Sign())))
	}
	return q
}

// roundsUp tells whether a quotient q with a remainder goes one away from zero. half tells on which side of one half the
// remainder is; sign is that of the number.
func roundsUp(q *big.Int, half, sign int, mode rounding) bool {
	switch mode {
	case "UP":
		return true
	case "DOWN":
		return false
	case "CEILING":
		return sign > 0
	case "FLOOR":
		return sign < 0
	case "HALF_DOWN":
		return half > 0
	case "HALF_EVEN":
		return half > 0 || half == 0 && q.Bit(0) == 1
	case "UNNECESSARY":
		panic(Errorf("ArithmeticException", "Rounding necessary"))
	}
	return half >= 0 // HALF_UP
}

// SetScale writes d at another scale, rounding half up; format needs it.
func (d *BigDec) SetScale(t *Thread, scale int32) *BigDec {
	if scale >= d.Scale {
		return newDec(shift10(t, d.Unscaled, int64(scale)-int64(d.Scale)), int64(scale))
	}
	n := int64(d.Scale) - int64(scale)
	if n > int64(digitsBound(d.Unscaled))+1 { // nothing is left of it
		return newDec(new(big.Int), int64(scale))
	}
	return newDec(dropDigits(t, d.Unscaled, n, "HALF_UP"), int64(scale))
}

// Precision counts the digits of d.
func Precision(t *Thread, d *BigDec) int { return digits(t, d.Unscaled) }

// RoundDec rounds d half up to n significant digits; none mean all.
func RoundDec(t *Thread, d *BigDec, n int) Value {
	return Of(decRound(t, d, mathContext{n, "HALF_UP"}))
}
