package stdlib

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// file is an open file as Lisp code holds it: reads are buffered, so that lines may be read from it.
type file struct {
	*os.File
	r *bufio.Reader
}

func newFile(f *os.File) Value {
	return value.NewHost("file", &file{f, bufio.NewReaderSize(f, 32<<10)})
}

func (f *file) Read(p []byte) (int, error)         { return f.r.Read(p) }
func (f *file) WriteTo(w io.Writer) (int64, error) { return f.r.WriteTo(w) }
func (f *file) buffered() *bufio.Reader            { return f.r }

// name is what messages call a stream.
func name(t *Thread, v Value) string {
	if f, ok := value.HostOf[*file](v); ok {
		return f.Name()
	}
	if v.Kind() == value.KindHost {
		return "a " + value.As[value.Host](v).Name
	}
	return value.Brief(t, v)
}

// buffered gives r with a buffer; the same one each time where r has its own.
func buffered(r io.Reader) *bufio.Reader {
	switch x := r.(type) {
	case *bufio.Reader:
		return x
	case interface{ buffered() *bufio.Reader }:
		return x.buffered()
	}
	return bufio.NewReaderSize(r, 32<<10)
}

// stream tells whether v is a reader or writer of the language's own, as *in* and *out* are: what reads and prints on a
// thread, and so is no io.Reader or io.Writer.
func stream(v Value, name string) bool {
	return v.Kind() == value.KindHost && value.As[value.Host](v).Name == name
}

// readerOf gives the reader behind v.
func readerOf(t *Thread, who string, v Value) io.Reader {
	if r, ok := value.HostOf[io.Reader](v); ok {
		return r
	}
	if stream(v, "reader") {
		return strings.NewReader(restOf(t, v))
	}
	panic(value.TypeError(t, who, v, "a reader, such as (joker.os/open …) gives, or *in*"))
}

// restOf gives the lines that a reader of the language's own has left.
func restOf(t *Thread, v Value) string {
	var b strings.Builder
	for {
		s, ok := inputLine(t, v)
		if !ok {
			return b.String()
		}
		t.Charge(2 * len(s))
		b.WriteString(s)
		b.WriteByte('\n')
	}
}

// inputLine takes the next line of such a reader.
func inputLine(t *Thread, v Value) (string, bool) {
	s := with(t, "*in*", v, func() Value { return t.Call(core(t, "read-line")) })
	if s.Kind() != value.KindString {
		return "", false
	}
	return s.Text(), true
}

// writing gives f the writer behind v. What is for a writer of the language's own is printed there when f is done.
func writing(t *Thread, who string, v Value, f func(io.Writer)) {
	if w, ok := value.HostOf[io.Writer](v); ok {
		f(w)
		return
	}
	if !stream(v, "writer") {
		panic(value.TypeError(t, who, v, "a writer, such as (joker.os/create …) gives, or *out*"))
	}
	var b bytes.Buffer
	f(&b)
	printTo(t, v, b.String())
}

// printTo prints s to a writer of the language's own.
func printTo(t *Thread, v Value, s string) {
	with(t, "*out*", v, func() Value { return t.Call(core(t, "print"), str(t, s)) })
}

// with calls f while a dynamic var of the core is bound to v.
func with(t *Thread, name string, v Value, f func() Value) Value {
	saved := t.Binds
	t.Bind([]*value.Var{t.Env.Core.Var(name)}, []Value{v})
	x := f()
	t.Binds = saved // whoever recovers a panic restores them too
	return x
}

// core gives a function of the core.
func core(t *Thread, name string) Value { return t.Env.Core.Var(name).Get(t) }

// slurpReader reads what is left of r beside the thread.
func slurpReader(t *Thread, r io.Reader, limit int64, instead string) (string, error) {
	return beside(t, func(context.Context) (string, error) {
		b, err := io.ReadAll(io.LimitReader(r, limit+1))
		if err == nil && int64(len(b)) > limit {
			err = tooMuch("what it holds", limit, instead)
		}
		return string(b), err
	})
}
