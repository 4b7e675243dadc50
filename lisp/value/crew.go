package value

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// crew is the threads of one evaluation while there is more than one. They share the limit of live bytes, so a measurement
// looks at the stacks of all of them, each while its thread stands still.
//
// A thread stands still when its token lies in Thread.still: it puts it there before it blocks (Park), and at its next
// Settle, safepoint or charge when a measurement asks for it (pause), and takes it back before it runs on. A measurement takes the
// tokens, looks, and returns them. One that does not come within patience (Go code that neither charges nor parks, or
// waits for a lock that the measuring thread has) is counted as it was last seen, so that nobody waits for ever.
type crew struct {
	mu      sync.Mutex
	members []*Thread
	wanted  atomic.Bool // a measurement asks everyone to stand still
	turn    sync.Mutex  // held by the measurement; those who stand still for it wait for it here
}

// patience is how long a measurement waits for all other threads together. A step quantum, or the longest operation that
// cannot be interrupted, is over far sooner, on a busy machine too.
const patience = 250 * time.Millisecond

// join makes t, which runs, a member.
func (t *Thread) join() {
	if t.still != nil {
		return
	}
	t.still = make(chan struct{}, 1)
	t.Run.crew.mu.Lock()
	t.Run.crew.members = append(t.Run.crew.members, t)
	t.Run.crew.mu.Unlock()
}

// leave ends what join began. A measurement that has seen t already finds it standing still for good.
func (t *Thread) leave() {
	if t.still == nil {
		return
	}
	c := &t.Run.crew
	c.mu.Lock()
	for i, x := range c.members {
		if x == t {
			c.members = append(c.members[:i:i], c.members[i+1:]...)
			break
		}
	}
	c.mu.Unlock()
	if t.parked == 0 {
		t.parked = 1
		t.still <- struct{}{}
	}
}

// Park says that t does not touch Lisp values until Unpark: it is about to block, or to run code of the host. They nest.
func (t *Thread) Park() {
	if t.still == nil {
		return
	}
	if t.parked++; t.parked == 1 {
		t.still <- struct{}{}
	}
}

// Unpark ends Park. It waits while a measurement looks at t.
func (t *Thread) Unpark() {
	if t.still == nil || t.parked == 0 {
		return
	}
	if t.parked--; t.parked == 0 {
		<-t.still
	}
}

// Alone tells whether no other thread measures what t holds, so that Park would do nothing.
func (t *Thread) Alone() bool { return t.still == nil }

// pause stands still for a measurement that another thread wants to make.
func (t *Thread) pause() {
	if t.still == nil || !t.Run.crew.wanted.Load() {
		return
	}
	t.Park()
	c := &t.Run.crew
	c.turn.Lock()
	t.Unpark()
	c.turn.Unlock()
}

// wanted notes that a measurement asks for t, which stands still at its next Settle; if none has come until it is asked
// again, at once.
func (t *Thread) wanted() {
	if t.still == nil || !t.Run.crew.wanted.Load() {
		return
	}
	if t.due = true; t.asks > 0 {
		t.asks = 0
		t.pause()
		return
	}
	t.asks++
}

// others makes the other members stand still and gives those that do and those that did not come. free lets them go on.
func (c *crew) others(t *Thread) (still, away []*Thread, free func()) {
	if t.still == nil {
		return nil, nil, func() {}
	}
	c.mu.Lock()
	all := append([]*Thread(nil), c.members...)
	c.mu.Unlock()
	c.wanted.Store(true)
	late := time.NewTimer(patience)
	defer late.Stop()
	expired := false
	for _, x := range all {
		if x == t {
			continue
		}
		if came(x, late.C, &expired) {
			still = append(still, x)
		} else {
			away = append(away, x)
		}
	}
	return still, away, func() {
		c.wanted.Store(false)
		for _, x := range still {
			x.still <- struct{}{}
		}
	}
}

// came takes the token of x, unless the time is up first.
func came(x *Thread, late <-chan time.Time, expired *bool) bool {
	if *expired {
		select {
		case <-x.still:
			return true
		default:
			return false
		}
	}
	select {
	case <-x.still:
		return true
	case <-late:
		*expired = true
		return false
	}
}

// Accompanied says that forks of t will run while it stands still or goes on: they count for the limit of live bytes
// together.
func (t *Thread) Accompanied() {
	if t.Limits.Bytes < limit.Unlimited {
		t.join()
	}
}

// Accompany makes the fork t of an accompanied thread one of those that are measured together, until done. f is what it
// will call.
func (t *Thread) Accompany(f Value) (done func()) {
	t.roots = []Value{f}
	t.Accompanied()
	return func() {
		t.Flush()
		t.leave()
	}
}
