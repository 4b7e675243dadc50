package corelib

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

type (
	// Value, Thread: the two words that every line here needs.
	Value  = value.Value
	Thread = value.Thread
)

type (
	unary  = func(*Thread, Value) Value
	binary = func(*Thread, Value, Value) Value
)

// fold makes a function of any number of arguments of its cases for none, one and two. A nil case is an arity less.
func fold(name, doc string, none func(*Thread) Value, one unary, two binary) Def {
	args := "([x] [x y] [x y & more])"
	if none != nil {
		args = "([] [x] [x y] [x y & more])"
	}
	return Def{Name: name, Doc: doc, Arglists: args, F0: none, F1: one, F2: two, Min: 3,
		F3: func(t *Thread, a, b, c Value) Value { return two(t, two(t, a, b), c) },
		N: func(t *Thread, xs []Value) Value {
			acc := xs[0]
			for _, x := range xs[1:] {
				t.Step()
				acc = two(t, acc, x)
			}
			return acc
		}}
}

// chain makes a comparison of any number of arguments: true when it holds between each and the next.
func chain(name, doc string, holds func(*Thread, Value, Value) bool) Def {
	return Def{Name: name, Doc: doc, Arglists: "([x] [x y] [x y & more])", Min: 3,
		F1: func(*Thread, Value) Value { return value.True },
		F2: func(t *Thread, a, b Value) Value { return value.Bool(holds(t, a, b)) },
		N: func(t *Thread, xs []Value) Value {
			for i := 1; i < len(xs); i++ {
				t.Step()
				if !holds(t, xs[i-1], xs[i]) {
					return value.False
				}
			}
			return value.True
		}}
}

func zero(*Thread) Value { return value.Int(0) }
func one(*Thread) Value  { return value.Int(1) }

// itself gives its argument back if it is a number.
func itself(who string) unary {
	return func(t *Thread, x Value) Value {
		if !x.Kind().IsNumber() {
			panic(value.TypeError(t, who, x, "a number"))
		}
		return x
	}
}

// itselfOrNil is the case for one argument of +, * and their like, which pass nil on.
func itselfOrNil(who string) unary {
	check := itself(who)
	return func(t *Thread, x Value) Value {
		if x.IsNil() {
			return x
		}
		return check(t, x)
	}
}

func reciprocal(t *Thread, x Value) Value { return value.Div(t, value.Int(1), x) }

func greater(t *Thread, a, b Value) bool {
	itself(">")(t, a)
	return value.NumLess(t, b, a)
}

func greaterEq(t *Thread, a, b Value) bool {
	itself(">=")(t, a)
	return value.NumLessEq(t, b, a)
}

func isNaN(v Value) bool { return v.IsFloat() && v.Float() != v.Float() }

// only is max and min of one argument, which is not looked at.
func only(_ *Thread, x Value) Value { return x }

func larger(t *Thread, a, b Value) Value {
	itself("max")(t, a)
	itself("max")(t, b)
	switch {
	case isNaN(a):
		return a
	case isNaN(b):
		return b
	case value.NumLess(t, b, a):
		return a
	}
	return b
}

func smaller(t *Thread, a, b Value) Value {
	itself("min")(t, a)
	itself("min")(t, b)
	switch {
	case isNaN(a):
		return a
	case isNaN(b):
		return b
	case value.NumLess(t, a, b):
		return a
	}
	return b
}

func absolute(t *Thread, x Value) Value {
	switch {
	case x.IsInt():
		return value.Int(max(x.Int(), -x.Int())) // the lowest integer stays, as in Clojure
	case x.IsFloat():
		if x.Float() <= 0 {
			return value.Float(0 - x.Float())
		}
		return x
	case value.NumSign(t, "abs", x) < 0:
		return value.NegP(t, x)
	}
	return x
}

