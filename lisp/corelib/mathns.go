package corelib

import (
	"math"
	"math/rand/v2"

	"github.com/reflection-dev/zeno/lisp/value"
)

// math1 makes a function of a double.
func math1(name, doc string, f func(float64) float64) Def {
	return def1(name, "[a]", doc, func(t *Thread, a Value) Value { return value.Float(f(float(t, name, a))) })
}

// math2 makes a function of two doubles.
func math2(name, args, doc string, f func(a, b float64) float64) Def {
	return def2(name, args, doc, func(t *Thread, a, b Value) Value {
		return value.Float(f(float(t, name, a), float(t, name, b)))
	})
}

// exact makes an operation on 64-bit integers that throws where it overflows; op sees two integers.
func exact(name, doc string, op binary) Def {
	return def2(name, "[x y]", doc, func(t *Thread, a, b Value) Value {
		return op(t, value.Int(long(t, name, a)), value.Int(long(t, name, b)))
	})
}

func exact1(name, doc string, op unary) Def {
	return def1(name, "[a]", doc, func(t *Thread, a Value) Value { return op(t, value.Int(long(t, name, a))) })
}

func long(t *Thread, who string, v Value) int64 {
	if v.Kind() == value.KindChar {
		panic(value.TypeError(t, who, v, "a number"))
	}
	return value.ToInt(t, who, v, math.MinInt64, math.MaxInt64)
}

func clojureMath() []Def {
	return concat(trigonometry(), powers(), roundings(), integers(), neighbours())
}

func clojureMathConstants() []Const {
	return []Const{
		{"E", value.Float(math.E), "The base of the natural logarithm."},
		{"PI", value.Float(math.Pi), "The ratio of a circle's circumference to its diameter."},
	}
}

func trigonometry() []Def {
	return []Def{
		math1("sin", "The sine of an angle in radians.", math.Sin),
		math1("cos", "The cosine of an angle in radians.", math.Cos),
		math1("tan", "The tangent of an angle in radians.", math.Tan),
		math1("asin", "The arc sine, from -pi/2 to pi/2.", math.Asin),
		math1("acos", "The arc cosine, from 0 to pi.", math.Acos),
		math1("atan", "The arc tangent, from -pi/2 to pi/2.", math.Atan),
		math2("atan2", "[y x]", "The angle of the point (x, y), from -pi to pi.", math.Atan2),
		math1("sinh", "The hyperbolic sine.", math.Sinh),
		math1("cosh", "The hyperbolic cosine.", math.Cosh),
		math1("tanh", "The hyperbolic tangent.", math.Tanh),
		math1("to-radians", "Degrees as radians.", func(d float64) float64 { return d * (math.Pi / 180) }),
		math1("to-degrees", "Radians as degrees.", func(r float64) float64 { return r * (180 / math.Pi) }),
		math2("hypot", "[x y]", "The square root of x² + y².", math.Hypot),
	}
}

func powers() []Def {
	return []Def{
		math1("exp", "e to the power a.", math.Exp),
		math1("expm1", "e to the power a, less 1.", math.Expm1),
		math1("log", "The natural logarithm.", math.Log),
		math1("log10", "The logarithm of base 10.", log10),
		math1("log1p", "The natural logarithm of a + 1.", math.Log1p),
		math2("pow", "[a b]", "a to the power b.", pow),
		math1("sqrt", "The square root.", math.Sqrt),
		math1("cbrt", "The cube root.", math.Cbrt),
		{Name: "random", Arglists: "([])", Doc: "A random double from 0 up to 1, 1 left out.", Host: true,
			F0: func(*Thread) Value { return value.Float(rand.Float64()) }},
	}
}

// log10 is exact at the powers of ten, as Java's is; Go's is not everywhere.
func log10(x float64) float64 {
	l := math.Log10(x)
	if r := math.Round(l); math.Abs(l-r) < 1e-9 && r >= 0 && r <= 22 && math.Pow10(int(r)) == x {
		return r
	}
	return l
}

