package nrepl

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/corelib"
)

// sourceFiles says where an editor finds a source. A library that is built into the binary is copied to a file when it is
// first asked for, since an editor can open nothing else; the copies cannot be written to.
type sourceFiles struct {
	env *lisp.Env
	dir string // where copies go; "": a temporary directory, made when needed

	mu   sync.Mutex
	temp string
}

// uri gives the place of the source file of namespace ns: a file: URI, or the name as it is where there is no file.
func (f *sourceFiles) uri(ns, file string) string {
	if filepath.IsAbs(file) {
		return fileURI(file)
	}
	if path := f.copied(ns, file); path != "" {
		return fileURI(path)
	}
	if abs, err := filepath.Abs(file); err == nil && !strings.Contains(file, ":") {
		if _, err := os.Stat(abs); err == nil {
			return fileURI(abs)
		}
	}
	return file
}

func fileURI(path string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
}

// copied gives the copy of a library that is in no file, or "".
func (f *sourceFiles) copied(ns, file string) string {
	src, name, _ := f.env.Library(ns)
	if name != file { // it was loaded by its other name
		src, name, _ = f.env.Library(corelib.OtherName(ns))
	}
	if file == "" || name != file {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, err := f.directory()
	if err != nil {
		return ""
	}
	path := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(strings.ReplaceAll(ns, ".", "/"), "-", "_")+".joke"))
	if old, err := os.ReadFile(path); err == nil && string(old) == src {
		return path
	}
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return ""
	}
	part := path + ".part"
	if os.WriteFile(part, []byte(src), 0o444) != nil || os.Rename(part, path) != nil {
		return ""
	}
	return path
}

func (f *sourceFiles) directory() (string, error) {
	if f.dir != "" {
		return f.dir, nil
	}
	if f.temp == "" {
		dir, err := os.MkdirTemp("", "zeno-sources-")
		if err != nil {
			return "", err
		}
		f.temp = dir
	}
	return f.temp, nil
}

// close removes what was copied to a temporary directory.
func (f *sourceFiles) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.temp == "" {
		return nil
	}
	return os.RemoveAll(f.temp)
}
