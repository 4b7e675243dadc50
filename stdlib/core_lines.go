package stdlib

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// lineReaders are the functions of clojure.core that read line by line.
func (h *Host) lineReaders() []value.Builtin {
	return []value.Builtin{
		def("line-seq", "([rdr])", "A lazy seq of the lines of rdr, an open file or another reader; nil when there is none.", h.lineSeq),
	}
}

func (h *Host) lineSeq(t *Thread, rdr Value) Value {
	if _, ok := value.HostOf[io.Reader](rdr); !ok && stream(rdr, "reader") {
		return value.Seq(t, lineCell(func(t *Thread) (string, bool) { return inputLine(t, rdr) }, rdr))
	}
	return value.Seq(t, lineCell(lines(buffered(readerOf(t, "line-seq", rdr)), h.MaxLine), rdr))
}

// lineCell is the lazy seq of the lines that are left.
func lineCell(next func(*Thread) (string, bool), held Value) Value {
	return value.NewLazyGo(func(t *Thread) Value {
		s, ok := next(t)
		if !ok {
			return value.Nil
		}
		return value.Cons(t, str(t, s), lineCell(next, held))
	}, held)
}

// lines gives the lines of r.
func lines(r *bufio.Reader, limit int64) func(*Thread) (string, bool) {
	src := &reading[string]{
		read: func() (string, error) { return readLine(r, limit) },
		ready: func() bool {
			b, _ := r.Peek(r.Buffered())
			return bytes.IndexByte(b, '\n') >= 0
		},
	}
	return func(t *Thread) (string, bool) {
		s, err := src.next(t)
		if err == io.EOF && s == "" {
			return "", false
		}
		if err != nil && err != io.EOF {
			panic(failed("line-seq", "read", "the next line", err))
		}
		return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r"), true
	}
}

func readLine(r *bufio.Reader, limit int64) (string, error) {
	var b []byte
	for {
		part, err := r.ReadSlice('\n')
		b = append(b, part...)
		if err != bufio.ErrBufferFull {
			return string(b), err
		}
		if int64(len(b)) > limit {
			return "", tooMuch("a line", limit, "read in parts with joker.io/read")
		}
	}
}
