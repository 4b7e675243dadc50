package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// ParseNumber reads a number in any of Clojure's notations: 42 -7 017 0x1F 2r101 42N 1/2 1.5 1e3 1.5M. Its error is a
// NumberFormatException, or an ArithmeticException for 1/0.
func ParseNumber(t *Thread, s string) (Value, error) {
	p := numText{text: s, body: s}
	if s != "" && (s[0] == '-' || s[0] == '+') {
		p.neg, p.body = s[0] == '-', s[1:]
	}
	if p.body == "" || !isDigit(p.body[0]) {
		return Nil, p.bad("a number")
	}
	if i := strings.IndexByte(p.body, '/'); i > 0 {
		return p.ratio(t, i)
	}
	if digits, base, big, ok := p.integer(); ok {
		return p.makeInt(t, digits, base, big)
	}
	return p.fraction(t)
}

// numText is a number being read.
type numText struct {
	text, body string // all of it, and without its sign
	neg        bool
}

func (p numText) bad(want string) error {
	s := p.text
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return Errorf("NumberFormatException", "number: got %s, want %s", s, want)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// integer parts an integer into its digits, its base and whether it ends in N.
func (p numText) integer() (digits string, base int, isBig, ok bool) {
	b := p.body
	if len(b) > 2 && b[0] == '0' && (b[1] == 'x' || b[1] == 'X') {
		b, isBig = strings.CutSuffix(b, "N")
		return b[2:], 16, isBig, len(b) > 2
	}
	if i := strings.IndexAny(b, "rR"); i == 1 || i == 2 {
		n, err := strconv.Atoi(b[:i])
		return b[i+1:], n, false, err == nil && n >= 2 && n <= 36 && len(b) > i+1
	}
	b, isBig = strings.CutSuffix(b, "N")
	if !allDigits(b) {
		return "", 0, false, false
	}
	if len(b) > 1 && b[0] == '0' {
		return b[1:], 8, isBig, true
	}
	return b, 10, isBig, true
}

func (p numText) makeInt(t *Thread, digits string, base int, isBig bool) (Value, error) {
	sign := ""
	if p.neg {
		sign = "-"
	}
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+' || strings.IndexByte(digits, '_') >= 0) {
		return Nil, p.bad("digits")
	}
	if !isBig {
		if n, err := strconv.ParseInt(sign+digits, base, 64); err == nil {
			return Int(n), nil
		}
	}
	chargeParse(t, len(digits)*base/10+1)
	x, ok := new(big.Int).SetString(sign+digits, base)
	if !ok {
		return Nil, p.bad("digits of base " + strconv.Itoa(base))
	}
	return NewBigInt(x), nil
}

func (p numText) ratio(t *Thread, slash int) (Value, error) {
	n, d := p.body[:slash], p.body[slash+1:]
	if !allDigits(n) || !allDigits(d) {
		return Nil, p.bad("digits on both sides of the slash")
	}
	num, err := numText{text: p.text, neg: p.neg}.makeInt(t, n, 10, false)
	if err != nil {
		return Nil, err
	}
	den, err := numText{text: p.text}.makeInt(t, d, 10, false)
	if err != nil {
		return Nil, err
	}
	if NumSign(t, "/", den) == 0 {
		return Nil, divideByZero()
	}
	return Div(t, num, den), nil
}

// fraction reads digits with a point or an exponent; an M makes it a decimal.
func (p numText) fraction(t *Thread) (Value, error) {
	body, dec := strings.CutSuffix(p.text, "M")
	if !isDecimal(strings.TrimLeft(body, "+-")) {
		return Nil, p.bad("a number")
	}
	if dec {
		d, ok := parseDec(t, body)
		if !ok {
			return Nil, p.bad("an exponent of at most 32 bits")
		}
		return Of(d), nil
	}
	t.Steps(len(body) / 16)
	f, ok := parseFloat(body)
	if !ok {
		return Nil, p.bad("a number")
	}
	return Float(f), nil
}

// isDecimal tells whether s reads digits[.digits][e[sign]digits].
func isDecimal(s string) bool {
	i := skipDigits(s, 0)
	if i == 0 {
		return false
	}
	if i < len(s) && s[i] == '.' {
		i = skipDigits(s, i+1)
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		j := skipDigits(s, i)
		if j == i {
			return false
		}
		i = j
	}
	return i == len(s)
}

func skipDigits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// parseDec reads [sign]digits[.digits][e[sign]digits] as a decimal; false when the exponent is out of range.
func parseDec(t *Thread, s string) (*BigDec, bool) {
	exp := int64(0)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.ParseInt(s[i+1:], 10, 32)
		if err != nil {
			return nil, false
		}
		exp, s = n, s[:i]
	}
	scale := -exp
	if i := strings.IndexByte(s, '.'); i >= 0 {
		scale += int64(len(s) - i - 1)
		t.Charge(len(s))
		s = s[:i] + s[i+1:]
	}
	if scale > math.MaxInt32 || scale < math.MinInt32 {
		return nil, false
	}
	chargeParse(t, len(s))
	u, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, false
	}
	return newDec(u, scale), true
}

// ParseBigDec reads a decimal without M, as bigdec of a string does; false when s is none.
func ParseBigDec(t *Thread, s string) (Value, bool) {
	body := s
	if body != "" && (body[0] == '-' || body[0] == '+') {
		body = body[1:]
	}
	if strings.HasPrefix(body, ".") {
		body = "0" + body
	}
	if !isDecimal(body) {
		return Nil, false
	}
	d, ok := parseDec(t, s)
	if !ok {
		return Nil, false
	}
	return Of(d), true
}

// ParseBigInt reads a whole number in decimal; false when s is none.
func ParseBigInt(t *Thread, s string) (*big.Int, bool) {
	body := s
	if body != "" && (body[0] == '-' || body[0] == '+') {
		body = body[1:]
	}
	if !allDigits(body) {
		return nil, false
	}
	chargeParse(t, len(s))
	return new(big.Int).SetString(s, 10)
}
