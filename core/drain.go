package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core/control"
)

// StopOptions say how to stop.
type StopOptions struct {
	Now     bool          // what runs is cancelled at once
	Timeout time.Duration // how long to wait for what runs; 0: as configured, else DefaultDrain
}

// ErrDeadline is why a drain ended before everything had.
var ErrDeadline = errors.New("the time to end in was over")

// Stop asks the instance to stop: no spawn, process run or webhook begins from now on, and what runs may go on until the
// deadline. It returns at once: whoever owns the instance waits for Stopping, and calls Drain and Close. A second call may
// only bring the deadline nearer.
func (c *Core) Stop(by control.By, o StopOptions) {
	if c.ctx.Err() != nil {
		return // it is closing
	}
	_ = c.recordControl(by, "stop", map[string]any{"now": o.Now, "timeout": o.Timeout.String()}) // reported; it stops all the same
	c.mu.Lock()                                                                                  // no spawn begins in between
	first := c.life.ask(o)
	c.mu.Unlock()
	if first {
		c.loop.Hold()
		c.stopHooks()
	}
}

// ask moves the deadline, and tells whether it was the first to.
func (l *life) ask(o StopOptions) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := o.Timeout
	if wait <= 0 {
		wait = l.drain
	}
	if wait <= 0 {
		wait = DefaultDrain
	}
	if o.Now {
		wait = 0
	}
	deadline := time.Now().Add(wait)
	first = l.deadline.IsZero()
	if !first && !deadline.Before(l.deadline) {
		return false
	}
	l.deadline = deadline
	if l.timer != nil {
		l.timer.Stop()
	}
	if o.Now {
		l.cut(ErrDeadline)
	} else {
		l.timer = time.AfterFunc(wait, func() { l.cut(ErrDeadline) })
	}
	if first {
		l.begun = time.Now()
		close(l.asked)
	}
	return first
}

// Stopping is closed once somebody has asked the instance to stop.
func (c *Core) Stopping() <-chan struct{} { return c.life.asked }

// Draining tells whether somebody has.
func (c *Core) Draining() bool {
	select {
	case <-c.life.asked:
		return true
	default:
		return false
	}
}

// Drain waits, after Stop, until nothing runs or the deadline has come. The error says what was still running.
func (c *Core) Drain(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life.over, func() { cancel(context.Cause(c.life.over)) })()
	c.linger()
	err := c.loop.Quiet(ctx)
	if err == nil && !c.hooksQuiet(ctx) || !within(ctx, c.spawns.Wait) {
		err = context.Cause(ctx)
	}
	c.life.mu.Lock()
	if c.life.timer != nil {
		c.life.timer.Stop()
	}
	c.life.mu.Unlock()
	if err != nil {
		return fmt.Errorf("drain: %d spawns and %d processes are cancelled: %w", len(c.Spawns(false)), len(c.runningProcesses()), context.Cause(ctx))
	}
	return nil
}

// lingerTime is how long after Stop an instance lasts at least, so that whoever has asked for it, by an editor say, is answered.
const lingerTime = 150 * time.Millisecond

func (c *Core) linger() {
	c.life.mu.Lock()
	left := lingerTime - time.Since(c.life.begun)
	c.life.mu.Unlock()
	time.Sleep(left)
}

func (c *Core) runningProcesses() []string {
	var out []string
	for _, s := range c.loop.Processes() {
		if !s.Since.IsZero() {
			out = append(out, s.Name)
		}
	}
	return out
}
