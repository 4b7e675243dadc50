// Package volume keeps directories that outlive the boxes that use them.
//
// Its one invariant: at most one live body has a volume. The lock is the kernel's, on a file beside the data, so that it
// ends with the process that holds it, however that ends. Start at Store.
package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

// Store is a directory of volumes. Nobody but its owner can enter it: files in a volume may carry ids and modes that a
// box chose.
type Store struct{ Dir string }

// Info describes a volume.
type Info struct {
	Name    string    `json:"name" lisp:"name"`
	Bytes   int64     `json:"bytes" lisp:"bytes"` // of disk
	Files   int64     `json:"files" lisp:"files"`
	Holder  string    `json:"holder,omitempty" lisp:"holder"`
	Changed time.Time `json:"changed" lisp:"changed"`
}

const data, lockName = "data", "lock"

func (s *Store) check(name string) error {
	if !sandbox.ValidName(name) {
		return &sandbox.FieldError{Field: ":volume", Text: fmt.Sprintf("got %q, want a-z, 0-9, '.', '_' and '-', at most 63, beginning with a letter or digit", name)}
	}
	return nil
}

// Ensure makes a volume that is not there and says whether it did.
func (s *Store) Ensure(name string) (made bool, err error) {
	if err := s.check(name); err != nil {
		return false, err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return false, fmt.Errorf("failed to make the directory of volumes: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(s.Dir, name), 0o700); err != nil {
		return false, fmt.Errorf("failed to make volume %s: %w", name, err)
	}
	err = os.Mkdir(s.Path(name), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("failed to make volume %s: %w", name, err)
	}
	return true, nil
}

// Path is where a volume's files are.
func (s *Store) Path(name string) string { return filepath.Join(s.Dir, name, data) }

// List gives the volumes by name. Sizes are counted up to the first million files.
func (s *Store) List() ([]Info, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to list volumes: %w", err)
	}
	var out []Info
	for _, e := range entries {
		st, err := os.Lstat(s.Path(e.Name()))
		if err != nil || !st.IsDir() || !sandbox.ValidName(e.Name()) {
			continue
		}
		info := Info{Name: e.Name(), Changed: st.ModTime()}
		info.Bytes, info.Files, _ = Usage(s.Path(e.Name()), 1<<62)
		if held, err := s.Lock(e.Name(), ""); err == nil {
			held.Close()
		} else if busy := (*sandbox.Busy)(nil); errors.As(err, &busy) {
			info.Holder = busy.Holder
		}
		out = append(out, info)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

// Remove deletes a volume. One that is in use is refused.
func (s *Store) Remove(name string) error {
	if err := s.check(name); err != nil {
		return err
	}
	if _, err := os.Lstat(s.Path(name)); err != nil {
		return fmt.Errorf("volume %q: not found: (zeno.sandbox/volumes) lists those there are", name)
	}
	held, err := s.Lock(name, "a removal")
	if err != nil {
		return err
	}
	defer held.Close()
	if err := removeTree(filepath.Join(s.Dir, name)); err != nil {
		return fmt.Errorf("failed to remove volume %s: %w", name, err)
	}
	return nil
}

// removeTree also removes directories that a box made unreadable.
func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Held is a lock on a volume.
type Held struct{ file *os.File }

// Close gives the volume free.
func (h *Held) Close() error {
	if h == nil || h.file == nil {
		return nil
	}
	h.file.Truncate(0)
	unlock(h.file)
	return h.file.Close()
}

func readHolder(f *os.File) string {
	b := make([]byte, 512)
	n, _ := f.ReadAt(b, 0)
	return strings.TrimSpace(string(b[:n]))
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
