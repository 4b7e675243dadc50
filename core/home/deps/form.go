package deps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// maxEDN bounds a deps.edn or a lock, in bytes.
const maxEDN = 1 << 20

// form is one deps.edn.
type form struct {
	paths []string
	deps  []dep // by name
}

type dep struct {
	lib   string
	coord Coord
}

// readForm reads a deps.edn. One that is not there is empty.
func readForm(ctx context.Context, do Do, file string) (form, error) {
	var f form
	err := readEDN(ctx, do, file, func(t *value.Thread, v value.Value) error {
		var err error
		f, err = decodeForm(t, v)
		return err
	})
	return f, err
}

// readEDN gives the one form of a file to f, unless there is no such file.
func readEDN(ctx context.Context, do Do, file string, f func(*value.Thread, value.Value) error) error {
	src, err := readSmall(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return do(ctx, func(t *value.Thread) error {
		v, err := read.New(t, src, read.Options{File: file, EDN: true}).Read()
		if err != nil {
			return err
		}
		if !v.Kind().IsMap() {
			return fmt.Errorf("%s: got a %s, want a map", file, v.Kind())
		}
		if err := f(t, v); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	})
}

// readSmall reads a text file that must be small and a file.
func readSmall(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("failed to read %s: %w", file, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: got no regular file", file)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxEDN+1))
	if err != nil {
		return "", fmt.Errorf("failed to read %s: %w", file, err)
	}
	if len(b) > maxEDN {
		return "", fmt.Errorf("%s: got more than %d bytes", file, maxEDN)
	}
	return string(b), nil
}

// decodeForm takes :paths and :deps. Keys that other tools know and zeno does not are left alone.
func decodeForm(t *value.Thread, v value.Value) (form, error) {
	var f form
	if paths, ok := value.Get(t, v, value.Kw("paths")); ok {
		if err := bind.Decode(t, paths, &f.paths); err != nil {
			return f, fmt.Errorf(":paths%w", at(err))
		}
	}
	deps, ok := value.Get(t, v, value.Kw("deps"))
	if !ok || deps.IsNil() {
		return f, nil
	}
	if !deps.Kind().IsMap() {
		return f, fmt.Errorf(":deps: got %s (%s), want a map from names to coordinates", value.Brief(t, deps), deps.Kind())
	}
	var err error
	value.EachKV(t, deps, func(k, v value.Value) bool {
		var d dep
		if d, err = decodeDep(t, k, v); err != nil {
			err = fmt.Errorf(":deps: %w", err)
			return false
		}
		f.deps = append(f.deps, d)
		return true
	})
	slices.SortFunc(f.deps, func(a, b dep) int { return strings.Compare(a.lib, b.lib) })
	return f, err
}

// at joins a decoding error to its key as bind does.
func at(err error) error {
	if strings.HasPrefix(err.Error(), "got") {
		return fmt.Errorf(": %w", err)
	}
	return fmt.Errorf(" %w", err)
}

// coordKeys are what a coordinate may hold.
const coordKeys = ":git/url, :git/sha, :git/tag, :deps/root and :local/root"

func decodeDep(t *value.Thread, k, v value.Value) (dep, error) {
	var d dep
	if k.Kind() != value.KindSymbol {
		return d, fmt.Errorf("got the name %s (%s), want a symbol such as acme/queue", value.Brief(t, k), k.Kind())
	}
	d.lib = value.As[value.Symbol](k).FullName()
	if !v.Kind().IsMap() {
		return d, fmt.Errorf("%s: got %s (%s), want a map such as {:local/root \"…\"}", d.lib, value.Brief(t, v), v.Kind())
	}
	fields := map[string]*string{"git/url": &d.coord.URL, "git/sha": &d.coord.SHA, "git/tag": &d.coord.Tag,
		"deps/root": &d.coord.Root, "local/root": &d.coord.Local}
	var err error
	value.EachKV(t, v, func(k, v value.Value) bool {
		err = decodeField(t, fields, k, v)
		return err == nil
	})
	if err != nil {
		return d, fmt.Errorf("%s: %w", d.lib, err)
	}
	if d.coord.Local == "" && d.coord.Root != "" {
		d.coord.Root = cleanRoot(d.coord.Root)
	}
	return d, nil
}

func decodeField(t *value.Thread, fields map[string]*string, k, v value.Value) error {
	name := ""
	if k.Kind() == value.KindKeyword {
		name = value.As[value.Keyword](k).FullName()
	}
	to := fields[name]
	switch {
	case strings.HasPrefix(name, "mvn/"):
		return fmt.Errorf("got :%s, want a Git repository or a directory: zeno reads no Java packages", name)
	case name == "sha" || name == "tag":
		return fmt.Errorf("got :%s, want :git/%s", name, name)
	case to == nil:
		return fmt.Errorf("got the key %s, want some of %s", value.Brief(t, k), coordKeys)
	case v.Kind() != value.KindString || v.Text() == "":
		return fmt.Errorf(":%s: got %s (%s), want a string", name, value.Brief(t, v), v.Kind())
	}
	*to = v.Text()
	return nil
}
