package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
)

type pauseCmd struct {
	Names []string `arg:"" optional:"" help:"The processes; none: all."`
}

type resumeCmd struct {
	Names []string `arg:"" optional:"" help:"The processes; none: all."`
}

type runNowCmd struct {
	Names []string `arg:"" help:"The processes."`
}

type cancelCmd struct {
	Spawn string `arg:"" help:"The spawn, as ps names it."`
	Why   string `placeholder:"TEXT" help:"The reason, for the record and the spawn's result."`
}

type freezeCmd struct {
	Why string `placeholder:"TEXT" help:"The reason, for those who ask what is going on."`
}

type thawCmd struct{}

type stopCmd struct {
	Now     bool          `help:"Cancel what runs at once."`
	Timeout time.Duration `placeholder:"30s" help:"How long what runs may go on. Default: what the program says, else 30s."`
	NoWait  bool          `help:"Do not wait for the end."`
}

type logsCmd struct {
	Follow bool   `short:"f" help:"Go on until the spawn has ended, or ctrl-C."`
	JSON   bool   `name:"json" help:"Print each event as JSON."`
	Spawn  string `arg:"" help:"The spawn's id: zeno ps lists those that run, zeno journal tail all."`
}

// resolve finds the home that is meant, which must be there.
func (a *app) resolve() (*home.Home, error) {
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		return nil, usage(err)
	}
	if !h.Exists() {
		return nil, usage(fmt.Errorf("home: %s does not exist; `zeno init %s` makes one, --home names another", h.Dir, quote(h.Dir)))
	}
	return h, nil
}

func stateOf(h *home.Home) string { return filepath.Join(h.Dir, "state") }

// notRunning says how to start a zeno.
func notRunning(h *home.Home) error {
	return &exitError{ExitNotRunning, fmt.Errorf("no zeno serves %s; `zeno --home %s --daemon` starts one", h.Dir, quote(h.Dir))}
}

// dial reaches the zeno that serves the home. Where there is none the error is that of notRunning; where there is one
// that does not answer, it says so.
func (a *app) dial(h *home.Home) (*control.Client, error) {
	c, err := control.Dial(a.signals.ctx, stateOf(h))
	if !errors.Is(err, control.ErrNotRunning) {
		return c, err
	}
	if pid, served, _ := h.Served(); served {
		return nil, fmt.Errorf("process %s serves %s, and %w: it is starting or ending, or could not make it; see what it printed", pid, h.Dir, errNoSocket)
	}
	return nil, notRunning(h)
}

// errNoSocket is that of a zeno that serves the home and cannot be reached.
var errNoSocket = errors.New("its control socket is not there")

// socketWait is how long `zeno stop` waits for a zeno that has begun and does not listen yet, or that is about to have ended.
const socketWait = 2 * closeTime

// dialToStop is dial for who wants it ended: one that is ending is waited for.
func (a *app) dialToStop(h *home.Home) (c *control.Client, err error) {
	for end := time.Now().Add(socketWait); ; {
		c, err = a.dial(h)
		if !errors.Is(err, errNoSocket) || time.Now().After(end) || !sleep(a.signals.ctx, 50*time.Millisecond) {
			return c, err
		}
	}
}

// down tells whether err is that no zeno runs.
func down(err error) bool {
	var e *exitError
	return errors.As(err, &e) && e.code == ExitNotRunning
}

// refusedAs makes a usage error of what zeno found wrong with the question.
func refusedAs(err error) error {
	var e *control.Error
	if errors.As(err, &e) && e.Kind == control.Usage {
		return usage(err)
	}
	return err
}

// ask calls a verb of the zeno that serves the home.
func (a *app) ask(verb string, in, out any) error {
	h, err := a.resolve()
	if err != nil {
		return err
	}
	c, err := a.dial(h)
	if err != nil {
		return err
	}
	defer c.Close()
	return refusedAs(c.Call(a.signals.ctx, verb, in, out))
}

// byHand is who calls where no zeno runs: this process, on the state directory itself.
func byHand() control.By { return control.By{Via: "command line", UID: os.Getuid(), PID: os.Getpid()} }

// offline runs f with an instance that has not loaded its home, and that no other process serves meanwhile.
func (a *app) offline(h *home.Home, f func(context.Context, *core.Core) error) error {
	release, err := h.Lock()
	if err != nil {
		return err
	}
	defer release()
	c, err := a.start(engine{home: h, idle: true})
	if err != nil {
		return err
	}
	defer a.close(c)
	return a.attend(func(ctx context.Context) error { return f(ctx, c) })
}

type names struct {
	Names []string `json:"names"`
}

// Run implements `zeno pause`.
func (cmd *pauseCmd) Run(a *app) error { return a.ask("processes/pause", names{cmd.Names}, nil) }

// Run implements `zeno resume`.
func (cmd *resumeCmd) Run(a *app) error { return a.ask("processes/resume", names{cmd.Names}, nil) }

