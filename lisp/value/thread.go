package value

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// quantum is how many steps a thread takes from its Run at a time, and so how often it looks at the clock, the context
// and the bytes.
const quantum = 4096

// grain is how many bytes a thread takes from its Run at a time.
const grain = 64 << 10

// Run is what the threads of one evaluation share: its budget, its context and its output.
type Run struct {
	Limits   limit.Limits
	Context  context.Context
	Out      io.Writer // where *out* goes unless rebound
	Deadline time.Time // zero: none
	began    time.Time

	steps   atomic.Int64 // left
	alloc   atomic.Int64 // left
	output  atomic.Int64 // left
	calls   atomic.Int64 // left
	threads atomic.Int64 // alive
	names   atomic.Int64 // kept by an Interner for an isolate

	live  liveMeter
	lent  atomic.Int64 // bytes that functions of the isolate gave to capabilities that still run
	crew  crew         // the threads, once there are several
	clock hostClock

	own     ownContext // the Context of an isolate's evaluation: a limit ends it too, and with it the host code that is waited for
	done    <-chan struct{}
	tripped atomic.Pointer[limit.Error] // the limit that ends the evaluation of an isolate, whichever thread it met
	haltMu  sync.Mutex
	halt    chan struct{} // closed when tripped is set, for threads that wait; nil: none has
	ended   atomic.Bool   // the evaluation is over: its futures stop at their next safepoint

	workers sync.WaitGroup
}

// NewRun starts the budget of one evaluation.
func NewRun(ctx context.Context, l limit.Limits) *Run {
	r := &Run{}
	r.start(ctx, ctx.Done(), l)
	return r
}

// start begins the budget. done is closed when whoever asked for the evaluation gives it up.
func (r *Run) start(ctx context.Context, done <-chan struct{}, l limit.Limits) {
	r.Limits, r.Context, r.done, r.Out, r.began = l, ctx, done, io.Discard, time.Now()
	r.steps.Store(l.Steps)
	r.alloc.Store(l.Alloc)
	r.output.Store(l.Output)
	r.calls.Store(l.Calls)
	if l.Time < limit.Unlimited {
		r.Deadline = r.began.Add(l.Time)
	}
}

// Began is when the evaluation began.
func (r *Run) Began() time.Time { return r.began }

// Used tells what the evaluation has used so far. Threads still running may hold a quantum more.
func (r *Run) Used() Usage {
	return Usage{
		Steps:  r.Limits.Steps - r.steps.Load(),
		Alloc:  r.Limits.Alloc - r.alloc.Load(),
		Output: r.Limits.Output - r.output.Load(),
		Calls:  r.Limits.Calls - r.calls.Load(),
	}
}

// Usage is what an evaluation used.
type Usage struct{ Steps, Alloc, Output, Calls int64 }

// End marks the evaluation as over; futures that still run stop at their next safepoint, and those that wait, at once.
func (r *Run) End() {
	r.ended.Store(true)
	r.own.end()
	r.clock.stop()
}

// Wait returns when every future of the evaluation has stopped.
func (r *Run) Wait() { r.workers.Wait() }

