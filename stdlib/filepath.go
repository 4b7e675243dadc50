package stdlib

import (
	"io/fs"
	"path/filepath"

	"github.com/reflection-dev/zeno/lisp/value"
)

// filepathNS is joker.filepath: what can be said of a path by its text, and a little of what lies there.
func (h *Host) filepathNS() []value.Builtin {
	return []value.Builtin{
		def("abs", "([path])", "The path as seen from the root; relative paths start at the working directory.", h.absOrThrow),
		def("abs?", "([path])", "Whether the path starts at the root.", filepath.IsAbs),
		def("base", "([path])", "The last name of the path.", filepath.Base),
		def("clean", "([path])", "The shortest path that means the same, by its text alone.", filepath.Clean),
		def("dir", "([path])", "The path without its last name.", filepath.Dir),
		def("eval-symlinks", "([path])", "The path with all symbolic links followed.", h.evalSymlinks),
		def("ext", "([path])", "The end of the last name from its last dot on; empty without one.", filepath.Ext),
		def("file-seq", "([root])", "A lazy seq of maps about root and everything below it, as of joker.os/stat, with the path as :name. Symbolic links are not followed.",
			func(t *Thread, root string) Value { return h.walk(t, "file-seq", root, foundMap) }),
		def("from-slash", "([path])", "The path with this system's separators for slashes.", filepath.FromSlash),
		def("to-slash", "([path])", "The path with slashes for this system's separators.", filepath.ToSlash),
		def("glob", "([pattern])", "The paths that match the pattern, a vector; empty where none does. * is any text without a separator, ? one character, [a-z] one of some.", h.glob),
		def("join", "([& elems])", "The elements as one path, cleaned.", func(elems ...string) string { return filepath.Join(elems...) }),
		def("matches?", "([pattern name])", "Whether all of name matches the pattern, as of glob.", matches),
		def("rel", "([basepath targpath])", "The path of targpath as seen from basepath.", rel),
		def("split", "([path])", "The path parted at its last separator: [directory name].", func(t *Thread, path string) Value {
			dir, name := filepath.Split(path)
			return strs(t, []string{dir, name})
		}),
		def("split-list", "([path])", "The paths in a list of them, such as the variable PATH holds.",
			func(t *Thread, path string) Value { return strs(t, filepath.SplitList(path)) }),
		def("volume-name", "([path])", "The name of the volume that leads the path; empty on this system.", filepath.VolumeName),
	}
}

func filepathConstants() []Const {
	return []Const{
		{"separator", value.Str(string(filepath.Separator)), "What parts the names in a path."},
		{"list-separator", value.Str(string(filepath.ListSeparator)), "What parts the paths in a list of them."},
	}
}

func (h *Host) absOrThrow(path string) string {
	abs, err := h.abs(path)
	check("abs", "find", path, err)
	return abs
}

func (h *Host) evalSymlinks(path string) string {
	to, err := filepath.EvalSymlinks(h.path(path))
	check("eval-symlinks", "follow", path, err)
	return to
}

// glob matches from the host's directory and gives the paths as the pattern has them.
func (h *Host) glob(t *Thread, pattern string) Value {
	full := h.path(pattern)
	paths, err := filepath.Glob(full)
	if err != nil {
		panic(badPattern("glob", pattern))
	}
	if full != pattern {
		dir, _ := h.cwd()
		for i, p := range paths {
			if r, err := filepath.Rel(dir, p); err == nil {
				paths[i] = r
			}
		}
	}
	return strs(t, paths)
}

func matches(pattern, name string) bool {
	ok, err := filepath.Match(pattern, name)
	if err != nil {
		panic(badPattern("matches?", pattern))
	}
	return ok
}

func badPattern(who, pattern string) *value.Exception {
	return value.ArgError("%s: got the pattern %q, want one whose [ is closed and whose \\ is followed by a character", who, pattern)
}

func rel(base, target string) string {
	path, err := filepath.Rel(base, target)
	if err != nil {
		panic(value.ArgError("rel: got %q and %q, want both to start at the root or neither", base, target))
	}
	return path
}

func foundMap(t *Thread, f found) Value {
	info, err := f.info.Info()
	if err != nil { // gone since its directory was read
		return value.NewMap(t, value.Kw("name"), str(t, f.path), value.Kw("size"), value.Int(0),
			value.Kw("mode"), value.Int(int64(f.info.Type())), value.Kw("modtime"), value.Nil,
			value.Kw("dir?"), value.Bool(f.info.Type()&fs.ModeDir != 0))
	}
	return infoMap(t, f.path, info)
}
