package stdlib

import (
	"io/fs"
	"os"
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

// osAttributes reads and changes what a file system knows of a file.
func (h *Host) osAttributes() []value.Builtin {
	return []value.Builtin{
		def("stat", "([filename])", "What is known of a file: a map of :name, :size in bytes, :mode as Go's bits, :modtime as an inst, and :dir?.",
			func(t *Thread, name string) Value {
				info, err := os.Stat(h.path(name))
				check("stat", "look at", name, err)
				return infoMap(t, info.Name(), info)
			}),
		def("lstat", "([filename])", "As stat, but of a symbolic link itself.", func(t *Thread, name string) Value {
			info, err := os.Lstat(h.path(name))
			check("lstat", "look at", name, err)
			return infoMap(t, info.Name(), info)
		}),
		def("chmod", "([name mode])", "Sets the permission bits of a file, such as 0644.",
			func(name string, mode int) { check("chmod", "change", name, os.Chmod(h.path(name), fs.FileMode(mode))) }),
		def("chown", "([name uid gid])", "Gives a file to a user and a group, by number; -1 leaves one as it is.",
			func(name string, uid, gid int) { check("chown", "change", name, os.Chown(h.path(name), uid, gid)) }),
		def("lchown", "([name uid gid])", "As chown, but of a symbolic link itself.",
			func(name string, uid, gid int) { check("lchown", "change", name, os.Lchown(h.path(name), uid, gid)) }),
		def("chtimes", "([name atime mtime])", "Sets when a file was last read and last changed.", h.chtimes),
	}
}

func (h *Host) chtimes(t *Thread, name string, atime, mtime Value) {
	a, m := timeOf(t, "chtimes", atime), timeOf(t, "chtimes", mtime)
	check("chtimes", "change", name, os.Chtimes(h.path(name), a, m))
}

func infoMap(t *Thread, name string, info fs.FileInfo) Value {
	t.Step()
	t.Charge(400)
	return value.NewMap(t,
		value.Kw("name"), str(t, name), value.Kw("size"), value.Int(info.Size()),
		value.Kw("mode"), value.Int(int64(info.Mode())), value.Kw("modtime"), value.InstOf(info.ModTime()),
		value.Kw("dir?"), value.Bool(info.IsDir()))
}

// timeOf reads a time: an inst.
func timeOf(t *Thread, who string, v Value) time.Time {
	if v.Kind() != value.KindInst {
		panic(value.TypeError(t, who, v, "a time, such as (joker.time/now) or #inst \"2026-01-31\""))
	}
	return value.As[value.Inst](v).Time()
}
