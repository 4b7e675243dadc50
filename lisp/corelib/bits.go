package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// bitsOf gives the integer x; bit operations take 64-bit integers only.
func bitsOf(t *Thread, who string, x Value) int64 {
	if x.IsInt() {
		return x.Int()
	}
	if x.IsNil() {
		panic(value.TypeError(t, who, x, "an integer"))
	}
	panic(value.ArgError("%s: got %s (%s), want an integer of 64 bits", who, value.Brief(t, x), x.Kind()))
}

// bitFold makes a bit operation on two or more integers.
func bitFold(name, doc string, f func(a, b int64) int64) Def {
	two := func(t *Thread, a, b Value) Value {
		return value.Int(f(bitsOf(t, name, a), bitsOf(t, name, b)))
	}
	d := fold(name, doc, nil, nil, two)
	d.Arglists = "([x y] [x y & more])"
	return d
}

// bit makes an operation on one bit or a shift: the number counts modulo 64.
func bit(name, args, doc string, f func(x int64, n uint) int64) Def {
	return def2(name, args, doc, func(t *Thread, x, n Value) Value {
		return value.Int(f(bitsOf(t, name, x), uint(bitsOf(t, name, n))&63))
	})
}

func bits() []Def {
	return []Def{
		bitFold("bit-and", "The bits that are set in all.", func(a, b int64) int64 { return a & b }),
		bitFold("bit-or", "The bits that are set in any.", func(a, b int64) int64 { return a | b }),
		bitFold("bit-xor", "The bits that are set in one of two.", func(a, b int64) int64 { return a ^ b }),
		bitFold("bit-and-not", "The bits of x that are not set in the rest.", func(a, b int64) int64 { return a &^ b }),
		def1("bit-not", "[x]", "The bits that are not set in x.", func(t *Thread, x Value) Value {
			return value.Int(^bitsOf(t, "bit-not", x))
		}),
		bit("bit-clear", "[x n]", "x with bit n off.", func(x int64, n uint) int64 { return x &^ (1 << n) }),
		bit("bit-set", "[x n]", "x with bit n on.", func(x int64, n uint) int64 { return x | 1<<n }),
		bit("bit-flip", "[x n]", "x with bit n turned over.", func(x int64, n uint) int64 { return x ^ 1<<n }),
		def2("bit-test", "[x n]", "True when bit n of x is on.", func(t *Thread, x, n Value) Value {
			return value.Bool(bitsOf(t, "bit-test", x)>>(uint(bitsOf(t, "bit-test", n))&63)&1 == 1)
		}),
		bit("bit-shift-left", "[x n]", "x shifted left by n bits.", func(x int64, n uint) int64 { return x << n }),
		bit("bit-shift-right", "[x n]", "x shifted right by n bits, keeping its sign.", func(x int64, n uint) int64 { return x >> n }),
		bit("unsigned-bit-shift-right", "[x n]", "x shifted right by n bits, zeros coming in.", func(x int64, n uint) int64 {
			return int64(uint64(x) >> n)
		}),
	}
}
