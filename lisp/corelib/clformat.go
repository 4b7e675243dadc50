package corelib

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// clFormat formats as Common Lisp does, with all of its directives but those of the pretty printer's own blocks and lines
// (~_ ~i ~/ and ~<…~:>). A format is parsed into directives first, in clparse.go; numbers are in clnumbers.go.
func clFormat(t *Thread, args []Value) Value {
	f := &clFormatter{t: t, out: value.NewPrinter(false)}
	f.run(f.parse(stringOf(t, "cl-format", args[1])), &clArgs{xs: args[2:]})
	s := f.out.Take(t)
	if !args[0].Truthy() {
		return value.Str(s)
	}
	if args[0].Kind() != value.KindBool {
		saved := t.Binds
		t.Bind([]*value.Var{t.Env.OutVar}, []Value{args[0]})
		emit(t, []byte(s))
		t.Binds = saved
		return value.Nil
	}
	emit(t, []byte(s))
	return value.Nil
}

// clArgs are arguments and how many of them are used.
type clArgs struct {
	xs  []Value
	pos int
}

func (a *clArgs) left() int { return len(a.xs) - a.pos }

func (a *clArgs) next() Value {
	if a.left() == 0 {
		panic(value.ArgError("cl-format: got %s, want more: a directive has none left", value.Plural(len(a.xs), "argument")))
	}
	a.pos++
	return a.xs[a.pos-1]
}

// move goes to argument i, which ~* and ~:p ask for.
func (a *clArgs) move(i int) {
	if i < 0 || i > len(a.xs) {
		panic(value.ArgError("cl-format: got a move to argument %d, want 0 to %d", i, len(a.xs)))
	}
	a.pos = i
}

// clFormatter writes what a format says.
type clFormatter struct {
	t   *Thread
	out *value.Printer
	col int // the column of what comes next
}

func (f *clFormatter) text(s string) {
	f.out.Text(f.t, s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		f.col, s = 0, s[i+1:]
	}
	f.col += utf8.RuneCountInString(s)
}

// repeated is s n times, at most as often as a parameter may say.
func (f *clFormatter) repeated(s string, n int) string {
	n = min(max(n, 0), clMost)
	f.t.Charge(n * len(s))
	return strings.Repeat(s, n)
}

// aside gives what body writes, instead of writing it.
func (f *clFormatter) aside(body []*clDirective, args *clArgs) (string, clEnd) {
	out, col := f.out, f.col
	f.out = value.NewPrinter(false)
	end := f.run(body, args)
	s := f.out.Take(f.t)
	f.out, f.col = out, col
	return s, end
}

// clEnd tells how a run ended: at its end, by ~^, or by ~:^, which ends the iteration around as well.
type clEnd int

const (
	clDone clEnd = iota
	clUp
	clUpAll
)

func (f *clFormatter) run(body []*clDirective, args *clArgs) clEnd {
	f.t.Enter()
	defer f.t.Leave()
	for _, d := range body {
		f.t.Step()
		if end := f.one(d.resolved(args), args); end != clDone {
			return end
		}
	}
	return clDone
}

// one does one directive.
func (f *clFormatter) one(d *clDirective, args *clArgs) clEnd {
	switch d.letter {
	case 0:
		f.text(d.text)
	case '[':
		return f.choose(d, args)
	case '{':
		return f.iterate(d, args)
	case '(':
		s, end := f.aside(d.clauses[0], args)
		f.text(clCased(s, d))
		return end
	case '<':
		return f.justify(d, args)
	case '?':
		return f.indirect(d, args)
	case '^':
		return f.leave(d, args)
	case '*':
		f.skip(d, args)
	case '%':
		f.text(f.repeated("\n", d.int(0, 1)))
	case '&':
		if n := d.int(0, 1); n > 0 {
			f.text(f.repeated("\n", n-int(b2i(f.col == 0))))
		}
	case '|':
		f.text(f.repeated("\f", d.int(0, 1)))
	case '~':
		f.text(f.repeated("~", d.int(0, 1)))
	case 't':
		f.tab(d)
	case 'a':
		f.padded(d, text(f.t, []Value{args.next()}, false, ""))
	case 's', 'w':
		f.padded(d, text(f.t, []Value{args.next()}, true, ""))
	case 'c':
		f.char(d, args.next())
	case 'p':
		f.plural(d, args)
	default:
		f.number(d, args.next())
	}
	return clDone
}

