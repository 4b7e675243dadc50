package cli

import (
	"io"
	"sync"
)

// tail is a writer that knows whether the line is ended, so that a prompt or a value starts on one of its own. It is
// safe for concurrent use: a program's futures print too.
type tail struct {
	mu   sync.Mutex
	w    io.Writer
	open bool // the last line has no end
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) > 0 {
		t.open = p[len(p)-1] != '\n'
	}
	return t.w.Write(p)
}

// endLine ends the line if it is not ended.
func (t *tail) endLine() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open {
		_, _ = io.WriteString(t.w, "\n")
		t.open = false
	}
}
