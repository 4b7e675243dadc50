package corelib

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// javaRegex rewrites a pattern in Java's syntax for RE2. What RE2 cannot do (lookaround, backreferences, possessive and
// atomic groups, class intersections) is an error that says so: nothing may change its meaning in silence.
type javaRegex struct {
	src   string
	i     int
	out   strings.Builder
	flags flags   // in force
	outer []flags // those outside each open group
	atom  bool    // something stands before i that a quantifier may follow
}

// flags that the translation must know; RE2 knows i and m.
type flags struct{ dotAll, comments bool }

// lineEnds are the characters that a dot does not match.
const lineEnds = `\n\r\x{85}\x{2028}\x{2029}`

// regexError is how the translation ends early; translate recovers it.
type regexError struct{ ex *value.Exception }

func (j *javaRegex) fail(format string, args ...any) {
	panic(regexError{patternError(j.src, fmt.Sprintf(format, args...))})
}

func patternError(src, what string) *value.Exception {
	if len(src) > 80 {
		src = strings.ToValidUTF8(src[:77], "") + "..."
	}
	return value.Errorf("PatternSyntaxException", "regex: %s, in #\"%s\"", what, src)
}

// translate gives the RE2 form of a Java pattern. It takes time in the length of src.
func translate(src string) (out string, err *value.Exception) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(regexError)
			if !ok {
				panic(r)
			}
			err = e.ex
		}
	}()
	j := &javaRegex{src: src}
	for j.i < len(src) {
		j.next()
	}
	return j.out.String(), nil
}

func (j *javaRegex) put(s string) {
	j.out.WriteString(s)
	j.atom = true
}

func (j *javaRegex) at(s string) bool { return strings.HasPrefix(j.src[j.i:], s) }

// take gives the next rune and goes past it.
func (j *javaRegex) take() rune {
	if j.i >= len(j.src) {
		j.fail("it ends too early")
	}
	r, n := utf8.DecodeRuneInString(j.src[j.i:])
	j.i += n
	return r
}

// next rewrites one piece of the pattern.
func (j *javaRegex) next() {
	switch c := j.src[j.i]; {
	case c == '\\':
		j.i++
		j.escape()
	case c == '[':
		j.put(j.class())
	case c == '(':
		j.group()
	case c == ')':
		j.i++
		j.closeGroup()
	case c == '.':
		j.i++
		j.dot()
	case c == '*' || c == '+' || c == '?' || c == '{' && j.atom && j.counted():
		j.quantifier()
	case c == '{':
		j.i++
		j.put(`\{`)
	case c == '|' || c == '^' || c == '$':
		j.i++
		j.out.WriteByte(c)
		j.atom = false
	case j.flags.comments && (c <= ' ' || c == '#'):
		j.comment()
	default:
		j.put(quoteRune(j.take()))
	}
}

func (j *javaRegex) dot() {
	if j.flags.dotAll {
		j.put(`(?s:.)`)
		return
	}
	j.put(`[^` + lineEnds + `]`)
}

// comment goes past white space, or a # and the rest of its line.
func (j *javaRegex) comment() {
	if j.src[j.i] != '#' {
		j.i++
		return
	}
	if n := strings.IndexByte(j.src[j.i:], '\n'); n >= 0 {
		j.i += n + 1
		return
	}
	j.i = len(j.src)
}

// counted tells whether {n}, {n,} or {n,m} stands at i.
func (j *javaRegex) counted() bool {
	end := strings.IndexByte(j.src[j.i:], '}')
	if end < 2 {
		return false
	}
	for _, c := range j.src[j.i+1 : j.i+end] {
		if c != ',' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func (j *javaRegex) quantifier() {
	if !j.atom {
		j.fail("%q has nothing before it to repeat", j.src[j.i])
	}
	start := j.i
	if j.src[j.i] == '{' {
		j.i += strings.IndexByte(j.src[j.i:], '}')
	}
	j.i++
	if j.i < len(j.src) && j.src[j.i] == '+' {
		j.fail("possessive quantifiers (%s) are not supported", j.src[start:j.i+1])
	}
	if j.i < len(j.src) && j.src[j.i] == '?' {
		j.i++
	}
	j.out.WriteString(j.src[start:j.i])
	j.atom = false
}

// group opens a group, or sets flags.
func (j *javaRegex) group() {
	j.i++
	for prefix, what := range map[string]string{
		"?=": "lookahead", "?!": "lookahead", "?<=": "lookbehind", "?<!": "lookbehind", "?>": "atomic groups",
	} {
		if j.at(prefix) {
			j.fail("%s (%s…) is not supported", what, "("+prefix)
		}
	}
	switch {
	case j.at("?<"):
		end := strings.IndexByte(j.src[j.i:], '>')
		if end < 3 {
			j.fail("a group's name is missing")
		}
		j.out.WriteString("(?P" + j.src[j.i+1:j.i+end+1])
		j.i += end + 1
	case j.at("?"):
		j.i++
		j.inlineFlags()
		return
	default:
		j.out.WriteByte('(')
	}
	j.outer = append(j.outer, j.flags)
	j.atom = false
}

// inlineFlags reads what follows (? : flags that end in a colon or a parenthesis.
func (j *javaRegex) inlineFlags() {
	before, on := j.flags, true
	var keep strings.Builder
	for {
		switch c := j.take(); c {
		case '-':
			on = false
			keep.WriteByte('-')
		case 'i', 'm':
			keep.WriteRune(c)
		case 's':
			j.flags.dotAll = on
		case 'x':
			j.flags.comments = on
		case 'u', 'd':
		case ':':
			j.out.WriteString("(?" + trimMinus(keep.String()) + ":")
			j.outer = append(j.outer, before)
			j.atom = false
			return
		case ')':
			if k := trimMinus(keep.String()); k != "" {
				j.out.WriteString("(?" + k + ")")
			}
			j.atom = false
			return
		default:
			j.fail("flag %q is not supported", c)
		}
	}
}

func trimMinus(s string) string { return strings.TrimSuffix(s, "-") }

func (j *javaRegex) closeGroup() {
	if len(j.outer) == 0 {
		j.fail("a ) has no ( before it")
	}
	last := len(j.outer) - 1
	j.flags, j.outer = j.outer[last], j.outer[:last]
	j.put(")")
}

// quoteRune writes r so that it stands for itself.
func quoteRune(r rune) string {
	switch {
	case r == utf8.RuneError || r < ' ' || r == 0x7f:
		return fmt.Sprintf(`\x{%x}`, r)
	case r < utf8.RuneSelf && !isWord(r):
		return `\` + string(r)
	}
	return string(r)
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
}
