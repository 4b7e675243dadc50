package value

import (
	"io"
	"unicode/utf8"
)

// Printer turns values into text. Print appends to Buf; with a Sink, full buffers move on to it and Flush moves the rest.
//
// Printing realises lazy seqs, so it may run Lisp code. It charges a step for each item, the bytes of the buffer as it
// grows, and depth for each level of nesting: an endless seq or a cell that holds itself ends in a limit.
type Printer struct {
	Readably      bool // strings quoted and characters with a backslash, as the reader wants them
	Meta          bool // metadata before what carries it
	NamespaceMaps bool // #:ns{…} where all keys share a namespace
	Shorthands    bool // 'x for (quote x), and the like
	Length        int  // items of a collection shown before "..."; -1: all
	Level         int  // levels of nesting shown; a collection below is "#"; -1: all
	MaxBytes      int  // printing stops past as many bytes; 0: no bound
	Buf           []byte
	Sink          io.Writer // whoever writes to it charges the output

	level  int
	gone   int   // bytes moved to Sink
	pinned int   // bytes of Buf that the thread counts as alive
	full   bool  // MaxBytes was reached
	safe   bool  // realise nothing and run no Lisp code
	err    error // of Sink
}

// NewPrinter makes a printer without bounds.
func NewPrinter(readably bool) *Printer {
	return &Printer{Readably: readably, Length: -1, Level: -1}
}

// PrStr gives the text that the reader reads back as v.
func PrStr(t *Thread, v Value) string { return render(t, v, NewPrinter(true)) }

// PrintStr gives the text of v for people: strings and characters in it are bare.
func PrintStr(t *Thread, v Value) string { return render(t, v, NewPrinter(false)) }

func render(t *Thread, v Value, p *Printer) string {
	t.Holding(v, func() { p.Print(t, v) })
	return p.Take(t)
}

// Take gives the text printed so far and empties the printer.
func (p *Printer) Take(t *Thread) string {
	t.Charge(len(p.Buf))
	s := string(p.Buf)
	p.Release(t)
	return s
}

// Release ends the counting of the buffer as alive and drops it.
func (p *Printer) Release(t *Thread) {
	t.Unpin(p.pinned)
	p.Buf, p.pinned = nil, 0
}

// Flush moves the buffer to Sink.
func (p *Printer) Flush() error {
	if p.Sink != nil && len(p.Buf) > 0 {
		if _, err := p.Sink.Write(p.Buf); err != nil && p.err == nil {
			p.err = err
		}
		p.gone += len(p.Buf)
		p.Buf = p.Buf[:0]
	}
	return p.err
}

// Truncated tells whether MaxBytes cut the text.
func (p *Printer) Truncated() bool { return p.full }

// room makes n bytes of room in the buffer, charged before they are allocated.
func (p *Printer) room(t *Thread, n int) {
	if p.Sink != nil && len(p.Buf) >= sinkChunk {
		_ = p.Flush() // the error is kept for the last Flush
	}
	if cap(p.Buf)-len(p.Buf) >= n {
		return
	}
	size := max(2*cap(p.Buf), len(p.Buf)+n, 64)
	t.Charge(size)
	t.Pin(size - p.pinned)
	buf := make([]byte, len(p.Buf), size)
	copy(buf, p.Buf)
	p.Buf, p.pinned = buf, size
}

// sinkChunk is how many bytes gather before they move to a Sink.
const sinkChunk = 4096

// Text appends s as it is.
func (p *Printer) Text(t *Thread, s string) {
	if p.full {
		return
	}
	if p.MaxBytes > 0 && p.gone+len(p.Buf)+len(s) > p.MaxBytes {
		p.full = true
		s = cut(s, p.MaxBytes-p.gone-len(p.Buf))
	}
	t.Steps(len(s) >> 4)
	p.room(t, len(s))
	p.Buf = append(p.Buf, s...)
}

// cut keeps at most n bytes of s, and whole characters only.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}

// Print appends the text of v.
func (p *Printer) Print(t *Thread, v Value) {
	if p.full {
		return
	}
	t.Step()
	if p.Meta {
		p.meta(t, v)
	}
	switch k := v.Kind(); {
	case k <= KindKeyword:
		p.scalar(t, v)
	case k.IsColl() || k == KindEduction && !p.safe:
		p.coll(t, v)
	default:
		p.object(t, v)
	}
}

// ToString gives the text that str gives: that of a string or a character bare, of nil empty, of a collection as pr.
func ToString(t *Thread, v Value) string {
	switch v.Kind() {
	case KindNil:
		return ""
	case KindString:
		return v.Text()
	case KindChar:
		return string(v.Char())
	case KindFloat, KindBigInt, KindBigDec:
		return NumberText(t, v)
	}
	p := NewPrinter(true)
	if v.Kind().IsColl() {
		p.obey(t)
	}
	p.bare(t, v)
	return p.Take(t)
}

// AppendString appends what ToString gives.
func (p *Printer) AppendString(t *Thread, v Value) {
	switch v.Kind() {
	case KindNil, KindString, KindChar, KindFloat, KindBigInt, KindBigDec:
		p.Text(t, ToString(t, v))
	default:
		p.bare(t, v)
	}
}

// bare prints v as str does: some objects are then shown without their reader form.
func (p *Printer) bare(t *Thread, v Value) {
	switch v.Kind() {
	case KindUUID:
		p.Text(t, As[UUID](v).String())
	case KindInst:
		p.Text(t, As[Inst](v).String())
	case KindNamespace:
		p.Text(t, As[Namespace](v).Name)
	case KindRegex:
		p.Text(t, regexSource(v))
	case KindException:
		p.exceptionText(t, As[Exception](v))
	case KindInstance, KindRecord:
		if f, ok := Method(t, v, "toString"); ok {
			p.Text(t, textFrom(t, f, v))
			return
		}
		p.Print(t, v)
	default:
		p.Print(t, v)
	}
}
