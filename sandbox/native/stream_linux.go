package native

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
)

// running is one program of a box, seen by its streams.
type running struct {
	argv    []string
	child   [3]*os.File // the box's ends
	out     capture
	err     capture
	copying sync.WaitGroup
	ours    []*os.File // the host's ends
	started time.Time
	last    atomic.Int64 // when there was output, in ns
	done    chan outcome
}

// drain is how long output is waited for once the program has ended: what it wrote is in the pipe by then, and only others
// could keep it open. What is in the pipe is taken even so, however long whoever listens took over what came before.
const drain = 2 * time.Second

// newRunning makes the streams. In a box with ids of its own they are given to owner, since a program opens /dev/stdout.
func newRunning(s *sandbox.Spec, owner int) (*running, error) {
	r := &running{argv: s.Argv, started: time.Now(), done: make(chan outcome, 1)}
	r.last.Store(time.Now().UnixNano())
	r.out.most, r.err.most = s.MaxOut, s.MaxOut
	if err := r.open(s, owner); err != nil {
		r.discard()
		return nil, err
	}
	return r, nil
}

func (r *running) open(s *sandbox.Spec, owner int) error {
	if s.In == "" && s.Stdin == nil {
		null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		r.child[0] = null
	} else {
		read, write, err := os.Pipe()
		if err != nil {
			return err
		}
		r.child[0] = read
		r.ours = append(r.ours, write)
		go feed(write, s)
	}
	for i, c := range []struct {
		to   *capture
		also io.Writer
	}{{&r.out, s.Stdout}, {&r.err, s.Stderr}} {
		read, write, err := os.Pipe()
		if err != nil {
			return err
		}
		r.child[i+1] = write
		r.ours = append(r.ours, read)
		c.to.also = c.also
		r.copying.Add(1)
		go r.copy(c.to, read)
	}
	if owner < 0 {
		return nil
	}
	for i, f := range r.child {
		if i == 0 && s.In == "" && s.Stdin == nil {
			continue // /dev/null is everyone's
		}
		if err := unix.Fchown(int(f.Fd()), owner, owner); err != nil {
			return err
		}
	}
	return nil
}

// feed writes standard input. A program that does not read it ends it.
func feed(w *os.File, s *sandbox.Spec) {
	defer w.Close()
	if s.Stdin != nil {
		io.Copy(w, s.Stdin)
		return
	}
	io.WriteString(w, s.In)
}

func (r *running) copy(to *capture, from *os.File) {
	defer r.copying.Done()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			r.last.Store(time.Now().UnixNano())
			to.write(buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			r.rest(to, from, buf)
		}
		if err != nil {
			return
		}
	}
}

// rest takes what is in the pipe now, and waits for nothing.
func (r *running) rest(to *capture, from *os.File, buf []byte) {
	_ = from.SetReadDeadline(time.Time{}) // it would keep from reading what is there
	for left := waiting(from); left > 0; {
		n, err := from.Read(buf[:min(left, len(buf))])
		to.write(buf[:n])
		if left -= n; err != nil {
			return
		}
	}
}

// waiting is how many bytes a pipe holds.
func waiting(f *os.File) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n
}

// closeChild closes the box's ends on this side, once they were sent.
func (r *running) closeChild() {
	for i, f := range r.child {
		if f != nil {
			f.Close()
			r.child[i] = nil
		}
	}
}

// discard closes everything and waits for the copies.
func (r *running) discard() {
	r.closeChild()
	for _, f := range r.ours {
		f.Close()
	}
	r.copying.Wait()
}

// result waits for the rest of the output. The program has ended.
func (r *running) result(o outcome) sandbox.Result {
	for _, f := range r.ours {
		f.SetReadDeadline(time.Now().Add(drain))
	}
	r.copying.Wait()
	r.discard()
	res := sandbox.Result{Ms: since(r.started), Exit: 137, Signal: "SIGKILL"}
	res.Out, res.OutDropped = r.out.text()
	res.Err, res.ErrDropped = r.err.text()
	if o.exit == nil {
		return res
	}
	status := syscall.WaitStatus(o.exit.Status)
	res.PeakRSS, res.CPUMs = int64(o.exit.MaxRSS), float64(o.exit.CPU)/1000
	res.Exit, res.Signal = status.ExitStatus(), ""
	if status.Signaled() {
		res.Exit, res.Signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
	}
	return res
}

// capture keeps the first bytes of a stream and counts the rest.
type capture struct {
	most    int
	kept    []byte
	dropped int64
	also    io.Writer
}

func (c *capture) write(b []byte) {
	if c.also != nil {
		if _, err := c.also.Write(b); err != nil {
			c.also = nil // whoever listened has gone; the program is not stopped for that
		}
	}
	n := min(len(b), c.most-len(c.kept))
	c.kept = append(c.kept, b[:n]...)
	c.dropped += int64(len(b) - n)
}

func (c *capture) text() (string, int64) { return string(c.kept), c.dropped }
