//go:build unix

package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

// Lock takes a volume for a holder, whom others are told. It does not wait: a volume that is taken is a *sandbox.Busy.
func (s *Store) Lock(name, holder string) (*Held, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, name, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("failed to lock volume %s: %w", name, err)
	}
	if err := flock(f); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &sandbox.Busy{What: "volume", Name: name, Holder: or(readHolder(f), "another process")}
		}
		return nil, fmt.Errorf("failed to lock volume %s: %w", name, err)
	}
	if gone(f) {
		f.Close()
		return nil, fmt.Errorf("volume %s: was removed meanwhile: run again", name)
	}
	f.Truncate(0) // who held it last may have been killed
	f.WriteAt([]byte(holder), 0)
	return &Held{file: f}, nil
}

// passing is how long a lock may be someone's who is not the holder of the volume: who lists them looks for a moment.
const passing = 2 * time.Second

// flock takes the lock. One whose holder is not told, or not any longer, is about to be free.
func flock(f *os.File) (err error) {
	for begin, told := time.Now(), ""; ; time.Sleep(5 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		holder := readHolder(f)
		if !errors.Is(err, syscall.EWOULDBLOCK) || holder != "" && holder == told || time.Since(begin) > passing {
			return err
		}
		told = holder
	}
}

// unlock gives the lock back also where a process that is being started has a copy of the descriptor.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// gone says whether the lock is on a file that a removal took away while it was waited for: it would lock nothing.
func gone(f *os.File) bool {
	held, err := f.Stat()
	there, err2 := os.Stat(f.Name())
	return err != nil || err2 != nil || !os.SameFile(held, there)
}

func blocks(st os.FileInfo) int64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Blocks * 512
	}
	return st.Size()
}
