package stdlib

import (
	"context"
	"errors"
	"io"

	"github.com/reflection-dev/zeno/lisp/value"
)

// ioNS is joker.io: readers and writers.
func (h *Host) ioNS() []value.Builtin {
	return []value.Builtin{
		def("close", "([f])", "Closes a reader, a writer or an open file.", func(t *Thread, f Value) { closeValue(t, f) }),
		def("copy", "([dst src])", "Copies what src, a reader, has left to dst, a writer, and gives the number of bytes.", copyStream),
		def("pipe", "([])", "A pipe: [reader writer]. A write waits until what it writes is read, so the two belong to different threads.", pipe),
		def("read", "([r n])", "At most n bytes of the reader r as a string; empty at its end.", readSome),
	}
}

func copyStream(t *Thread, dst, src Value) int64 {
	r := readerOf(t, "copy", src)
	var n int64
	writing(t, "copy", dst, func(w io.Writer) {
		var err error
		n, err = beside(t, func(ctx context.Context) (int64, error) { return io.Copy(w, &until{ctx, r}) })
		check("copy", "copy to", name(t, dst), err)
	})
	return n
}

// until reads until a context ends.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

func pipe(t *Thread) Value {
	r, w := io.Pipe()
	return value.NewVector(t, []Value{value.NewHost("pipe reader", r), value.NewHost("pipe writer", w)})
}

func readSome(t *Thread, v Value, n int) Value {
	const most = 1 << 30
	if n < 0 || n > most {
		panic(value.ArgError("read: got %d bytes to read, want 0 to %d", n, most))
	}
	r := readerOf(t, "read", v)
	t.Charge(n)
	s, err := beside(t, func(context.Context) (string, error) {
		buf := make([]byte, n)
		k, err := io.ReadFull(r, buf)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return string(buf[:k]), err
	})
	check("read", "read", name(t, v), err)
	return str(t, s)
}
