package suite

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Report prints results for a person as they come.
type Report struct {
	Out    io.Writer
	Colour bool
	all    []Result
	began  time.Time
}

// NewReport starts a report.
func NewReport(out io.Writer, colour bool) *Report {
	return &Report{Out: out, Colour: colour, began: time.Now()}
}

// Add prints a line for a file, and below it what failed. A file without a test is passed over in silence.
func (r *Report) Add(res Result) {
	r.all = append(r.all, res)
	c := Count(res)
	if c.Tests == 0 {
		return
	}
	word := r.paint(green, "ok  ")
	if !c.OK() {
		word = r.paint(red, "FAIL")
	}
	fmt.Fprintf(r.Out, "%s %s  %s, %s  %s\n", word, res.File, plural(c.Tests, "test"), plural(c.Assertions, "assertion"), took(res.Took))
	for _, t := range res.Tests {
		for _, p := range t.Problems {
			r.problem(t, p)
		}
	}
	if !c.OK() {
		fmt.Fprintln(r.Out)
	}
}

// End prints the sum, and gives it.
func (r *Report) End() Counts {
	c := Count(r.all...)
	colour := green
	if !c.OK() {
		colour = red
	}
	fmt.Fprintf(r.Out, "\n%s  %s\n", r.paint(colour, c.String()), took(time.Since(r.began)))
	return c
}

// Results are those added so far.
func (r *Report) Results() []Result { return r.all }

func (r *Report) problem(t Test, p Problem) {
	word := "FAIL"
	if p.Error {
		word = "ERROR"
	}
	fmt.Fprintf(r.Out, "\n  %s in %s%s\n", r.paint(red, word), nameOf(t), at(p.File, p.Line))
	r.body(p)
}

// body prints what is wrong.
func (r *Report) body(p Problem) {
	if len(p.Contexts) > 0 {
		r.lines("", strings.Join(p.Contexts, " > "))
	}
	r.lines("", p.Message)
	r.lines("expected: ", p.Expected)
	if p.Actual != "" {
		r.lines("  actual: ", p.Actual)
	}
	label := "    diff: "
	for _, d := range p.Diff {
		colour := red
		if strings.HasPrefix(d, "+") {
			colour = green
		}
		fmt.Fprintln(r.Out, "    "+label+r.paint(colour, d))
		label = strings.Repeat(" ", len(label))
	}
}

// lines prints a text under a label, its later lines below its first.
func (r *Report) lines(label, text string) {
	if text == "" {
		return
	}
	indent := "\n    " + strings.Repeat(" ", len(label))
	fmt.Fprintln(r.Out, "    "+label+strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", indent))
}

func nameOf(t Test) string {
	if t.NS == "" {
		return t.Name
	}
	return t.NS + "/" + t.Name
}

func at(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return " (" + file + ")"
	}
	return fmt.Sprintf(" (%s:%d)", file, line)
}

const (
	red   = "\x1b[31m"
	green = "\x1b[32m"
)

func (r *Report) paint(colour, s string) string {
	if !r.Colour {
		return s
	}
	return colour + s + "\x1b[0m"
}

// took words a duration to the millisecond.
func took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
