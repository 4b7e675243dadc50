package suite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ext is how the names of source files end.
const ext = ".joke"

// File is one file to run.
type File struct {
	Path string
	Libs []string // where the namespaces that it requires are found
}

// Find lists the files that paths name: a file is itself, a directory stands for every *_test.joke below it and every
// .joke below a directory called test. Hidden directories and node_modules are passed over. What no path holds is an
// error: a run of no tests must not look like one that passed.
func Find(paths []string) ([]File, error) {
	var files []File
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("test: %w", err)
		}
		found, root := []string{p}, filepath.Dir(p)
		if info.IsDir() {
			root = p
			if found, err = below(p); err != nil {
				return nil, fmt.Errorf("test: failed to list %s: %w", p, err)
			}
		}
		for _, f := range found {
			if !slices.ContainsFunc(files, func(x File) bool { return x.Path == f }) {
				files = append(files, File{f, libs(root, f)})
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("test: got no *_test%s and no directory test with %s files in %s, want some", ext, ext, strings.Join(paths, ", "))
	}
	return files, nil
}

func below(root string) ([]string, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	inTest := slices.Contains(strings.Split(abs, string(filepath.Separator)), "test")
	var out []string
	err = walk(root, func(path string) {
		if inTest || strings.HasSuffix(path, "_test"+ext) || underTest(root, path) {
			out = append(out, path)
		}
	})
	return out, err
}

// underTest tells whether a directory called test lies between root and path.
func underTest(root, path string) bool {
	rel, err := filepath.Rel(root, filepath.Dir(path))
	return err == nil && slices.Contains(strings.Split(rel, string(filepath.Separator)), "test")
}

// walk calls f with every source file below root, in order.
func walk(root string, f func(path string)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return filepath.SkipDir
		case d.Type().IsRegular() && filepath.Ext(name) == ext:
			f(path)
		}
		return nil
	})
}

// libs is where a test file finds namespaces: its own directory and each one above it, with its src, up to the root or,
// where that lies below it, the current directory.
func libs(root, file string) []string {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		dir = filepath.Dir(file)
	}
	stop, err := filepath.Abs(root)
	if wd, werr := os.Getwd(); err == nil && werr == nil && within(wd, stop) {
		stop = wd
	}
	var out []string
	for {
		out = append(out, dir)
		if src := filepath.Join(dir, "src"); isDir(src) {
			out = append(out, src)
		}
		up := filepath.Dir(dir)
		if dir == stop || up == dir {
			return out
		}
		dir = up
	}
}

func within(outer, inner string) bool {
	rel, err := filepath.Rel(outer, inner)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
