package corelib

import (
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// pprintNS is clojure.pprint: collections that do not fit a line of 72 columns are printed an item a line.
func pprintNS() []Def {
	return []Def{
		{Name: "pprint", F1: pprint, F2: pprintTo, Arglists: "([object] [object writer])", Doc: "Prints object, over several lines where one of 72 columns is too short."},
		{Name: "pprint-str", F1: pprintStr, Arglists: "([object])", Doc: "What pprint would print."},
		{Name: "pp", F0: ppLast, Host: true, Arglists: "([])", Doc: "Pretty-prints the last value of the REPL."},
		{Name: "cl-format", N: clFormat, Min: 2, Arglists: "([writer format-in & args])", Doc: "Formats args as Common Lisp does, with all its directives but the pretty printer's own (~_ ~i ~/ ~<…~:>). A nil writer gives the string, true prints it."},
		{Name: "print-table", F1: printTable1, F2: printTable, Arglists: "([ks rows] [rows])", Doc: "Prints maps as a table with the columns ks, or the keys of the first."},
	}
}

// pprintWidth is where lines end.
const pprintWidth = 72

func pprint(t *Thread, v Value) Value {
	emit(t, []byte(pretty(t, v)))
	return value.Nil
}

func pprintTo(t *Thread, v, w Value) Value {
	saved := t.Binds
	t.Bind([]*value.Var{t.Env.OutVar}, []Value{w})
	pprint(t, v)
	t.Binds = saved
	return value.Nil
}

func pprintStr(t *Thread, v Value) Value { return value.Str(pretty(t, v)) }

func ppLast(t *Thread) Value { return pprint(t, dynamicValue(t, "*1")) }

func pretty(t *Thread, v Value) string {
	s, _ := Pretty(t, v, Layout{Length: -1, Level: -1})
	return s + "\n"
}

// Layout says how Pretty prints.
type Layout struct {
	Width    int // columns; 0: 72
	Length   int // items of a collection; below zero: as *print-length* says
	Level    int // levels of nesting; below zero: as *print-level* says
	MaxBytes int // where the text is cut; 0: nowhere
}

// Pretty gives v over several lines where one is too short, as pprint does but without a newline at the end, and whether
// MaxBytes cut it.
func Pretty(t *Thread, v Value, l Layout) (text string, cut bool) {
	p := &prettyPrinter{t: t, out: value.NewPrinter(true), width: l.Width, length: l.Length, level: l.Level}
	p.out.MaxBytes = l.MaxBytes
	if p.width <= 0 {
		p.width = pprintWidth
	}
	if p.length < 0 {
		p.length = dynamicCount(t, "*print-length*")
	}
	if p.level < 0 {
		p.level = dynamicCount(t, "*print-level*")
	}
	p.print(v, 0)
	return p.out.Take(t), p.out.Truncated()
}

// prettyPrinter lays values out. Whether one fits is found by printing at most a line of it, so the work grows with the
// size of the value and the width of a line only.
type prettyPrinter struct {
	t      *Thread
	out    *value.Printer
	col    int
	depth  int
	width  int
	length int
	level  int
}

func (p *prettyPrinter) text(s string) {
	p.out.Text(p.t, s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		p.col = 0
		s = s[i+1:]
	}
	p.col += utf8.RuneCountInString(s)
}

func (p *prettyPrinter) newline(indent int) {
	p.text("\n" + strings.Repeat(" ", min(indent, p.width)))
}

// flat gives v on one line if it fits with trail characters after it.
func (p *prettyPrinter) flat(v Value, trail int) (string, bool) {
	room := p.width - p.col - trail
	if room <= 0 {
		return "", false
	}
	one := p.printer()
	one.MaxBytes = 4 * room // of bytes; characters are counted below
	one.Print(p.t, v)
	s := one.Take(p.t)
	if one.Truncated() || utf8.RuneCountInString(s) >= room || strings.Contains(s, "\n") {
		return "", false
	}
	return s, true
}

func (p *prettyPrinter) printer() *value.Printer {
	one := printerFor(p.t, true)
	one.Length = p.length
	one.Shorthands = true
	if p.level >= 0 {
		one.Level = max(p.level-p.depth, 0)
	}
	return one
}

// print prints v; trail is how many characters will follow it on its last line.
func (p *prettyPrinter) print(v Value, trail int) {
	if s, ok := p.flat(v, trail); ok {
		p.text(s)
		return
	}
	if mark, x, ok := value.Shorthand(v); ok {
		p.t.Enter()
		p.text(mark)
		p.print(x, trail)
		p.t.Leave()
		return
	}
	k := v.Kind()
	if !k.IsColl() || p.level >= 0 && p.depth >= p.level {
		p.whole(v)
		return
	}
	p.t.Enter()
	p.depth++
	switch {
	case k.IsMap():
		p.mapping(v, trail)
	case k.IsSet():
		p.items("#{", v, "}", trail)
	case k.IsVector():
		p.items("[", v, "]", trail)
	default:
		p.items("(", v, ")", trail)
	}
	p.depth--
	p.t.Leave()
}

// whole prints what cannot be broken.
func (p *prettyPrinter) whole(v Value) {
	one := p.printer()
	one.MaxBytes = p.out.MaxBytes
	one.Print(p.t, v)
	p.text(one.Take(p.t))
}

func (p *prettyPrinter) items(open string, coll Value, closing string, trail int) {
	p.text(open)
	indent, n := p.col, 0
	next := lookAhead(p.t, coll)
	for x, more, ok := next(); ok && !p.out.Truncated(); x, more, ok = next() {
		if n > 0 {
			p.newline(indent)
		}
		if n == p.length {
			p.text("...")
			break
		}
		n++
		after := 0
		if !more {
			after = trail + len(closing)
		}
		p.print(x, after)
	}
	p.text(closing)
}

// lookAhead walks a collection and tells of each item whether more follow.
func lookAhead(t *Thread, coll Value) func() (x Value, more, ok bool) {
	s := value.Seq(t, coll)
	return func() (Value, bool, bool) {
		if s.IsNil() {
			return value.Nil, false, false
		}
		t.Step()
		x := value.First(t, s)
		s = value.Next(t, s)
		return x, !s.IsNil(), true
	}
}

func (p *prettyPrinter) mapping(m Value, trail int) {
	if m.Kind() == value.KindRecord {
		p.text("#" + value.As[value.Record](m).Type().FullName())
	}
	p.text("{")
	indent, n := p.col, 0
	next := lookAhead(p.t, m)
	for e, more, ok := next(); ok && !p.out.Truncated(); e, more, ok = next() {
		if n > 0 {
			p.newline(indent)
		}
		if n == p.length {
			p.text("...")
			break
		}
		n++
		after := 1
		if !more {
			after = trail + 1
		}
		entry := value.As[value.MapEntry](e)
		p.entry(entry.Key(), entry.Val(), indent, after)
		if more {
			p.text(",")
		}
	}
	p.text("}")
}

// entry prints a key and its value, on two lines if they do not fit one.
func (p *prettyPrinter) entry(k, v Value, indent, trail int) {
	p.print(k, 1)
	if s, ok := p.flat(v, trail+1); ok {
		p.text(" " + s)
		return
	}
	p.newline(indent)
	p.print(v, trail)
}

func printTable1(t *Thread, rows Value) Value {
	first := value.First(t, rows)
	if first.IsNil() {
		return value.Nil
	}
	var ks []Value
	value.EachKV(t, first, func(k, _ Value) bool {
		t.Charge(16)
		ks = append(ks, k)
		return true
	})
	return printTable(t, value.NewVector(t, ks), rows)
}

func printTable(t *Thread, ks, rows Value) Value {
	keys := value.ToSlice(t, ks)
	if value.Seq(t, rows).IsNil() || len(keys) == 0 {
		return value.Nil
	}
	table := [][]string{make([]string, len(keys))}
	width := make([]int, len(keys))
	held := 0
	hold := func(n int) {
		t.Charge(n)
		t.Pin(n)
		held += n
	}
	cell := func(row []string, i int, v Value) {
		s := value.ToString(t, v)
		hold(len(s) + 16)
		row[i] = s
		width[i] = max(width[i], columns(s))
	}
	for i, k := range keys {
		cell(table[0], i, k)
	}
	value.Each(t, rows, func(r Value) bool {
		hold(2*24 + 16*len(keys)) // twice: append makes room ahead
		row := make([]string, len(keys))
		for i, k := range keys {
			v, _ := value.Get(t, r, k)
			cell(row, i, v)
		}
		table = append(table, row)
		return true
	})
	p := value.NewPrinter(false)
	p.Sink = sink{t}
	p.Text(t, "\n")
	for n, row := range table {
		tableRow(t, p, row, width)
		if n == 0 {
			tableRule(t, p, width)
		}
	}
	_ = p.Flush() // sink throws
	p.Release(t)
	t.Unpin(held)
	return value.Nil
}

// columns counts the characters of s that a terminal shows: those of its hyperlinks (OSC 8) and colours do not.
func columns(s string) int {
	n := utf8.RuneCountInString(s)
	for i := strings.IndexByte(s, 0x1b); i >= 0; i = strings.IndexByte(s, 0x1b) {
		s = s[i:]
		hidden := escapeLen(s)
		n -= utf8.RuneCountInString(s[:hidden])
		s = s[hidden:]
	}
	return n
}

// escapeLen gives the length of the sequence that s, which starts with ESC, begins with; 1 if it is none that is known here.
func escapeLen(s string) int {
	switch {
	case strings.HasPrefix(s, "\x1b]8;"):
		end := strings.IndexByte(s, 0x07)
		if st := strings.Index(s[1:], "\x1b\\"); st >= 0 && (end < 0 || st < end) {
			return st + 3
		}
		if end >= 0 {
			return end + 1
		}
	case strings.HasPrefix(s, "\x1b["):
		if end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' }); end >= 0 {
			return end + 3
		}
	}
	return 1
}

func tableRow(t *Thread, p *value.Printer, row []string, width []int) {
	for i, s := range row {
		pad := width[i] - columns(s)
		t.Charge(pad)
		p.Text(t, "| "+strings.Repeat(" ", pad))
		p.Text(t, s)
		p.Text(t, " ")
	}
	p.Text(t, "|\n")
}

func tableRule(t *Thread, p *value.Printer, width []int) {
	for i, w := range width {
		sep := "+"
		if i == 0 {
			sep = "|"
		}
		t.Charge(w)
		p.Text(t, sep+"-"+strings.Repeat("-", w)+"-")
	}
	p.Text(t, "|\n")
}