// Run implements `zeno run-now`.
func (cmd *runNowCmd) Run(a *app) error {
	var how map[string]string
	if err := a.ask("processes/run-now", names{cmd.Names}, &how); err != nil {
		return err
	}
	for _, n := range cmd.Names {
		fmt.Fprintf(a.std.Out, "%s %s\n", n, how[n])
	}
	return nil
}

// Run implements `zeno cancel`.
func (cmd *cancelCmd) Run(a *app) error {
	return a.ask("cancel", map[string]string{"spawn": cmd.Spawn, "why": cmd.Why}, nil)
}

// Run implements `zeno freeze`.
func (cmd *freezeCmd) Run(a *app) error {
	h, err := a.resolve()
	if err != nil {
		return err
	}
	c, err := a.dial(h)
	if down(err) {
		err = a.offline(h, func(_ context.Context, c *core.Core) error { return c.Freeze(byHand(), cmd.Why) })
		if err == nil {
			fmt.Fprintf(a.std.Err, "zeno: none runs; the next one comes up frozen\n")
		}
		return err
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return refusedAs(c.Call(a.signals.ctx, "freeze", map[string]string{"why": cmd.Why}, nil))
}

// Run implements `zeno thaw`.
func (*thawCmd) Run(a *app) error {
	h, err := a.resolve()
	if err != nil {
		return err
	}
	c, err := a.dial(h)
	if down(err) {
		return a.offline(h, func(_ context.Context, c *core.Core) error {
			c.ReadFrozen()
			return c.Thaw(byHand())
		})
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return refusedAs(c.Call(a.signals.ctx, "thaw", nil, nil))
}

// Run implements `zeno stop`.
func (cmd *stopCmd) Run(a *app) error {
	if cmd.Timeout < 0 {
		return usage(fmt.Errorf("--timeout: got %v, want a duration such as 30s", cmd.Timeout))
	}
	h, err := a.resolve()
	if err != nil {
		return err
	}
	c, err := a.dialToStop(h)
	if down(err) {
		fmt.Fprintf(a.std.Err, "zeno: none serves %s\n", h.Dir)
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	pid, _, err := h.Served()
	if err != nil {
		return err
	}
	var s core.Status
	err = c.Call(a.signals.ctx, "stop", map[string]any{"now": cmd.Now, "timeout-ms": cmd.Timeout.Milliseconds()}, &s)
	if err != nil && !errors.Is(err, control.ErrCut) && !errors.Is(err, control.ErrNotRunning) { // it has just ended
		return refusedAs(err)
	}
	if cmd.NoWait {
		return nil
	}
	return a.awaitEnd(h, c, pid)
}

// awaitEnd waits until process pid serves the home no more, and says what it is waiting for where that takes long. Another
// that serves it by then, which a service manager has started, is not waited for.
func (a *app) awaitEnd(h *home.Home, c *control.Client, pid string) error {
	told, last := time.Now(), ""
	for {
		now, served, err := h.Served()
		if err != nil || !served || now != pid && now != "" {
			return err
		}
		if !sleep(a.signals.ctx, 50*time.Millisecond) {
			return errors.New("not waiting any more; zeno goes on stopping")
		}
		if time.Since(told) > 2*time.Second {
			told = time.Now()
			var s core.Status
			if err := c.Call(a.signals.ctx, "ps", nil, &s); err != nil || strconv.Itoa(s.PID) != pid {
				continue
			}
			if line := waitingFor(s); line != last {
				last = line
				fmt.Fprintln(a.std.Err, line)
			}
		}
	}
}

// waitingFor words what keeps a zeno that was told to stop.
func waitingFor(s core.Status) string {
	runs := 0
	for _, p := range s.Processes {
		if !p.Since.IsZero() {
			runs++
		}
	}
	return fmt.Sprintf("zeno: waiting for %d spawns and %d runs of processes until %s; `zeno stop --now` does not wait",
		len(s.Spawns), runs, s.Deadline.Local().Format("15:04:05"))
}

// Run implements `zeno logs`.
func (cmd *logsCmd) Run(a *app) error {
	h, err := a.resolve()
	if err != nil {
		return err
	}
	p := eventPrinter{a.std.Out, cmd.JSON, 0}
	q := core.LogQuery{Spawn: cmd.Spawn, Follow: cmd.Follow}
	show := func(e journal.Event) error {
		_, err := p.all([]journal.Event{e})
		return err
	}
	c, err := a.dial(h)
	if down(err) {
		q.Follow = false // nothing more will be recorded
		return a.withJournal(func(ctx context.Context, r *journal.Reader) error {
			return refusedAs(core.ReadLogs(ctx, r, q, show))
		})
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return refusedAs(c.Stream(a.signals.ctx, "logs", q, func(item json.RawMessage) error {
		var e journal.Event
		if err := json.Unmarshal(item, &e); err != nil {
			return fmt.Errorf("logs: %w", err)
		}
		return show(e)
	}))
}
