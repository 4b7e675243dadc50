package value

import (
	"math"
	"strconv"
	"strings"
)

// FormatNumber writes v so that the reader reads it back: 42, 42N, 1/2, 1.50M, 1.0E10. The doubles that have no digits
// are Infinity, -Infinity and NaN here; the printer knows their ## forms.
func FormatNumber(t *Thread, v Value) string {
	switch v.Kind() {
	case KindBigInt:
		if !As[BigInt](v).Java {
			return NumberText(t, v) + "N"
		}
	case KindBigDec:
		return NumberText(t, v) + "M"
	}
	return NumberText(t, v)
}

// NumberText writes v as str does: without N and M.
func NumberText(t *Thread, v Value) string {
	switch v.Kind() {
	case KindInt:
		return strconv.FormatInt(v.Int(), 10)
	case KindFloat:
		return FormatFloat(v.Float())
	case KindBigInt:
		return bigText(t, As[BigInt](v).X)
	case KindRatio:
		r := As[Ratio](v).X
		return bigText(t, r.Num()) + "/" + bigText(t, r.Denom())
	case KindBigDec:
		return decText(t, As[BigDec](v))
	}
	panic(TypeError(t, "number", v, "a number"))
}

// decText is BigDecimal.toString: plain unless the number is far from 1, then with an exponent.
func decText(t *Thread, d *BigDec) string {
	u := bigText(t, d.Unscaled)
	if d.Scale == 0 {
		return u
	}
	t.Charge(len(u) + 32)
	sign := ""
	if u[0] == '-' {
		sign, u = "-", u[1:]
	}
	adjusted := int64(len(u)) - 1 - int64(d.Scale)
	if d.Scale > 0 && adjusted >= -6 {
		return sign + withPoint(u, int(d.Scale))
	}
	if len(u) > 1 {
		u = u[:1] + "." + u[1:]
	}
	if adjusted == 0 {
		return sign + u
	}
	e := strconv.FormatInt(adjusted, 10)
	if adjusted > 0 {
		e = "+" + e
	}
	return sign + u + "E" + e
}

// withPoint puts a decimal point before the last scale digits.
func withPoint(digits string, scale int) string {
	if pad := scale + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	i := len(digits) - scale
	return digits[:i] + "." + digits[i:]
}

// PlainDec writes d without an exponent.
func PlainDec(t *Thread, d *BigDec) string {
	if d.Scale <= 0 {
		return bigText(t, shift10(t, d.Unscaled, -int64(d.Scale)))
	}
	u := bigText(t, d.Unscaled)
	t.Charge(len(u) + int(d.Scale) + 3)
	if u[0] == '-' {
		return "-" + withPoint(u[1:], int(d.Scale))
	}
	return withPoint(u, int(d.Scale))
}

// FormatFloat is Java's Double.toString: the shortest digits that read back as f, at least one of them after the point,
// with an exponent below 10^-3 and from 10^7.
func FormatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if strings.IndexByte(s, '.') < 0 {
			s += ".0"
		}
		return s
	}
	mantissa, exp, _ := strings.Cut(shortest(f), "e")
	if strings.IndexByte(mantissa, '.') < 0 {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exp)
	return mantissa + "E" + strconv.Itoa(n)
}

// shortest writes f as d.ddde±dd with the fewest digits that read back; of two digits it takes the nearest, as Java does,
// where one would do.
func shortest(f float64) string {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	if strings.IndexByte(s, '.') >= 0 {
		return s
	}
	two := strconv.FormatFloat(f, 'e', 1, 64)
	if g, err := strconv.ParseFloat(two, 64); err == nil && g == f {
		return two
	}
	return s
}
