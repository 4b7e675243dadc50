package stdlib

import (
	"context"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// files are the functions of clojure.core for whole files.
func (h *Host) files() []value.Builtin {
	return []value.Builtin{
		{Name: "slurp", Host: true, N: h.slurp, Min: 1, Arglists: "([f] [f & options])",
			Doc: "All that f holds, as a string. f is the name of a file or a reader, such as *in* or an open file. Options, such as :encoding, are accepted and have no effect: text is UTF-8."},
		{Name: "spit", Host: true, N: h.spit, Min: 2, Arglists: "([f content] [f content & options])",
			Doc: "Writes (str content) to f, the name of a file or a writer. A file is made or replaced, with :append true added to."},
		def("load-file", "([filename])", "Reads and evaluates every form of a file, seen from the directory of chdir, and gives the value of the last.", h.loadFile),
		def("file-seq", "([dir])", "A lazy seq of the paths of dir and of everything below it, each directory before what it holds. Symbolic links are not followed.",
			func(t *Thread, dir string) Value { return h.walk(t, "file-seq", dir, pathOf) }),
		def("exit", "([] [code])", "Ends the program with an exit code; 0 without one.", h.exit),
		{Name: "close!", Host: true, F1: closeValue, Arglists: "([x])",
			Doc: "Closes x: an open file, a pipe, a server, a database. It is what with-open ends with."},
	}
}

func (h *Host) slurp(t *Thread, args []Value) Value {
	if args[0].Kind() != value.KindString {
		s, err := slurpReader(t, readerOf(t, "slurp", args[0]), h.MaxRead, "read it in parts with line-seq or joker.io/read")
		check("slurp", "read", name(t, args[0]), err)
		return str(t, s)
	}
	name := args[0].Text()
	s, err := h.readFile(t, name)
	check("slurp", "read", name, err)
	return str(t, s)
}

// readFile gives what is in a file. What is no plain file may make it wait: that is done beside the thread.
func (h *Host) readFile(t *Thread, name string) (string, error) {
	path := h.path(name)
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return beside(t, func(ctx context.Context) (string, error) { return readSpecial(ctx, path, h.MaxRead) })
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readAll(t, f)
}

func readSpecial(ctx context.Context, path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.Close() })()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = tooMuch(path, limit, "open it and read it in parts")
	}
	return string(b), err
}

func (h *Host) spit(t *Thread, args []Value) Value {
	add := false
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			panic(value.ArgError("spit: got the option %s without a value", value.Brief(t, args[i])))
		}
		if k := args[i]; k.Kind() == value.KindKeyword && value.As[value.Keyword](k).FullName() == "append" {
			add = args[i+1].Truthy()
		}
	}
	text := value.ToString(t, args[1])
	if args[0].Kind() != value.KindString {
		writing(t, "spit", args[0], func(w io.Writer) {
			_, err := io.WriteString(w, text)
			check("spit", "write", name(t, args[0]), err)
		})
		return value.Nil
	}
	name := args[0].Text()
	check("spit", "write", name, writeFile(h.path(name), text, add))
	return value.Nil
}

func writeFile(path, text string, add bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if add {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	f, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (h *Host) loadFile(t *Thread, name string) Value {
	src, err := h.readFile(t, name)
	check("load-file", "read", name, err)
	if t.Env == nil || t.Env.EvalText == nil {
		panic(value.StateError("load-file: this environment does not evaluate texts"))
	}
	binds := t.Binds
	if ns := t.Env.NSVar; ns != nil {
		t.Bind([]*value.Var{ns}, []Value{value.Of(t.NS())})
	}
	v := t.Env.EvalText(t, src, name)
	t.Binds = binds // whoever recovers a panic restores them too
	return v
}

func closeValue(t *Thread, v Value) Value {
	c, ok := value.HostOf[io.Closer](v)
	if !ok {
		panic(value.TypeError(t, "close!", v, "something open, such as (joker.os/open …) gives"))
	}
	check("close!", "close", name(t, v), c.Close())
	return value.Nil
}

// found is one file that a walk came by.
type found struct {
	path string
	info fs.DirEntry
}

// walk gives a lazy seq of root and what lies below it; show makes an element.
func (h *Host) walk(t *Thread, who, root string, show func(*Thread, found) Value) Value {
	info, err := os.Lstat(h.path(root))
	check(who, "list", root, err)
	return h.walkFrom(who, &ahead{found: found{root, fs.FileInfoToDirEntry(info)}}, show)
}

// ahead is what a walk has yet to visit: a stack that is never changed, so that a seq can be computed again.
type ahead struct {
	found
	next *ahead
}

func (h *Host) walkFrom(who string, todo *ahead, show func(*Thread, found) Value) Value {
	return value.NewLazyGo(func(t *Thread) Value {
		if todo == nil {
			return value.Nil
		}
		rest := todo.next
		if todo.info.IsDir() {
			rest = h.below(t, who, todo)
		}
		t.Charge(128)
		return value.Cons(t, show(t, todo.found), h.walkFrom(who, rest, show))
	})
}

// below puts what a directory holds in front of what is to visit. A directory that has gone meanwhile holds nothing.
func (h *Host) below(t *Thread, who string, dir *ahead) *ahead {
	entries, err := os.ReadDir(h.path(dir.path))
	if err != nil && !os.IsNotExist(err) {
		panic(failed(who, "list", dir.path, err))
	}
	rest := dir.next
	for i := len(entries) - 1; i >= 0; i-- {
		t.Step()
		t.Charge(96 + len(dir.path))
		rest = &ahead{found{under(dir.path, entries[i].Name()), entries[i]}, rest}
	}
	return rest
}

func under(dir, name string) string {
	return strings.TrimSuffix(dir, "/") + "/" + name
}

func pathOf(t *Thread, f found) Value { return str(t, f.path) }
