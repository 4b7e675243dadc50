package corelib

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// Go's matcher cannot be interrupted, and takes time in the product of program and text. Where that product is small a
// search runs on the string; where it is large it reads the text through a meter that charges for every character before
// the matcher sees it, and so can end it.

// smallWork is the largest product that runs without a meter.
const smallWork = 1 << 14

// meter hands a text to a matcher, rune by rune.
type meter struct {
	t    *Thread
	text string
	i    int
	cost int // instructions a rune
	owed int
}

func (m *meter) ReadRune() (rune, int, error) {
	if m.i >= len(m.text) {
		return 0, 0, io.EOF
	}
	if m.owed += m.cost; m.owed >= 1024 {
		m.t.Steps(m.owed / 16)
		m.owed = 0
	}
	r, n := utf8.DecodeRuneInString(m.text[m.i:])
	m.i += n
	return r, n, nil
}

// run applies re, a form of r, to text.
func run(t *Thread, r *value.Regex, re *regexp.Regexp, text string) []int {
	t.Charge(64 + 48*(r.Groups+1))
	if work := r.Size * (len(text) + 1); work <= smallWork {
		t.Steps(1 + work/256)
		return re.FindStringSubmatchIndex(text)
	}
	t.Charge(16 * r.Size)
	t.Steps(1 + r.Size/16)
	return re.FindReaderSubmatchIndex(&meter{t: t, text: text, cost: r.Size})
}

// matchWhole matches all of text, or gives nil.
func matchWhole(t *Thread, r *value.Regex, text string) []int {
	return run(t, r, whole(r), text)
}

// findFrom finds the first match in text at or after the byte offset from, as FindSubmatchIndex gives it, or nil.
func findFrom(t *Thread, r *value.Regex, text string, from int) []int {
	if r.Literal != "" {
		return findLiteral(t, r.Literal, text, from)
	}
	if from == 0 {
		return run(t, r, r.Search, text)
	}
	_, n := utf8.DecodeLastRuneInString(text[:from])
	base := from - n
	loc := run(t, r, resume(r), text[base:])
	if loc == nil {
		return nil
	}
	loc = loc[2:]
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += base
		}
	}
	return loc
}

func findLiteral(t *Thread, lit, text string, from int) []int {
	t.Charge(16)
	i := indexFrom(t, text, lit, from)
	if i < 0 {
		return nil
	}
	return []int{i, i + len(lit)}
}

// indexFrom is strings.Index from the byte offset from on, in strides that are charged.
func indexFrom(t *Thread, text, lit string, from int) int {
	const stride = 1 << 16
	for {
		t.Steps(1)
		end := min(from+stride+len(lit), len(text))
		if i := strings.Index(text[from:end], lit); i >= 0 {
			t.Steps((i + len(lit)) / 64)
			return from + i
		}
		t.Steps((end - from) / 64)
		if end == len(text) {
			return -1
		}
		from += stride
	}
}

// eachMatch calls f with the matches of r in text, as Java's Matcher.find gives them one after the other, until f
// returns false. The slice is f's to keep.
func eachMatch(t *Thread, r *value.Regex, text string, f func(loc []int) bool) {
	for from := 0; from >= 0; {
		loc := findFrom(t, r, text, from)
		if loc == nil || !f(loc) {
			return
		}
		from = after(text, loc)
	}
}

// after tells where the search goes on behind a match: past its end, and one character further if it is empty; -1 at
// the end of the text.
func after(text string, loc []int) int {
	if loc[1] > loc[0] {
		return loc[1]
	}
	if loc[1] >= len(text) {
		return -1
	}
	_, n := utf8.DecodeRuneInString(text[loc[1]:])
	return loc[1] + n
}

// groups gives a match as Clojure does: its text, or a vector of its text and those of its groups, nil for a group that
// took no part.
func groups(t *Thread, text string, loc []int) Value {
	if len(loc) == 2 {
		return piece(t, text, loc[0], loc[1])
	}
	t.Charge(16 * len(loc))
	t.Steps(len(loc) / 2)
	xs := make([]Value, len(loc)/2)
	for i := range xs {
		if loc[2*i] >= 0 {
			xs[i] = piece(t, text, loc[2*i], loc[2*i+1])
		}
	}
	return value.NewVector(t, xs)
}

// stringBytes is what a string takes besides its text.
const stringBytes = 56

// piece makes a string of text[i:j], copied so that it does not keep text alive.
func piece(t *Thread, text string, i, j int) Value {
	t.Charge(stringBytes + j - i)
	return value.Str(strings.Clone(text[i:j]))
}
