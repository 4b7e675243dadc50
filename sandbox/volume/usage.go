package volume

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

const (
	maxWalk  = 1 << 20 // files that are counted
	maxDepth = 512     // directories in one another; each holds a descriptor while it is counted
)

// ErrDeep says that a tree cannot be counted: whoever made it hides something, or would fill the disk with names.
var ErrDeep = errors.New("volume: got directories nested too deep to count, want at most 512")

// Usage counts disk use and files under dir, following no link; it stops where bytes passes most, or at a million files.
// Files that vanish meanwhile are not counted. It goes by descriptors, so that no name is too long for it, and into
// directories of this user's own that their mode closes: a program can neither hide nor lead it elsewhere.
func Usage(dir string, most int64) (bytes, files int64, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, 0, nil // gone, or not there yet
	}
	w := &walk{most: most}
	err = w.dir(root, 0)
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return w.bytes, w.files, err
}

// walk is one count.
type walk struct{ bytes, files, most int64 }

// dir counts a directory and closes it.
func (w *walk) dir(root *os.Root, depth int) error {
	defer root.Close()
	if depth > maxDepth {
		return ErrDeep
	}
	st, err := root.Lstat(".")
	if err != nil {
		return nil
	}
	if err := w.add(st); err != nil {
		return err
	}
	below, err := w.entries(root)
	if err != nil {
		return err
	}
	for _, name := range below {
		sub, undo := open(root, name)
		if sub == nil {
			continue
		}
		err := w.dir(sub, depth+1)
		undo()
		if err != nil {
			return err
		}
	}
	return nil
}

// entries counts what is in a directory but for the directories, which it gives.
func (w *walk) entries(root *os.Root) (below []string, err error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	for {
		names, err := f.ReadDir(1024)
		for _, d := range names {
			if d.IsDir() {
				below = append(below, d.Name())
				continue
			}
			st, err := root.Lstat(d.Name())
			if err != nil {
				continue
			}
			if err := w.add(st); err != nil {
				return nil, err
			}
		}
		if err != nil && !errors.Is(err, io.EOF) || len(names) == 0 {
			return below, nil
		}
	}
}

func (w *walk) add(st os.FileInfo) error {
	w.files++
	w.bytes += blocks(st)
	if w.bytes > w.most || w.files > maxWalk {
		return fs.SkipAll
	}
	return nil
}

// open opens a directory, if need be by lending this user, who owns it, the right to; undo takes that back.
func open(root *os.Root, name string) (sub *os.Root, undo func()) {
	undo = func() {}
	st, err := root.Lstat(name)
	if err != nil || !st.IsDir() {
		return nil, undo
	}
	if mode := st.Mode().Perm(); mode&0o500 != 0o500 && os.Geteuid() != 0 {
		if err := root.Chmod(name, mode|0o500); err != nil {
			return nil, undo // of another user: no program of a box closed it
		}
		undo = func() { _ = root.Chmod(name, st.Mode()) }
	}
	if sub, err = root.OpenRoot(name); err != nil {
		undo()
		return nil, func() {}
	}
	return sub, undo
}
