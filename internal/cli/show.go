package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// printer prints the values of a session, as the session's *print-length* and *print-level* say.
type printer struct {
	session *lisp.Session
	out     io.Writer
	nils    bool // nil is printed too
	max     int  // bytes of one value, which show gets; 0: all of it, to out

	show func(text string) // what a person sees of a value; nil where nobody looks
}

// value prints v on a line of its own. It may run Lisp code, and an endless seq ends as the evaluation does.
func (p printer) value(t *value.Thread, v value.Value) {
	if v.IsNil() && !p.nils {
		return
	}
	pr := value.NewPrinter(true)
	pr.Length, pr.Level, pr.MaxBytes = p.bound("*print-length*"), p.bound("*print-level*"), p.max
	if pr.MaxBytes == 0 {
		pr.Sink = p.out // nothing is kept of a long value
	}
	pr.Print(t, v)
	note := ""
	switch {
	case pr.Truncated():
		note = fmt.Sprintf("\n; cut at %d bytes; *1 holds the whole value", p.max)
	case p.max > 0 && pr.Length >= 0 && cutShort(string(pr.Buf)):
		note = fmt.Sprintf("\n; *print-length* is %d; (set! *print-length* nil) shows all", pr.Length)
	}
	pr.MaxBytes = 0
	if p.max > 0 {
		p.show(harmlessText(string(pr.Buf)) + note + "\n")
		pr.Release(t)
		return
	}
	_ = pr.Flush() // a reader that has gone away is no error of the program
	_, _ = io.WriteString(p.out, "\n")
}

// harmlessText is harmless for several lines.
func harmlessText(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && unsafeRune(r) }) < 0 {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		cells := strings.Split(l, "\t")
		for j, c := range cells {
			cells[j] = harmless(c)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// bound gives the session's number in a var; -1 where it has none.
func (p printer) bound(name string) int {
	v := p.session.Value(name)
	if v.Kind() != value.KindInt {
		return -1
	}
	return int(v.Int())
}

// cutShort tells whether the printed text of a collection ends in the ellipsis of *print-length*.
func cutShort(s string) bool { return strings.HasSuffix(strings.TrimRight(s, ")]}"), "...") }
