package corelib

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// ranged makes a cast to an integer that throws outside lo to hi.
func ranged(name string, lo, hi int64) Def {
	return def1(name, "[x]", "x as an integer, its fraction dropped; throws when it is outside "+
		strconv.FormatInt(lo, 10)+" to "+strconv.FormatInt(hi, 10)+".",
		func(t *Thread, x Value) Value { return value.Int(value.ToInt(t, name, x, lo, hi)) })
}

// wrapped makes a cast that keeps the low bits, of doubles those of the nearest 32-bit integer. Only unchecked-int takes
// characters.
func wrapped(name string, cut func(int64) int64) Def {
	return def1(name, "[x]", "x as an integer of fewer bits, without a check.", func(t *Thread, x Value) Value {
		if x.Kind() == value.KindChar && name != "unchecked-int" {
			panic(value.TypeError(t, name, x, "a number"))
		}
		n := value.Wrap(t, name, x)
		if x.IsFloat() && name != "unchecked-long" {
			n = max(math.MinInt32, min(n, math.MaxInt32))
		}
		return value.Int(cut(n))
	})
}

// uncheckedInts makes an operation on integers that wraps around; other numbers go the checked way.
func uncheckedInts(name, doc string, ints func(a, b int64) int64, others binary) Def {
	return def2(name, "[x y]", doc, func(t *Thread, a, b Value) Value {
		if a.IsInt() && b.IsInt() {
			return value.Int(ints(a.Int(), b.Int()))
		}
		return others(t, a, b)
	})
}

func add(a, b int64) int64 { return a + b }
func sub(a, b int64) int64 { return a - b }
func mul(a, b int64) int64 { return a * b }

// narrow makes an operation on the low 32 bits of integers.
func narrow(name, doc string, f func(a, b int32) int32) Def {
	return def2(name, "[x y]", doc, func(t *Thread, a, b Value) Value {
		return value.Int(int64(f(int32Of(t, name, a), int32Of(t, name, b))))
	})
}

func narrow1(name, doc string, f func(a int32) int32) Def {
	return def1(name, "[x]", doc, func(t *Thread, a Value) Value {
		return value.Int(int64(f(int32Of(t, name, a))))
	})
}

// int32Of gives a number that must fit: what is unchecked of these functions is their result.
func int32Of(t *Thread, who string, x Value) int32 {
	if !x.Kind().IsNumber() {
		panic(value.TypeError(t, who, x, "a number"))
	}
	return int32(value.ToInt(t, who, x, math.MinInt32, math.MaxInt32))
}

func casts() []Def {
	return concat([]Def{
		ranged("byte", math.MinInt8, math.MaxInt8),
		ranged("short", math.MinInt16, math.MaxInt16),
		ranged("int", math.MinInt32, math.MaxInt32),
		ranged("long", math.MinInt64, math.MaxInt64),
		def1("num", "[x]", "x, which must be a number.", itself("num")),
		def1("double", "[x]", "x as a double.", func(t *Thread, x Value) Value { return value.Float(float(t, "double", x)) }),
		def1("float", "[x]", "x as a double; throws when it is too large for 32 bits, and gives zero when it is too small.", toFloat32),
		def1("bigint", "[x]", "x as an integer of any size, its fraction dropped; x may be a string.", func(t *Thread, x Value) Value {
			if x.Kind() == value.KindBigInt && !value.As[value.BigInt](x).Java {
				return x
			}
			t.Charge(64)
			return value.NewBigInt(value.BigOf(wholeOf(t, "bigint", x)))
		}),
		def1("biginteger", "[x]", "Like bigint; the result prints without N.", func(t *Thread, x Value) Value {
			t.Charge(64)
			return value.NewBigInteger(value.BigOf(wholeOf(t, "biginteger", x)))
		}),
		def1("bigdec", "[x]", "x as a big decimal; x may be a string.", toBigDec),
		def1("bigfloat", "[x]", "As bigdec: the dialect has decimals where Joker has floats of any precision.", toBigDec),
		def1("char", "[x]", "The character of a code point.", toChar),
		def1("parse-long", "[s]", "The integer that s reads, or nil.", parseLong),
		def1("parse-double", "[s]", "The double that s reads, or nil.", parseDouble),
		def1("parse-boolean", "[s]", "true or false if s reads so, or nil.", parseBoolean),
	}, unchecked())
}

