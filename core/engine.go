package core

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// engineFunctions are the namespace zeno.engine.
func (c *Core) engineFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("freeze!", "([] [why])", "Stops what would begin: agents' evals get an error of the kind frozen, spawns are refused, processes are not run, webhooks are taken in and wait. What runs goes on, all state is kept, and a restart comes up frozen.", c.lispFreeze),
		bind.Func("thaw!", "([])", "Ends a freeze.", func(ctx context.Context) error { return c.Thaw(lispBy) }),
		bind.Func("status", "([])", "Gives {:state :running|:frozen|:draining :pid … :version … :home … :spawns [{:id … :role … :state … :evals …}] :processes n :asks n …}.", c.lispStatus),
		bind.Func("stop!", "([] [{:keys [now timeout]}])", `Ends zeno: no new work, what runs may go on for :timeout ("30s" unless drain! said otherwise), is cancelled then, and the journal is closed. Returns at once. :now true waits for nothing.`, c.lispStop),
		bind.Func("drain!", "([timeout])", `Sets how long a zeno that is told to stop waits for what runs: "2m". Default "30s".`, c.lispDrain),
		bind.Func("gc!", "([] [{:keys [keep dry-run]}])", `Removes what ended before :keep ("30d"): session files of spawns, failed deliveries of webhooks, questions to a person that are over, images of boxes' specs that no box used; and applies the journal's retention. Gives {:sessions n :deliveries n :questions n :images n :layers n :bytes n}. :dry-run true only tells.`, c.lispGC),
		bind.Func("backup!", "([to])", "Copies the home to a new directory, or to a new file that ends in .tar.gz, while it is served. The copy is a home. Gives {:to … :files n :bytes n :events n :anchor …}.", c.lispBackup),
		bind.Func("listen!", "([{:keys [host port allow-non-loopback]}])", "Answers the operator's commands on a TCP address too, where each request needs the token of state/admin.token. Called again it keeps the listener. Gives {:url …}; {} in a command or a dry run, where nothing listens.", c.lispListen),
	}
}

// lispBy is the program itself.
var lispBy = control.By{Via: "lisp", UID: -1, PID: -1}

func (c *Core) lispFreeze(why *string) error {
	text := ""
	if why != nil {
		text = clip(*why)
	}
	return c.Freeze(lispBy, text)
}

type stopForm struct {
	Now     bool          `lisp:"now"`
	Timeout bind.Duration `lisp:"timeout"`
}

func (c *Core) lispStop(f *stopForm) {
	if f == nil {
		f = &stopForm{}
	}
	c.Stop(lispBy, StopOptions{Now: f.Now, Timeout: time.Duration(f.Timeout)})
}

func (c *Core) lispDrain(d bind.Duration) error {
	if d <= 0 {
		return fmt.Errorf(`got %s, want more than 0; (stop! {:now true}) waits for nothing`, time.Duration(d))
	}
	c.life.mu.Lock()
	defer c.life.mu.Unlock()
	c.life.drain = time.Duration(d)
	return nil
}

// SetDrain is zeno.engine/drain!.
func (c *Core) SetDrain(d time.Duration) error { return c.lispDrain(bind.Duration(d)) }

func (c *Core) lispStatus() map[string]any {
	s := c.Status()
	out := map[string]any{"state": bind.Keyword(s.State), "pid": s.PID, "version": s.Version, "processes": len(s.Processes), "asks": s.Asks}
	if s.Home != "" {
		out["home"] = s.Home
	}
	if f := s.Frozen; f != nil {
		out["frozen"] = map[string]any{"since": f.Since, "by": f.By, "why": f.Why}
	}
	if !s.Deadline.IsZero() {
		out["deadline"] = s.Deadline
	}
	spawns := make([]map[string]any, 0, len(s.Spawns))
	for _, x := range s.Spawns {
		spawns = append(spawns, map[string]any{"id": x.ID, "role": bind.Keyword(x.Role), "backend": bind.Keyword(x.Backend),
			"state": bind.Keyword(x.State), "since": x.Since, "evals": x.Evals})
	}
	out["spawns"] = spawns
	return out
}

type listenForm struct {
	Host             string `lisp:"host"`
	Port             int    `lisp:"port"`
	AllowNonLoopback bool   `lisp:"allow-non-loopback"`
}

// addr is where to listen: loopback unless more is asked for by name.
func (f listenForm) addr() (string, error) {
	if f.Host == "" {
		f.Host = "127.0.0.1"
	}
	if f.Port < 0 || f.Port > 65535 {
		return "", fmt.Errorf(":port: got %d, want 0 (any free one) to 65535", f.Port)
	}
	ip := net.ParseIP(f.Host)
	if loopback := f.Host == "localhost" || ip != nil && ip.IsLoopback(); !loopback && !f.AllowNonLoopback {
		return "", fmt.Errorf(":host: got %q, want a loopback address, or :allow-non-loopback true with it", f.Host)
	}
	return net.JoinHostPort(f.Host, strconv.Itoa(f.Port)), nil
}

func (c *Core) lispListen(ctx context.Context, f listenForm) (map[string]string, error) {
	addr, err := f.addr()
	if err != nil {
		return nil, err
	}
	s := c.control.Load()
	switch {
	case s == nil && c.conf.Serve:
		return nil, errors.New("got an instance whose control socket could not be made, see what it printed; want it mended first")
	case s == nil: // the program is the same for a command that borrows the home, and for a dry run
		if !c.conf.Idle && c.rehearsal == nil {
			c.warn(fmt.Sprintf("listen!: nothing listens on %s: this zeno does not serve the home", addr))
		}
		return map[string]string{}, nil
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if url := c.listening[addr]; url != "" {
		return map[string]string{"url": url}, nil
	}
	a, err := s.ListenTCP(ctx, addr)
	if err != nil {
		return nil, err
	}
	if c.listening == nil {
		c.listening = map[string]string{}
	}
	c.listening[addr] = "http://" + a.String()
	return map[string]string{"url": c.listening[addr]}, nil
}
