package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/spawn/guard"
)

// closeTime is how long a core may take to end its spawns and its listener.
const closeTime = 5 * time.Second

// app is one run of the command line.
type app struct {
	std     Std
	home    string       // --home
	log     *slog.Logger // nil: none
	logJSON bool
	signals *signals
	stdin   *bufio.Reader // of std.In: one buffer for the REPL and *in*, so that neither takes the other's text
	input   *input
}

func newApp(std Std) *app {
	a := &app{std: std, signals: watchSignals(), input: newInput(std.In)}
	a.stdin = bufio.NewReader(a.input)
	return a
}

// engine is what a command needs of a core.
type engine struct {
	home *home.Home // nil: none
	args []string   // of the program
	libs []string   // where namespaces are looked for besides the home
	out  io.Writer  // nil: stdout
	err  io.Writer  // nil: stderr
	idle bool       // the home's processes are not started

	serve bool // this process holds the home's lock: the operator's commands reach it

	editors *core.Editors // nil: no editor can connect
}

// start makes a core. The caller closes it with a.close.
func (a *app) start(e engine) (*core.Core, error) {
	if e.out == nil {
		e.out = a.std.Out
	}
	if e.err == nil {
		e.err = a.std.Err
	}
	self, err := guard.Self()
	if err != nil {
		fmt.Fprintf(e.err, "zeno: %v; agent CLIs cannot be spawned\n", err)
	}
	return core.New(core.Config{Home: e.home, Out: e.out, Err: e.err, In: a.stdin, Args: e.args, Libs: e.libs,
		Guard: self, BoxSelf: true, Version: version(), Exit: a.exit, Idle: e.idle, Editors: e.editors, Serve: e.serve,
		Log: a.log, LogReports: a.logJSON, Traces: a.traces()})
}

// exit is (joker.os/exit n): it ends the calling goroutine, and everything else by the cancelled context.
func (a *app) exit(code int) {
	a.signals.exit(code)
	runtime.Goexit()
}

func (a *app) close(c *core.Core) {
	if err := a.closed(c); err != nil {
		fmt.Fprintf(a.std.Err, "zeno: %v\n", err)
	}
}

// closed ends c, and tells what did not end in order.
func (a *app) closed(c *core.Core) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.signals.ctx), closeTime)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		return fmt.Errorf("failed to end in order: %w", err)
	}
	return nil
}

// withHome starts a core, loads the home and calls f. A home that is missing or does not load is an error: f would work
// with half a program.
func (a *app) withHome(e engine, f func(context.Context, *core.Core) error) error {
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		return usage(err)
	}
	e.home = h
	return a.withLoaded(e, f)
}

// withLoaded is withHome for an engine whose home, if it has one, is known. It serves commands that do one thing and end:
// the home's processes are left to the instance that serves the home.
func (a *app) withLoaded(e engine, f func(context.Context, *core.Core) error) error {
	if e.home != nil && !e.home.Exists() {
		return usage(fmt.Errorf("home: %s does not exist; `zeno init %s` makes one, --home names another", e.home.Dir, quote(e.home.Dir)))
	}
	e.idle = true
	c, err := a.start(e)
	if err != nil {
		return err
	}
	defer a.close(c)
	return a.attend(func(ctx context.Context) error {
		if err := c.Boot(ctx); err != nil {
			return reported(ExitFailed) // Boot has reported it
		}
		return f(ctx, c)
	})
}

// attend runs f on a goroutine of its own, because a program may end its goroutine with exit, and gives up on one that
// does not end soon after it is told to.
func (a *app) attend(f func(context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		defer close(done)
		done <- f(a.signals.ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-a.signals.ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(closeTime):
		return errors.New("the program did not stop when told to; leaving it")
	}
}
