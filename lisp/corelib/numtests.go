package corelib

import (
	"math"

	"github.com/reflection-dev/zeno/lisp/value"
)

// test makes a predicate of one argument.
func test(name, doc string, f func(*Thread, Value) bool) Def {
	return Def{Name: name, Arglists: "([x])", Doc: doc,
		F1: func(t *Thread, x Value) Value { return value.Bool(f(t, x)) }}
}

// numKind makes a predicate on the kind of its argument.
func numKind(name, doc string, f func(value.Kind) bool) Def {
	return test(name, doc, func(_ *Thread, x Value) bool { return f(x.Kind()) })
}

func is(k value.Kind) func(value.Kind) bool { return func(x value.Kind) bool { return x == k } }

// intTest makes a predicate that holds of 64-bit integers only.
func intTest(name, doc string, f func(int64) bool) Def {
	return test(name, doc, func(_ *Thread, x Value) bool { return x.IsInt() && f(x.Int()) })
}

func isRational(k value.Kind) bool { return k.IsNumber() && k != value.KindFloat }

func isZero(t *Thread, x Value) bool { return value.NumSign(t, "zero?", x) == 0 && !isNaN(x) }

func isEven(t *Thread, who string, x Value) bool {
	switch x.Kind() {
	case value.KindInt:
		return x.Int()&1 == 0
	case value.KindBigInt:
		return value.BigOf(x).Bit(0) == 0
	}
	panic(value.ArgError("%s: got %s (%s), want an integer", who, value.Brief(t, x), x.Kind()))
}

func numberTests() []Def {
	return []Def{
		test("zero?", "True when the number is zero.", isZero),
		test("pos?", "True when the number is above zero.", func(t *Thread, x Value) bool { return value.NumSign(t, "pos?", x) > 0 }),
		test("neg?", "True when the number is below zero.", func(t *Thread, x Value) bool { return value.NumSign(t, "neg?", x) < 0 }),
		test("even?", "True when the integer is even.", func(t *Thread, x Value) bool { return isEven(t, "even?", x) }),
		test("odd?", "True when the integer is odd.", func(t *Thread, x Value) bool { return !isEven(t, "odd?", x) }),
		numKind("number?", "True when x is a number.", value.Kind.IsNumber),
		numKind("integer?", "True when x is an integer of any size.", value.Kind.IsInteger),
		numKind("ratio?", "True when x is a ratio.", is(value.KindRatio)),
		numKind("decimal?", "True when x is a big decimal.", is(value.KindBigDec)),
		numKind("bigfloat?", "As decimal?.", is(value.KindBigDec)),
		numKind("float?", "True when x is a double.", is(value.KindFloat)),
		numKind("double?", "True when x is a double.", is(value.KindFloat)),
		numKind("rational?", "True when x is an exact number: an integer, a ratio or a big decimal.", isRational),
		numKind("int?", "True when x is a 64-bit integer.", is(value.KindInt)),
		intTest("nat-int?", "True when x is a 64-bit integer that is not negative.", func(i int64) bool { return i >= 0 }),
		intTest("pos-int?", "True when x is a 64-bit integer above zero.", func(i int64) bool { return i > 0 }),
		intTest("neg-int?", "True when x is a 64-bit integer below zero.", func(i int64) bool { return i < 0 }),
		test("NaN?", "True when the number is NaN.", func(t *Thread, x Value) bool { return math.IsNaN(float(t, "NaN?", x)) }),
		test("infinite?", "True when the number is an infinity.", func(t *Thread, x Value) bool {
			return math.IsInf(float(t, "infinite?", x), 0)
		}),
	}
}

// float gives the number x as a double.
func float(t *Thread, who string, x Value) float64 {
	if x.IsFloat() {
		return x.Float()
	}
	if !x.Kind().IsNumber() {
		panic(value.TypeError(t, who, x, "a number"))
	}
	return value.ToFloat(t, x)
}

// integer gives the 64-bit integer x.
func integer(t *Thread, who string, x Value) int64 {
	if !x.IsInt() {
		panic(value.TypeError(t, who, x, "an integer"))
	}
	return x.Int()
}