// pow differs from Go's where the base is one or minus one and the exponent is NaN or an infinity: there Java has NaN.
func pow(a, b float64) float64 {
	if math.IsNaN(b) || math.IsInf(b, 0) && math.Abs(a) == 1 {
		return math.NaN()
	}
	return math.Pow(a, b)
}

func roundings() []Def {
	return []Def{
		math1("ceil", "The least whole number that is not below a, as a double.", math.Ceil),
		math1("floor", "The greatest whole number that is not above a, as a double.", math.Floor),
		math1("rint", "The nearest whole number as a double; of two the even one.", math.RoundToEven),
		def1("round", "[a]", "The nearest integer; of two the greater one. NaN gives 0.", func(t *Thread, a Value) Value {
			return value.Int(roundHalfUp(float(t, "round", a)))
		}),
		math1("signum", "1.0, -1.0 or a itself when it is zero or NaN.", signum),
		math2("copy-sign", "[magnitude sign]", "magnitude with the sign of sign.", math.Copysign),
		math2("IEEE-remainder", "[dividend divisor]", "The remainder to the nearest multiple of divisor.", math.Remainder),
	}
}

func roundHalfUp(f float64) int64 {
	r := math.Floor(f)
	if f-r >= 0.5 {
		r++
	}
	switch {
	case math.IsNaN(f):
		return 0
	case r >= math.MaxInt64:
		return math.MaxInt64
	case r <= math.MinInt64:
		return math.MinInt64
	}
	return int64(r)
}

func signum(f float64) float64 {
	switch {
	case f > 0:
		return 1
	case f < 0:
		return -1
	}
	return f
}

func integers() []Def {
	return []Def{
		exact("add-exact", "x + y; throws on overflow.", value.Add),
		exact("subtract-exact", "x - y; throws on overflow.", value.Sub),
		exact("multiply-exact", "x × y; throws on overflow.", value.Mul),
		exact1("increment-exact", "a + 1; throws on overflow.", value.Inc),
		exact1("decrement-exact", "a - 1; throws on overflow.", value.Dec),
		exact1("negate-exact", "-a; throws on overflow.", value.Neg),
		exact("floor-div", "The greatest integer that is not above x / y.", floorDiv),
		exact("floor-mod", "What floor-div leaves; it has the sign of y.", value.Mod),
	}
}

func floorDiv(t *Thread, a, b Value) Value {
	q := value.Quot(t, a, b)
	if x, y := a.Int(), b.Int(); x%y != 0 && (x < 0) != (y < 0) {
		return value.Int(q.Int() - 1)
	}
	return q
}

func neighbours() []Def {
	return []Def{
		math1("ulp", "The distance from a to the next double away from zero.", ulp),
		math1("next-up", "The next double above a.", func(a float64) float64 { return math.Nextafter(a, math.Inf(1)) }),
		math1("next-down", "The next double below a.", func(a float64) float64 { return math.Nextafter(a, math.Inf(-1)) }),
		math2("next-after", "[start direction]", "The next double from start towards direction.", nextAfter),
		def1("get-exponent", "[a]", "The exponent of base 2 of a.", func(t *Thread, a Value) Value {
			return value.Int(exponent(float(t, "get-exponent", a)))
		}),
		def2("scalb", "[a scale-factor]", "a × 2 to the power scale-factor.", func(t *Thread, a, n Value) Value {
			k := long(t, "scalb", n)
			return value.Float(math.Ldexp(float(t, "scalb", a), int(max(min(k, 5000), -5000))))
		}),
	}
}

func nextAfter(a, b float64) float64 {
	if a == b {
		return b
	}
	return math.Nextafter(a, b)
}

func ulp(a float64) float64 {
	a = math.Abs(a)
	switch {
	case math.IsInf(a, 0) || math.IsNaN(a):
		return a
	case a == math.MaxFloat64:
		return a - math.Nextafter(a, 0)
	}
	return math.Nextafter(a, math.Inf(1)) - a
}

// exponent is Java's Math.getExponent: 1024 for what is not finite, -1023 for zero and the subnormal.
func exponent(a float64) int64 {
	return int64(math.Float64bits(a)>>52&0x7ff) - 1023
}
