package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// step is one of a tick's.
type step struct {
	name string
	f    value.Value
}

// steps reads [["name" f] …].
func steps(t *value.Thread, v value.Value) ([]step, error) {
	const want = `want [["name" f] …]`
	if !v.Kind().IsSequential() {
		return nil, fmt.Errorf("steps: got %s (%s), %s", value.Brief(t, v), v.Kind(), want)
	}
	var out []step
	for i, x := range value.ToSlice(t, v) {
		var pair []value.Value
		if x.Kind().IsSequential() {
			pair = value.ToSlice(t, x)
		}
		if len(pair) != 2 {
			return nil, fmt.Errorf("steps: %d: got %s (%s), %s", i, value.Brief(t, x), x.Kind(), want)
		}
		s := step{f: pair[1]}
		if err := bind.Decode(t, pair[0], &s.name); err != nil {
			return nil, fmt.Errorf("steps: %d: name: %w", i, err)
		}
		if !isFunction(s.f) {
			return nil, fmt.Errorf("steps: %d: %s: got %s (%s), want a function or a var such as #'f", i, s.name, value.Brief(t, s.f), s.f.Kind())
		}
		out = append(out, s)
	}
	return out, nil
}

// tick is zeno.loop/tick. All steps run on the calling thread; only what a program may catch is held back.
func (c *Core) tick(t *value.Thread, list value.Value, given *value.Value) (value.Value, error) {
	todo, err := steps(t, list)
	if err != nil {
		return value.Nil, err
	}
	v := value.Nil
	if given != nil {
		v = *given
	}
	for _, s := range todo {
		next, ex := c.step(t, s, v)
		t.Safepoint() // a pass that is cancelled ends here: its steps have not failed
		if ex == nil {
			v = next
			continue
		}
		c.stepFailed(t.Context, s.name, ex)
	}
	return v, nil
}

// step makes one step, in a span of its own.
func (c *Core) step(t *value.Thread, s step, v value.Value) (next value.Value, ex *value.Exception) {
	before := t.Context
	ctx, span := c.traces.Step(before, s.name)
	if span != nil {
		t.Context = ctx
		outcome := "cancelled" // where it does not return
		defer func() {
			t.Context = before
			span.End(outcome)
		}()
		next, ex = t.Try(func() value.Value { return t.Call1(s.f, v) })
		if outcome = "ok"; ex != nil {
			outcome = "error"
		}
		return next, ex
	}
	return t.Try(func() value.Value { return t.Call1(s.f, v) })
}

func (c *Core) stepFailed(ctx context.Context, name string, ex *value.Exception) {
	_, err := c.env.Do(ctx, func(*value.Thread) value.Value { panic(ex) })
	e := journal.Event{At: c.loop.Clock().Now(), Kind: processStep, Outcome: "error", Data: map[string]any{"step": name, "error": clip(err.Error())}}
	what := "step " + name
	if process, ok := loop.Current(ctx); ok {
		e.Data["process"] = process
		what = "process " + process + ": " + what
	}
	var le *lisp.Error
	if errors.As(err, &le) {
		e.Outcome = le.Kind
	}
	c.record(e)
	c.report(what+" failed", err)
}
