package value

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// edges are the integers at which 64-bit arithmetic goes wrong if it does.
var edges = []int64{0, 1, -1, 2, -2, 3, 1 << 31, -1 << 31, 1<<32 + 1, 3037000499, 3037000500, -3037000500, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}

func TestIntegersAgreeWithBigOnes(t *testing.T) {
	th := testThread()
	ops := []struct {
		name    string
		checked func(*Thread, Value, Value) Value
		promote func(*Thread, Value, Value) Value
		big     func(z, x, y *big.Int) *big.Int
	}{
		{"+", Add, AddP, (*big.Int).Add}, {"-", Sub, SubP, (*big.Int).Sub}, {"*", Mul, MulP, (*big.Int).Mul},
	}
	xs := edges
	for range 50 {
		xs = append(xs, int64(rand.Uint64()>>rand.IntN(64)))
	}
	for _, op := range ops {
		for _, x := range xs {
			for _, y := range xs {
				want := op.big(new(big.Int), big.NewInt(x), big.NewInt(y))
				if got := op.promote(th, Int(x), Int(y)); BigOf(got).Cmp(want) != 0 || got.IsInt() != want.IsInt64() {
					t.Fatalf("%d %s' %d: got %s, want %s", x, op.name, y, FormatNumber(th, got), want)
				}
				if want.IsInt64() {
					if got := op.checked(th, Int(x), Int(y)); got != Int(want.Int64()) {
						t.Fatalf("%d %s %d: got %s, want %s", x, op.name, y, FormatNumber(th, got), want)
					}
					continue
				}
				wantThrow(t, "ArithmeticException", func() { op.checked(th, Int(x), Int(y)) })
			}
		}
	}
}

// numerals are numbers of every kind, many of them equal across kinds.
var numerals = []string{"0", "1", "-1", "2", "1N", "0N", "1.0", "0.0", "-0.0", "0.5", "1/2", "-1/2", "1/3", "0.5M", "0.50M", "1M", "1.00M",
	"9223372036854775807", "9223372036854775808", "9223372036854775808N", "9.223372036854775807E18", "1e30M", "1E30", "1e3M", "1000", "1000N", "0M", "0.000M"}

func TestNumberLaws(t *testing.T) {
	th := testThread()
	var vs []Value
	for _, s := range numerals {
		v, err := ParseNumber(th, s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		vs = append(vs, v)
	}
	for _, a := range vs {
		if back, err := ParseNumber(th, FormatNumber(th, a)); err != nil || !NumEqual(th, a, back) {
			t.Errorf("%s does not read back: %v", FormatNumber(th, a), err)
		}
		for _, b := range vs {
			x, y := FormatNumber(th, a), FormatNumber(th, b)
			if NumEqual(th, a, b) && NumHash(th, a) != NumHash(th, b) {
				t.Errorf("%s = %s but they hash otherwise", x, y)
			}
			if NumEqual(th, a, b) && !NumEq(th, a, b) {
				t.Errorf("%s = %s but not ==", x, y)
			}
			if c := NumCompare(th, a, b); c != -NumCompare(th, b, a) || (c < 0) != NumLess(th, a, b) || (c <= 0) != NumLessEq(th, a, b) || (c == 0) != NumEq(th, a, b) {
				t.Errorf("%s and %s: compare %d does not agree with < <= ==", x, y, c)
			}
		}
	}
}

func TestDecimalQuotientsInContext(t *testing.T) {
	th := testThread()
	for _, c := range []struct {
		x, y string
		mc   mathContext
		want string
	}{
		{"1M", "3M", mathContext{5, "HALF_UP"}, "0.33333M"}, {"2M", "3M", mathContext{5, "HALF_UP"}, "0.66667M"},
		{"2M", "3M", mathContext{5, "DOWN"}, "0.66666M"}, {"-2M", "3M", mathContext{5, "FLOOR"}, "-0.66667M"},
		{"-2M", "3M", mathContext{5, "CEILING"}, "-0.66666M"}, {"1M", "4M", mathContext{5, "HALF_UP"}, "0.25M"},
		{"100M", "4M", mathContext{5, "HALF_UP"}, "25M"}, {"1M", "8M", mathContext{2, "HALF_EVEN"}, "0.12M"},
		{"3M", "8M", mathContext{2, "HALF_EVEN"}, "0.38M"}, {"1M", "8M", mathContext{2, "HALF_DOWN"}, "0.12M"},
		{"999999M", "1M", mathContext{3, "HALF_UP"}, "1.00E+6M"}, {"1M", "3M", mathContext{1, "UP"}, "0.4M"},
	} {
		x, _ := ParseNumber(th, c.x)
		y, _ := ParseNumber(th, c.y)
		if got := FormatNumber(th, Of(decQuoContext(th, decOf(th, x), decOf(th, y), c.mc))); got != c.want {
			t.Errorf("%s / %s in %v: got %s, want %s", c.x, c.y, c.mc, got, c.want)
		}
	}
	wantThrow(t, "ArithmeticException", func() {
		decQuoContext(th, decOf(th, Int(1)), decOf(th, Int(3)), mathContext{3, "UNNECESSARY"})
	})
}

func TestHugeProductsAreCharged(t *testing.T) {
	th := limitedThread(limit.Limits{Steps: 1_000_000}.OrDefault())
	x := NewBigInt(new(big.Int).Lsh(big.NewInt(1), 1<<19))
	le := tripped(func() {
		for range 100 {
			Mul(th, x, x)
		}
	})
	if le == nil || le.Kind != limit.Steps {
		t.Errorf("squares: got %v, want the steps limit", le)
	}
	th = limitedThread(limit.Defaults())
	wantThrow(t, "ArithmeticException", func() { Mul(th, Mul(th, Mul(th, x, x), x), x) })
}

func FuzzParseNumber(f *testing.F) {
	for _, s := range append([]string{"017", "0x1F", "36rZZ", "1e400", "08", "1/0", "-", "1e-5M", "1.5.2", "0b1"}, numerals...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		th := limitedThread(limit.Limits{}.OrDefault())
		v, err := ParseNumber(th, s)
		if err != nil || v.IsFloat() && math.IsInf(v.Float(), 0) {
			return
		}
		back, err := ParseNumber(th, FormatNumber(th, v))
		if err != nil || !NumEqual(th, v, back) {
			t.Errorf("%s: got %s, which does not read back: %v", s, FormatNumber(th, v), err)
		}
	})
}

func BenchmarkAddInts(b *testing.B) {
	th := testThread()
	acc := Int(0)
	for i := range b.N {
		acc = Add(th, acc, Int(int64(i)&7))
	}
	_ = acc
}

func BenchmarkMulFloats(b *testing.B) {
	th := testThread()
	acc := Float(1)
	for range b.N {
		acc = Mul(th, acc, Float(1.0000001))
	}
	_ = acc
}

func TestWeight(t *testing.T) {
	th := testThread()
	for _, c := range []struct {
		src  string
		want int
	}{{"1", 0}, {"1N", 32}, {"1/3", 88}, {"1.5M", 32}, {"1e100000M", 32}, {"340282366920938463463374607431768211456", 48}} {
		v, err := ParseNumber(th, c.src)
		if err != nil {
			t.Fatal(err)
		}
		if got := Weight(v); got != c.want {
			t.Errorf("%s: got %d bytes, want %d", c.src, got, c.want)
		}
	}
}
