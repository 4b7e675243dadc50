package value

import (
	"math"
	"math/big"
)

// What big arithmetic costs is known before it is done, and charged then: Go's math/big cannot be interrupted.

// maxBits is the size of the largest big integer, which is that of the JVM.
const maxBits = math.MaxInt32

// workGrain is how many products of machine words one step buys.
const workGrain = 1024

func words(x *big.Int) int { return (x.BitLen() + 63) / 64 }

// chargeLinear charges an operation whose result is about as long as its longer operand.
func chargeLinear(t *Thread, x, y *big.Int) {
	n := max(words(x), words(y)) + 1
	t.Steps(n / 64)
	t.Charge(64 + 8*n)
}

// chargeMul charges a product.
func chargeMul(t *Thread, x, y *big.Int) {
	if x.BitLen()+y.BitLen() > maxBits {
		panic(Errorf("ArithmeticException", "big integer: overflow, want at most 2^%d", maxBits))
	}
	chargeWork(t, words(x), words(y))
	t.Charge(64 + 8*(words(x)+words(y)))
}

// chargeWork charges the time of n times m words.
func chargeWork(t *Thread, n, m int) { t.Steps(n * m / workGrain) }

// chargeDiv charges a division.
func chargeDiv(t *Thread, x, y *big.Int) {
	chargeWork(t, words(x), words(y))
	t.Charge(128 + 8*(words(x)+words(y)))
}

// chargeRat charges an operation on fractions: products of all parts, and a greatest common divisor.
func chargeRat(t *Thread, x, y *big.Rat) {
	n := words(x.Num()) + words(x.Denom()) + words(y.Num()) + words(y.Denom())
	if n > maxBits/64 {
		panic(Errorf("ArithmeticException", "ratio: overflow, want at most 2^%d", maxBits))
	}
	chargeWork(t, 2*n, 2*n)
	t.Charge(256 + 32*n)
}

// chargeDigits charges work on a number of n decimal digits whose time grows with their square, such as printing.
func chargeDigits(t *Thread, n int) {
	w := n/19 + 1
	chargeWork(t, w, w)
	t.Charge(n + 8*w + 64)
}

var bigTen = big.NewInt(10)

// pow10 is 10^n.
func pow10(t *Thread, n int64) *big.Int {
	if n < 0 || n > maxBits/4 {
		panic(Errorf("ArithmeticException", "big decimal: overflow, want an exponent below %d", maxBits/4))
	}
	chargeDigits(t, int(n))
	return new(big.Int).Exp(bigTen, big.NewInt(n), nil)
}

// bigText is x in decimal digits.
func bigText(t *Thread, x *big.Int) string {
	if x.IsInt64() {
		t.Charge(24)
	} else {
		chargeDigits(t, digitsBound(x))
	}
	return x.String()
}

// digitsBound is how many decimal digits x has at most; it may be one too many.
func digitsBound(x *big.Int) int { return int(float64(x.BitLen())*0.301029995663981195) + 1 }
