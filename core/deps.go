package core

import (
	"context"
	"path/filepath"

	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/home/deps"
	"github.com/reflection-dev/zeno/lisp/value"
)

// ReadDeps takes in the home's deps.edn: where its namespaces are, and the libraries it asks for, which are fetched if the
// cache does not hold them. Boot does it; for who only wants to load namespaces of the home without its init.joke.
func (c *Core) ReadDeps(ctx context.Context) error {
	h := c.conf.Home
	if h == nil || !h.Exists() {
		return nil
	}
	res, err := deps.Resolve(ctx, deps.Config{Dir: h.Dir, Base: h.Origin, Cache: filepath.Join(h.Dir, home.StateDir, "deps"), Progress: c.conf.Err,
		Do: c.withThread})
	if len(res.Paths) > 0 {
		h.Paths = res.Paths
	}
	h.Libs = res.Roots()
	return err
}

// withThread gives f a thread of the program's.
func (c *Core) withThread(ctx context.Context, f func(*value.Thread) error) error {
	var inner error
	_, err := c.env.Do(ctx, func(t *value.Thread) value.Value {
		inner = f(t)
		return value.Nil
	})
	if err != nil {
		return err
	}
	return inner
}
