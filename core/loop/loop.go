// Package loop runs the recurring processes of an instance: named functions, each due at intervals or by cron.
//
//	l := loop.New(loop.Config{OnRun: record})
//	l.Every(loop.Process{Name: "sweep", Schedule: s, Do: sweep})
//	l.Start()
//	defer l.Stop(ctx)
//
// One Loop schedules them all; each run has a goroutine and a context of its own. The invariant: of one name at most one
// run is under way, whatever is re-registered, removed, resumed or run by hand meanwhile, and it holds across Stop and
// Start. A tick that comes while its process runs is missed and not made up for, so that nothing piles up.
//
// A run that fails, panics or exceeds its timeout is told of and counted; after repeated failures the process waits longer
// and longer. Nothing a process does ends the loop or holds up another process.
//
// Time comes from a Clock. With a Virtual one a day of runs passes in a moment, the same way every time.
//
// The package knows nothing of Lisp: a process is a Go function, and core/loop.go makes it of a Lisp one. Start with
// Every; run.go is the life of one run.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// Defaults of Config.
const (
	DefaultTimeout      = time.Hour
	DefaultBackoff      = 15 * time.Minute
	DefaultGrace        = 10 * time.Second
	DefaultMaxProcesses = 10_000
)

// Config is what a Loop is made from. The zero value works.
type Config struct {
	Clock        Clock           // nil: Real{}
	Context      context.Context // the loop's life: every run's context comes from it; nil: for ever
	Timeout      time.Duration   // of a run whose process names none; 0: an hour
	Backoff      time.Duration   // the most that failures make a process wait beyond its schedule; 0: 15 minutes
	Grace        time.Duration   // how long Stop waits for runs, in real time; 0: 10 seconds
	MaxProcesses int             // 0: 10,000
	Seed         uint64          // of jitter; 0: random with Real, fixed with any other clock
	OnRun        func(Run)       // told of every run when it has ended, before the next of that process; nil: nobody
	OnOverdue    func(Run)       // told when a run exceeds its timeout, before its context is cancelled; nil: nobody
}

// Loop is a registry of processes and their scheduler. Its methods are safe for concurrent use.
type Loop struct {
	conf Config

	mu      sync.Mutex
	started bool
	held    bool // see Hold
	entries map[string]*entry
	ctx     context.Context // of runs, since Start
	cancel  context.CancelCauseFunc
	active  int           // runs under way
	quiet   chan struct{} // closed when active falls to 0; nil: nobody waits
}

// Why Every, Start and others refuse, and why a run's context ended; for errors.Is and context.Cause.
var (
	ErrUnknown = errors.New("not registered")
	ErrStopped = errors.New("the loop was stopped")
	ErrRemoved = errors.New("the process was removed")
	ErrTimeout = errors.New("the run exceeded its timeout")
)

// New makes a Loop that is not started.
func New(conf Config) *Loop {
	if conf.Clock == nil {
		conf.Clock = Real{}
	}
	if conf.Context == nil {
		conf.Context = context.Background()
	}
	conf.Timeout = cmp.Or(conf.Timeout, DefaultTimeout)
	conf.Backoff = cmp.Or(conf.Backoff, DefaultBackoff)
	conf.Grace = cmp.Or(conf.Grace, DefaultGrace)
	conf.MaxProcesses = cmp.Or(conf.MaxProcesses, DefaultMaxProcesses)
	if _, ok := conf.Clock.(Real); ok {
		conf.Seed = cmp.Or(conf.Seed, rand.Uint64())
	}
	return &Loop{conf: conf, entries: map[string]*entry{}}
}

// Clock is what the loop's time comes from.
func (l *Loop) Clock() Clock { return l.conf.Clock }

