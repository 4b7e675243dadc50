package corelib

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// number does the directives that take a number.
func (f *clFormatter) number(d *clDirective, v Value) {
	switch d.letter {
	case 'd':
		f.integer(d, v, 10, 0)
	case 'b':
		f.integer(d, v, 2, 0)
	case 'o':
		f.integer(d, v, 8, 0)
	case 'x':
		f.integer(d, v, 16, 0)
	case 'r':
		f.radix(d, v)
	case 'f':
		f.text(f.fixed(d, f.float(v), 0, d.int(0, 0), d.int(1, -1)))
	case 'e':
		f.text(f.exponential(d, f.float(v)))
	case 'g':
		f.text(f.general(d, f.float(v)))
	case '$':
		f.text(f.dollars(d, f.float(v)))
	}
}

// integer writes v in a base: at least as wide as parameter from says, with the filling, comma and distance of commas of
// the parameters after it. What is no integer is written as ~a would.
func (f *clFormatter) integer(d *clDirective, v Value, base, from int) {
	fill := d.char(from+1, " ")
	width := d.int(from, 0)
	var s string
	if !v.Kind().IsInteger() {
		s = text(f.t, []Value{v}, false, "")
	} else {
		s = value.BigText(f.t, value.BigOf(v), base)
		digits, negative := strings.CutPrefix(s, "-")
		if d.colon {
			digits = clGrouped(digits, d.char(from+2, ","), max(1, d.int(from+3, 3)))
			f.t.Charge(len(digits))
		}
		switch {
		case negative:
			s = "-" + digits
		case d.at:
			s = "+" + digits
		default:
			s = digits
		}
	}
	f.text(f.repeated(fill, width-columns(s)) + s)
}

