package loop

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Virtual is a clock that stands still until Advance moves it. What falls due runs in order of time, and at one moment in
// the order it was asked for; the clock goes on only when all that runs has ended or sleeps on the clock. So the same
// program gives the same run every time, hours in a moment.
//
// The clock knows of work started with Go. What such work waits for elsewhere (a file, a process, a promise) takes no
// virtual time and holds the clock still.
type Virtual struct {
	turn chan struct{} // held by the one Advance that runs

	mu       sync.Mutex
	now      time.Time
	timers   timers
	seq      uint64
	busy     int           // work that runs and does not sleep
	rest     chan struct{} // closed when busy falls to nothing; nil: nobody waits
	sleepers []*sleeper    // in the order they lay down
}

// NewVirtual makes a clock that shows start.
func NewVirtual(start time.Time) *Virtual {
	return &Virtual{now: start.Round(0), turn: make(chan struct{}, 1)}
}

// workKey marks the context of work that a virtual clock counts.
type workKey struct{}

func (v *Virtual) counts(ctx context.Context) bool { return ctx.Value(workKey{}) == v }

// Now implements Clock.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// At implements Clock. f runs on the goroutine of the Advance that reaches t; a t that has passed is reached by the next.
func (v *Virtual) At(t time.Time, f func()) func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at(t, f)
}

// at is called with mu held.
func (v *Virtual) at(t time.Time, f func()) func() {
	v.seq++
	x := &timer{at: t, seq: v.seq, f: f}
	heap.Push(&v.timers, x)
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if x.index >= 0 {
			heap.Remove(&v.timers, x.index)
		}
	}
}

// Go implements Clock.
func (v *Virtual) Go(ctx context.Context, f func(context.Context)) {
	v.mu.Lock()
	v.busy++
	v.mu.Unlock()
	go func() {
		defer v.idle()
		f(context.WithValue(ctx, workKey{}, v))
	}()
}

func (v *Virtual) idle() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.less()
}

// less is called with mu held.
func (v *Virtual) less() {
	v.busy--
	if v.busy <= 0 && v.rest != nil {
		close(v.rest)
		v.rest = nil
	}
}

// sleeper is one call of Sleep.
type sleeper struct {
	ctx     context.Context
	counted bool // it is work that Go started
	stop    func()
	wake    chan struct{}
}

// Sleep implements Clock: it returns when an Advance has moved the clock by d.
func (v *Virtual) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil || d <= 0 {
		return context.Cause(ctx)
	}
	s := &sleeper{ctx: ctx, counted: v.counts(ctx), wake: make(chan struct{})}
	v.mu.Lock()
	s.stop = v.at(v.now.Add(d), func() { v.rouse(s) })
	v.sleepers = append(v.sleepers, s)
	if s.counted {
		v.less()
	}
	v.mu.Unlock()
	select {
	case <-s.wake:
	case <-ctx.Done():
		v.rouse(s)
	}
	return context.Cause(ctx)
}

// rouse ends a sleep; the sleeper counts as work from here on, before it has run again.
func (v *Virtual) rouse(s *sleeper) {
	v.mu.Lock()
	i := slices.Index(v.sleepers, s)
	if i < 0 {
		v.mu.Unlock()
		return
	}
	v.sleepers = slices.Delete(v.sleepers, i, i+1)
	if s.counted {
		v.busy++
	}
	close(s.wake)
	v.mu.Unlock()
	s.stop()
}

// ErrBusy is why Advance is refused to work that the clock itself waits for.
var ErrBusy = errors.New("clock: got an advance from inside a running process, want one from outside; it would wait for itself")

// Advance moves the clock on by d and runs everything that falls due on the way. It ends early, with the clock where it
// came to, when ctx does.
func (v *Virtual) Advance(ctx context.Context, d time.Duration) error {
	if v.counts(ctx) {
		return ErrBusy
	}
	select {
	case v.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("clock: failed to advance: %w", context.Cause(ctx))
	}
	defer func() { <-v.turn }()
	end := v.Now().Add(max(d, 0))
	for {
		if err := v.settle(ctx); err != nil {
			return err
		}
		x := v.next(end)
		if x == nil {
			return nil
		}
		x.f()
	}
}

// settle waits until all work has ended or sleeps.
func (v *Virtual) settle(ctx context.Context) error {
	for {
		v.mu.Lock()
		if v.busy <= 0 {
			s := v.cancelledSleeper()
			v.mu.Unlock()
			if s == nil {
				return nil
			}
			v.rouse(s)
			continue
		}
		if v.rest == nil {
			v.rest = make(chan struct{})
		}
		rest := v.rest
		v.mu.Unlock()
		select {
		case <-rest:
		case <-ctx.Done():
			return fmt.Errorf("clock: stopped at %s, where a run did not come to rest: %w", v.Now().Format(time.RFC3339), context.Cause(ctx))
		}
	}
}

// cancelledSleeper finds one that is about to wake because its context has ended: the clock must not go on before it.
func (v *Virtual) cancelledSleeper() *sleeper {
	for _, s := range v.sleepers {
		if s.ctx.Err() != nil {
			return s
		}
	}
	return nil
}

// next takes the first timer due by end and moves the clock there, else to end.
func (v *Virtual) next(end time.Time) *timer {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.timers) == 0 || v.timers[0].at.After(end) {
		v.now = end
		return nil
	}
	x := heap.Pop(&v.timers).(*timer)
	if x.at.After(v.now) {
		v.now = x.at.Round(0)
	}
	return x
}

// timer is one call of Virtual.At.
type timer struct {
	at    time.Time
	seq   uint64
	f     func()
	index int // in the heap; -1: not in it
}

type timers []*timer

func (h timers) Len() int { return len(h) }

func (h timers) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}

func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *timers) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop implements heap.Interface.
func (h *timers) Pop() any {
	n := len(*h) - 1
	t := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	t.index = -1
	return t
}
