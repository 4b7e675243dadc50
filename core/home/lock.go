package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lockFile holds the process id of the daemon that serves the home. The lock on it, not its text, is what counts: a
// killed daemon's lock is gone with it.
const lockFile = "daemon.pid"

// Lock makes this process the home's one daemon, until release is called.
func (h *Home) Lock() (release func(), err error) {
	state, err := h.State()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(state, lockFile)
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("home: failed to open %s: %w", file, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			pid, _ := os.ReadFile(file)
			return nil, fmt.Errorf("home: %s is served by process %s already; `zeno connect` talks to it", h.Dir, strings.TrimSpace(string(pid)))
		}
		return nil, fmt.Errorf("home: failed to lock %s: %w", file, err)
	}
	if err := writePID(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("home: failed to write %s: %w", file, err)
	}
	return func() { _ = f.Close() }, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(f, "%d\n", os.Getpid())
	return err
}