func unchecked() []Def {
	return []Def{
		uncheckedInts("unchecked-add", "x + y, wrapping around.", add, value.Add),
		uncheckedInts("unchecked-subtract", "x - y, wrapping around.", sub, value.Sub),
		uncheckedInts("unchecked-multiply", "x × y, wrapping around.", mul, value.Mul),
		def1("unchecked-inc", "[x]", "x + 1, wrapping around.", func(t *Thread, x Value) Value { return wrapAdd(t, x, 1) }),
		def1("unchecked-dec", "[x]", "x - 1, wrapping around.", func(t *Thread, x Value) Value { return wrapAdd(t, x, -1) }),
		def1("unchecked-negate", "[x]", "-x, wrapping around.", func(t *Thread, x Value) Value {
			if x.IsInt() {
				return value.Int(-x.Int())
			}
			return value.Neg(t, x)
		}),
		narrow("unchecked-add-int", "x + y in 32 bits.", func(a, b int32) int32 { return a + b }),
		narrow("unchecked-subtract-int", "x - y in 32 bits.", func(a, b int32) int32 { return a - b }),
		narrow("unchecked-multiply-int", "x × y in 32 bits.", func(a, b int32) int32 { return a * b }),
		narrow("unchecked-divide-int", "x / y in 32 bits, its fraction dropped.", func(a, b int32) int32 { return divInt(a, b) }),
		narrow("unchecked-remainder-int", "The remainder of x / y in 32 bits.", func(a, b int32) int32 {
			divInt(a, b)
			return a % b
		}),
		narrow1("unchecked-inc-int", "x + 1 in 32 bits.", func(a int32) int32 { return a + 1 }),
		narrow1("unchecked-dec-int", "x - 1 in 32 bits.", func(a int32) int32 { return a - 1 }),
		narrow1("unchecked-negate-int", "-x in 32 bits.", func(a int32) int32 { return -a }),
		wrapped("unchecked-byte", func(i int64) int64 { return int64(int8(i)) }),
		wrapped("unchecked-short", func(i int64) int64 { return int64(int16(i)) }),
		wrapped("unchecked-int", func(i int64) int64 { return int64(int32(i)) }),
		wrapped("unchecked-long", func(i int64) int64 { return i }),
		def1("unchecked-char", "[x]", "The character of the low 16 bits of x.", func(t *Thread, x Value) Value {
			return value.Char(rune(uint16(value.Wrap(t, "unchecked-char", x))))
		}),
		def1("unchecked-double", "[x]", "x as a double.", func(t *Thread, x Value) Value { return value.Float(float(t, "unchecked-double", x)) }),
		def1("unchecked-float", "[x]", "x as a double.", func(t *Thread, x Value) Value { return value.Float(float(t, "unchecked-float", x)) }),
	}
}

func wrapAdd(t *Thread, x Value, by int64) Value {
	if x.IsInt() {
		return value.Int(x.Int() + by)
	}
	return value.Add(t, x, value.Int(by))
}

func divInt(a, b int32) int32 {
	if b == 0 {
		panic(value.Errorf("ArithmeticException", "Divide by zero"))
	}
	return a / b
}

func toFloat32(t *Thread, x Value) Value {
	f := float(t, "float", x)
	if a := math.Abs(f); a > math.MaxFloat32 {
		panic(value.ArgError("Value out of range for float: got %s", value.FormatFloat(f)))
	}
	if float32(f) == 0 {
		f = math.Copysign(0, f)
	}
	return value.Float(f)
}

// wholeOf gives x, a number or the text of a whole one, as an integer value.
func wholeOf(t *Thread, who string, x Value) Value {
	if x.Kind() != value.KindString {
		return value.NewBigInt(value.ToBig(t, who, x))
	}
	n, ok := value.ParseBigInt(t, x.Text())
	if !ok {
		panic(value.Errorf("NumberFormatException", "%s: got %s, want the digits of a whole number", who, value.Brief(t, x)))
	}
	return value.NewBigInt(n)
}

func toBigDec(t *Thread, x Value) Value {
	if x.Kind() != value.KindString {
		return value.ToBigDec(t, "bigdec", x)
	}
	d, ok := value.ParseBigDec(t, x.Text())
	if !ok {
		panic(value.Errorf("NumberFormatException", "bigdec: got %s, want the text of a decimal", value.Brief(t, x)))
	}
	return d
}

func toChar(t *Thread, x Value) Value {
	switch x.Kind() {
	case value.KindChar:
		return x
	case value.KindInt, value.KindBigInt, value.KindFloat, value.KindRatio, value.KindBigDec:
		n := value.ToInt(t, "char", x, 0, utf8.MaxRune)
		if n >= 0xD800 && n < 0xE000 {
			panic(value.ArgError("char: got %d, half of a surrogate pair; want a code point", n))
		}
		return value.Char(rune(n))
	}
	panic(value.TypeError(t, "char", x, "a code point"))
}

// parsed gives the text of s, which must be a string.
func parsed(t *Thread, who string, s Value) string {
	if s.Kind() != value.KindString {
		panic(value.ArgError("%s: got %s (%s), want a string", who, value.Brief(t, s), s.Kind()))
	}
	t.Steps(len(s.Text()) / 64)
	return s.Text()
}

func parseLong(t *Thread, s Value) Value {
	text := parsed(t, "parse-long", s)
	if len(text) > 4096 {
		text = trimZeros(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return value.Nil
	}
	return value.Int(n)
}

// trimZeros drops the leading zeros of a long numeral, so that what is left is short or no integer of 64 bits.
func trimZeros(s string) string {
	if s[0] == '-' || s[0] == '+' {
		return s[:1] + "0" + strings.TrimLeft(s[1:], "0")
	}
	return "0" + strings.TrimLeft(s, "0")
}

func parseDouble(t *Thread, s Value) Value {
	text := strings.TrimFunc(parsed(t, "parse-double", s), func(r rune) bool { return r <= ' ' })
	switch text {
	case "NaN", "+NaN", "-NaN":
		return value.Float(math.NaN())
	case "Infinity", "+Infinity":
		return value.Float(math.Inf(1))
	case "-Infinity":
		return value.Float(math.Inf(-1))
	}
	if n := len(text); n > 1 && strings.IndexByte("fFdD", text[n-1]) >= 0 && !strings.ContainsAny(text, "xX") {
		text = text[:n-1]
	}
	if text == "" || strings.IndexByte("0123456789.", text[len(text)-1]) < 0 || strings.IndexByte(text, '_') >= 0 {
		return value.Nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && math.IsInf(f, 0) {
		return value.Float(f)
	}
	if err != nil {
		return value.Nil
	}
	return value.Float(f)
}

func parseBoolean(t *Thread, s Value) Value {
	switch parsed(t, "parse-boolean", s) {
	case "true":
		return value.True
	case "false":
		return value.False
	}
	return value.Nil
}
