package nrepl

import (
	"bytes"
	"io"
	"sync"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// typed is what was sent by stdin and not read yet.
type typed struct {
	max int

	mu   sync.Mutex
	text []byte
	end  bool          // after text
	more chan struct{} // closed, and replaced, when something comes
}

func newTyped(max int) *typed { return &typed{max: max, more: make(chan struct{})} }

// add takes what was typed; "" is the end of the input. It gives false where there is too much.
func (t *typed) add(s string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text)+len(s) > t.max {
		return false
	}
	t.text = append(t.text, s...)
	t.end = t.end || s == ""
	close(t.more)
	t.more = make(chan struct{})
	return true
}

// take copies at most a line to p. Where there is nothing yet it gives a channel to wait on.
func (t *typed) take(p []byte) (n int, more <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.text) > 0:
		line := t.text
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		n = copy(p, line)
		t.text = t.text[n:]
		return n, nil, nil
	case t.end:
		t.end = false
		return 0, nil, io.EOF
	}
	return 0, t.more, nil
}

// reader is *in* of a job: it asks its client when there is nothing to read.
type reader struct{ j *job }

func (r reader) Read(p []byte) (int, error) {
	asked := false
	for {
		n, more, err := r.j.x.in.take(p)
		if more == nil {
			return n, err
		}
		if !asked {
			asked = true
			r.j.out.flush()
			r.j.send(bencode.Dict{"status": []string{"need-input"}})
		}
		select {
		case <-more:
		case <-r.j.ctx.Done():
			return 0, io.EOF
		}
	}
}

func (s *Server) opStdin(r *request) {
	text, ok := r.msg["stdin"].(string)
	if !ok && !isEmpty(r.msg["stdin"]) {
		r.bad("stdin", "what was typed as a string, or \"\" for its end")
		return
	}
	if !r.ses.in.add(text) {
		r.bad("stdin", "less than Config.MaxInput bytes that nobody reads")
		return
	}
	r.answer(nil)
}
