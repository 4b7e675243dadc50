package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/lisp"
)

// Run implements the bare `zeno`: the REPL, -e, or a file.
func (p *programCmd) Run(a *app) error {
	switch {
	case p.ShowVersion:
		return a.printVersion()
	case p.Daemon && (len(p.Expr) > 0 || p.File != ""):
		return usage(errors.New("--daemon: got a program besides, want none: a daemon runs init.joke of the home; zeno nrepl FILE evaluates more in it"))
	case p.Drain < 0 || p.Drain > 0 && !p.Daemon:
		return usage(errors.New("--drain: want --daemon with it, and a duration such as 30s"))
	case p.Daemon:
		return a.daemon(p.Drain)
	case len(p.Expr) > 0:
		args := p.Args
		if p.File != "" {
			args = append([]string{p.File}, args...)
		}
		return a.program(engine{args: args}, func(ctx context.Context, c *core.Core) error { return a.exprs(ctx, c, p.Expr) })
	case p.File != "":
		return a.file(p.File, p.Args)
	}
	return a.repl()
}

// program runs f with the home that --home names, if any.
func (a *app) program(e engine, f func(context.Context, *core.Core) error) error {
	if a.home != "" {
		h, err := home.Resolve(a.home, a.std.Getenv)
		if err != nil {
			return usage(err)
		}
		e.home = h
	}
	return a.withLoaded(e, f)
}

// exprs evaluates each text and prints the values that are not nil.
func (a *app) exprs(ctx context.Context, c *core.Core, exprs []string) error {
	s := lisp.NewSession(c.Env())
	for i, src := range exprs {
		name := "-e"
		if len(exprs) > 1 {
			name += strconv.Itoa(i + 1)
		}
		_, err := s.Eval(ctx, lisp.Input{Src: src, File: name, Each: printer{session: s, out: a.std.Out}.value})
		if err != nil {
			return a.failed(err)
		}
	}
	return nil
}

func (a *app) file(name string, args []string) error {
	src, err := a.source(name)
	if err != nil {
		return err
	}
	e := engine{args: args, libs: []string{filepath.Dir(name)}}
	return a.program(e, func(ctx context.Context, c *core.Core) error {
		if _, err := lisp.NewSession(c.Env()).Eval(ctx, lisp.Input{Src: src, File: name}); err != nil {
			return a.failed(err)
		}
		return nil
	})
}

// source reads a file of code; "-" is stdin.
func (a *app) source(name string) (string, error) {
	if name == "-" {
		b, err := io.ReadAll(a.stdin)
		if err != nil {
			return "", fmt.Errorf("stdin: %w", err)
		}
		return string(b), nil
	}
	b, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", usage(fmt.Errorf("%s: no such file and no such command; %ssee zeno --help", name, meant(name)))
	case err != nil:
		return "", usage(err)
	}
	return string(b), nil
}

// failed reports an error of the language and gives the one that carries the exit code. What was cancelled by a signal
// needs no report.
func (a *app) failed(err error) error {
	if a.signals.ctx.Err() == nil {
		fmt.Fprintln(a.std.Err, a.explain(err))
	}
	return reported(ExitFailed)
}