// indirect is ~?, which takes a format from the arguments.
func (f *clFormatter) indirect(d *clDirective, args *clArgs) clEnd {
	body := f.parse(stringOf(f.t, "cl-format", args.next()))
	if d.at {
		return f.run(body, args)
	}
	f.run(body, &clArgs{xs: value.ToSlice(f.t, args.next())})
	return clDone
}

// leave is ~^: it ends what is around it if no argument is left, or if its parameters say so.
func (f *clFormatter) leave(d *clDirective, args *clArgs) clEnd {
	a, b, c := d.int(0, 0), d.int(1, 0), d.int(2, 0)
	var up bool
	switch len(d.params) {
	case 0:
		up = args.left() == 0
	case 1:
		up = a == 0
	case 2:
		up = a == b
	default:
		up = a <= b && b <= c
	}
	if up && d.colon {
		return clUpAll
	} else if up {
		return clUp
	}
	return clDone
}

func (f *clFormatter) skip(d *clDirective, args *clArgs) {
	switch {
	case d.at:
		args.move(d.int(0, 0))
	case d.colon:
		args.move(args.pos - d.int(0, 1))
	default:
		args.move(args.pos + d.int(0, 1))
	}
}

// choose is ~[ … ~; … ~]: one of the clauses.
func (f *clFormatter) choose(d *clDirective, args *clArgs) clEnd {
	switch {
	case d.at:
		if !args.next().Truthy() {
			return clDone
		}
		args.pos--
		return f.run(d.clauses[0], args)
	case d.colon:
		if len(d.clauses) != 2 {
			panic(value.ArgError("cl-format: got %s in ~:[, want 2", value.Plural(len(d.clauses), "clause")))
		}
		return f.run(d.clauses[b2i(args.next().Truthy())], args)
	}
	n := -1
	if len(d.params) > 0 {
		n = d.int(0, -1)
	} else if x := args.next(); x.IsInt() {
		n = int(max(-1, min(x.Int(), clMost)))
	} else if !x.Kind().IsNumber() {
		panic(value.TypeError(f.t, "cl-format: ~[", x, "a number"))
	}
	switch last := len(d.clauses) - 1; {
	case n >= 0 && n <= last && !(n == last && d.otherwise):
		return f.run(d.clauses[n], args)
	case d.otherwise:
		return f.run(d.clauses[last], args)
	}
	return clDone
}

// iterate is ~{ … ~}: over the elements of an argument; with @ over the arguments left; with : over lists of arguments.
func (f *clFormatter) iterate(d *clDirective, args *clArgs) clEnd {
	body := d.clauses[0]
	if len(body) == 0 {
		body = f.parse(stringOf(f.t, "cl-format", args.next()))
	}
	over := args
	if !d.at {
		over = &clArgs{xs: value.ToSlice(f.t, args.next())}
	}
	most := d.int(0, -1)
	for n := 0; most < 0 || n < most; n++ {
		if over.left() == 0 && (n > 0 || !d.once) {
			break
		}
		before, from := over.pos, over
		if d.colon {
			from = &clArgs{}
			if over.left() > 0 {
				from.xs = value.ToSlice(f.t, over.next())
			}
		}
		if end := f.run(body, from); end == clUpAll || end == clUp && !d.colon {
			break
		}
		if over.pos == before && most < 0 && over.left() > 0 {
			panic(value.ArgError("cl-format: got a ~{ that uses no arguments, want it to end"))
		}
	}
	return clDone
}

