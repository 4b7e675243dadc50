package corelib

import (
	"io"
	"sync"

	"github.com/reflection-dev/zeno/lisp/value"
)

// evalOut is what *out* is bound to at first: the output of the evaluation that prints, whichever that is.
type evalOut struct{}

// textBuffer collects what with-out-str catches; futures made inside print to it too.
type textBuffer struct {
	mu    sync.Mutex
	buf   []byte
	owner *Thread // counts the bytes as alive
	held  int
	over  bool // with-out-str has ended: nobody will ask for what is written now
}

func (b *textBuffer) write(t *Thread, p []byte) {
	t.Charge(2 * len(p))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	b.buf = append(b.buf, p...)
	if t == b.owner {
		t.Pin(2 * len(p))
		b.held += 2 * len(p)
	}
}

// close gives the text, and lets go of it: a function that bound-fn made may keep the buffer.
func (b *textBuffer) close() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.buf
	b.buf, b.over = nil, true
	return text
}

// sink writes to where *out* goes on a thread, charged before it is written.
type sink struct{ t *Thread }

func (s sink) Write(p []byte) (int, error) {
	emit(s.t, p)
	return len(p), nil
}

// emit writes p to *out*.
func emit(t *Thread, p []byte) {
	if len(p) == 0 {
		return
	}
	w := io.Writer(t.Run.Out)
	if t.Env.OutVar != nil {
		v := t.Env.OutVar.Get(t)
		if b, ok := value.HostOf[*textBuffer](v); ok {
			b.write(t, p)
			return
		}
		if x, ok := value.HostOf[io.Writer](v); ok {
			w = x
		}
	}
	t.Print(len(p))
	if _, err := w.Write(p); err != nil {
		ex := value.Errorf("IOException", "print: failed to write: %s", err)
		ex.Err = err
		panic(ex)
	}
}

// NewPrinter makes a printer that shows values as pr does on t: it obeys *print-length* and its like.
func NewPrinter(t *Thread) *value.Printer { return printerFor(t, true) }

// printerFor makes a printer that obeys the dynamic vars of printing.
func printerFor(t *Thread, readably bool) *value.Printer {
	p := value.NewPrinter(readably && flag(t, "*print-readably*"))
	p.Length = dynamicCount(t, "*print-length*")
	p.Level = dynamicCount(t, "*print-level*")
	p.NamespaceMaps = flag(t, "*print-namespace-maps*")
	p.Meta = readably && flag(t, "*print-meta*")
	return p
}

func dynamicValue(t *Thread, name string) Value {
	v := t.Env.Core.Var(name)
	if v == nil {
		return value.Nil
	}
	return v.Get(t)
}

func flag(t *Thread, name string) bool { return dynamicValue(t, name).Truthy() }

// dynamicCount is a dynamic var that holds a count or nil, which is -1.
func dynamicCount(t *Thread, name string) int {
	v := dynamicValue(t, name)
	if !v.IsInt() {
		return -1
	}
	return int(min(max(v.Int(), 0), 1<<30))
}

// text gives args printed with spaces between and end after them.
func text(t *Thread, args []Value, readably bool, end string) string {
	p := printerFor(t, readably)
	printAll(t, p, args, end)
	return p.Take(t)
}

func printAll(t *Thread, p *value.Printer, args []Value, end string) {
	for i, a := range args {
		if i > 0 {
			p.Text(t, " ")
		}
		p.Print(t, a)
	}
	p.Text(t, end)
}

// show prints args to *out*.
func show(t *Thread, args []Value, readably bool, end string) Value {
	p := printerFor(t, readably)
	p.Sink = sink{t}
	printAll(t, p, args, end)
	_ = p.Flush() // sink throws
	p.Release(t)
	return value.Nil
}
