package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of a home that is copied.
const (
	maxHomeBytes = 1 << 30
	maxHomeFiles = 100_000
)

// copyHome copies the program of a home and what lies beside it. Of state only the fetched libraries come along, and of
// version control nothing. Links stay links.
func copyHome(ctx context.Context, from, to string) error {
	var bytes int64
	files := 0
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		if skipInCopy(rel, d) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if files++; files > maxHomeFiles || ctx.Err() != nil {
			return errors.Join(ctx.Err(), tooLargeHome(from))
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.Mkdir(target, 0o700)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !d.Type().IsRegular():
			return nil
		}
		n, err := copyFile(path, target, maxHomeBytes-bytes)
		if bytes += n; bytes >= maxHomeBytes {
			return tooLargeHome(from)
		}
		return err
	})
}

func tooLargeHome(dir string) error {
	return fmt.Errorf("%s: got more than %d files or %d MiB, want at most that: a home holds a program; keep data elsewhere", dir, maxHomeFiles, maxHomeBytes>>20)
}

func skipInCopy(rel string, d fs.DirEntry) bool {
	sep := string(filepath.Separator)
	switch {
	case d.Name() == ".git" || d.Name() == ".nrepl-port" || rel == ".git":
		return true
	case rel == "state" || rel == filepath.Join("state", "deps"):
		return false
	}
	return strings.HasPrefix(rel, "state"+sep) && !strings.HasPrefix(rel, filepath.Join("state", "deps")+sep)
}

func copyFile(from, to string, limit int64) (int64, error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer discard(in)
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit))
	return n, errors.Join(err, out.Close(), os.Chmod(to, info.Mode().Perm()))
}
