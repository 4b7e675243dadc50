package stdlib

import (
	"bufio"
	"context"
	"io"
	"os"

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
func (f *file) buffered() *bufio.Reader            { return f.r }
func (f *file) WriteTo(w io.Writer) (int64, error) { return f.r.WriteTo(w) }

// readerOf gives the reader behind v, which may be a string too.
func readerOf(t *Thread, who string, v Value) io.Reader {
	if r, ok := value.HostOf[io.Reader](v); ok {
		return r
	}
	panic(value.TypeError(t, who, v, "a reader, such as (joker.os/open …) gives, or *in*"))
}

func writerOf(t *Thread, who string, v Value) io.Writer {
	if w, ok := value.HostOf[io.Writer](v); ok {
		return w
	}
	panic(value.TypeError(t, who, v, "a writer, such as (joker.os/create …) gives, or *out*"))
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