// Thread is one line of execution: a stack of slots, a depth, dynamic bindings, and its share of the budget.
// It belongs to one goroutine.
type Thread struct {
	*Run
	Context context.Context // that of the Run, or one that ends when this thread alone is to stop: for Go code that blocks

	Env   *Env
	Binds *Bindings // dynamic bindings, innermost first; immutable, so that a future may share them

	fuel   int64 // steps left of the quantum
	credit int64 // bytes left of the grain
	depth  int   // frames in use, Go recursion included
	limit  int   // depth allowed

	stack []Value // the current segment
	sp    int
	high  int // clear up to here at the next safepoint
	segs  []segment
	spare []Value // the segment last left, emptied, to be used again

	calls []Frame // the shadow stack, for error reports
	Pos   *Pos    // position of the call being made
	Form  string  // text of the top-level form being evaluated, for (source x); "" where nobody wants it

	quit <-chan struct{} // closed when this thread alone is to stop; nil: never
	tx   *transaction    // the dosync the thread is in, or nil

	pinned  int64         // bytes held by running builders
	asked   int64         // bytes charged for, which it is about to build
	watched [][]Value     // what Go code holds while it or Lisp code builds more: see Watch
	roots   []Value       // what Go code that runs the thread holds: the function of a future, the action of an agent
	held    atomic.Int64  // bytes that the last measurement found on this thread and no other
	due     bool          // it is time to measure, or to stand still for it
	asks    int           // how often it was asked to stand still
	still   chan struct{} // holds a token while the thread stands still; nil while it is alone
	parked  int           // how deeply Park nests

	host   []Value // room for the arguments of calls of the host
	hosted int     // how much of it is taken

	unwind bool // a limit is unwinding: no Lisp code may run

	// What a small evaluation needs, in the same allocation.
	firstStack [smallStack]Value
	firstCalls [smallCalls]Frame
	firstWatch [2][]Value
}

type segment struct {
	stack []Value
	sp    int
	high  int
}

// Frame is one line of a Lisp stack trace: a function, and where it was called.
type Frame struct {
	Code *Code
	Pos  *Pos
}

// NewThread makes a thread of r in env.
func NewThread(r *Run, env *Env) *Thread {
	t := &Thread{}
	t.start(r, env)
	return t
}

func (t *Thread) start(r *Run, env *Env) {
	t.Run, t.Context, t.Env, t.limit = r, r.Context, env, r.Limits.Depth
	t.stack, t.calls, t.watched = t.firstStack[:], t.firstCalls[:0], t.firstWatch[:0]
}

// Fork makes a thread of the same evaluation with the same dynamic bindings, for a future.
func (t *Thread) Fork() *Thread {
	n := NewThread(t.Run, t.Env)
	n.Binds = t.Binds
	return n
}

// Flush gives what is left of the thread's quantum and grain back to its Run.
func (t *Thread) Flush() {
	if t.fuel > 0 {
		t.Run.steps.Add(t.fuel)
	}
	if t.credit > 0 {
		t.Run.alloc.Add(t.credit)
		t.meter().unbuilt(t.credit)
	}
	t.fuel, t.credit = 0, 0
}

// Step charges one step: a call, a loop turn, an item looked at.
func (t *Thread) Step() {
	t.fuel--
	if t.fuel < 0 {
		t.refuel(1)
	}
}

// Steps charges n steps at once, before the work is done.
func (t *Thread) Steps(n int) {
	t.fuel -= int64(n)
	if t.fuel < 0 {
		t.refuel(int64(n))
	}
}

// Charge charges n bytes, before they are allocated.
func (t *Thread) Charge(n int) {
	t.credit -= int64(n)
	if t.credit < 0 {
		t.recharge()
	}
}

// refuel takes the steps that are owed and a quantum more, and is the safepoint.
func (t *Thread) refuel(asked int64) {
	owed := -t.fuel
	left := t.Run.steps.Add(-(owed + quantum))
	t.fuel = quantum
	if left < -quantum {
		t.fuel = 0
		t.Run.steps.Store(0)
		t.trip(limit.Steps, t.Limits.Steps, t.Limits.Steps+asked)
	}
	if left < 0 { // the last part of a quantum
		t.Run.steps.Add(-left)
		t.fuel += left
	}
	t.Safepoint()
}

// recharge takes the bytes that are owed and a grain more, and measures what is alive when enough has been built.
func (t *Thread) recharge() {
	owed := -t.credit
	left := t.Run.alloc.Add(-(owed + grain))
	t.credit = grain
	if left < -grain {
		t.credit = 0
		t.Run.alloc.Store(0)
		t.trip(limit.Alloc, t.Limits.Alloc, t.Limits.Alloc-left)
	}
	if left < 0 {
		t.Run.alloc.Add(-left)
		t.credit += left
	}
	t.meter().add(t, owed+grain)
}

