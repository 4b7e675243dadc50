package msb

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

// drain is how long output is waited for once the client has exited.
const drain = 2 * time.Second

// program is one program of a box, seen by the client that runs it.
type program struct {
	spec    *sandbox.Spec
	started time.Time
	out     capture
	err     capture
	last    atomic.Int64 // when there was output, in ns
	exited  bool         // by itself
	code    int
	failed  error // the client did not start
}

func newProgram(s *sandbox.Spec) *program {
	p := &program{spec: s, started: time.Now()}
	p.out = capture{most: s.MaxOut, also: s.Stdout, seen: p.saw}
	p.err = capture{most: s.MaxOut, also: s.Stderr, seen: p.saw}
	p.saw()
	return p
}

func (p *program) saw() { p.last.Store(time.Now().UnixNano()) }

// run runs the client until it exits or ctx ends. in are the parts of standard input, which travel in its environment.
func (p *program) run(ctx context.Context, t *tool, args, in []string) {
	var env []string
	for i, text := range in {
		env = append(env, inName(i)+"="+text)
	}
	cmd := t.command(ctx, env, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &p.out, &p.err, drain
	if p.spec.Stdin != nil {
		if err := feed(cmd, p.spec.Stdin); err != nil {
			p.failed = err
			return
		}
	}
	p.saw()
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // something else holds the client's output; the client has exited
	}
	p.code = exitCode(err)
	p.exited = p.code >= 0
	if cmd.Process == nil {
		p.failed = err
	}
}

// feed copies a stream to the client. Nobody waits for the copy: a terminal's read ends when it likes.
func feed(cmd *exec.Cmd, from io.Reader) error {
	w, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		defer w.Close()
		_, _ = io.Copy(w, from)
	}()
	return nil
}

func (p *program) result(name string) sandbox.Result {
	res := sandbox.Result{Name: name, Exit: p.code, Ms: float64(time.Since(p.started).Microseconds()) / 1000}
	res.Out, res.OutDropped = p.out.text()
	res.Err, res.ErrDropped = p.err.text()
	if !p.exited {
		res.Exit, res.Signal = 137, "SIGKILL"
	}
	if p.failed != nil {
		res.Err += "msb: " + p.failed.Error()
	}
	return res
}

// capture keeps the first bytes of a stream and counts the rest.
type capture struct {
	seen func()
	most int
	also io.Writer

	mu      sync.Mutex // the client's copy may outlive the wait for it
	kept    []byte
	dropped int64
}

func (c *capture) Write(b []byte) (int, error) {
	c.seen()
	if c.also != nil {
		if _, err := c.also.Write(b); err != nil {
			c.also = nil // whoever listened has gone; the program is not stopped for that
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(b), c.most-len(c.kept))
	c.kept = append(c.kept, b[:n]...)
	c.dropped += int64(len(b) - n)
	return len(b), nil
}

func (c *capture) text() (string, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.kept), c.dropped
}
