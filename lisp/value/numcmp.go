package value

import (
	"math"
	"math/big"
)

func lessSlow(t *Thread, a, b Value) bool {
	if ranks(t, "<", a, b) == rankFloat {
		return ToFloat(t, a) < ToFloat(t, b)
	}
	return compareExact(t, a, b) < 0
}

func lessEqSlow(t *Thread, a, b Value) bool {
	if ranks(t, "<=", a, b) == rankFloat {
		return ToFloat(t, a) <= ToFloat(t, b)
	}
	return compareExact(t, a, b) <= 0
}

func eqSlow(t *Thread, a, b Value) bool {
	if ranks(t, "==", a, b) == rankFloat {
		return ToFloat(t, a) == ToFloat(t, b)
	}
	return compareExact(t, a, b) == 0
}

// NumCompare orders two numbers: -1, 0 or 1. NaN is as great as everything, as in Clojure.
func NumCompare(t *Thread, a, b Value) int {
	if a.IsInt() && b.IsInt() {
		x, y := a.Int(), b.Int()
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	if ranks(t, "compare", a, b) == rankFloat {
		x, y := ToFloat(t, a), ToFloat(t, b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return compareExact(t, a, b)
}

// compareExact orders two numbers neither of which is a double.
func compareExact(t *Thread, a, b Value) int {
	switch max(rankOf(a), rankOf(b)) {
	case rankRatio:
		x, y := ratOf(a), ratOf(b)
		chargeCross(t, x, y)
		return x.Cmp(y)
	case rankDec:
		if a.Kind() == KindRatio || b.Kind() == KindRatio {
			return compareMixed(t, a, b)
		}
		x, y := decOf(t, a), decOf(t, b)
		return decCmp(t, x, y)
	}
	x, y := BigOf(a), BigOf(b)
	t.Steps(min(words(x), words(y)) / 64)
	return x.Cmp(y)
}

// compareMixed orders a ratio and a decimal, of which the ratio need not have a finite expansion: n/d and y compare as n
// and y×d do.
func compareMixed(t *Thread, a, b Value) int {
	if b.Kind() == KindRatio {
		return -compareMixed(t, b, a)
	}
	r, y := As[Ratio](a).X, As[BigDec](b)
	n, d := newDec(r.Num(), 0), newDec(r.Denom(), 0)
	chargeMul(t, y.Unscaled, d.Unscaled)
	yd := newDec(new(big.Int).Mul(y.Unscaled, d.Unscaled), int64(y.Scale))
	return decCmp(t, n, yd)
}

// NumEqual is = of two numbers: equal, and both integers, both ratios, both decimals or both doubles.
func NumEqual(t *Thread, a, b Value) bool {
	if a.IsInt() && b.IsInt() {
		return a.Int() == b.Int()
	}
	x, y := rankOf(a), rankOf(b)
	if max(x, rankBig) != max(y, rankBig) {
		return false
	}
	switch max(x, y) {
	case rankFloat:
		return a.Float() == b.Float()
	case rankDec:
		return decCmp(t, As[BigDec](a), As[BigDec](b)) == 0
	case rankRatio: // both are in lowest terms
		x, y := As[Ratio](a).X, As[Ratio](b).X
		return sameBig(t, x.Num(), y.Num()) && sameBig(t, x.Denom(), y.Denom())
	}
	return sameBig(t, BigOf(a), BigOf(b))
}

func sameBig(t *Thread, x, y *big.Int) bool {
	t.Steps(min(words(x), words(y)) / 64)
	return x.Cmp(y) == 0
}

// NumHash hashes a number so that numbers that are = hash alike: 1 and 1N, 1.0M and 1.00M, 0.0 and -0.0.
func NumHash(t *Thread, v Value) uint64 {
	switch v.Kind() {
	case KindInt:
		return mix(uint64(v.Int()))
	case KindFloat:
		f := v.Float()
		if f == 0 {
			f = 0
		}
		return mix(math.Float64bits(f) ^ 'f')
	case KindBigInt:
		b := As[BigInt](v)
		return cached(&b.hash, func() uint64 { return hashBig(t, b.X) })
	case KindRatio:
		r := As[Ratio](v)
		return cached(&r.hash, func() uint64 { return mix(hashBig(t, r.X.Num())*31 + hashBig(t, r.X.Denom())) })
	case KindBigDec:
		d := As[BigDec](v)
		return cached(&d.hash, func() uint64 {
			u, s := decStrip(t, d.Unscaled, int64(d.Scale), math.MinInt32)
			return mix(hashBig(t, u)*31 + uint64(s) + 'm')
		})
	}
	return 0
}

func hashBig(t *Thread, x *big.Int) uint64 {
	if x.IsInt64() {
		return mix(uint64(x.Int64()))
	}
	t.Steps(words(x) / 64)
	h := uint64(hashSeed)
	for _, w := range x.Bits() {
		h = (h ^ uint64(w)) * 1099511628211
	}
	return mix(h ^ uint64(x.Sign()))
}

// cached keeps a hash in cell; zero means it is not known yet.
func cached(cell interface {
	Load() uint64
	Store(uint64)
}, hash func() uint64) uint64 {
	if h := cell.Load(); h != 0 {
		return h
	}
	h := hash()
	cell.Store(h)
	return h
}
