package corelib

import (
	"math"

	"github.com/reflection-dev/zeno/lisp/value"
)

// jokerMath is joker.math, which follows Go's math package. What clojure.math has besides is there too, so that either
// name may be required.
func jokerMath() []Def {
	own := concat(jokerFunctions(), jokerShapes())
	has := map[string]bool{}
	for _, d := range own {
		has[d.Name] = true
	}
	for _, d := range clojureMath() {
		if !has[d.Name] {
			own = append(own, d)
		}
	}
	return own
}

func jokerFunctions() []Def {
	return []Def{
		math1("abs", "The absolute value.", math.Abs),
		math1("ceil", "The least whole number that is not below x.", math.Ceil),
		math1("floor", "The greatest whole number that is not above x.", math.Floor),
		math1("round", "The nearest whole number; of two the one away from zero.", math.Round),
		math1("round-to-even", "The nearest whole number; of two the even one.", math.RoundToEven),
		math1("trunc", "x without its fraction.", math.Trunc),
		math2("copy-sign", "[x y]", "x with the sign of y.", math.Copysign),
		math1("cos", "The cosine of an angle in radians.", math.Cos),
		math1("sin", "The sine of an angle in radians.", math.Sin),
		math1("cube-root", "The cube root.", math.Cbrt),
		math1("sqrt", "The square root.", math.Sqrt),
		math2("dim", "[x y]", "x - y, or 0 if that is less.", math.Dim),
		math1("exp", "e to the power x.", math.Exp),
		math1("exp-2", "2 to the power x.", math.Exp2),
		math1("exp-minus-1", "e to the power x, less 1.", math.Expm1),
		math2("hypot", "[p q]", "The square root of p² + q².", math.Hypot),
		math1("log", "The natural logarithm.", math.Log),
		math1("log-2", "The logarithm of base 2.", math.Log2),
		math1("log-10", "The logarithm of base 10.", log10),
		math1("log-binary", "The exponent of base 2 of x, as a double.", math.Logb),
		math1("log-plus-1", "The natural logarithm of 1 + x.", math.Log1p),
		math2("next-after", "[x y]", "The next double from x towards y.", math.Nextafter),
		math2("pow", "[x y]", "x to the power y.", math.Pow),
	}
}

func jokerShapes() []Def {
	return []Def{
		def1("pow-10", "[x]", "10 to the power x, an integer.", func(t *Thread, x Value) Value {
			n := integer(t, "pow-10", x)
			return value.Float(math.Pow10(int(max(min(n, 400), -400))))
		}),
		def1("modf", "[x]", "A vector of the whole part of x and its fraction.", func(t *Thread, x Value) Value {
			whole, part := math.Modf(float(t, "modf", x))
			return value.NewVector(t, []Value{value.Float(whole), value.Float(part)})
		}),
		def1("sign-bit", "[x]", "True when x is negative or negative zero.", func(t *Thread, x Value) Value {
			return value.Bool(math.Signbit(float(t, "sign-bit", x)))
		}),
		{Name: "nan", Arglists: "([])", Doc: "NaN.", F0: func(*Thread) Value { return value.Float(math.NaN()) }},
		def1("nan?", "[x]", "True when x is NaN.", func(t *Thread, x Value) Value {
			return value.Bool(math.IsNaN(float(t, "nan?", x)))
		}),
		def1("inf", "[sign]", "Infinity, or -Infinity when sign is negative.", func(t *Thread, s Value) Value {
			return value.Float(math.Inf(infSign(t, "inf", s)))
		}),
		def2("inf?", "[x sign]", "True when x is the infinity of that sign; 0 means either.", func(t *Thread, x, s Value) Value {
			return value.Bool(math.IsInf(float(t, "inf?", x), value.NumSign(t, "inf?", s)))
		}),
		def1("precision", "[f]", "The digits of a decimal, or the bits that a double's fraction has.", precision),
		def2("set-precision", "[prec f]", "f as a decimal of prec significant digits.", setPrecision),
	}
}

func infSign(t *Thread, who string, s Value) int {
	if value.NumSign(t, who, s) < 0 {
		return -1
	}
	return 1
}

func precision(t *Thread, f Value) Value {
	switch f.Kind() {
	case value.KindBigDec:
		return value.Int(int64(value.Precision(t, value.As[value.BigDec](f))))
	case value.KindFloat:
		return value.Int(53)
	}
	panic(value.TypeError(t, "precision", f, "a decimal or a double"))
}

func setPrecision(t *Thread, prec, f Value) Value {
	n := integer(t, "set-precision", prec)
	if n < 0 || n > math.MaxInt32 {
		panic(value.ArgError("set-precision: got %d, want a number of digits", n))
	}
	d := value.ToBigDec(t, "set-precision", f)
	return value.RoundDec(t, value.As[value.BigDec](d), int(n))
}

func jokerMathConstants() []Const {
	f := func(x float64) Value { return value.Float(x) }
	return []Const{
		{"e", f(math.E), "The base of the natural logarithm."},
		{"pi", f(math.Pi), "The ratio of a circle's circumference to its diameter."},
		{"E", f(math.E), "The base of the natural logarithm."},
		{"PI", f(math.Pi), "The ratio of a circle's circumference to its diameter."},
		{"phi", f(math.Phi), "The golden ratio."},
		{"ln-of-2", f(math.Ln2), "The natural logarithm of 2."},
		{"ln-of-10", f(math.Ln10), "The natural logarithm of 10."},
		{"log-2-of-e", f(math.Log2E), "The logarithm of e, of base 2."},
		{"log-10-of-e", f(math.Log10E), "The logarithm of e, of base 10."},
		{"sqrt-of-2", f(math.Sqrt2), "The square root of 2."},
		{"sqrt-of-e", f(math.SqrtE), "The square root of e."},
		{"sqrt-of-pi", f(math.SqrtPi), "The square root of pi."},
		{"sqrt-of-phi", f(math.SqrtPhi), "The square root of the golden ratio."},
		{"max-double", f(math.MaxFloat64), "The greatest double."},
		{"smallest-nonzero-double", f(math.SmallestNonzeroFloat64), "The least double above zero."},
	}
}
