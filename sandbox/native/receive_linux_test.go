package native

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// ended is a control socket whose other end said something and ended with something unread, as stage two does when it is
// told to run a program just as the last one ends.
func ended(t *testing.T) *process {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctl := os.NewFile(uintptr(pair[0]), "control")
	t.Cleanup(func() { ctl.Close() })
	for fd, text := range map[int]string{pair[1]: "xhow it ended", pair[0]: "run that"} {
		if _, err := unix.Write(fd, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	unix.Close(pair[1])
	return &process{ctl: ctl}
}

func TestWhatWasSaidBeforeTheEndIsHeard(t *testing.T) {
	bare := ended(t) // the first read, without the guard
	if _, err := unix.Read(int(bare.ctl.Fd()), make([]byte, 64)); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("got %v, want the kernel to report the reset first", err)
	}
	p := ended(t)
	if kind, text, _, err := p.receive(); err != nil || kind != 'x' || string(text) != "how it ended" {
		t.Errorf("got %q %q %v, want what was said", kind, text, err)
	}
	if _, _, _, err := p.receive(); err == nil {
		t.Error("got no error, want the end")
	}
}
