package core

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

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
	res, err := deps.Resolve(ctx, deps.Config{Dir: h.Dir, Base: h.Origin, Cache: filepath.Join(h.Dir, home.StateDir, "deps"), Progress: c.progress(),
		Do: c.withThread})
	if len(res.Paths) > 0 {
		h.Paths = res.Paths
	}
	h.Libs = res.Roots()
	return err
}

// progress takes what is told of a fetch, line by line, to where reports go.
func (c *Core) progress() io.Writer {
	if !c.conf.LogReports {
		return c.conf.Err
	}
	return logLines{c.conf.Log}
}

// logLines makes a line of the log of each line that is written to it whole.
type logLines struct{ log *slog.Logger }

// Write implements io.Writer.
func (l logLines) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		l.log.Info(strings.TrimPrefix(strings.TrimSpace(line), "zeno: "))
	}
	return len(b), nil
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
