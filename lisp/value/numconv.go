package value

import (
	"math"
	"math/big"
	"strconv"
)

// ToBig truncates the number v to an integer.
func ToBig(t *Thread, who string, v Value) *big.Int {
	switch v.Kind() {
	case KindInt, KindBigInt:
		return BigOf(v)
	case KindRatio:
		r := As[Ratio](v).X
		chargeDiv(t, r.Num(), r.Denom())
		return new(big.Int).Quo(r.Num(), r.Denom())
	case KindFloat:
		return decInteger(t, floatDec(t, who, v.Float()))
	case KindBigDec:
		return decInteger(t, As[BigDec](v))
	}
	panic(TypeError(t, who, v, "a number"))
}

func decInteger(t *Thread, d *BigDec) *big.Int {
	if d.Scale <= 0 {
		return shift10(t, d.Unscaled, -int64(d.Scale))
	}
	if int(d.Scale) > digitsBound(d.Unscaled) {
		return new(big.Int)
	}
	return dropDigits(t, d.Unscaled, int64(d.Scale), "DOWN")
}

// floatDec is the decimal that f prints as.
func floatDec(t *Thread, who string, f float64) *BigDec {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		panic(Errorf("NumberFormatException", "%s: got %s, want a finite number", who, FormatFloat(f)))
	}
	t.Charge(512)
	d, _ := parseDec(t, FormatFloat(f))
	return d
}

// ToBigDec makes a decimal of the number v. A double becomes the decimal that it prints as.
func ToBigDec(t *Thread, who string, v Value) Value {
	switch v.Kind() {
	case KindBigDec:
		return v
	case KindFloat:
		return Of(floatDec(t, who, v.Float()))
	case KindInt, KindBigInt, KindRatio:
		return Of(decOf(t, v))
	}
	panic(TypeError(t, who, v, "a number"))
}

// Rationalize makes an exact number of v: an integer or a ratio. Exact numbers other than decimals stay.
func Rationalize(t *Thread, v Value) Value {
	switch v.Kind() {
	case KindFloat:
		return Rationalize(t, Of(floatDec(t, "rationalize", v.Float())))
	case KindBigDec:
		d := As[BigDec](v)
		if d.Scale <= 0 {
			return NewBigInt(shift10(t, d.Unscaled, -int64(d.Scale)))
		}
		return divBig(t, d.Unscaled, pow10(t, int64(d.Scale)))
	case KindInt, KindBigInt, KindRatio:
		return v
	}
	panic(TypeError(t, "rationalize", v, "a number"))
}

// ToInt truncates v, a number or a char, to an integer from lo to hi; what lies outside throws.
func ToInt(t *Thread, who string, v Value, lo, hi int64) int64 {
	var n int64
	ok := true
	switch v.Kind() {
	case KindInt:
		n = v.Int()
	case KindChar:
		n = int64(v.Char())
	case KindFloat:
		n, ok = truncFloat(v.Float(), lo, hi)
	default:
		ok = false
		if d := v; d.Kind() != KindBigDec || As[BigDec](d).magnitude() < 24 {
			x := ToBig(t, who, v)
			n, ok = x.Int64(), x.IsInt64()
		}
	}
	if !ok || n < lo || n > hi {
		panic(ArgError("Value out of range for %s: got %s, want %d to %d", who, Brief(t, v), lo, hi))
	}
	return n
}

// truncFloat drops the fraction of f; NaN is 0, and false what lies outside.
func truncFloat(f float64, lo, hi int64) (int64, bool) {
	switch {
	case math.IsNaN(f):
		return 0, true
	case f < float64(lo) || f > float64(hi):
		return 0, false
	case f >= math.MaxInt64: // (double Long/MAX_VALUE) is just outside
		return math.MaxInt64, true
	}
	return int64(f), true
}

// Wrap truncates v, a number or a char, to its low 64 bits, as the unchecked casts do; doubles saturate.
func Wrap(t *Thread, who string, v Value) int64 {
	switch v.Kind() {
	case KindInt:
		return v.Int()
	case KindChar:
		return int64(v.Char())
	case KindFloat:
		return saturate(v.Float())
	}
	x := ToBig(t, who, v)
	lo := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64))
	return int64(lo.Uint64())
}

func saturate(f float64) int64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// parseFloat reads a decimal double; too large is an infinity.
func parseFloat(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err == nil {
		return f, true
	}
	ne, ok := err.(*strconv.NumError)
	return f, ok && ne.Err == strconv.ErrRange
}
