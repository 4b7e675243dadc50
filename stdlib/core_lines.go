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
		def("read-line", "([])", "The next line of *in*, without its end; nil when there is none.", h.readLine),
		def("line-seq", "([rdr])", "A lazy seq of the lines of rdr, an open file or another reader; nil when there is none.", h.lineSeq),
	}
}

// readLine reads from *in*, or from the configured input where *in* is not bound to a reader.
func (h *Host) readLine(t *Thread) Value {
	s, ok := h.inputLines(t).next(t, "read-line")
	if !ok {
		return value.Nil
	}
	return str(t, s)
}

// inputLines gives the line reader over *in*. It is kept from call to call, since a read that was waited for in vain may
// have a line for the next one.
func (h *Host) inputLines(t *Thread) *lines {
	r := h.In
	if t.Env != nil && t.Env.Core != nil {
		if in := t.Env.Core.Var("*in*"); in != nil {
			if x, ok := value.HostOf[io.Reader](in.Get(t)); ok {
				r = x
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.input == nil || h.input.of != r {
		h.input = &lines{of: r, r: buffered(r), max: h.MaxLine}
	}
	return h.input
}

func (h *Host) lineSeq(t *Thread, rdr Value) Value {
	r := readerOf(t, "line-seq", rdr)
	return value.Seq(t, lineCell(&lines{of: r, r: buffered(r), max: h.MaxLine}, rdr))
}

// lineCell is the lazy seq of the lines that are left.
func lineCell(l *lines, held Value) Value {
	return value.NewLazyGo(func(t *Thread) Value {
		s, ok := l.next(t, "line-seq")
		if !ok {
			return value.Nil
		}
		return value.Cons(t, str(t, s), lineCell(l, held))
	}, held)
}

// lines reads a reader line by line. A line that is there is read at once; where reading may wait it is done beside the
// thread, and if the thread is called away meanwhile, the line is for whoever reads next.
type lines struct {
	of  io.Reader
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

func (l *lines) next(t *Thread, who string) (string, bool) {
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
			panic(failed(who, "read", "the next line", p.err))
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
