package read

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// stringForm reads a string, whose opening quote is at r.off.
func (r *Reader) stringForm() (value.Value, *Error) {
	from := r.off
	i := from + 1
	n := strings.IndexAny(r.src[i:min(len(r.src), i+32)], `"\`)
	if n < 0 {
		n = indexQuote(r.src[i:])
	}
	if n >= 0 && r.src[i+n] == '"' { // the common case: no escapes
		r.off = i + n + 1
		r.hold(64 + n)
		r.t.Steps(n >> 6)
		return value.Str(strings.Clone(r.src[i : i+n])), nil
	}
	return r.escaped(from)
}

// indexQuote finds the first quote or backslash of s, or -1.
func indexQuote(s string) int {
	q := strings.IndexByte(s, '"')
	if q < 0 {
		return strings.IndexByte(s, '\\')
	}
	if b := strings.IndexByte(s[:q], '\\'); b >= 0 {
		return b
	}
	return q
}

// escaped reads a string with escapes, or one that does not end.
func (r *Reader) escaped(from int) (value.Value, *Error) {
	end, ok := closingQuote(r.src, from+1)
	if !ok {
		return value.Nil, r.unended(from, "string")
	}
	r.hold(64 + 2*(end-from))
	r.t.Steps((end - from) >> 3)
	out := make([]byte, 0, end-from)
	for i := from + 1; i < end; {
		n := strings.IndexByte(r.src[i:end], '\\')
		if n < 0 {
			out = append(out, r.src[i:end]...)
			break
		}
		out = append(out, r.src[i:i+n]...)
		c, next, err := r.escape(i+n, end)
		if err != nil {
			return value.Nil, err
		}
		out = utf8.AppendRune(out, c)
		i = next
	}
	r.off = end + 1
	return value.Str(string(out)), nil
}

// closingQuote finds the quote that ends the string or regex whose text begins at i.
func closingQuote(src string, i int) (int, bool) {
	for i < len(src) {
		switch src[i] {
		case '"':
			return i, true
		case '\\':
			i++
		}
		i++
	}
	return 0, false
}

// escape reads the escape at i, inside a string that ends at end. It gives the character and the offset behind it.
func (r *Reader) escape(i, end int) (rune, int, *Error) {
	switch c := r.src[i+1]; c {
	case 't':
		return '\t', i + 2, nil
	case 'r':
		return '\r', i + 2, nil
	case 'n':
		return '\n', i + 2, nil
	case 'b':
		return '\b', i + 2, nil
	case 'f':
		return '\f', i + 2, nil
	case '\\', '"':
		return rune(c), i + 2, nil
	case 'u':
		return r.unicodeEscape(i, end)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return r.octalEscape(i, end)
	}
	c, _ := utf8.DecodeRuneInString(r.src[i+1:])
	return 0, 0, r.errorf(i, `string: got \%c, want one of \t \r \n \b \f \\ \" \uXXXX or an octal \0 to \377`, c)
}

func (r *Reader) unicodeEscape(i, end int) (rune, int, *Error) {
	c, ok := hex4(r.src[i+2 : end])
	if !ok {
		return 0, 0, r.errorf(i, `string: got %s, want \u and four hexadecimal digits`, shown(r.src[i:min(i+6, end)]))
	}
	if !utf16.IsSurrogate(c) {
		return c, i + 6, nil
	}
	if rest := r.src[i+6 : end]; strings.HasPrefix(rest, `\u`) {
		if low, ok := hex4(rest[2:]); ok {
			if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
				return pair, i + 12, nil
			}
		}
	}
	return 0, 0, r.errorf(i, `string: got %s, half of a surrogate pair, want both halves or the character itself`, r.src[i:i+6])
}

func (r *Reader) octalEscape(i, end int) (rune, int, *Error) {
	c := rune(0)
	j := i + 1
	for j < end && j < i+4 && classes[r.src[j]]&(isSpace|isMacro) == 0 {
		if r.src[j] < '0' || r.src[j] > '7' {
			return 0, 0, r.errorf(j, "string: got %c in an octal escape, want 0 to 7", mustRune(r.src[j:]))
		}
		c = c*8 + rune(r.src[j]-'0')
		j++
	}
	if c > 0o377 {
		return 0, 0, r.errorf(i, `string: got %s, want an octal escape of at most \377`, r.src[i:j])
	}
	return c, j, nil
}

func mustRune(s string) rune {
	c, _ := utf8.DecodeRuneInString(s)
	return c
}

// hex4 reads four hexadecimal digits.
func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	c := rune(0)
	for i := range 4 {
		d := hexDigit(s[i])
		if d < 0 {
			return 0, false
		}
		c = c<<4 | d
	}
	return c, true
}

func hexDigit(b byte) rune {
	switch {
	case b >= '0' && b <= '9':
		return rune(b - '0')
	case b >= 'a' && b <= 'f':
		return rune(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return rune(b-'A') + 10
	}
	return -1
}

// char reads a character literal, whose backslash is at r.off.
func (r *Reader) char() (value.Value, *Error) {
	from := r.off
	if from+1 == len(r.src) {
		return value.Nil, r.incomplete(from, `end of text: \ wants a character`)
	}
	first, n := utf8.DecodeRuneInString(r.src[from+1:])
	r.off = from + 1 + n
	r.token(endsToken)
	tok := r.src[from+1 : r.off]
	if len(tok) == n {
		return value.Char(first), nil
	}
	if c := namedChar(tok); c != 0 {
		return value.Char(c), nil
	}
	switch tok[0] {
	case 'u':
		if c, ok := hex4(tok[1:]); ok && len(tok) == 5 && !utf16.IsSurrogate(c) {
			return value.Char(c), nil
		}
	case 'o':
		if c, ok := octal(tok[1:]); ok {
			return value.Char(c), nil
		}
	}
	return value.Nil, r.errorf(from, `char: got \%s, want a single character, \newline, \space, \tab, \return, \backspace, \formfeed, \uXXXX or \o0 to \o377`, shown(tok))
}

func namedChar(tok string) rune {
	switch tok {
	case "newline":
		return '\n'
	case "space":
		return ' '
	case "tab":
		return '\t'
	case "return":
		return '\r'
	case "backspace":
		return '\b'
	case "formfeed":
		return '\f'
	}
	return 0
}

// octal reads one to three octal digits up to 377.
func octal(s string) (rune, bool) {
	c := rune(0)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '7' {
			return 0, false
		}
		c = c*8 + rune(s[i]-'0')
	}
	return c, len(s) > 0 && len(s) <= 3 && c <= 0o377
}