func numbers() []Def {
	return []Def{
		fold("+", "The sum of numbers; 0 of none. Integers that overflow throw: see +'.", zero, itselfOrNil("+"), value.Add),
		fold("-", "Subtracts the rest from x, or negates x. Integers that overflow throw: see -'.", nil, value.Neg, value.Sub),
		fold("*", "The product of numbers; 1 of none. Integers that overflow throw: see *'.", one, itselfOrNil("*"), value.Mul),
		fold("/", "Divides x by the rest, or 1 by x. Integers that do not divide evenly give a ratio.", nil, reciprocal, value.Div),
		fold("+'", "The sum of numbers; grows to big integers.", zero, itselfOrNil("+'"), value.AddP),
		fold("-'", "Subtracts or negates; grows to big integers.", nil, value.NegP, value.SubP),
		fold("*'", "The product of numbers; grows to big integers.", one, itselfOrNil("*'"), value.MulP),
		fold("max", "The greatest of numbers; NaN if one is.", nil, only, larger),
		fold("min", "The least of numbers; NaN if one is.", nil, only, smaller),
		chain("<", "True when the numbers go up.", value.NumLess),
		chain("<=", "True when the numbers do not go down.", value.NumLessEq),
		chain(">", "True when the numbers go down.", greater),
		chain(">=", "True when the numbers do not go up.", greaterEq),
		chain("==", "True when the numbers are equal, whatever their types: (== 1 1.0).", value.NumEq),
		def1("inc", "[x]", "x + 1. An integer that overflows throws: see inc'.", value.Inc),
		def1("dec", "[x]", "x - 1. An integer that overflows throws: see dec'.", value.Dec),
		def1("inc'", "[x]", "x + 1; grows to big integers.", value.IncP),
		def1("dec'", "[x]", "x - 1; grows to big integers.", value.DecP),
		def1("abs", "[a]", "The absolute value.", absolute),
		def2("quot", "[num div]", "The quotient of a division, its fraction dropped.", value.Quot),
		def2("rem", "[num div]", "The remainder of a division; it has the sign of num.", value.Rem),
		def2("mod", "[num div]", "The modulus of a division; it has the sign of div.", value.Mod),
		def1("rationalize", "[num]", "An exact number for num: an integer or a ratio.", value.Rationalize),
		def1("numerator", "[r]", "The numerator of a ratio.", numerator),
		def1("denominator", "[r]", "The denominator of a ratio.", denominator),
		{Name: "with-precision", Arglists: "([precision & exprs])", Macro: true, Min: 3, N: withPrecision,
			Doc: "Evaluates exprs with decimals rounded to precision digits. Exprs may begin with :rounding and a mode: " +
				"CEILING, FLOOR, HALF_UP (the default), HALF_DOWN, HALF_EVEN, UP, DOWN or UNNECESSARY."},
	}
}

func def1(name, args, doc string, f unary) Def {
	return Def{Name: name, Arglists: "(" + args + ")", Doc: doc, F1: f}
}

func def2(name, args, doc string, f binary) Def {
	return Def{Name: name, Arglists: "(" + args + ")", Doc: doc, F2: f}
}

func ratioOf(t *Thread, who string, v Value) *value.Ratio {
	if v.Kind() != value.KindRatio {
		panic(value.TypeError(t, who, v, "a ratio"))
	}
	return value.As[value.Ratio](v)
}

func numerator(t *Thread, r Value) Value {
	t.Charge(64)
	return value.NewBigInteger(ratioOf(t, "numerator", r).X.Num())
}

func denominator(t *Thread, r Value) Value {
	t.Charge(64)
	return value.NewBigInteger(ratioOf(t, "denominator", r).X.Denom())
}

// withPrecision expands to a binding of *math-context*, which decimal arithmetic reads.
func withPrecision(t *Thread, args []Value) Value {
	precision, body := args[2], args[3:]
	mode := value.Sym("HALF_UP")
	if len(body) > 1 && body[0].Kind() == value.KindKeyword && value.As[value.Keyword](body[0]).Name == "rounding" {
		mode, body = body[1], body[2:]
	}
	t.Charge(64 * (len(body) + 8))
	quoted := value.NewList(t, value.Sym("quote"), mode)
	context := value.NewVector(t, []Value{precision, quoted})
	bindings := value.NewVector(t, []Value{value.Sym("clojure.core/*math-context*"), context})
	return value.NewList(t, append([]Value{value.Sym("clojure.core/binding"), bindings}, body...)...)
}
