package stdlib

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/reflection-dev/zeno/lisp/value"
)

// lineReaders are the functions of joker.core that read line by line.
func (h *Host) lineReaders() []value.Builtin {
	return []value.Builtin{
		def("line-seq", "([rdr])", "A lazy seq of the lines of rdr, an open file or another reader; nil when there is none.", h.lineSeq),
	}
}

func (h *Host) lineSeq(t *Thread, rdr Value) Value {
	if _, ok := value.HostOf[io.Reader](rdr); !ok && stream(rdr, "reader") {
		return value.Seq(t, lineCell(func(t *Thread) (string, bool) { return inputLine(t, rdr) }, rdr))
	}
	l := &lines{r: buffered(readerOf(t, "line-seq", rdr)), max: h.MaxLine}
	return value.Seq(t, lineCell(l.next, rdr))
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

// lines reads a reader line by line. A line that is there is read at once; where reading may wait it is done beside the
// thread, and if the thread is called away meanwhile, the line is for whoever reads next.
type lines struct {
	max int64

	mu      sync.Mutex // held to take or start a read, never while waiting
	r       *bufio.Reader
	pending *lineRead
}

type lineRead struct {
	done chan struct{}
	line string
	err  error
}

func (l *lines) next(t *Thread) (string, bool) {
	for {
		p, quick := l.begin()
		if !quick {
			t.Await(p.done, -1)
		}
		if !l.take(p) {
			continue // another thread had it
		}
		if p.err == io.EOF && p.line == "" {
			return "", false
		}
		if p.err != nil && p.err != io.EOF {
			panic(failed("line-seq", "read", "the next line", p.err))
		}
		return strings.TrimSuffix(strings.TrimSuffix(p.line, "\n"), "\r"), true
	}
}

// begin starts a read, or joins the one under way. quick says that it is done already.
func (l *lines) begin() (p *lineRead, quick bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending != nil {
		return l.pending, false
	}
	p = &lineRead{done: make(chan struct{})}
	l.pending = p
	if b, _ := l.r.Peek(l.r.Buffered()); bytes.IndexByte(b, '\n') >= 0 {
		p.line, p.err = readLine(l.r, l.max)
		close(p.done)
		return p, true
	}
	go func() {
		defer close(p.done)
		p.line, p.err = readLine(l.r, l.max)
	}()
	return p, false
}

func (l *lines) take(p *lineRead) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending != p {
		return false
	}
	l.pending = nil
	return true
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
