package value

import (
	"fmt"
	"math"
	"strings"
)

// scalar prints what has no parts.
func (p *Printer) scalar(t *Thread, v Value) {
	switch v.Kind() {
	case KindNil:
		p.Text(t, "nil")
	case KindBool:
		if v.Truthy() {
			p.Text(t, "true")
		} else {
			p.Text(t, "false")
		}
	case KindChar:
		p.char(t, v.Char())
	case KindString:
		p.string(t, v.Text())
	case KindSymbol:
		s := As[Symbol](v)
		p.name(t, s.NS, s.Name)
	case KindKeyword:
		k := As[Keyword](v)
		p.Text(t, ":")
		p.name(t, k.NS, k.Name)
	default:
		p.number(t, v)
	}
}

func (p *Printer) name(t *Thread, ns, name string) {
	if ns != "" {
		p.Text(t, ns)
		p.Text(t, "/")
	}
	p.Text(t, name)
}

func (p *Printer) number(t *Thread, v Value) {
	if v.IsFloat() && !finite(v.Float()) {
		p.Text(t, symbolicText(v.Float()))
		return
	}
	if p.safe && tooBig(v) {
		p.Text(t, "a "+v.Kind().String())
		return
	}
	if n := Weight(v); p.safe && n > 1024 {
		p.Text(t, fmt.Sprintf("a number of %d bytes", n))
		return
	}
	p.Text(t, FormatNumber(t, v))
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// symbolicText is how the reader takes a float that has no digits.
func symbolicText(f float64) string {
	switch {
	case f > 0:
		return "##Inf"
	case f < 0:
		return "##-Inf"
	}
	return "##NaN"
}

// char prints a character: under Readably with its backslash and by its name if it has one.
func (p *Printer) char(t *Thread, c rune) {
	if p.Readably {
		p.Text(t, `\`)
		if name := charName(c); name != "" {
			p.Text(t, name)
			return
		}
	}
	p.Text(t, string(c))
}

// charName is the reader's name of a character that has one.
func charName(c rune) string {
	switch c {
	case '\n':
		return "newline"
	case ' ':
		return "space"
	case '\t':
		return "tab"
	case '\r':
		return "return"
	case '\b':
		return "backspace"
	case '\f':
		return "formfeed"
	}
	return ""
}

// string prints a string: under Readably in quotes, with the escapes of the reader.
func (p *Printer) string(t *Thread, s string) {
	if !p.Readably {
		p.Text(t, s)
		return
	}
	if p.MaxBytes > 0 { // what lies beyond is not even looked at
		s = cut(s, p.MaxBytes)
	}
	p.Text(t, `"`)
	for s != "" && !p.full {
		i := strings.IndexAny(s, "\"\\\n\t\r\f\b")
		if i < 0 {
			break
		}
		t.Step()
		p.Text(t, s[:i])
		p.Text(t, escapeOf(s[i]))
		s = s[i+1:]
	}
	p.Text(t, s)
	p.Text(t, `"`)
}

func escapeOf(c byte) string {
	switch c {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\n':
		return `\n`
	case '\t':
		return `\t`
	case '\r':
		return `\r`
	case '\f':
		return `\f`
	}
	return `\b`
}

// clip shortens s to at most n bytes, an ellipsis included.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return cut(s, n-len("…")) + "…"
}
