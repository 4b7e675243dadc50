package volume

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const full = int64(1) << 62

// deep makes directories in one another, of names that make a path of any length, and a file of n bytes in the last.
func deep(t *testing.T, dir string, levels, name, n int) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range levels {
		if err := root.Mkdir(strings.Repeat("x", name), 0o755); err != nil {
			t.Fatal(err)
		}
		sub, err := root.OpenRoot(strings.Repeat("x", name))
		root.Close()
		if err != nil {
			t.Fatal(err)
		}
		root = sub
	}
	defer root.Close()
	if err := root.WriteFile("f", make([]byte, n), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A walk by paths ends where a path is too long; what lies below counts all the same.
func TestUsageOfLongNames(t *testing.T) {
	dir := t.TempDir()
	deep(t, dir, 40, 200, 1<<20)
	byPath := int64(0)
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if st, err := os.Lstat(path); err == nil {
			byPath += blocks(st)
		}
		return nil
	})
	if byPath >= 1<<20 {
		t.Fatalf("a walk by paths counts %d: nothing is hidden from it", byPath)
	}
	bytes, files, err := Usage(dir, full)
	if bytes < 1<<20 || files != 42 || err != nil {
		t.Errorf("got %d bytes, %d files, %v, want over 1 MiB in 42", bytes, files, err)
	}
	s := &Store{Dir: t.TempDir()}
	if _, err := s.Ensure("v"); err != nil {
		t.Fatal(err)
	}
	deep(t, s.Path("v"), 400, 200, 1)
	if err := s.Remove("v"); err != nil {
		t.Errorf("removing it: %v", err)
	}
}

func TestUsageOfDeepTrees(t *testing.T) {
	dir := t.TempDir()
	deep(t, dir, maxDepth+10, 1, 1)
	if _, _, err := Usage(dir, full); !errors.Is(err, ErrDeep) {
		t.Errorf("got %v, want ErrDeep", err)
	}
}

// A mode hides nothing from the owner of a directory, and is as it was after.
func TestUsageOfClosedDirectories(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sub, "f"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Chmod(sub, 0)
	os.Chmod(filepath.Dir(sub), 0o200)
	t.Cleanup(func() { os.Chmod(filepath.Dir(sub), 0o700); os.Chmod(sub, 0o700) })
	if bytes, files, err := Usage(dir, full); bytes < 1<<20 || files != 4 || err != nil {
		t.Errorf("got %d bytes, %d files, %v, want over 1 MiB in 4", bytes, files, err)
	}
	if st, err := os.Stat(filepath.Dir(sub)); err != nil || st.Mode().Perm() != 0o200 {
		t.Errorf("got %v %v, want the mode as it was", st.Mode(), err)
	}
}

// Links lead a count nowhere.
func TestUsageFollowsNoLink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "f"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"d": other, "f": filepath.Join(other, "f"), "self": "."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if bytes, files, err := Usage(dir, full); bytes >= 1<<20 || files != 4 || err != nil {
		t.Errorf("got %d bytes, %d files, %v, want 4 small ones", bytes, files, err)
	}
}
