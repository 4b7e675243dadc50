package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	if err := flock(f); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("home: %s is served by process %s already; `zeno connect` talks to it", h.Dir, readPID(file))
		}
		return nil, fmt.Errorf("home: failed to lock %s: %w", file, err)
	}
	if err := writePID(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("home: failed to write %s: %w", file, err)
	}
	return func() { _ = f.Close() }, nil
}

// writePID puts the id in the place of the one before, whose room on a full disk another would take meanwhile.
func writePID(f *os.File) error {
	n, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	if err != nil {
		return err
	}
	return f.Truncate(int64(n))
}

// readPID is the first line: one that is being written may have the end of a longer one behind it.
func readPID(file string) string {
	b, _ := os.ReadFile(file)
	pid, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(pid)
}

// lockWait is how long Lock waits: Served holds the lock for a moment.
const lockWait = 200 * time.Millisecond

func flock(f *os.File) error {
	for end := time.Now().Add(lockWait); ; time.Sleep(lockWait / 10) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return err
		}
	}
}

// Served tells whether a zeno holds the home's lock, and its process id.
func (h *Home) Served() (pid string, ok bool, err error) {
	file := filepath.Join(h.Dir, "state", lockFile)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("home: failed to look at %s: %w", file, err)
	}
	defer func() { _ = f.Close() }()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return readPID(file), true, nil
	}
	return "", false, err
}
