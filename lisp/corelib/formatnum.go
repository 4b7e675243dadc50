package corelib

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// decimal is %d.
func (f *formatter) decimal(d *directive, v Value) string {
	if !v.Kind().IsInteger() {
		d.fail("got %s (%s), want an integer", value.Brief(f.t, v), v.Kind())
	}
	text := value.NumberText(f.t, v)
	digits, negative := strings.CutPrefix(text, "-")
	return f.signed(d, digits, negative)
}

// radix is %x and %o. An integer of 64 bits shows its bits; a big one has a sign.
func (f *formatter) radix(d *directive, v Value) string {
	base, mark := 16, "0x"
	if d.verb == 'o' {
		base, mark = 8, "0"
	}
	if !d.has('#') {
		mark = ""
	}
	switch v.Kind() {
	case value.KindInt:
		if strings.ContainsAny(d.flags, "+ (,") {
			d.fail("the flags + ( , and blank do not go with an integer of 64 bits")
		}
		text := mark + strconv.FormatUint(uint64(v.Int()), base)
		return f.zeros(d, text, len(mark))
	case value.KindBigInt:
		x := value.BigOf(v)
		text := value.BigText(f.t, new(big.Int).Abs(x), base)
		return f.signed(d, mark+text, x.Sign() < 0)
	}
	d.fail("got %s (%s), want an integer", value.Brief(f.t, v), v.Kind())
	return ""
}

// real is %f, %e and %g.
func (f *formatter) real(d *directive, v Value) string {
	if v.IsFloat() && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)) {
		return notFinite(d, v.Float())
	}
	if v.Kind() != value.KindFloat && v.Kind() != value.KindBigDec {
		d.fail("got %s (%s), want a float or a decimal: (double x)", value.Brief(f.t, v), v.Kind())
	}
	dec := value.As[value.BigDec](value.ToBigDec(f.t, "format", v))
	negative := dec.Unscaled.Sign() < 0 || v.IsFloat() && math.Signbit(v.Float())
	f.t.Charge(dec.Unscaled.BitLen()/8 + 64)
	abs := value.As[value.BigDec](value.NewBigDec(new(big.Int).Abs(dec.Unscaled), dec.Scale))
	prec := d.prec
	if prec < 0 {
		prec = 6
	}
	text := ""
	switch d.verb {
	case 'f':
		text = f.fixed(abs, prec)
	case 'e':
		if d.has(',') {
			d.fail("the flag , does not go with it")
		}
		text = f.scientific(abs, prec)
	default:
		text = f.general(abs, max(prec, 1))
	}
	return f.signed(d, text, negative)
}

func notFinite(d *directive, x float64) string {
	text := "Infinity"
	switch {
	case math.IsNaN(x):
		return "NaN"
	case x < 0 && d.has('('):
		return "(Infinity)"
	case x < 0:
		return "-" + text
	case d.has('+'):
		return "+" + text
	case d.has(' '):
		return " " + text
	}
	return text
}

func (f *formatter) fixed(x *value.BigDec, prec int) string {
	return value.PlainDec(f.t, x.SetScale(f.t, int32(prec)))
}

func (f *formatter) scientific(x *value.BigDec, prec int) string {
	rounded := value.As[value.BigDec](value.RoundDec(f.t, x, prec+1))
	digits := value.NumberText(f.t, value.NewBigInt(rounded.Unscaled))
	exp := int64(len(digits)) - 1 - int64(rounded.Scale)
	if rounded.Unscaled.Sign() == 0 {
		exp = 0
	}
	f.t.Charge(2*(prec+1+len(digits)) + 32)
	digits += strings.Repeat("0", max(prec+1-len(digits), 0))
	text := digits[:1]
	if prec > 0 {
		text += "." + digits[1:]
	}
	sign := "+"
	if exp < 0 {
		sign, exp = "-", -exp
	}
	e := strconv.FormatInt(exp, 10)
	if len(e) < 2 {
		e = "0" + e
	}
	return text + "e" + sign + e
}

// general shows prec significant digits, with an exponent where the number is far from one.
func (f *formatter) general(x *value.BigDec, prec int) string {
	rounded := value.As[value.BigDec](value.RoundDec(f.t, x, prec))
	exp := int64(0)
	if rounded.Unscaled.Sign() != 0 {
		exp = int64(value.Precision(f.t, rounded)) - 1 - int64(rounded.Scale)
	}
	if exp < -4 || exp >= int64(prec) {
		return f.scientific(x, prec-1)
	}
	return f.fixed(rounded, int(int64(prec)-exp-1))
}

// signed puts sign, grouping and zeros to the digits of a number.
func (f *formatter) signed(d *directive, text string, negative bool) string {
	f.t.Charge(2 * len(text))
	if d.has(',') {
		text = grouped(text)
	}
	before, behind := "", ""
	switch {
	case negative && d.has('('):
		before, behind = "(", ")"
	case negative:
		before = "-"
	case d.has('+'):
		before = "+"
	case d.has(' '):
		before = " "
	}
	return f.zeros(d, before+text+behind, len(before))
}

// zeros puts the zeros of the flag 0 behind the first n bytes of text.
func (f *formatter) zeros(d *directive, text string, n int) string {
	missing := d.width - len(text)
	if !d.has('0') || missing <= 0 {
		return text
	}
	f.t.Charge(d.width * 2)
	return text[:n] + strings.Repeat("0", missing) + text[n:]
}

// grouped puts commas between the thousands.
func grouped(text string) string {
	whole, rest := text, ""
	if i := strings.IndexByte(text, '.'); i >= 0 {
		whole, rest = text[:i], text[i:]
	}
	var b strings.Builder
	b.Grow(len(text) + len(whole)/3)
	for i, c := range []byte(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(c)
	}
	return b.String() + rest
}
