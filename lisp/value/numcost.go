package value

import (
	"math"
	"math/big"
	"time"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// What big arithmetic costs is known before it is done, and charged then: Go's math/big cannot be interrupted. So that a
// cancellation and the limits come soon whatever a program computes, no single operation of an evaluation with limits may
// be so large that it takes more than 20 ms; it throws instead. Trusted code may wait for larger ones.

// maxBits is the size of the largest big integer of trusted code, which is that of the JVM.
const maxBits = math.MaxInt32

// workGrain is how many products of machine words one step buys.
const workGrain = 1024

func words(x *big.Int) int { return (x.BitLen() + 63) / 64 }

// largestBits is the size of the largest big integer of an evaluation that has limits: some 630,000 digits. What needs no
// charge (comparing, hashing) then never takes long.
const largestBits = 1 << 21

// longestOp is how long one operation on big numbers may take by its estimate, in an evaluation that has limits: nothing
// can end it, neither a cancellation nor the time limit.
const longestOp = 20 * time.Millisecond

// largest is the size in bits that a big integer may have on t.
func largest(t *Thread) int {
	if t.Limits.Steps < limit.Unlimited {
		return largestBits
	}
	return maxBits
}

// checkSize throws unless a number of that many bits may be made.
func checkSize(t *Thread, bits int) {
	if most := largest(t); bits > most {
		panic(Errorf("ArithmeticException", "big number: overflow, got one of %d bits, want at most %d", bits, most))
	}
}

// checkTime throws when one operation would take longer than any may. what names it.
func checkTime(t *Thread, what string, bits int, estimate time.Duration) {
	if estimate > longestOp && t.Limits.Steps < limit.Unlimited {
		panic(Errorf("ArithmeticException", "big number: got %s of %d bits, want fewer: it would take more than %v; work with smaller numbers", what, bits, longestOp))
	}
}

// What math/big takes, in nanoseconds on a machine of 2025, for numbers of so many words.

func mulTime(n, m int) time.Duration {
	const karatsuba = 40 // words from which it takes less than n times m
	n, m = max(n, m), min(n, m)
	if m <= karatsuba {
		return time.Duration(n*m/2 + 1)
	}
	return time.Duration(float64(n) / float64(m) * 800 * math.Pow(float64(m)/karatsuba, 1.585))
}

func divTime(n, m int) time.Duration { return 3 * mulTime(max(n-m, m), min(max(n-m, 1), m)) }

func gcdTime(n, m int) time.Duration { return time.Duration(5 * n * m) }

func parseTime(words int) time.Duration { return time.Duration(words * words * 2 / 3) }

func printTime(words int) time.Duration { return 3 * mulTime(words, words) }

// chargeLinear charges an operation whose result is about as long as its longer operand.
func chargeLinear(t *Thread, x, y *big.Int) {
	n := max(words(x), words(y)) + 1
	checkSize(t, 64*(n-1))
	t.Steps(n / 64)
	t.Charge(64 + 8*n)
}

// chargeMul charges a product.
func chargeMul(t *Thread, x, y *big.Int) {
	n, m := words(x), words(y)
	checkSize(t, x.BitLen()+y.BitLen())
	checkTime(t, "a product", x.BitLen()+y.BitLen(), mulTime(n, m))
	chargeWork(t, n, m)
	t.Charge(64 + 8*(n+m))
}

// chargeWork charges the time of n times m words.
func chargeWork(t *Thread, n, m int) { t.Steps(n * m / workGrain) }

// chargeDiv charges a division.
func chargeDiv(t *Thread, x, y *big.Int) {
	n, m := words(x), words(y)
	checkTime(t, "a division", x.BitLen()+y.BitLen(), divTime(n, m))
	chargeWork(t, n, m)
	t.Charge(128 + 8*(n+m))
}

// chargeLowest charges writing x/y in lowest terms: a greatest common divisor and two divisions.
func chargeLowest(t *Thread, x, y *big.Int) {
	n, m := words(x), words(y)
	checkTime(t, "a fraction", x.BitLen()+y.BitLen(), gcdTime(n, m)+2*divTime(n, m))
	chargeWork(t, 4*n, m)
	chargeDiv(t, x, y)
}

// chargeRat charges an operation on fractions: products of all parts, and a greatest common divisor.
func chargeRat(t *Thread, x, y *big.Rat) {
	a, b, c, d := words(x.Num()), words(x.Denom()), words(y.Num()), words(y.Denom())
	n := a + b + c + d
	checkSize(t, 64*n)
	num, den := max(a+d, b+c, a+c), max(b+d, b+c)
	checkTime(t, "fractions", 64*n, gcdTime(num, den)+4*mulTime(num, den))
	chargeWork(t, 2*n, 2*n)
	t.Charge(256 + 32*n)
}

// chargeCross charges comparing fractions: two products.
func chargeCross(t *Thread, x, y *big.Rat) {
	chargeMul(t, x.Num(), y.Denom())
	chargeMul(t, y.Num(), x.Denom())
}

// chargeDigits charges reading or printing a number of n digits, whose time grows faster than n.
func chargeDigits(t *Thread, n int) {
	w := n/19 + 1
	chargeWork(t, w, w)
	t.Charge(n + 8*w + 64)
}

// chargeParse charges reading n digits.
func chargeParse(t *Thread, n int) {
	checkTime(t, "digits", n*10/3, parseTime(n/19+1))
	chargeDigits(t, n)
}

var bigTen = big.NewInt(10)

// pow10 is 10^n.
func pow10(t *Thread, n int64) *big.Int {
	if n < 0 || n > maxBits/4 {
		panic(Errorf("ArithmeticException", "big decimal: overflow, want an exponent below %d", maxBits/4))
	}
	checkSize(t, int(n*10/3))
	chargeDigits(t, int(n))
	return new(big.Int).Exp(bigTen, big.NewInt(n), nil)
}

// bigText is x in decimal digits.
func bigText(t *Thread, x *big.Int) string { return BigText(t, x, 10) }

// BigText is x in a base from 2 to 36.
func BigText(t *Thread, x *big.Int, base int) string {
	if x.IsInt64() {
		t.Charge(72)
		return x.Text(base)
	}
	if base&(base-1) != 0 {
		checkTime(t, "the digits of a number", x.BitLen(), printTime(words(x)))
	}
	chargeDigits(t, digitsBound(x))
	t.Charge(x.BitLen())
	return x.Text(base)
}

// digitsBound is how many decimal digits x has at most; it may be one too many.
func digitsBound(x *big.Int) int { return int(float64(x.BitLen())*0.301029995663981195) + 1 }