// Safepoint ends the evaluation when its context, its deadline or its owner has.
func (t *Thread) Safepoint() {
	t.clean()
	t.Stoppable()
	if t.Limits.Time < limit.Unlimited && time.Since(t.began) > t.Limits.Time {
		t.trip(limit.Time, int64(t.Limits.Time), int64(t.Limits.Time))
	}
}

// clean lets go of what the stack held, and stands still where another thread measures.
func (t *Thread) clean() {
	for i := t.sp; i < t.high && i < len(t.stack); i++ {
		t.stack[i] = Value{}
	}
	t.high = t.sp
	t.wanted()
}

// Stoppable is the part of a safepoint that looks at no clock: the evaluation ends when its context or its owner has.
func (t *Thread) Stoppable() {
	t.stopped()
	if t.done != nil {
		select {
		case <-t.done:
			t.cancelled()
		default:
		}
	}
	if t.quit != nil {
		select {
		case <-t.quit:
			t.trip(limit.Cancel, 0, 0)
		default:
		}
	}
	if t.ended.Load() {
		t.trip(limit.Cancel, 0, 0)
	}
}

// stopped ends the thread when another one has met a limit.
func (t *Thread) stopped() {
	if e := t.tripped.Load(); e != nil {
		t.unwind = true
		panic(e)
	}
}

// cancelled tells a limit, which ends the context as well, and a deadline of the context from a cancellation.
func (t *Thread) cancelled() {
	t.stopped()
	if t.Context.Err() == context.DeadlineExceeded {
		ran := time.Since(t.began)
		if end, ok := t.Context.Deadline(); ok {
			ran = max(end.Sub(t.began), 0)
		}
		t.trip(limit.Time, int64(min(ran, t.Limits.Time)), int64(ran))
	}
	t.trip(limit.Cancel, 0, 0)
}

// Await waits for ch without holding up a cancellation. It is how a thread blocks. It tells false when d ran out first;
// a negative d waits for ever.
func (t *Thread) Await(ch <-chan struct{}, d time.Duration) bool {
	select {
	case <-ch:
		return true
	default:
	}
	t.Park()
	woke := t.block(ch, d)
	t.Unpark()
	switch woke {
	case wokeDeadline:
		t.trip(limit.Time, int64(t.Limits.Time), int64(t.Limits.Time))
	case wokeQuit:
		t.trip(limit.Cancel, 0, 0)
	case wokeHalt:
		t.Safepoint()
	case wokeDone:
		t.cancelled()
	}
	return woke == wokeReady
}

// woke is why a thread that was blocked goes on.
type woke uint8

const (
	wokeReady    woke = iota // what it waited for is there
	wokeTimeout              // the time it would wait is over
	wokeDeadline             // the evaluation's time is over
	wokeQuit                 // this thread alone was cancelled
	wokeHalt                 // another thread met a limit
	wokeDone                 // the context ended
)

func (t *Thread) block(ch <-chan struct{}, d time.Duration) woke {
	var timeout, deadline <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	if !t.Deadline.IsZero() {
		timer := time.NewTimer(time.Until(t.Deadline))
		defer timer.Stop()
		deadline = timer.C
	}
	select {
	case <-ch:
		return wokeReady
	case <-timeout:
		return wokeTimeout
	case <-deadline:
		return wokeDeadline
	case <-t.quit:
		return wokeQuit
	case <-t.halted():
		return wokeHalt
	case <-t.Run.Context.Done():
		return wokeDone
	}
}

// Enter goes one level deeper into a recursion of Go code over data; Leave comes back. A panic in between needs no
// Leave: whoever recovers restores the depth.
func (t *Thread) Enter() { t.Deeper(1) }

