package loop

import (
	"context"
	"sync"
	"time"
)

// Clock is where a loop's time comes from: Real, or a Virtual one that passes hours at once. All methods are safe for
// concurrent use.
type Clock interface {
	Now() time.Time
	// At calls f once, on a goroutine of the clock's, when Now has reached t. stop takes that back; f may be running then.
	At(t time.Time, f func()) (stop func())
	// Go runs f on a goroutine of its own, as work that a virtual clock waits for before it moves on. f gets a context of
	// ctx that tells the clock who sleeps.
	Go(ctx context.Context, f func(ctx context.Context))
	// Sleep returns after d, or with the cause of ctx's end.
	Sleep(ctx context.Context, d time.Duration) error
}

// Real is the clock on the wall. Times that carry a monotonic reading are kept by it; others (those of cron) follow the
// wall clock, also when somebody sets it or the machine was suspended: it is looked at once a minute.
type Real struct{}

// lookAgain is how long a wait trusts the wall clock.
const lookAgain = time.Minute

// Now implements Clock.
func (Real) Now() time.Time { return time.Now() }

// At implements Clock.
func (Real) At(t time.Time, f func()) func() {
	w := &wait{until: t, f: f}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arm()
	return w.stop
}

// Go implements Clock.
func (Real) Go(ctx context.Context, f func(context.Context)) { go f(ctx) }

// Sleep implements Clock.
func (Real) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait is one call of Real.At.
type wait struct {
	until time.Time
	f     func()

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// arm is called with mu held.
func (w *wait) arm() { w.timer = time.AfterFunc(min(time.Until(w.until), lookAgain), w.fire) }

func (w *wait) fire() {
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return
	}
	if time.Now().Before(w.until) {
		w.arm()
		w.mu.Unlock()
		return
	}
	w.over = true
	w.mu.Unlock()
	w.f()
}

func (w *wait) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}