// clGrouped puts comma between groups of n digits, counted from the right.
func clGrouped(digits, comma string, n int) string {
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%n == 0 {
			b.WriteString(comma)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// radix writes a number in a base; where none is given in English, with : as an ordinal, with @ in Roman digits.
func (f *clFormatter) radix(d *clDirective, v Value) {
	if base := d.int(0, 0); base != 0 {
		if base < 2 || base > 36 {
			panic(value.ArgError("cl-format: got base %d, want 2 to 36", base))
		}
		f.integer(d, v, base, 1)
		return
	}
	switch {
	case !v.Kind().IsInteger():
		f.integer(&clDirective{}, v, 10, 0)
	case d.at:
		if n := value.BigOf(v); n.Sign() > 0 && n.Cmp(big.NewInt(4000)) < 0 {
			f.text(roman(int(n.Int64()), d.colon))
			return
		}
		f.integer(&clDirective{colon: true}, v, 10, 0)
	default:
		n := value.BigOf(v)
		if n.BitLen() > 219 { // 10^66, behind which there are no words
			f.integer(&clDirective{colon: true}, v, 10, 0)
			if d.colon {
				f.text(ordinalEnding(n))
			}
			return
		}
		f.text(english(n, d.colon))
	}
}

// ordinalEnding is st, nd, rd or th.
func ordinalEnding(n *big.Int) string {
	low := new(big.Int).Mod(new(big.Int).Abs(n), big.NewInt(100)).Int64()
	if low >= 11 && low <= 19 {
		return "th"
	}
	switch low % 10 {
	case 1:
		return "st"
	case 2:
		return "nd"
	case 3:
		return "rd"
	}
	return "th"
}

// roman writes 1 to 3999; the old way has no digits that are taken from the next.
func roman(n int, old bool) string {
	digits := [][3]string{{"I", "V", "X"}, {"X", "L", "C"}, {"C", "D", "M"}, {"M", "", ""}}
	out := ""
	for i := 0; n > 0; i, n = i+1, n/10 {
		one, five, ten := digits[i][0], digits[i][1], digits[i][2]
		switch k := n % 10; {
		case !old && k == 9:
			out = one + ten + out
		case !old && k == 4:
			out = one + five + out
		case k >= 5:
			out = five + strings.Repeat(one, k-5) + out
		default:
			out = strings.Repeat(one, k) + out
		}
	}
	return out
}

var (
	smallWords    = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tensWords     = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
	smallOrdinals = strings.Fields("zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth")
	tensOrdinals  = strings.Fields("- - twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth")
	powerWords    = strings.Fields(`- thousand million billion trillion quadrillion quintillion sextillion septillion octillion
		nonillion decillion undecillion duodecillion tredecillion quattuordecillion quindecillion sexdecillion septendecillion
		octodecillion novemdecillion vigintillion`)
)

// english words a number below 10^66.
func english(n *big.Int, ordinal bool) string {
	if n.Sign() < 0 {
		return "minus " + english(new(big.Int).Neg(n), ordinal)
	}
	if n.Sign() == 0 {
		if ordinal {
			return smallOrdinals[0]
		}
		return smallWords[0]
	}
	q, low := new(big.Int).QuoRem(n, big.NewInt(1000), new(big.Int))
	var parts []string
	for power := 1; q.Sign() > 0; power++ {
		r := new(big.Int)
		q, r = new(big.Int).QuoRem(q, big.NewInt(1000), r)
		if r.Sign() > 0 {
			parts = append([]string{englishBelow1000(int(r.Int64()), false) + " " + powerWords[power]}, parts...)
		}
	}
	if low.Sign() > 0 {
		return strings.Join(append(parts, englishBelow1000(int(low.Int64()), ordinal)), ", ")
	}
	if ordinal {
		return strings.Join(parts, ", ") + "th"
	}
	return strings.Join(parts, ", ")
}

func englishBelow1000(n int, ordinal bool) string {
	small, tens := smallWords, tensWords
	if ordinal {
		small, tens = smallOrdinals, tensOrdinals
	}
	var words []string
	if n >= 100 {
		words = append(words, smallWords[n/100], "hundred")
		if n %= 100; n == 0 && ordinal {
			words[1] = "hundredth"
		}
	}
	switch {
	case n >= 20 && n%10 > 0:
		words = append(words, tensWords[n/10]+"-"+small[n%10])
	case n >= 20:
		words = append(words, tens[n/10])
	case n > 0:
		words = append(words, small[n])
	}
	return strings.Join(words, " ")
}

// clFloat is a number as digits without zeros at either end, of which the first has the weight 10^exp.
type clFloat struct {
	negative bool
	digits   string
	exp      int
}

func (f *clFormatter) float(v Value) clFloat {
	if v.Kind() == value.KindRatio {
		v = value.Float(value.ToFloat(f.t, v))
	}
	if !v.Kind().IsNumber() {
		panic(value.TypeError(f.t, "cl-format", v, "a number"))
	}
	s := value.NumberText(f.t, v)
	var n clFloat
	s, n.negative = strings.CutPrefix(s, "-")
	s, tail, _ := strings.Cut(strings.ToUpper(s), "E")
	n.exp, _ = strconv.Atoi(tail)
	whole, frac, _ := strings.Cut(s, ".")
	if strings.Trim(whole+frac, "0123456789") != "" {
		panic(value.ArgError("cl-format: got %s, want a finite number", value.NumberText(f.t, v)))
	}
	n.exp += len(whole) - 1
	digits := strings.TrimLeft(whole+frac, "0")
	n.exp -= len(whole+frac) - len(digits)
	n.digits = strings.TrimRight(digits, "0")
	if n.digits == "" {
		return clFloat{digits: "0"}
	}
	n.exp = max(-clMost, min(n.exp, clMost))
	f.t.Charge(8 * len(s))
	return n
}

// rounded keeps d digits behind the point (or, with d below zero, as many as fit w); grew tells that 9… became 10….
func (n clFloat) rounded(d, w int) (digits string, exp int, grew bool) {
	if d < 0 && w <= 0 {
		return n.digits, n.exp, false
	}
	w = max(w, 2)
	at := w + n.exp
	switch {
	case d >= 0:
		at = n.exp + d + 1
	case n.exp >= 0:
		at = max(n.exp+1, w-1)
	}
	digits, exp = n.digits, n.exp
	if at == 0 {
		digits, exp, at = "0"+digits, exp+1, 1
	}
	switch {
	case at < 0:
		return "0", 0, false
	case len(digits) <= at:
		return n.digits, n.exp, false
	case digits[at] < '5':
		return digits[:at], exp, false
	}
	up := []byte(digits[:at])
	for i := at - 1; i >= 0; i-- {
		if up[i] != '9' {
			up[i]++
			return string(up), exp, false
		}
		up[i] = '0'
	}
	return "1" + string(up[:at-1]), exp, true
}

// pointed writes digits with a point, and d digits behind it if d is not below zero.
func (f *clFormatter) pointed(digits string, exp, d int) string {
	if exp < 0 {
		digits, exp = f.repeated("0", -exp-1)+digits, -1
	}
	want := exp + 1 + max(d, 0)
	digits += f.repeated("0", want-len(digits))
	return digits[:exp+1] + "." + digits[exp+1:]
}

func (n clFloat) sign(d *clDirective) string {
	if n.negative {
		return "-"
	} else if d.at {
		return "+"
	}
	return ""
}

// fixed is ~f: w columns (0: as many as it takes), places digits behind the point (below zero: as many as there are). The
// number is multiplied by 10^scale, or by that of the third parameter.
func (f *clFormatter) fixed(d *clDirective, n clFloat, scale, w, places int) string {
	if d.letter == 'f' {
		scale = d.int(2, 0)
	}
	sign := n.sign(d)
	n.exp += scale
	room := 0
	if w > 0 {
		room = w - len(sign)
	}
	tail := ""
	if places < 0 && len(n.digits)-1 <= n.exp {
		tail = "0"
	}
	digits, exp, grew := n.rounded(places, room)
	if grew {
		exp++
	}
	s := f.pointed(digits, exp, places)
	if w > 0 && places >= 1 && strings.HasPrefix(s, "0.") && len(s) > room {
		s = s[1:]
	}
	head := ""
	if strings.HasPrefix(s, ".") {
		head = "0"
	}
	if w == 0 {
		return sign + head + s + tail
	}
	if len(sign)+len(s) >= w {
		head, tail = "", ""
	}
	full := len(sign) + len(head) + len(s) + len(tail)
	if over := d.char(3, ""); full > w && over != "" {
		return f.repeated(over, w)
	}
	return f.repeated(d.char(4, " "), w-full) + sign + head + s + tail
}

// exponential is ~e: width, digits behind the point, digits of the exponent, digits before the point, overflow, filling and
// letter of the exponent.
func (f *clFormatter) exponential(d *clDirective, n clFloat) string {
	w, places, expDigits, k := d.int(0, 0), d.int(1, -1), d.int(2, 0), d.int(3, 1)
	sign := n.sign(d)
	for {
		e := n.exp - (k - 1)
		mark := "+"
		if e < 0 {
			mark, e = "-", -e
		}
		tail := strconv.Itoa(e)
		tail = d.char(6, "E") + mark + f.repeated("0", expDigits-len(tail)) + tail
		m := clFloat{digits: f.repeated("0", -k) + n.digits}
		if places >= 0 {
			m.digits += f.repeated("0", places-(len(n.digits)-1)-max(-k, 0))
		}
		m.digits += f.repeated("0", k-len(m.digits))
		room, keep := 0, places
		if w > 0 {
			room = max(1, w-len(tail)-len(sign))
		}
		if k <= 0 && places >= 0 {
			keep = max(0, places-1)
		}
		digits, _, grew := m.rounded(keep, room)
		if grew {
			n.digits, n.exp = digits, n.exp+1
			continue
		}
		digits += f.repeated("0", k-len(digits))
		s, end := "."+digits, ""
		if k > 0 {
			s = digits[:k] + "." + digits[k:]
		}
		if k == len(digits) && places < 0 {
			end = "0"
		}
		head := ""
		if k <= 0 {
			head = "0"
		}
		if w == 0 {
			return sign + head + s + end + tail
		}
		long := len(sign) + len(s) + len(tail)
		if long == w {
			head = ""
		}
		long += len(head)
		if long >= w {
			end = ""
		}
		if over := d.char(4, ""); over != "" && (long > w || expDigits > 0 && len(tail)-2 > expDigits) {
			return f.repeated(over, w)
		}
		return f.repeated(d.char(5, " "), w-long-len(end)) + sign + head + s + end + tail
	}
}

// general is ~g: as ~f where that fits, else as ~e.
func (f *clFormatter) general(d *clDirective, n clFloat) string {
	w, places, expDigits := d.int(0, 0), d.int(1, -1), d.int(2, -1)
	before := n.exp + 1
	if n.digits == "0" {
		before = 0
	}
	space := 4
	if expDigits >= 0 {
		space = expDigits + 2
	}
	if w > 0 {
		w = max(1, w-space)
	}
	if places < 0 {
		places = max(len(n.digits), min(before, 7))
	}
	if left := places - before; left >= 0 && left <= places {
		fixed := &clDirective{letter: 'g', at: d.at, params: []clParam{{}, {}, {}, {}, {}}}
		copy(fixed.params[3:], d.params[min(4, len(d.params)):])
		return f.fixed(fixed, n, 0, w, left) + f.repeated(" ", space)
	}
	return f.exponential(d, n)
}

// dollars is ~$: digits behind the point, least digits before it, width.
func (f *clFormatter) dollars(d *clDirective, n clFloat) string {
	places, before, w, sign := max(0, d.int(0, 2)), d.int(1, 1), d.int(2, 0), n.sign(d)
	digits, exp, grew := n.rounded(places, 0)
	if grew {
		exp++
	}
	s := f.pointed(digits, exp, places)
	s = f.repeated("0", before-strings.IndexByte(s, '.')) + s
	pad := f.repeated(d.char(3, " "), w-len(s)-len(sign))
	if d.colon {
		return sign + pad + s
	}
	return pad + sign + s
}