// Leave comes back from Enter.
func (t *Thread) Leave() { t.depth-- }

// Deeper goes n levels deeper: what a frame costs depends on how deeply its code nests.
func (t *Thread) Deeper(n int) {
	t.depth += n
	if t.depth > t.limit {
		t.tooDeep()
	}
}

// Shallower comes back from Deeper.
func (t *Thread) Shallower(n int) { t.depth -= n }

// Depth is how deep the thread is.
func (t *Thread) Depth() int { return t.depth }

func (t *Thread) tooDeep() {
	if t.Limits.Steps >= limit.Unlimited {
		panic(Errorf("StackOverflowError", "stack: nested deeper than %d; use loop/recur, reduce or a flatter structure", t.limit))
	}
	t.trip(limit.Depth, int64(t.limit), int64(t.depth))
}

// Print charges n bytes of output.
func (t *Thread) Print(n int) {
	t.Steps(n >> 3)
	if t.Run.output.Add(-int64(n)) < 0 {
		t.Run.output.Store(0)
		t.trip(limit.Output, t.Limits.Output, t.Limits.Output+int64(n))
	}
}

// HostCall charges one call of a capability.
func (t *Thread) HostCall() {
	if t.Run.calls.Add(-1) < 0 {
		t.Run.calls.Store(0)
		t.trip(limit.Calls, t.Limits.Calls, t.Limits.Calls+1)
	}
}

// Go runs f on a thread of its own, a fork of t, and counts it until it returns. roots are the Lisp values that f closes
// over, for the count of what is alive.
func (t *Thread) Go(f func(*Thread), roots ...Value) {
	if t.Limits.Bytes < limit.Unlimited {
		t.join()
	}
	t.launch(t.Fork(), f, roots)
}

// launch runs f on n, which belongs to no goroutine yet.
func (t *Thread) launch(n *Thread, f func(*Thread), roots []Value) {
	r := n.Run
	if a := r.threads.Add(1); a > int64(n.Limits.Threads) {
		r.threads.Add(-1)
		t.trip(limit.Threads, int64(n.Limits.Threads), a)
	}
	n.roots = roots
	if n.Limits.Bytes < limit.Unlimited {
		n.join()
	}
	r.workers.Add(1)
	go func() {
		defer r.workers.Done()
		defer r.threads.Add(-1)
		defer n.leave()
		defer n.Flush()
		f(n)
	}()
}

// trip ends the evaluation: the panic passes every Lisp try. In an isolate it ends on every thread, so that no code goes
// on beside a future that ran out, or behind a capability that was handed a function that did.
func (t *Thread) trip(k limit.Kind, lim, used int64) {
	t.unwind = true
	e := &limit.Error{Kind: k, Limit: lim, Used: used}
	if k != limit.Cancel && t.Env != nil && t.Env.Isolate {
		t.stop(e)
	}
	panic(e)
}

// stop makes e the limit that ends the evaluation, unless another was first, and wakes whoever waits.
func (r *Run) stop(e *limit.Error) {
	r.haltMu.Lock()
	first := r.tripped.CompareAndSwap(nil, e)
	if first && r.halt != nil {
		close(r.halt)
	}
	r.haltMu.Unlock()
	if first {
		r.own.end()
	}
}

// halted is closed once a limit has ended the evaluation.
func (r *Run) halted() <-chan struct{} {
	r.haltMu.Lock()
	defer r.haltMu.Unlock()
	if r.halt == nil {
		r.halt = make(chan struct{})
		if r.tripped.Load() != nil {
			close(r.halt)
		}
	}
	return r.halt
}

// Unwinding tells whether a limit is ending the evaluation; no Lisp code may run then.
func (t *Thread) Unwinding() bool { return t.unwind }

// Doom makes every panic from here on pass all Lisp code: after a defect of ours nothing more of the evaluation runs.
func (t *Thread) Doom() { t.unwind = true }
