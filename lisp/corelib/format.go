package corelib

import (
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// directive is one %-directive of java.util.Formatter: %[index$][flags][width][.precision]conversion.
type directive struct {
	text  string // as written
	flags string
	index int // from 1; 0: the next; -1: the one before
	width int // -1: none
	prec  int // -1: none
	verb  byte
	upper bool
}

func (d *directive) has(flag byte) bool { return strings.IndexByte(d.flags, flag) >= 0 }

func (d *directive) fail(format string, args ...any) {
	panic(value.ArgError("format: in "+strings.ReplaceAll(d.text, "%", "%%")+": "+format, args...))
}

// formatter fills arguments into a format.
type formatter struct {
	t    *Thread
	out  builder
	args []Value
	next int // the argument that a directive without index takes
	last int // the one that %< takes
}

// Format fills args into a format; printf calls it too.
func Format(t *Thread, format string, args []Value) Value {
	f := formatter{t: t, out: builder{t: t}, args: args, last: -1}
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			f.out.add(format)
			return f.out.value()
		}
		t.Step()
		f.out.add(format[:i])
		d, n := parseDirective(format[i:])
		f.directive(&d)
		format = format[i+n:]
	}
}

// parseDirective reads the directive at the start of s and gives its length.
func parseDirective(s string) (d directive, n int) {
	d = directive{width: -1, prec: -1}
	i := 1
	if num, j := number(s, i); num > 0 && j < len(s) && s[j] == '$' && s[i] != '0' {
		d.index, i = num, j+1
	} else if i < len(s) && s[i] == '<' {
		d.index, i = -1, i+1
	}
	start := i
	for i < len(s) && strings.IndexByte("-#+ 0,(", s[i]) >= 0 {
		i++
	}
	d.flags = s[start:i]
	d.width, i = number(s, i)
	if i < len(s) && s[i] == '.' {
		if d.prec, i = number(s, i+1); d.prec < 0 {
			d.text = s[:min(i+1, len(s))]
			d.fail("a precision wants digits")
		}
	}
	if i >= len(s) {
		d.text = s
		d.fail("the directive ends too early; write %%%% for a percent sign")
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	d.text = s[:i+size]
	d.verb = s[i]
	if strings.IndexByte("SXCBEGH", d.verb) >= 0 {
		d.verb, d.upper = d.verb+'a'-'A', true
	}
	return d, i + size
}

// maxField bounds a width or a precision.
const maxField = 1 << 30

// number reads digits at i; -1 when there are none.
func number(s string, i int) (n, next int) {
	if i >= len(s) || s[i] < '0' || s[i] > '9' {
		return -1, i
	}
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		n = min(n*10+int(s[i]-'0'), maxField)
		i++
	}
	return n, i
}

func (f *formatter) directive(d *directive) {
	d.check()
	switch d.verb {
	case '%':
		f.field(d, "%")
		return
	case 'n':
		f.out.add("\n")
		return
	}
	arg := f.arg(d)
	text := ""
	switch {
	case d.verb == 'b':
		text = clipped(boolText(arg), d.prec)
	case d.verb == 's':
		text = clipped(f.shown(arg), d.prec)
	case arg.IsNil():
		text = clipped("null", d.prec)
	case d.verb == 'c':
		text = f.charText(d, arg)
	case d.verb == 'd':
		text = f.decimal(d, arg)
	case d.verb == 'x' || d.verb == 'o':
		text = f.radix(d, arg)
	default:
		text = f.real(d, arg)
	}
	if d.upper {
		text = upper(f.t, text)
	}
	f.field(d, text)
}

// check refuses what Java refuses.
func (d *directive) check() {
	if strings.IndexByte("bcdefgnosx%", d.verb) < 0 {
		d.fail("want one of %%b %%c %%d %%e %%f %%g %%o %%s %%x %%n %%%%")
	}
	if d.width < 0 && (d.has('-') || d.has('0')) {
		d.fail("the flags - and 0 want a width")
	}
	if d.has('-') && d.has('0') || d.has('+') && d.has(' ') {
		d.fail("the flags %s exclude each other", d.flags)
	}
	if d.prec >= 0 && strings.IndexByte("cdoxn%", d.verb) >= 0 {
		d.fail("want no precision")
	}
	if strings.IndexByte("sbc", d.verb) >= 0 && strings.ContainsAny(d.flags, "#+ 0,(") {
		d.fail("of the flags only - goes with it")
	}
}

// arg finds the argument of d.
func (f *formatter) arg(d *directive) Value {
	i := f.next
	switch {
	case d.index > 0:
		i = d.index - 1
	case d.index < 0:
		i = f.last
	default:
		f.next++
	}
	if i < 0 || i >= len(f.args) {
		d.fail("got %d arguments, want more: this one is missing", len(f.args))
	}
	f.last = i
	return f.args[i]
}

func (f *formatter) shown(v Value) string {
	if v.IsNil() {
		return "null"
	}
	return value.ToString(f.t, v)
}

func boolText(v Value) string {
	if v.Truthy() {
		return "true"
	}
	return "false"
}

func (f *formatter) charText(d *directive, v Value) string {
	switch {
	case v.Kind() == value.KindChar:
		return string(v.Char())
	case v.IsInt() && v.Int() >= 0 && v.Int() <= utf8.MaxRune:
		return string(rune(v.Int()))
	}
	d.fail("got %s (%s), want a character", value.Brief(f.t, v), v.Kind())
	return ""
}

// clipped gives the first n characters of s; all when n is below zero.
func clipped(s string, n int) string {
	if n < 0 || n >= len(s) {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// field writes text in the width of d.
func (f *formatter) field(d *directive, text string) {
	gap := 0
	if d.width > 0 {
		f.t.Steps(len(text) / 64)
		gap = d.width - utf8.RuneCountInString(text)
	}
	if !d.has('-') {
		f.out.pad(' ', gap)
	}
	f.out.add(text)
	if d.has('-') {
		f.out.pad(' ', gap)
	}
}
