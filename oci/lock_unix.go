//go:build unix

package oci

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrBusy is the cause of a GC that was refused.
var ErrBusy = errors.New("a box runs on an image of this store, or one is loaded: try again when it has ended")

// lock holds the store: shared by those who use or add layers, alone by who removes them. The kernel frees it when the
// process ends.
func (s *Store) lock(alone bool) (func(), error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("images: failed to lock %s: %w", s.Dir, err)
	}
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX | syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		if err == syscall.EWOULDBLOCK {
			return nil, fmt.Errorf("images: %w", ErrBusy)
		}
		return nil, fmt.Errorf("images: failed to lock %s: %w", s.Dir, err)
	}
	return func() { f.Close() }, nil
}

// takeAfter gives a directory the mode and owner of another.
func takeAfter(dir, other string) error {
	st, err := os.Lstat(other)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := os.Lchown(dir, int(sys.Uid), int(sys.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(dir, st.Mode()&(os.ModePerm|os.ModeSticky))
}
