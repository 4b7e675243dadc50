package suite

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/value"
)

// What is shown of one value: an endless seq ends somewhere.
const (
	shownItems = 200
	shownBytes = 4 << 10
)

// printed shows v as the reader wants it, cut where it is very long.
func printed(t *value.Thread, v value.Value) string {
	p := value.NewPrinter(true)
	p.Length, p.MaxBytes = shownItems, shownBytes
	p.Print(t, v)
	cut := ""
	if p.Truncated() {
		cut = " …"
	}
	return p.Take(t) + cut
}

// difference gives what sets two values apart, where actual is (not (= a b)) and both are collections of a kind or texts
// of several lines: first what only a has, then what only b has.
func difference(t *value.Thread, actual value.Value) []string {
	a, b, ok := compared(t, actual)
	if !ok {
		return nil
	}
	if a.Kind() == value.KindString && b.Kind() == value.KindString {
		return lineDiff(a.Text(), b.Text())
	}
	if !alike(a.Kind(), b.Kind()) {
		return nil
	}
	parts := value.ToSlice(t, corelib.Diff(t, a, b))
	var out []string
	if !parts[0].IsNil() {
		out = append(out, "- "+printed(t, parts[0]))
	}
	if !parts[1].IsNil() {
		out = append(out, "+ "+printed(t, parts[1]))
	}
	return out
}

func alike(a, b value.Kind) bool {
	return a.IsMap() && b.IsMap() || a.IsSet() && b.IsSet() || a.IsSequential() && b.IsSequential()
}

// compared takes a and b out of (not (= a b)).
func compared(t *value.Thread, v value.Value) (a, b value.Value, ok bool) {
	not, ok := call(t, v, "not", 2)
	if !ok {
		return a, b, false
	}
	eq, ok := call(t, not[1], "=", 3)
	if !ok {
		return a, b, false
	}
	return eq[1], eq[2], true
}

// call gives the elements of a list of n that starts with the symbol name.
func call(t *value.Thread, v value.Value, name string, n int) ([]value.Value, bool) {
	if !v.Kind().IsSeq() {
		return nil, false
	}
	xs := make([]value.Value, 0, n)
	for s := value.Seq(t, v); !s.IsNil(); s = value.Next(t, s) {
		if len(xs) == n {
			return nil, false
		}
		xs = append(xs, value.First(t, s))
	}
	ok := len(xs) == n && xs[0].Kind() == value.KindSymbol && value.As[value.Symbol](xs[0]).Name == name
	return xs, ok
}

// lineDiff gives the lines that are not common to the start and the end of two texts.
func lineDiff(a, b string) []string {
	if !strings.Contains(a+b, "\n") {
		return nil
	}
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for len(as) > 0 && len(bs) > 0 && as[0] == bs[0] {
		as, bs = as[1:], bs[1:]
	}
	for len(as) > 0 && len(bs) > 0 && as[len(as)-1] == bs[len(bs)-1] {
		as, bs = as[:len(as)-1], bs[:len(bs)-1]
	}
	return append(marked("- ", as), marked("+ ", bs)...)
}

// mostLines bounds how many lines of either side are shown.
const mostLines = 20

func marked(mark string, lines []string) []string {
	var out []string
	for i, l := range lines {
		if i == mostLines {
			return append(out, mark+"…")
		}
		out = append(out, mark+l)
	}
	return out
}
