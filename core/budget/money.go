package budget

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// Money is nanodollars: a billionth of a US dollar.
type Money int64

// Dollar is a US dollar.
const Dollar Money = 1_000_000_000

// Dollars rounds f up to whole nanodollars: 0.1 is 0.1 and not a little less. What is no number or negative is nothing;
// what is too much is as much as is counted.
func Dollars(f float64) Money {
	switch {
	case math.IsNaN(f) || f <= 0:
		return 0
	case f*1e9 >= most:
		return most
	}
	n := math.Ceil(f*1e9 - 1e-3) // the product of a decimal such as 0.1 may lie a little above the whole number
	return Money(n)
}

// Float gives dollars.
func (m Money) Float() float64 { return float64(m) / float64(Dollar) }

// String gives "$1.50", with as many decimals as the amount has, at least two.
func (m Money) String() string {
	s := fmt.Sprintf("$%d.%09d", m/Dollar, m%Dollar)
	for strings.HasSuffix(s, "0") && len(s)-strings.IndexByte(s, '.') > 3 {
		s = s[:len(s)-1]
	}
	return s
}

// cost is what tokens cost at a price for a million, rounded up.
func cost(tokens int64, perMillion Money) Money {
	const million = 1_000_000
	if tokens <= 0 || perMillion <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(tokens), uint64(perMillion))
	lo, carry := bits.Add64(lo, million-1, 0)
	hi += carry
	if hi >= million {
		return most
	}
	q, _ := bits.Div64(hi, lo, million)
	return Money(min(q, most))
}
