package stdlib

import (
	"errors"
	"io/fs"
	"os"

	"github.com/reflection-dev/zeno/lisp/value"
)

// osFiles opens, moves and removes files.
func (h *Host) osFiles() []value.Builtin {
	return []value.Builtin{
		def("open", "([name])", "Opens a file for reading. Close it with close, or use with-open.", h.open),
		def("create", "([name])", "Makes a file, or empties the one there is, and opens it for reading and writing.", h.create),
		def("create-temp", "([dir pattern])", "Makes a new file in dir (\"\": the directory for temporary files) and opens it. Its name is pattern with a random string for the last *, or at the end. (file-name f) tells it.", h.createTemp),
		def("file-name", "([f])", "The name of an open file.", func(t *Thread, f Value) string { return openFile(t, "file-name", f).Name() }),
		def("close", "([f])", "Closes an open file.", func(t *Thread, f Value) { closeValue(t, f) }),
		def("exists?", "([path])", "Whether there is something at path.", h.exists),
		def("remove", "([name])", "Removes a file or an empty directory.",
			func(name string) { check("remove", "remove", name, os.Remove(h.path(name))) }),
		def("remove-all", "([path])", "Removes path and everything below it. It is no error when there is nothing.", h.removeAll),
		def("rename", "([oldpath newpath])", "Moves a file or directory. A file at newpath is replaced.",
			func(from, to string) { check("rename", "move", from+" to "+to, os.Rename(h.path(from), h.path(to))) }),
		def("link", "([oldname newname])", "Makes newname a hard link to oldname.",
			func(from, to string) { check("link", "link", to+" to "+from, os.Link(h.path(from), h.path(to))) }),
		def("symlink", "([oldname newname])", "Makes newname a symbolic link to oldname.",
			func(from, to string) { check("symlink", "link", to+" to "+from, os.Symlink(from, h.path(to))) }),
		def("read-link", "([name])", "Where a symbolic link points.", h.readLink),
		def("truncate", "([name size])", "Makes a file size bytes long.",
			func(name string, size int64) { check("truncate", "truncate", name, os.Truncate(h.path(name), size)) }),
	}
}

func (h *Host) open(t *Thread, name string) Value {
	f, err := os.Open(h.path(name))
	check("open", "open", name, err)
	return newFile(f)
}

func (h *Host) create(t *Thread, name string) Value {
	f, err := os.Create(h.path(name))
	check("create", "create", name, err)
	return newFile(f)
}

func (h *Host) createTemp(t *Thread, dir, pattern string) Value {
	f, err := os.CreateTemp(h.tempIn(dir), pattern)
	check("create-temp", "create a file in", h.tempIn(dir), err)
	return newFile(f)
}

// tempIn is where a temporary file goes: dir, or the directory for such files.
func (h *Host) tempIn(dir string) string {
	if dir == "" {
		return h.tempDir()
	}
	return h.path(dir)
}

func (h *Host) tempDir() string {
	if dir := h.getenv("TMPDIR"); dir != "" {
		return dir
	}
	return "/tmp"
}

func openFile(t *Thread, who string, v Value) *file {
	f, ok := value.HostOf[*file](v)
	if !ok {
		panic(value.TypeError(t, who, v, "an open file"))
	}
	return f
}

func (h *Host) exists(path string) bool {
	_, err := os.Stat(h.path(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(failed("exists?", "look at", path, err))
	}
	return err == nil
}

func (h *Host) removeAll(path string) {
	if path == "" {
		panic(value.ArgError("remove-all: got an empty path, want the name of what to remove"))
	}
	check("remove-all", "remove", path, os.RemoveAll(h.path(path)))
}

func (h *Host) readLink(name string) string {
	to, err := os.Readlink(h.path(name))
	check("read-link", "read", name, err)
	return to
}