// Every registers p. A process of that name is replaced: a run under way goes on to its end under its old definition, and
// the next has the new one. Counts, a pause and, where the schedule is the same, the next tick are kept; a wait after
// failures is not.
func (l *Loop) Every(p Process) error {
	if err := p.check(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.conf.Clock.Now()
	e := l.entries[p.Name]
	switch {
	case e == nil && len(l.entries) >= l.conf.MaxProcesses:
		return fmt.Errorf("process %s: got %d processes already, want at most that many; remove one", p.Name, len(l.entries))
	case e == nil || e.removed:
		e = l.fresh(e, p, now)
	default:
		backing := e.failing > 1
		e.failing = 0
		kept := e.proc.Schedule.same(p.Schedule)
		e.proc = p
		if !kept {
			e.anchor = now
		}
		if kept && e.disarm != nil && !backing {
			return nil
		}
	}
	l.plan(e, now)
	return nil
}

// fresh enters p under its name. old is the entry of a removed process whose last run has not ended, or nil: the new
// process waits for that run.
func (l *Loop) fresh(old *entry, p Process, now time.Time) *entry {
	e := &entry{name: p.Name, proc: p, anchor: now, soon: p.Immediate}
	if old != nil {
		e.run = old.run
		e.run.entry, e.run.orphan = e, true
	}
	l.entries[p.Name] = e
	return e
}

// Remove takes a process out and cancels its run.
func (l *Loop) Remove(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.find(name)
	if err != nil {
		return err
	}
	e.unplan()
	if e.run == nil {
		delete(l.entries, name)
		return nil
	}
	e.removed = true // until the run has ended
	e.run.cancel(ErrRemoved)
	return nil
}

// Start starts the schedules. It does nothing to a loop that is started.
func (l *Loop) Start() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.conf.Context.Err(); err != nil {
		return fmt.Errorf("loop: failed to start: %w", context.Cause(l.conf.Context))
	}
	if l.started {
		return nil
	}
	l.started = true
	l.ctx, l.cancel = context.WithCancelCause(l.conf.Context)
	now := l.conf.Clock.Now()
	for _, e := range l.sorted() {
		l.plan(e, now)
	}
	return nil
}

// Stop stops the schedules, cancels the runs and waits for them as long as ctx and Config.Grace last; it then fails with
// the names of those that still run. Called from inside a run it does not wait. Start starts the loop again.
func (l *Loop) Stop(ctx context.Context) error {
	l.mu.Lock()
	if l.started {
		l.started = false
		for _, e := range l.entries {
			e.unplan()
		}
		l.cancel(ErrStopped)
	}
	if l.active == 0 || l.inside(ctx) {
		l.mu.Unlock()
		return nil
	}
	if l.quiet == nil {
		l.quiet = make(chan struct{})
	}
	quiet := l.quiet
	l.mu.Unlock()
	grace := time.NewTimer(l.conf.Grace)
	defer grace.Stop()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
	case <-grace.C:
	}
	if names := l.running(); len(names) > 0 {
		return fmt.Errorf("loop: failed to stop: cancelled, but still running: %s", strings.Join(names, ", "))
	}
	return nil
}

func (l *Loop) running() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, e := range l.sorted() {
		if e.run != nil {
			names = append(names, e.name)
		}
	}
	return names
}

// Pause holds the schedules of the named processes, of all when none is named. A run under way goes on.
func (l *Loop) Pause(names ...string) error {
	return l.each(names, func(e *entry) {
		e.paused = true
		e.unplan()
	})
}

// Resume ends a pause: the next run is at the next tick.
func (l *Loop) Resume(names ...string) error {
	now := l.conf.Clock.Now()
	return l.each(names, func(e *entry) {
		if e.paused {
			e.paused = false
			l.plan(e, now)
		}
	})
}

// RunNow starts a run at once, of a paused process too, and leaves its ticks where they are. It tells false when the
// process runs already.
func (l *Loop) RunNow(name string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.find(name)
	switch {
	case err != nil:
		return false, err
	case !l.started || l.ctx.Err() != nil:
		return false, fmt.Errorf("process %s: got a loop that is not started, want it started first: %w", name, ErrStopped)
	case l.held:
		return false, fmt.Errorf("process %s: failed to start a run: %w", name, ErrHeld)
	case e.run != nil:
		return false, nil
	}
	l.launch(e, ByHand, l.conf.Clock.Now())
	return true, nil
}

// each calls f for the named processes, or for all, with mu held; for none when one of them is unknown.
func (l *Loop) each(names []string, f func(*entry)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.sorted()
	if len(names) > 0 {
		found = found[:0]
	}
	for _, name := range names {
		e, err := l.find(name)
		if err != nil {
			return err
		}
		found = append(found, e)
	}
	for _, e := range found {
		f(e)
	}
	return nil
}

// find is called with mu held.
func (l *Loop) find(name string) (*entry, error) {
	if e := l.entries[name]; e != nil && !e.removed {
		return e, nil
	}
	var known []string
	for _, e := range l.sorted() {
		known = append(known, e.name)
	}
	have := "there are none"
	if n := len(known); n > 8 {
		have = fmt.Sprintf("there are %s and %d more", strings.Join(known[:8], ", "), n-8)
	} else if n > 0 {
		have = "there are " + strings.Join(known, ", ")
	}
	return nil, fmt.Errorf("process %s: %w; %s", name, ErrUnknown, have)
}

// sorted are the entries by name, so that everything done to all of them is done in one order. It is called with mu held.
func (l *Loop) sorted() []*entry {
	out := make([]*entry, 0, len(l.entries))
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		if e := l.entries[name]; !e.removed {
			out = append(out, e)
		}
	}
	return out
}
