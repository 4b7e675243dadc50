package corelib

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// lines is what *in* is bound to: text that is read line by line or form by form.
type lines struct {
	mu   sync.Mutex
	r    lineSource // nil: none beyond rest
	rest string     // read, not yet used
}

// lineSource is what lines come from: a bufio.Reader, or a stream of the embedder's that has one.
type lineSource interface {
	ReadString(delim byte) (string, error)
}

// unbuffered reads a byte at a time, so that nothing after a line is taken from a reader that others use too.
type unbuffered struct{ r io.Reader }

func (u unbuffered) Read(p []byte) (int, error) {
	if len(p) > 1 {
		p = p[:1]
	}
	return u.r.Read(p)
}

// NewReader makes a value that *in* may be bound to.
func NewReader(r io.Reader) Value { return value.NewHost("reader", &lines{r: bufio.NewReader(r)}) }

// NewTextReader makes a value that *in* may be bound to, reading from s.
func NewTextReader(s string) Value { return value.NewHost("reader", &lines{rest: s}) }

// input gives the text behind a value for *in*.
func input(t *Thread, who string, v Value) *lines {
	if x, ok := value.HostOf[*lines](v); ok {
		return x
	}
	if x, ok := value.HostOf[lineSource](v); ok {
		return &lines{r: x}
	}
	if x, ok := value.HostOf[io.Reader](v); ok {
		return &lines{r: bufio.NewReader(unbuffered{x})}
	}
	panic(value.TypeError(t, who, v, "a reader"))
}

// more reads another line of the source into rest; false at its end.
func (x *lines) more() bool {
	if x.r == nil {
		return false
	}
	s, err := x.r.ReadString('\n')
	x.rest += s
	return s != "" || err == nil
}

// line takes the next line.
func (x *lines) line() (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for !strings.Contains(x.rest, "\n") && x.more() {
	}
	if x.rest == "" {
		return "", false
	}
	line, rest, _ := strings.Cut(x.rest, "\n")
	x.rest = rest
	return strings.TrimSuffix(line, "\r"), true
}

// all takes everything.
func (x *lines) all() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.more() {
	}
	s := x.rest
	x.rest = ""
	return s
}

// form takes the next form and its text; io.EOF at the end.
func (x *lines) form(t *Thread, opts read.Options) (v Value, text string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		r := read.New(t, x.rest, opts)
		v, err := r.Read()
		var bad *read.Error
		if (errors.Is(err, io.EOF) || errors.As(err, &bad) && bad.Incomplete) && x.more() {
			continue
		}
		if err != nil {
			x.rest = ""
			return value.Nil, "", err
		}
		if r.Offset() == len(x.rest) && x.r != nil && !strings.HasSuffix(x.rest, "\n") && x.more() {
			continue // a symbol or number may go on
		}
		text, x.rest = x.rest[:r.Offset()], x.rest[r.Offset():]
		return v, text, nil
	}
}
