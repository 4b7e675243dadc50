package value

import (
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// hostClock tells that the time of an evaluation is up without reading the clock, which costs as much as a third of a call
// of the host: a timer does, once an evaluation has made so many calls that it pays.
type hostClock struct {
	timer atomic.Pointer[time.Timer]
	late  atomic.Bool
}

// clockedCalls is how many calls of the host read the clock themselves.
const clockedCalls = 16

// AfterHostCall is Safepoint after a call of the host. Where the timer is late itself, since no processor was free for it,
// the next quantum's safepoint reads the clock.
func (t *Thread) AfterHostCall() {
	if t.Limits.Time >= limit.Unlimited || t.Limits.Calls-t.Run.calls.Load() <= clockedCalls {
		t.Safepoint()
		return
	}
	c := &t.Run.clock
	if c.timer.Load() == nil {
		c.start(t.Limits.Time - time.Since(t.began))
		t.Safepoint()
		return
	}
	t.clean()
	t.Stoppable()
	if c.late.Load() {
		t.trip(limit.Time, int64(t.Limits.Time), int64(t.Limits.Time))
	}
}

// mostHostArgs is how many values of arguments are allocated at once, at most.
const mostHostArgs = 64

// HostArgs makes room for n arguments of a call of the host, which may keep them. Most calls have one or two: they come in
// batches, small at first, since an allocation of its own for each is a fifth of what the call costs. Only values without an
// object behind them belong there: whoever keeps one call's arguments keeps the batch.
func (t *Thread) HostArgs(n int) []Value {
	if t.hosted+n > len(t.host) {
		t.host, t.hosted = make([]Value, min(2*len(t.host)+n, max(mostHostArgs, n))), 0
	}
	from := t.hosted
	t.hosted += n
	return t.host[from:t.hosted:t.hosted]
}

func (c *hostClock) start(left time.Duration) {
	timer := time.AfterFunc(left, func() { c.late.Store(true) })
	if !c.timer.CompareAndSwap(nil, timer) {
		timer.Stop()
	}
}

func (c *hostClock) stop() {
	if timer := c.timer.Load(); timer != nil {
		timer.Stop()
	}
}
