package loop

import (
	"context"
	"errors"
	"fmt"
)

// ErrHeld is why RunNow refuses while the loop is held.
var ErrHeld = errors.New("the loop is held")

// Held is the state of a process whose loop is held.
const Held State = "held"

// Hold holds every schedule, also of processes that are registered later, until Release. What runs goes on; pauses are
// kept as they are.
func (l *Loop) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
	for _, e := range l.entries {
		e.unplan()
	}
}

// Release ends a Hold: each process is due at its next tick.
func (l *Loop) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		return
	}
	l.held = false
	now := l.conf.Clock.Now()
	for _, e := range l.sorted() {
		l.plan(e, now)
	}
}

// Quiet waits until nothing runs, and cancels nothing.
func (l *Loop) Quiet(ctx context.Context) error {
	l.mu.Lock()
	if l.active == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.quiet == nil {
		l.quiet = make(chan struct{})
	}
	quiet := l.quiet
	l.mu.Unlock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("loop: stopped waiting for runs to end: %w", context.Cause(ctx))
	}
}
