package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// depsFile says where a home's namespaces are.
const depsFile = "deps.edn"

// depsForm is deps.edn. Keys that other tools know and zeno does not are left alone.
type depsForm struct {
	Paths []string
	Deps  value.Value
}

// readDeps takes the home's paths from its deps.edn, if it has one.
func (c *Core) readDeps(ctx context.Context) error {
	h := c.conf.Home
	file := filepath.Join(h.Dir, depsFile)
	src, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to read %s: %w", file, err)
	}
	var f depsForm
	if _, err := c.env.Do(ctx, func(t *value.Thread) value.Value {
		f, err = parseDeps(t, string(src), file)
		return value.Nil
	}); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if len(f.Paths) > 0 {
		h.Paths = f.Paths
	}
	return nil
}

func parseDeps(t *value.Thread, src, file string) (depsForm, error) {
	var f depsForm
	form, err := read.New(t, src, read.Options{File: file, EDN: true}).Read()
	if err != nil {
		return f, err
	}
	if !form.Kind().IsMap() {
		return f, fmt.Errorf("%s: got a %s, want a map", file, form.Kind())
	}
	known := value.EmptyMap
	for _, k := range []string{"paths", "deps"} {
		if v, ok := value.Get(t, form, value.Kw(k)); ok {
			known = value.Assoc(t, known, value.Kw(k), v)
		}
	}
	if err := bind.Decode(t, known, &f); err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	if !f.Deps.IsNil() && value.Count(t, f.Deps) > 0 {
		return f, fmt.Errorf("%s: got :deps %s, and this version resolves none; put their namespaces on :paths", file,
			strings.TrimSpace(value.Brief(t, f.Deps)))
	}
	return f, nil
}
