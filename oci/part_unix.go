//go:build unix

package oci

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// createPart makes the file that is to replace the one at path, beside it and called after it. It is locked for as long as
// it is open: what a program that was killed left there is not, and goes when the same path is written again.
func createPart(path string) (*os.File, error) {
	dir, prefix := filepath.Dir(path), "."+partBase(path)+tempPrefix
	removeParts(dir, prefix)
	for {
		f, err := os.CreateTemp(dir, prefix)
		if err != nil {
			return nil, err
		}
		_ = flock(f) // a file system without locks keeps what is left there, that is all
		// Another program may have taken it for one that was left before it was locked.
		made, err := f.Stat()
		there, serr := os.Lstat(f.Name())
		if err == nil && serr == nil && os.SameFile(made, there) {
			return f, nil
		}
		_ = f.Close()
	}
}

// maxPartBase keeps the name of a part below what file systems take.
const maxPartBase = 200

func partBase(path string) string {
	base := filepath.Base(path)
	return strings.ToValidUTF8(base[:min(len(base), maxPartBase)], "")
}

// removeParts removes parts that nobody writes any more. What cannot be removed stays for the next time.
func removeParts(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if flock(f) == nil {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}

// flock locks a file, or fails at once where somebody has it.
func flock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != syscall.EINTR {
			return err
		}
	}
}
