package stdlib

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/reflection-dev/zeno/lisp/value"
)

// osDirs makes and lists directories, and knows where the usual ones are.
func (h *Host) osDirs() []value.Builtin {
	return []value.Builtin{
		def("ls", "([dirname])", "What is in a directory, by name: a vector of maps as of stat.", h.ls),
		def("mkdir", "([name perm])", "Makes a directory with permission bits perm, such as 0755.",
			func(name string, perm int) { h.mkdir(name, perm) }),
		def("mkdir-all", "([name perm])", "Makes a directory and the ones above it that are missing. It is no error when it is there.",
			func(name string, perm int) {
				check("mkdir-all", "make", name, os.MkdirAll(h.path(name), fs.FileMode(perm)))
			}),
		def("mkdir-temp", "([dir pattern])", "Makes a new directory in dir (\"\": the directory for temporary files) and gives its name, which is pattern with a random string for the last *, or at the end.", h.mkdirTemp),
		def("temp-dir", "([])", "The directory for temporary files.", h.tempDir),
		def("user-home-dir", "([])", "The user's home directory.", func() string { return h.userDir("user-home-dir", "HOME", "") }),
		def("user-cache-dir", "([])", "The directory for the user's caches.", func() string {
			return h.userDir("user-cache-dir", "XDG_CACHE_HOME", onDarwin(".cache", "Library/Caches"))
		}),
		def("user-config-dir", "([])", "The directory for the user's configuration.", func() string {
			return h.userDir("user-config-dir", "XDG_CONFIG_HOME", onDarwin(".config", "Library/Application Support"))
		}),
	}
}

func (h *Host) ls(t *Thread, dir string) Value {
	entries, err := os.ReadDir(h.path(dir))
	check("ls", "list", dir, err)
	t.Charge(16 * len(entries))
	xs := make([]Value, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		check("ls", "look at", filepath.Join(dir, e.Name()), err)
		xs = append(xs, infoMap(t, info.Name(), info))
	}
	return value.NewVectorOwned(t, xs)
}

func (h *Host) mkdir(name string, perm int) {
	err := os.Mkdir(h.path(name), fs.FileMode(perm))
	if errors.Is(err, fs.ErrNotExist) {
		panic(value.Errorf("FileNotFoundException", "mkdir: failed to make %s: its parent is missing; mkdir-all makes that too", name))
	}
	check("mkdir", "make", name, err)
}

func (h *Host) mkdirTemp(dir, pattern string) string {
	name, err := os.MkdirTemp(h.tempIn(dir), pattern)
	check("mkdir-temp", "make a directory in", h.tempIn(dir), err)
	return name
}

// userDir is the directory that a variable names, or else the one below the home directory.
func (h *Host) userDir(who, key, below string) string {
	if dir := h.getenv(key); filepath.IsAbs(dir) {
		return dir
	}
	home := h.getenv("HOME")
	if home == "" {
		panic(value.StateError("%s: the environment variable HOME is not set; set it or %s", who, key))
	}
	return filepath.Join(home, below)
}

func onDarwin(elsewhere, darwin string) string {
	if runtime.GOOS == "darwin" {
		return darwin
	}
	return elsewhere
}
