package loop

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"
)

// Process is a recurring process as it is registered.
type Process struct {
	Name      string // without spaces, at most 100 bytes
	Schedule  Schedule
	Do        func(ctx context.Context) error // one run; ctx ends with the timeout, Remove and Stop
	Jitter    time.Duration                   // each run is later than its tick by a random part of it
	Timeout   time.Duration                   // 0: Config.Timeout
	Immediate bool                            // the first run is at once, not at the first tick
}

const maxName = 100

func (p Process) check() error {
	switch {
	case p.Name == "" || len(p.Name) > maxName || strings.ContainsFunc(p.Name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return fmt.Errorf("process: got the name %q, want a word of 1 to %d bytes", p.Name, maxName)
	case p.Schedule.cron == nil && p.Schedule.every == 0:
		return fmt.Errorf("process %s: got no schedule, want one made by Parse", p.Name)
	case p.Do == nil:
		return fmt.Errorf("process %s: got no function, want one", p.Name)
	case p.Timeout < 0:
		return fmt.Errorf("process %s: got the timeout %s, want none below zero", p.Name, p.Timeout)
	case p.Jitter < 0 || p.Schedule.every > 0 && p.Jitter > p.Schedule.every:
		return fmt.Errorf("process %s: got the jitter %s, want one from 0 to its interval %s", p.Name, p.Jitter, p.Schedule)
	}
	return nil
}

// entry is a process in the registry. The loop's mu guards it.
type entry struct {
	name    string
	proc    Process
	anchor  time.Time // its ticks are whole intervals away from it
	soon    bool      // Immediate, and not yet planned
	paused  bool
	removed bool // its last run has not ended

	run    *run   // under way; nil: none
	disarm func() // takes back the next run; nil: none is planned
	arm    uint64 // number of the plan: a timer of an earlier one does nothing
	tick   time.Time
	due    time.Time // tick and jitter

	runs, failures, failing int
	last                    Run
	err                     error // of the last run that failed
	errAt                   time.Time
}

// plan arranges the next run of e after now, in place of what was planned. It is called with mu held.
func (l *Loop) plan(e *entry, now time.Time) {
	e.unplan()
	if !l.started || l.held || e.paused || e.removed || e.run != nil {
		return
	}
	after := now
	if wait := l.backoff(e); wait > 0 {
		if until := e.last.Tick.Add(wait - 1); until.After(after) {
			after = until
		}
	}
	e.tick = e.proc.Schedule.Next(e.anchor, after)
	if e.soon {
		e.tick, e.soon = now, false
	}
	if e.tick.IsZero() {
		return
	}
	e.due = e.tick.Add(l.jitter(e))
	arm := e.arm
	e.disarm = l.conf.Clock.At(e.due, func() { l.fire(e, arm) })
}

// unplan takes back the next run. It is called with the loop's mu held.
func (e *entry) unplan() {
	e.arm++
	if e.disarm != nil {
		e.disarm()
	}
	e.disarm, e.tick, e.due = nil, time.Time{}, time.Time{}
}

// jitter is random, and the same for the same seed, process and run.
func (l *Loop) jitter(e *entry) time.Duration {
	if e.proc.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(e.name)) // it never fails
	r := rand.New(rand.NewPCG(l.conf.Seed, h.Sum64()+uint64(e.runs)))
	return time.Duration(r.Int64N(int64(e.proc.Jitter)))
}

// backoff is how long after its last tick a process that keeps failing waits: two intervals after the second failure in a
// row, then four, eight … up to Config.Backoff; a minute counts as the interval of cron.
func (l *Loop) backoff(e *entry) time.Duration {
	if e.failing < 2 {
		return 0
	}
	unit := e.proc.Schedule.every
	if unit == 0 {
		unit = time.Minute
	}
	wait := unit
	for i := 1; i < e.failing && wait < l.conf.Backoff; i++ {
		wait *= 2
	}
	return max(unit, min(wait, l.conf.Backoff))
}

// State is what a process does now.
type State string

// The states of a process.
const (
	Waiting  State = "waiting"
	Running  State = "running"
	BackOff  State = "backoff" // waiting, longer than its schedule says because it keeps failing
	Paused   State = "paused"
	Inactive State = "stopped" // the loop is not started
)

// Status is a process as it is now.
type Status struct {
	Name     string
	Schedule string
	State    State
	Paused   bool
	Overdue  bool      // a run exceeds its timeout and has not ended though its context has
	Since    time.Time // of the run under way; zero: none
	Next     time.Time // zero: none is planned
	Runs     int       // ended, whatever their outcome
	Failures int
	Failing  int // failures in a row, the newest included
	Last     Run // zero before the first run has ended
	Err      error
	ErrAt    time.Time // when the run that gave Err ended
}

// Processes tells of all processes, by name.
func (l *Loop) Processes() []Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []Status{}
	for _, e := range l.sorted() {
		out = append(out, l.status(e))
	}
	return out
}

// Process tells of one.
func (l *Loop) Process(name string) (Status, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.find(name)
	if err != nil {
		return Status{}, err
	}
	return l.status(e), nil
}

func (l *Loop) status(e *entry) Status {
	s := Status{Name: e.name, Schedule: e.proc.Schedule.String(), State: Waiting, Paused: e.paused, Next: e.due, Runs: e.runs,
		Failures: e.failures, Failing: e.failing, Last: e.last, Err: e.err, ErrAt: e.errAt}
	switch {
	case e.run != nil:
		s.State, s.Since, s.Overdue = Running, e.run.Started, e.run.overdue
	case !l.started:
		s.State = Inactive
	case l.held:
		s.State = Held
	case e.paused:
		s.State = Paused
	case e.failing > 1:
		s.State = BackOff
	}
	return s
}

// Panic is the error of a run that panicked.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Unwrap gives the error that was the value of the panic, if it was one.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// errGone is the error of a run whose function ended its goroutine.
var errGone = errors.New("the function ended its goroutine")
