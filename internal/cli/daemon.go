package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/home"
)

// daemon serves the home without a terminal until it is told to stop: by a signal, by `zeno stop` or by its program. It
// then drains, for as long as drain says (0: as the program says).
func (a *app) daemon(drain time.Duration) error {
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		return usage(err)
	}
	if !h.Exists() {
		return usage(fmt.Errorf("home: %s does not exist; `zeno init %s` makes one", h.Dir, quote(h.Dir)))
	}
	release, err := h.Lock()
	if err != nil {
		return err
	}
	defer release()
	editors, err := a.editors()
	if err != nil {
		return err
	}
	c, err := a.start(engine{home: h, editors: editors, serve: true})
	if err != nil {
		return err
	}
	// The first signal drains, and the second does not wait (signals.go).
	end := func(why string) {
		c.Stop(control.By{Via: "signal (" + why + ")", UID: -1, PID: -1}, core.StopOptions{Timeout: drain})
	}
	a.signals.onEnd.Store(&end)
	defer a.signals.onEnd.Store(nil)
	return a.park(c, h)
}

// park runs the daemon from its boot to its end. Whatever goes wrong in between, the core is closed.
func (a *app) park(c *core.Core, h *home.Home) error {
	ctx, cancel := context.WithCancel(a.signals.ctx)
	defer cancel()
	booted := make(chan struct{})
	go func() { // of its own: the program may end it with exit
		defer close(booted)
		_ = c.Boot(ctx) // it has reported what went wrong; editors may mend it
	}()
	select {
	case <-booted:
		notify(daemon.SdNotifyReady)
		a.say(fmt.Sprintf("zeno %s serves %s. %s", version(), h.Dir, c.EditorsBanner()))
	case <-c.Stopping():
	case <-a.signals.ctx.Done():
	}
	go alive(ctx)
	select {
	case <-c.Stopping():
		a.drain(c)
	case <-a.signals.ctx.Done(): // the program has called exit
	}
	notify(daemon.SdNotifyStopping)
	cancel()
	return a.closed(c)
}

// drain waits for what runs, and says so where that takes long.
func (a *app) drain(c *core.Core) {
	notify(daemon.SdNotifyStopping)
	s := c.Status()
	if n := len(s.Spawns); n > 0 {
		a.say(fmt.Sprintf("zeno: stopping; %d spawns may go on until %s, a second signal does not wait", n, s.Deadline.Format("15:04:05")))
	}
	if err := c.Drain(a.signals.ctx); err != nil {
		a.say(fmt.Sprintf("zeno: %v", err))
	}
}

// say tells the operator of a daemon: a line of text, or of the log where that is of JSON, which every line is then.
func (a *app) say(line string) {
	if a.logJSON {
		a.log.Info(strings.TrimPrefix(line, "zeno: "))
		return
	}
	fmt.Fprintln(a.std.Err, line)
}

// notify tells systemd, where it is there.
func notify(state string) { _, _ = daemon.SdNotify(false, state) }

// alive tells systemd's watchdog, where there is one, that the process lives.
func alive(ctx context.Context) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil || every <= 0 {
		return
	}
	t := time.NewTicker(every / 2)
	defer t.Stop()
	for {
		notify(daemon.SdNotifyWatchdog)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// serving tries to make a REPL the one zeno of its home, so that the operator's commands reach it. Another may be that
// already.
func (a *app) serving(h *home.Home) (serve bool, release func()) {
	if h == nil || !h.Exists() {
		return false, func() {}
	}
	release, err := h.Lock()
	if err != nil {
		return false, func() {}
	}
	return true, release
}

// obey ends the REPL when its instance is told to stop. The function it gives ends that.
func (a *app) obey(c *core.Core) (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-c.Stopping():
			fmt.Fprintln(a.std.Err, "\nzeno: told to stop")
			a.drain(c)
			a.signals.exit(ExitOK)
		case <-done:
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
