package corelib

import (
	"strings"
	"unicode"

	"github.com/reflection-dev/zeno/lisp/value"
)

// builder builds a text and charges for it as it grows.
type builder struct {
	t      *Thread
	b      strings.Builder
	pinned int // of its memory, what the thread counts as alive
}

// add appends s.
func (x *builder) add(s string) {
	x.room(len(s))
	x.b.WriteString(s)
}

func (x *builder) rune(r rune) {
	x.room(4)
	x.b.WriteRune(r)
}

// pad appends n times r.
func (x *builder) pad(r rune, n int) {
	if n <= 0 {
		return
	}
	x.room(n * len(string(r)))
	for range n {
		x.b.WriteRune(r)
	}
}

// room charges n bytes and makes room for them.
func (x *builder) room(n int) {
	x.t.Steps(n / 64)
	if x.b.Len()+n <= x.b.Cap() {
		return
	}
	n = max(n, 32)
	size := 2*x.b.Cap() + n // what Grow makes of it, but for rounding up
	x.t.Charge(size)
	x.b.Grow(n)
	x.t.Charge(max(0, x.b.Cap()-size))
	x.t.Pin(x.b.Cap() - x.pinned)
	x.pinned = x.b.Cap()
}

// text ends the building.
func (x *builder) text() string {
	x.t.Unpin(x.pinned)
	x.pinned = 0
	return x.b.String()
}

// value ends the building and makes a string of it.
func (x *builder) value() Value {
	x.t.Charge(stringBytes)
	return value.Str(x.text())
}

// newStr makes a string of s, which was made before it could be charged for and is not longer than what it was made of.
func newStr(t *Thread, s string) Value {
	t.Charge(stringBytes)
	return value.Str(s)
}

// chars gives the text of a string or a character.
func chars(t *Thread, who string, v Value) string {
	if v.Kind() == value.KindChar {
		return string(v.Char())
	}
	if v.Kind() != value.KindString {
		panic(value.TypeError(t, who, v, "a string or a character"))
	}
	return v.Text()
}

// shown gives the text that str gives of anything but nil, which throws.
func shown(t *Thread, who string, v Value) string {
	if v.Kind() == value.KindString {
		return v.Text()
	}
	if v.IsNil() {
		panic(value.TypeError(t, who, v, "a string"))
	}
	return value.ToString(t, v)
}

// isSpace is Java's Character.isWhitespace: white space that a line may be broken at, and four control characters.
func isSpace(r rune) bool {
	switch {
	case r == 0xa0 || r == 0x2007 || r == 0x202f || r == 0x85:
		return false
	case r >= 0x1c && r <= 0x1f:
		return true
	}
	return unicode.IsSpace(r)
}

// byteAt gives the byte offset of the n-th code point of s; len(s) when there are not so many.
func byteAt(t *Thread, s *value.String, text string, n int) int {
	if n <= 0 {
		return 0
	}
	if s != nil && s.ASCII() {
		return min(n, len(text))
	}
	t.Steps(n / 64)
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// upper is Java's toUpperCase: a few characters become several.
func upper(t *Thread, s string) string {
	t.Steps(len(s) / 16)
	t.Charge(3 * len(s))
	s = strings.ToUpper(s)
	if !strings.ContainsAny(s, "ßŉﬀﬁﬂﬃﬄﬅﬆ") {
		return s
	}
	return expanding.Replace(s)
}

// expanding has no state that shows.
var expanding = strings.NewReplacer("ß", "SS", "ŉ", "ʼN", "ﬀ", "FF", "ﬁ", "FI", "ﬂ", "FL", "ﬃ", "FFI", "ﬄ", "FFL",
	"ﬅ", "ST", "ﬆ", "ST")

func lower(t *Thread, s string) string {
	t.Steps(len(s) / 16)
	t.Charge(2 * len(s))
	return strings.ToLower(s)
}
