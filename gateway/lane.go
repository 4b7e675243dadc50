package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errBusy says that a lane has no room to wait in.
var errBusy = errors.New("the lane is full")

// lane lets the evals of one spawn through one at a time, in order of arrival.
// The zero lane is ready.
type lane struct {
	mu      sync.Mutex
	taken   bool
	waiting []chan struct{} // closed when it is that one's turn
}

// enter waits for its turn. It fails with errBusy at once where limit others
// wait already, and with the cause of ctx where that ends first. Who entered
// must leave.
func (l *lane) enter(ctx context.Context, limit int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	if !l.taken {
		l.taken = true
		l.mu.Unlock()
		return nil
	}
	if len(l.waiting) >= limit {
		l.mu.Unlock()
		return errBusy
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.mu.Unlock()

	select {
	case <-turn:
		if ctx.Err() != nil { // both at once: it is not run
			l.leave()
			return context.Cause(ctx)
		}
		return nil
	case <-ctx.Done():
		l.giveUp(turn)
		return context.Cause(ctx)
	}
}

// giveUp takes a waiter out of the line. Where its turn came in the same
// moment, it passes it on.
func (l *lane) giveUp(turn chan struct{}) {
	l.mu.Lock()
	i := slices.Index(l.waiting, turn)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 {
		l.leave()
	}
}

// leave ends a turn and begins the next one.
func (l *lane) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.taken = false
		return
	}
	next := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	close(next)
}
