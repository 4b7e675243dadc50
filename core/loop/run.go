package loop

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// Outcome is how a run ended.
type Outcome string

// The outcomes. Failed and TimedOut count as failures.
const (
	OK        Outcome = "ok"
	Failed    Outcome = "error"
	TimedOut  Outcome = "timeout"
	Cancelled Outcome = "cancelled" // by Stop, Remove or the end of Config.Context
)

// Trigger is why a run began.
type Trigger string

// The triggers.
const (
	BySchedule Trigger = "schedule"
	ByHand     Trigger = "run-now"
)

// Run is one run of a process.
type Run struct {
	Process string
	Trigger Trigger
	Tick    time.Time // when it was due, without jitter
	Started time.Time
	Elapsed time.Duration
	Timeout time.Duration
	Outcome Outcome // "" while it runs
	Err     error   // nil when Outcome is OK
	Failing int     // failures of the process in a row, this one included
}

// run is a run under way. The loop's mu guards it.
type run struct {
	Run
	loop    *Loop
	entry   *entry
	orphan  bool // its process was removed and registered anew: entry is the new one, which only waits for it
	overdue bool
	ended   bool
	cancel  context.CancelCauseFunc
	disarm  func() // of the timeout
}

type runKey struct{}

// Current names the process in whose run ctx is.
func Current(ctx context.Context) (string, bool) {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok {
		return "", false
	}
	return r.Process, true
}

// inside tells whether ctx is that of a run of l.
func (l *Loop) inside(ctx context.Context) bool {
	r, ok := ctx.Value(runKey{}).(*run)
	return ok && r.loop == l
}

// fire is called by the clock when e is due by the plan numbered arm.
func (l *Loop) fire(e *entry, arm uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.arm != arm || !l.started || e.run != nil || l.ctx.Err() != nil {
		return // it was taken back while the clock was on its way here
	}
	l.launch(e, BySchedule, e.tick)
}

// launch starts a run of e. It is called with mu held.
func (l *Loop) launch(e *entry, why Trigger, tick time.Time) {
	e.unplan()
	clock := l.conf.Clock
	now := clock.Now()
	r := &run{loop: l, entry: e, Run: Run{Process: e.name, Trigger: why, Tick: tick, Started: now, Timeout: e.proc.Timeout}}
	if r.Timeout == 0 {
		r.Timeout = l.conf.Timeout
	}
	do := e.proc.Do
	e.run = r
	l.active++
	ctx, cancel := context.WithCancelCause(context.WithValue(l.ctx, runKey{}, r))
	r.cancel = cancel
	r.disarm = clock.At(now.Add(r.Timeout), func() { l.exceed(r) })
	clock.Go(ctx, func(ctx context.Context) {
		err := errGone
		defer func() { l.end(ctx, r, err) }() // also when the function ends the goroutine
		err = perform(ctx, do)
	})
}

// perform calls f and makes an error of a panic.
func perform(ctx context.Context, f func(context.Context) error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if x := recover(); x != nil {
			err = &Panic{x, debug.Stack()}
		}
	}()
	err = f(ctx)
	returned = true
	return err
}

// exceed is called by the clock when a run has taken its timeout.
func (l *Loop) exceed(r *run) {
	l.mu.Lock()
	if r.ended {
		l.mu.Unlock()
		return
	}
	r.overdue = true
	told := r.Run
	told.Elapsed = l.conf.Clock.Now().Sub(r.Started)
	l.mu.Unlock()
	if l.conf.OnOverdue != nil {
		l.conf.OnOverdue(told)
	}
	r.cancel(ErrTimeout)
}

// end counts a run, tells of it, and plans the next. The run still counts as under way while it is told of.
func (l *Loop) end(ctx context.Context, r *run, err error) {
	told := l.judge(ctx, r, err)
	defer l.leave()
	defer l.release(r)
	if l.conf.OnRun != nil {
		l.conf.OnRun(told)
	}
}

// judge gives a run its outcome and notes it.
func (l *Loop) judge(ctx context.Context, r *run, err error) Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.ended = true
	r.disarm()
	r.Elapsed = l.conf.Clock.Now().Sub(r.Started)
	switch {
	case r.overdue:
		r.Outcome, r.Err = TimedOut, late(r, err)
	case err == nil:
		r.Outcome = OK
	case ctx.Err() != nil:
		r.Outcome, r.Err = Cancelled, fmt.Errorf("%w: %w", context.Cause(ctx), err)
	default:
		r.Outcome, r.Err = Failed, err
	}
	r.cancel(nil)
	e := r.entry
	if r.orphan {
		return r.Run
	}
	e.runs++
	switch r.Outcome {
	case OK:
		e.failing = 0
	case Failed, TimedOut:
		e.failures++
		e.failing++
		e.err, e.errAt = r.Err, r.Started.Add(r.Elapsed)
	}
	r.Failing = e.failing
	e.last = r.Run
	return r.Run
}

func late(r *run, err error) error {
	what := fmt.Sprintf("got %s, want at most %s", r.Elapsed.Round(time.Millisecond), r.Timeout)
	if err == nil {
		return fmt.Errorf("%w: %s", ErrTimeout, what)
	}
	return fmt.Errorf("%w: %s: %w", ErrTimeout, what, err)
}

// release lets the next run of the process begin.
func (l *Loop) release(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := r.entry
	e.run = nil
	if e.removed {
		delete(l.entries, e.name)
		return
	}
	l.plan(e, l.conf.Clock.Now())
}

// leave tells a Stop that waits that a run is over.
func (l *Loop) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	if l.active == 0 && l.quiet != nil {
		close(l.quiet)
		l.quiet = nil
	}
}
