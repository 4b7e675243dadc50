// Package home finds an instance's directory and the program in it.
//
// A home holds init.joke (what is loaded at start), the instance's namespaces on the paths of deps.edn, and state/, where
// zeno keeps what must outlive the process. A home need not exist: zeno then starts empty. Start with Resolve.
package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// EnvVar names the home when the command line does not.
const EnvVar = "ZENO_HOME"

// StateDir holds, inside the home, what must outlive the process.
const StateDir = "state"

// InitFile is loaded at start.
const InitFile = "init.joke"

// defaultPaths are where namespaces are looked for when deps.edn names no paths.
var defaultPaths = []string{".", "src"}

// Home is a directory with a program.
type Home struct {
	Dir    string   // absolute
	Paths  []string // where namespaces are looked for, relative to Dir or absolute
	Origin string   // the home that Dir is a copy of, for relative paths that lead out of it; "": Dir is none
	Libs   []string // where those of the libraries that deps.edn asks for are: absolute, looked at after Paths
}

// Resolve picks the home: the flag, else $ZENO_HOME, else ~/.zeno. getenv is os.Getenv outside tests.
func Resolve(flag string, getenv func(string) string) (*Home, error) {
	dir := flag
	if dir == "" {
		dir = getenv(EnvVar)
	}
	if dir == "" {
		user := getenv("HOME")
		if user == "" {
			return nil, fmt.Errorf("home: got no --home, no $%s and no $HOME, want one of them", EnvVar)
		}
		dir = filepath.Join(user, ".zeno")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("home: failed to resolve %q: %w", dir, err)
	}
	return &Home{Dir: abs, Paths: defaultPaths}, nil
}

// Exists tells whether the directory is there.
func (h *Home) Exists() bool {
	info, err := os.Stat(h.Dir)
	return err == nil && info.IsDir()
}

// Init reads init.joke; ok is false where there is none.
func (h *Home) Init() (src, file string, ok bool, err error) {
	return readFile(filepath.Join(h.Dir, InitFile))
}

// File reads a file of the home's top directory; ok is false where there is none.
func (h *Home) File(name string) (src, file string, ok bool, err error) {
	return readFile(filepath.Join(h.Dir, name))
}

// Source finds the library lib on the paths: a.b-c is a/b_c.joke or a/b-c.joke.
func (h *Home) Source(lib string) (src, file string, ok bool, err error) {
	if !plainLib(lib) {
		return "", "", false, fmt.Errorf("library: got %q, want dotted names", lib)
	}
	rel := strings.ReplaceAll(lib, ".", string(filepath.Separator)) + ".joke"
	for _, p := range h.Roots() {
		for _, name := range []string{strings.ReplaceAll(rel, "-", "_"), rel} {
			src, file, ok, err = readFile(filepath.Join(p, name))
			if errors.Is(err, syscall.ENOTDIR) { // a file that is called as a part of the name, such as the program zeno itself
				continue
			}
			if ok || err != nil {
				return src, file, ok, err
			}
		}
	}
	return "", "", false, nil
}

// Roots gives the directories where namespaces are looked for.
func (h *Home) Roots() []string {
	var out []string
	for _, p := range h.Paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(h.Dir, p)
		}
		out = append(out, p)
	}
	return append(out, h.Libs...)
}

func plainLib(lib string) bool {
	return lib != "" && !strings.ContainsAny(lib, `/\`) && !strings.Contains(lib, "..") && lib[0] != '.'
}

func readFile(path string) (src, file string, ok bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, fmt.Errorf("home: failed to read %s: %w", path, err)
	}
	return string(b), path, true, nil
}

// State gives the directory for what must outlive the process, made private if it is not there.
func (h *Home) State() (string, error) {
	dir := filepath.Join(h.Dir, StateDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("home: failed to make the state directory: %w", err)
	}
	return dir, nil
}