// tab is ~t: to a column, or with @ by a number of columns.
func (f *clFormatter) tab(d *clDirective) {
	to, step := d.int(0, 1), d.int(1, 1)
	var n int
	switch {
	case d.at:
		n = to
		if over := 0; step > 0 {
			if over = (f.col + to) % step; over > 0 {
				n += step - over
			}
		}
	case f.col < to:
		n = to - f.col
	case step > 0:
		n = step - (f.col-to)%step
	}
	f.text(f.repeated(" ", n))
}

// padded writes s at least as wide as the directive says.
func (f *clFormatter) padded(d *clDirective, s string) {
	width := utf8.RuneCountInString(s) + d.int(2, 0)
	if short := d.int(0, 0) - width; short > 0 {
		step := max(1, d.int(1, 1))
		width += ((short-1)/step + 1) * step
	}
	pad := f.repeated(d.char(3, " "), width-utf8.RuneCountInString(s))
	if d.at {
		s, pad = pad, s
	}
	f.text(s)
	f.text(pad)
}

// char is ~c; with : by name, with @ as it is read.
func (f *clFormatter) char(d *clDirective, v Value) {
	if v.Kind() != value.KindChar {
		panic(value.TypeError(f.t, "cl-format: ~c", v, "a character"))
	}
	c := v.Char()
	switch {
	case d.at:
		f.text(text(f.t, []Value{v}, true, ""))
	case d.colon && c < 128 && clCharNames[c] != "":
		f.text(clCharNames[c])
	case d.colon && c < 32:
		f.text("Control-" + string(c+64))
	default:
		f.text(string(c))
	}
}

var clCharNames = map[rune]string{8: "Backspace", 9: "Tab", 10: "Newline", 13: "Return", 32: "Space", 127: "Control-?"}

// plural is ~p: an s unless the argument is 1; with @ y or ies; with : it looks at the argument before.
func (f *clFormatter) plural(d *clDirective, args *clArgs) {
	if d.colon {
		args.move(args.pos - 1)
	}
	one, more := "", "s"
	if d.at {
		one, more = "y", "ies"
	}
	if value.Equal(f.t, args.next(), value.Int(1)) {
		more = one
	}
	f.text(more)
}

// clCased is ~( … ~): s in small letters; with : words begin with a capital, with @ the first one, with both all are.
func clCased(s string, d *clDirective) string {
	switch {
	case d.colon && d.at:
		return strings.ToUpper(s)
	case !d.colon && !d.at:
		return strings.ToLower(s)
	}
	within, done := false, false
	return strings.Map(func(r rune) rune {
		word := unicode.IsLetter(r) || unicode.IsDigit(r)
		first := word && !within && !done
		within = word
		if first {
			done = d.at
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}

// justify is ~< … ~; … ~>: the clauses spread over a width.
func (f *clFormatter) justify(d *clDirective, args *clArgs) clEnd {
	var parts []string
	chars := 0
	for _, c := range d.clauses {
		s, end := f.aside(c, args)
		if end != clDone { // what is left of this clause and those after it are not there
			break
		}
		parts = append(parts, s)
		chars += utf8.RuneCountInString(s)
	}
	slots := max(1, len(parts)-1+int(b2i(d.colon))+int(b2i(d.at)))
	width, step, least, fill := d.int(0, 0), max(1, d.int(1, 1)), d.int(2, 0), d.char(3, " ")
	if out := chars + slots*least; out > width {
		width += step * (1 + (out-width-1)/step)
	}
	pad := max(least, (width-chars)/slots)
	extra := width - chars - pad*slots
	gap := func() {
		f.text(f.repeated(fill, pad+int(b2i(extra > 0))))
		extra--
	}
	if d.colon || len(parts) == 1 && !d.at {
		gap()
	}
	for i, s := range parts {
		f.text(s)
		if i < len(parts)-1 || d.at {
			gap()
		}
	}
	return clDone
}
