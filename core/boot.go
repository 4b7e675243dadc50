package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/reflection-dev/zeno/lisp"
)

// Boot opens the door for editors, loads the home's init.joke and starts its processes. Whatever goes wrong is reported to Config.Err and returned, and
// the instance is up all the same: a program that does not load is mended at the REPL.
func (c *Core) Boot(ctx context.Context) error {
	c.startTraces(ctx)
	err := c.startEditors(ctx)
	if err != nil {
		c.report("no editor can connect", err)
	}
	if e := c.startControl(ctx); e != nil {
		c.report("no command of the operator can reach zeno", e)
		err = errors.Join(err, e)
	}
	c.ReadFrozen()
	c.booting.Store(true)
	err = errors.Join(err, c.load(ctx))
	c.booting.Store(false)
	if c.conf.Idle {
		return err
	}
	if c.conf.Serve {
		c.endCutOff()
	}
	c.asks.serve()
	c.runHooks()
	if e := c.loop.Start(); e != nil {
		err = errors.Join(err, fmt.Errorf("boot: %w", e))
	}
	return err
}

// load takes in deps.edn and evaluates init.joke, where they are.
func (c *Core) load(ctx context.Context) error {
	h := c.conf.Home
	if h == nil {
		return nil
	}
	if !h.Exists() {
		c.warn(fmt.Sprintf("home: %s does not exist; starting empty (`zeno init %s` makes one)", h.Dir, h.Dir))
		return nil
	}
	deps := c.ReadDeps(ctx)
	if deps != nil {
		c.report("deps.edn was not taken in", deps)
		deps = fmt.Errorf("boot: %w", deps)
	}
	src, file, ok, err := h.Init()
	switch {
	case err != nil:
	case !ok:
		c.warn(fmt.Sprintf("home: %s has no init.joke; starting empty", h.Dir))
		return deps
	default:
		_, err = c.env.Eval(ctx, src, file)
	}
	if err == nil {
		err = c.rehearsal.load(ctx, h)
	}
	if err != nil {
		c.report("init.joke did not load", err)
		return errors.Join(deps, fmt.Errorf("boot: %w", err))
	}
	return deps
}

// report tells a person of an error, with the place and the stack that lead to it.
func (c *Core) report(what string, err error) {
	c.warn(what + ": " + Explain(err))
	var le *lisp.Error
	var crash *lisp.Crash
	if errors.As(err, &le) && errors.As(le, &crash) {
		c.conf.Log.Error("defect in the language", "reason", crash.Reason, "stack", string(crash.Stack))
	}
}

// Explain words an error of the language for a person: message, source line with a caret, stack, causes.
func Explain(err error) string {
	var le *lisp.Error
	if !errors.As(err, &le) {
		return err.Error()
	}
	s := le.Error()
	if caret := le.Caret(); caret != "" {
		s += "\n" + caret
	}
	if le.Data != "" {
		s += "\n  data: " + le.Data
	}
	for i, f := range le.Stack {
		if i == 12 {
			s += fmt.Sprintf("\n  … %d more", len(le.Stack)-i)
			break
		}
		s += "\n  at " + f
	}
	for cause := le.Cause; cause != nil; cause = cause.Cause {
		s += "\n  caused by: " + cause.Error()
		if cause.Data != "" {
			s += " " + cause.Data
		}
	}
	return s
}
