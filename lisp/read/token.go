package read

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// The classes of ASCII characters.
const (
	isSpace   = 1 << iota // and the comma
	isMacro               // begins a form of its own
	endsToken             // a macro character that ends a symbol too
	isDigit
)

// classes tells the classes of each byte; those of longer characters have none.
var classes = [256]byte{
	' ': isSpace, ',': isSpace, '\t': isSpace, '\n': isSpace, '\v': isSpace, '\f': isSpace, '\r': isSpace,
	0x1c: isSpace, 0x1d: isSpace, 0x1e: isSpace, 0x1f: isSpace,
	'"': isMacro | endsToken, ';': isMacro | endsToken, '@': isMacro | endsToken, '^': isMacro | endsToken,
	'`': isMacro | endsToken, '~': isMacro | endsToken, '\\': isMacro | endsToken,
	'(': isMacro | endsToken, ')': isMacro | endsToken, '[': isMacro | endsToken, ']': isMacro | endsToken,
	'{': isMacro | endsToken, '}': isMacro | endsToken,
	'\'': isMacro, '%': isMacro, '#': isMacro,
	'0': isDigit, '1': isDigit, '2': isDigit, '3': isDigit, '4': isDigit,
	'5': isDigit, '6': isDigit, '7': isDigit, '8': isDigit, '9': isDigit,
}

// wideSpace tells whether a character beyond ASCII is white space, as Java has it: not the non-breaking ones.
func wideSpace(c rune) bool {
	if c == 0xA0 || c == 0x2007 || c == 0x202F {
		return false
	}
	return unicode.In(c, unicode.Zs, unicode.Zl, unicode.Zp)
}

// space skips white space and line comments.
func (r *Reader) space() {
	from := r.off
	i := r.off
	for i < len(r.src) {
		b := r.src[i]
		if classes[b]&isSpace != 0 {
			i++
		} else if b == ';' {
			i = lineEnd(r.src, i)
		} else if c, n := utf8.DecodeRuneInString(r.src[i:]); n > 1 && wideSpace(c) {
			i += n
		} else {
			break
		}
	}
	r.off = i
	if i-from > 64 {
		r.t.Steps((i - from) >> 6)
	}
}

// lineEnd gives the offset of the end of the line at i.
func lineEnd(src string, i int) int {
	n := strings.IndexAny(src[i:], "\n\r")
	if n < 0 {
		return len(src)
	}
	return i + n
}

// tokenEnd gives the offset where the token ends that has begun before i; stop is the class that ends it besides space.
func (r *Reader) tokenEnd(i int, stop byte) int {
	src := r.src
	stop |= isSpace
	for i < len(src) {
		b := src[i]
		if b < utf8.RuneSelf {
			if classes[b]&stop != 0 {
				break
			}
			i++
			continue
		}
		c, n := utf8.DecodeRuneInString(src[i:])
		if wideSpace(c) {
			break
		}
		i += n
	}
	return i
}

// token takes the token at r.off.
func (r *Reader) token(stop byte) string {
	from := r.off
	r.off = r.tokenEnd(from, stop)
	if n := r.off - from; n > 64 {
		r.t.Steps(n >> 6)
	}
	return r.src[from:r.off]
}

// number reads a number at r.off.
func (r *Reader) number() (value.Value, *Error) {
	from := r.off
	stop := byte(isMacro)
	if r.opts.EDN {
		stop = endsToken
	}
	tok := r.token(stop)
	if v, ok := smallInt(tok); ok {
		return v, nil
	}
	v, err := value.ParseNumber(r.t, tok)
	if err != nil {
		e := r.errorf(from, "number: got %s, want a number such as 42, 0x2A, 1.5, 1/2, 42N or 1.5M", shown(tok))
		return v, e
	}
	return v, nil
}

// smallInt reads plain decimal digits that surely fit.
func smallInt(s string) (value.Value, bool) {
	if len(s) > 18 || s[0] < '1' || s[0] > '9' {
		return value.Int(0), s == "0"
	}
	n := int64(0)
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return value.Nil, false
		}
		n = n*10 + int64(d)
	}
	return value.Int(n), true
}

// shown is a token in a message, cut where it is long.
func shown(tok string) string {
	if len(tok) <= 40 {
		return tok
	}
	n := 40
	for !utf8.RuneStart(tok[n]) {
		n--
	}
	return tok[:n] + "…"
}

// name reads a symbol, keyword, nil, true or false at r.off.
func (r *Reader) name() (value.Value, *Error) {
	from := r.off
	tok := r.token(endsToken)
	switch tok {
	case "nil":
		return value.Nil, nil
	case "true":
		return value.True, nil
	case "false":
		return value.False, nil
	}
	if tok[0] == ':' {
		return r.keyword(from, tok)
	}
	if !validName(tok) {
		return value.Nil, r.badToken(from, tok)
	}
	r.pin(value.PlacedBytes)
	return value.Of(r.opts.Intern.SymbolAt(r.t, tok, r.place(from))), nil
}

func (r *Reader) badToken(from int, tok string) *Error {
	what, want := "symbol", "a name such as x, ns/x or /"
	if tok[0] == ':' {
		what, want = "keyword", "a name such as :x, :ns/x or ::x"
	}
	return r.errorf(from, "%s: got %s, want %s", what, shown(tok), want)
}

func (r *Reader) keyword(from int, tok string) (value.Value, *Error) {
	full, auto := tok[1:], len(tok) > 1 && tok[1] == ':'
	if auto {
		full = tok[2:]
	}
	switch {
	case full == "", auto && (r.opts.EDN || full[0] == ':' || !validName(full)), !auto && !validName(tok) && !validName(full):
		return value.Nil, r.badToken(from, tok)
	}
	if !auto {
		return value.Of(r.opts.Intern.Keyword(r.t, full)), nil
	}
	alias, name := value.SplitName(full)
	ns, err := r.autoNS(from, alias)
	if err != nil {
		return value.Nil, err
	}
	r.t.Charge(len(ns) + len(name) + 1)
	return value.Of(r.opts.Intern.Keyword(r.t, ns+"/"+name)), nil
}

// autoNS gives the namespace that ::k or ::alias/k means.
func (r *Reader) autoNS(from int, alias string) (string, *Error) {
	if alias == "" {
		if r.opts.CurrentNS == "" {
			return "", r.errorf(from, "keyword: got ::, want a keyword with its namespace, as there is no current one")
		}
		return r.opts.CurrentNS, nil
	}
	if r.opts.AliasNS != nil {
		if ns, ok := r.opts.AliasNS(r.t, alias); ok {
			return ns, nil
		}
	}
	if r.skip > 0 || r.keep > 0 {
		return alias, nil
	}
	return "", r.errorf(from, "keyword: got ::%s/, want an alias of this namespace; %s is none", shown(alias), shown(alias))
}

// validName tells whether tok is a symbol as Clojure has it: a name or ns/name, neither of which begins with a digit; a
// keyword's colon may stand before either.
func validName(tok string) bool {
	if strings.HasSuffix(tok, ":") || len(tok) > 1 && strings.Contains(tok[1:], "::") {
		return false
	}
	i := strings.LastIndexByte(tok, '/')
	switch {
	case tok == "/":
		return true
	case i < 0:
		return startsName(tok)
	case i == len(tok)-1: // ns//: the name is a slash
		return i > 1 && tok[i-1] == '/' && startsName(tok) && tok[i-2] != ':'
	}
	return i > 0 && startsName(tok) && startsName(tok[i+1:]) && tok[i-1] != ':'
}

func startsName(s string) bool { return s != "" && classes[s[0]]&isDigit == 0 && s[0] != '/' }
