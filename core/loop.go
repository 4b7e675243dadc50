package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

func (c *Core) newLoop() *loop.Loop {
	return loop.New(loop.Config{Clock: c.conf.Clock, Context: c.ctx, OnRun: c.recordRun, OnOverdue: c.reportOverdue})
}

// loopFunctions are the namespace zeno.loop.
func (c *Core) loopFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("every", "([name when f] [name when f {:keys [jitter timeout zone immediate]}])",
			`Registers a recurring process, or replaces the one of that name. when is "250ms" "30s" "5m" "1h" or a cron expression such as "0 9 * * 1-5"; f is a function without arguments, or better a var, which is looked up at each run. Gives its status.`, c.every),
		bind.Func("remove!", "([name])", "Takes a process out; its run is cancelled.", c.loop.Remove),
		bind.Func("start!", "([])", "Starts the schedules. The engine does it when the home has loaded; inside init.joke it leaves it to the engine.", c.startLoop),
		bind.Func("stop!", "([])", "Stops the schedules, cancels what runs and waits for it.", c.loop.Stop),
		bind.Func("pause!", "([& names])", "Holds the schedules of the named processes, or of all; what runs goes on.", c.loop.Pause),
		bind.Func("resume!", "([& names])", "Ends a pause.", c.loop.Resume),
		bind.Func("run-now!", "([name])", "Starts a run at once, of a paused process too: :started, or :running when one is under way.", c.runNow),
		bind.Func("processes", "([])", "Lists the processes by name: {:name … :schedule … :status … :runs … :failures … :last-ms … :error {…} :next …}.", c.processes),
		bind.Func("tick", "([steps] [steps ctx])",
			`Runs [["name" f] …] in order, each with what the one before gave, from ctx on. A step that throws is reported, and what it was given goes on to the next. Gives what the last one gave.`, c.tick),
		bind.Func("now", "([])", "Milliseconds since 1970 on the loop's clock.", func() int64 { return c.loop.Clock().Now().UnixMilli() }),
		bind.Func("sleep", "([span])", `Waits on the loop's clock: 500 (milliseconds) or "5m".`, c.loopSleep),
		bind.Func("advance!", "([span])", "Moves a virtual clock on, running all that falls due. Fails with the real clock.", c.advance),
	}
}

type everyForm struct {
	Jitter    bind.Duration `lisp:"jitter"`
	Timeout   bind.Duration `lisp:"timeout"`
	Zone      string        `lisp:"zone"`
	Immediate bool          `lisp:"immediate"`
}

// whenForm is a schedule as the program writes it: a text, or milliseconds.
type whenForm string

// DecodeLisp implements bind.Decoder.
func (w *whenForm) DecodeLisp(t *value.Thread, v value.Value) error {
	switch {
	case v.Kind() == value.KindString:
		*w = whenForm(v.Text())
	case v.IsInt():
		*w = whenForm(fmt.Sprintf("%dms", v.Int()))
	default:
		return fmt.Errorf(`got %s (%s), want an interval such as "30s" or a cron expression such as "0 9 * * 1-5"`, value.Brief(t, v), v.Kind())
	}
	return nil
}

func (c *Core) every(t *value.Thread, name string, when whenForm, f value.Value, o *everyForm) (value.Value, error) {
	if o == nil {
		o = &everyForm{}
	}
	if !isFunction(f) {
		return value.Nil, fmt.Errorf("process %s: got %s (%s), want a function or a var such as #'f", name, value.Brief(t, f), f.Kind())
	}
	var zone *time.Location
	if o.Zone != "" {
		var err error
		if zone, err = time.LoadLocation(o.Zone); err != nil {
			return value.Nil, fmt.Errorf(`process %s: :zone: got %q, want a name such as "Europe/Berlin" or "UTC" that this machine's zone files know: %w`, name, o.Zone, err)
		}
	}
	s, err := loop.Parse(string(when), zone)
	if err != nil {
		return value.Nil, fmt.Errorf("process %s: %w", name, err)
	}
	err = c.loop.Every(loop.Process{Name: name, Schedule: s, Jitter: time.Duration(o.Jitter), Timeout: time.Duration(o.Timeout),
		Immediate: o.Immediate, Do: func(ctx context.Context) error {
			ctx, span := c.traces.Process(ctx, name)
			_, err := c.env.Call(ctx, f)
			span.End(spanOutcome(err))
			return err
		}})
	if err != nil {
		return value.Nil, err
	}
	status, err := c.loop.Process(name)
	return statusMap(t, status), err
}

func isFunction(f value.Value) bool {
	switch f.Kind() {
	case value.KindFn, value.KindVar, value.KindMultiFn, value.KindProtocolFn:
		return true
	}
	return false
}

// startLoop is zeno.loop/start!. A program that calls it while it loads means what Boot does next anyway, or does not in
// a command that only borrows the home.
func (c *Core) startLoop() error {
	if c.booting.Load() {
		return nil
	}
	return c.loop.Start()
}

func (c *Core) runNow(name string) (bind.Keyword, error) {
	started, err := c.loop.RunNow(name)
	if err != nil || started {
		return "started", err
	}
	return "running", nil
}

func (c *Core) loopSleep(t *value.Thread, d bind.Duration) error {
	err := c.loop.Clock().Sleep(t.Context, time.Duration(d))
	t.Safepoint()
	return err
}

func (c *Core) advance(ctx context.Context, d bind.Duration) error {
	v, ok := c.loop.Clock().(*loop.Virtual)
	if !ok {
		return errors.New("got the real clock, want a virtual one: core.Config.Clock")
	}
	return v.Advance(ctx, time.Duration(d))
}

// Loop is the instance's recurring processes.
func (c *Core) Loop() *loop.Loop { return c.loop }
