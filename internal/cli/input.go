package cli

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// input is stdin in a form that ctrl-C can take away from a program that waits for it: on a terminal it reads only when
// there is something to read.
type input struct {
	file        *os.File
	poll        bool
	interrupted atomic.Bool
}

var errInterrupted = errors.New("stdin: interrupted")

func newInput(f *os.File) *input { return &input{file: f, poll: terminal(f)} }

// pollEvery is how long a reader of the terminal takes to see an interrupt.
const pollEvery = 50 * time.Millisecond

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	for in.poll {
		if in.interrupted.CompareAndSwap(true, false) {
			return 0, errInterrupted
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(in.file.Fd()), Events: unix.POLLIN}}, int(pollEvery.Milliseconds()))
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return in.file.Read(p)
}

// interrupt makes the read that waits fail; with none the next one does.
func (in *input) interrupt() { in.interrupted.Store(true) }

// ready forgets an interrupt that no read has seen.
func (in *input) ready() { in.interrupted.Store(false) }
