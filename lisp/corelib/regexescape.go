package corelib

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// The classes that Java has and RE2 has not, or has otherwise; without brackets.
const (
	horizontal = ` \t\x{a0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}`
	vertical   = `\n\x0b\f\r\x{85}\x{2028}\x{2029}`
	space      = ` \t\n\x0b\f\r`
)

// escape rewrites what follows a backslash outside a class.
func (j *javaRegex) escape() {
	start := j.i
	switch c := j.take(); c {
	case 'b', 'B', 'A', 'z':
		j.out.WriteString(`\` + string(c))
		j.atom = false
	case 'Z':
		j.out.WriteString(`\z`)
		j.atom = false
	case 'Q':
		j.quoted()
	case 'R':
		j.put(`(?:\r\n|[` + vertical + `])`)
	case 'E': // ends a quotation that never began
	case 'G':
		j.fail(`\G is not supported`)
	case 'X':
		j.fail(`\X is not supported`)
	case 'k', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		j.fail(`backreferences (\%c) are not supported`, c)
	default:
		j.i = start
		inner, negated, _ := j.classEscape()
		if negated {
			j.put(`[^` + inner + `]`)
			return
		}
		j.put(`[` + inner + `]`)
	}
}

// quoted copies \Q…\E.
func (j *javaRegex) quoted() {
	text := j.src[j.i:]
	if end := strings.Index(text, `\E`); end >= 0 {
		text = text[:end]
		j.i += end + 2
	} else {
		j.i = len(j.src)
	}
	for _, r := range text {
		j.put(quoteRune(r))
	}
}

// classEscape reads what follows a backslash where it stands for characters. It gives the inside of a class; negated
// when that class must be negated as a whole; and the rune when it is only one.
func (j *javaRegex) classEscape() (inner string, negated bool, one bool) {
	switch c := j.take(); c {
	case 'd', 'D', 'w', 'W':
		return `\` + string(c), false, false
	case 's', 'S':
		return space, c == 'S', false
	case 'h', 'H':
		return horizontal, c == 'H', false
	case 'v', 'V':
		return vertical, c == 'V', false
	case 'p', 'P':
		return j.property(c == 'P'), false, false
	case 'n', 'r', 't', 'f', 'a':
		return `\` + string(c), false, true
	case 'e':
		return `\x1b`, false, true
	case 'c':
		return fmt.Sprintf(`\x{%x}`, j.take()^64), false, true
	case '0':
		return j.octal(), false, true
	case 'x':
		return j.hex(2), false, true
	case 'u':
		return j.hex(4), false, true
	case 'E':
		return "", false, true
	default:
		if c < 0x80 && unicode.IsLetter(c) {
			j.fail(`\%c is not an escape`, c)
		}
		return quoteRune(c), false, true
	}
}

func (j *javaRegex) octal() string {
	n, digits := 0, 0
	for digits < 3 && j.i < len(j.src) && j.src[j.i] >= '0' && j.src[j.i] <= '7' && n*8 < 256 {
		n = n*8 + int(j.src[j.i]-'0')
		j.i++
		digits++
	}
	if digits == 0 {
		j.fail(`\0 wants octal digits`)
	}
	return fmt.Sprintf(`\x{%x}`, n)
}

// hex reads n hexadecimal digits, or any number in braces.
func (j *javaRegex) hex(n int) string {
	text := ""
	if n == 2 && j.at("{") {
		end := strings.IndexByte(j.src[j.i:], '}')
		if end < 2 {
			j.fail(`\x{ wants digits and a }`)
		}
		text = j.src[j.i+1 : j.i+end]
		j.i += end + 1
	} else {
		if j.i+n > len(j.src) {
			j.fail("an escape wants %d hexadecimal digits", n)
		}
		text = j.src[j.i : j.i+n]
		j.i += n
	}
	c, err := strconv.ParseUint(text, 16, 32)
	if err != nil || c > unicode.MaxRune {
		j.fail("%q is not the number of a character", text)
	}
	return fmt.Sprintf(`\x{%x}`, c)
}

// posix maps Java's ASCII properties to RE2's classes.
var posix = map[string]string{
	"Lower": "lower", "Upper": "upper", "ASCII": "ascii", "Alpha": "alpha", "Digit": "digit", "Alnum": "alnum",
	"Punct": "punct", "Graph": "graph", "Print": "print", "Blank": "blank", "Cntrl": "cntrl", "XDigit": "xdigit",
	"Space": "space",
}

// unicodeNames maps Java's other names to Unicode's.
var unicodeNames = map[string]string{
	"IsAlphabetic": "L", "IsLetter": "L", "IsDigit": "Nd", "IsLowercase": "Ll", "IsUppercase": "Lu",
	"IsPunctuation": "P", "IsWhite_Space": "Z", "IsControl": "Cc", "javaLowerCase": "Ll", "javaUpperCase": "Lu",
	"javaLetter": "L", "javaDigit": "Nd", "javaAlphabetic": "L",
}

// property reads a \p or \P.
func (j *javaRegex) property(not bool) string {
	name := string(j.take())
	if name == "{" {
		end := strings.IndexByte(j.src[j.i:], '}')
		if end < 0 {
			j.fail(`\p{ has no }`)
		}
		name = j.src[j.i : j.i+end]
		j.i += end + 1
	}
	if p, ok := posix[name]; ok {
		if not {
			return `[:^` + p + `:]`
		}
		return `[:` + p + `:]`
	}
	if _, after, ok := strings.Cut(name, "="); ok {
		name = after
	}
	if u, ok := unicodeNames[name]; ok {
		name = u
	}
	name = strings.TrimPrefix(name, "Is")
	if unicode.Categories[name] == nil && unicode.Scripts[name] == nil {
		j.fail(`\p{%s} is not a class that is known here`, name)
	}
	if not {
		return `\P{` + name + `}`
	}
	return `\p{` + name + `}`
}

// class rewrites a class in brackets, unions flattened.
func (j *javaRegex) class() string {
	j.i++
	var b strings.Builder
	b.WriteByte('[')
	if j.at("^") {
		j.i++
		b.WriteByte('^')
	}
	b.WriteString(j.members(0))
	b.WriteByte(']')
	return b.String()
}

// members rewrites the inside of a class up to its bracket.
func (j *javaRegex) members(depth int) string {
	if depth > 50 {
		j.fail("classes nest too deeply")
	}
	var b strings.Builder
	for first := true; ; first = false {
		switch {
		case j.i >= len(j.src):
			j.fail("a [ has no ]")
		case j.at("]") && !first:
			j.i++
			return b.String()
		case j.at("&&"):
			j.fail("intersections of classes (&&) are not supported")
		case j.at("[^"):
			j.fail("a negated class within a class is not supported")
		case j.at("["):
			j.i++
			b.WriteString(j.members(depth + 1))
		case j.flags.comments && j.src[j.i] <= ' ':
			j.i++
		default:
			b.WriteString(j.member())
		}
	}
}

// member rewrites a character, a range or an escape of a class.
func (j *javaRegex) member() string {
	low, one := j.single()
	if !one || !j.at("-") || j.i+1 >= len(j.src) || j.src[j.i+1] == ']' || j.src[j.i+1] == '[' {
		return low
	}
	j.i++
	high, one := j.single()
	if !one { // [a-\d]: the dash stands for itself
		return low + `\-` + high
	}
	return low + "-" + high
}

// single reads one character of a class, or an escape that stands for several.
func (j *javaRegex) single() (text string, one bool) {
	c := j.take()
	if c != '\\' {
		return quoteRune(c), true
	}
	if j.at("Q") {
		j.i++
		return j.quotedMembers(), false
	}
	inner, negated, one := j.classEscape()
	if !negated {
		return inner, one
	}
	return negatedMembers(inner), false
}

func (j *javaRegex) quotedMembers() string {
	end := strings.Index(j.src[j.i:], `\E`)
	if end < 0 {
		j.fail(`\Q has no \E`)
	}
	var b strings.Builder
	for _, r := range j.src[j.i : j.i+end] {
		b.WriteString(quoteRune(r))
	}
	j.i += end + 2
	return b.String()
}

// negatedMembers writes the complement of one of the three classes above as ranges.
func negatedMembers(inner string) string {
	switch inner {
	case space:
		return `\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{10ffff}`
	case vertical:
		return `\x{0}-\x{9}\x{e}-\x{84}\x{86}-\x{2027}\x{202a}-\x{10ffff}`
	}
	return `\x{0}-\x{8}\x{a}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{180d}\x{180f}-\x{1fff}` +
		`\x{200b}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}`
}
