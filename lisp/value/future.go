package value

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// Promise is a value that someone delivers, once.
type Promise struct {
	Header
	p  atomic.Pointer[Value]
	ch chan struct{} // closed when delivered
}

// NewPromise makes an undelivered promise.
func NewPromise(t *Thread) Value {
	t.Charge(2 * cellAlloc)
	return Of(&Promise{Header: Head(KindPromise), ch: make(chan struct{})})
}

// Deliver gives the promise its value; false when it has one already.
func (p *Promise) Deliver(v Value) bool {
	if !p.p.CompareAndSwap(nil, &v) {
		return false
	}
	close(p.ch)
	return true
}

// Peek gives the value if it has been delivered.
func (p *Promise) Peek() (Value, bool) {
	v := p.p.Load()
	if v == nil {
		return Nil, false
	}
	return *v, true
}

// Await waits for the value, at most d; a negative d waits for ever.
func (p *Promise) Await(t *Thread, d time.Duration) (Value, bool) {
	if v, ok := p.Peek(); ok {
		return v, true
	}
	if !t.Await(p.ch, d) {
		return Nil, false
	}
	return *p.p.Load(), true
}

// Future is a computation on a thread of its own.
//
// In an isolate it is part of the evaluation that made it, shares its budget and ends with it. Elsewhere it lives under
// Env.Life and may outlive the evaluation.
type Future struct {
	Header
	result atomic.Pointer[outcome]
	ch     chan struct{} // closed when there is a result
	quit   chan struct{} // closed to cancel
	cancel context.CancelFunc
}

type outcome struct {
	val       Value
	ex        *Exception   // what it threw
	limit     *limit.Error // the limit that ended it
	cancelled bool
}

// NewFuture runs f, which may be anything that can be called with no arguments.
func NewFuture(t *Thread, f Value) *Future {
	t.Charge(4096) // the thread and its first stack
	life := t.Run.Context
	if t.Env.Life != nil {
		life = t.Env.Life.Context
	}
	ctx, cancel := context.WithCancel(life)
	fu := &Future{Header: Head(KindFuture), ch: make(chan struct{}), quit: make(chan struct{}), cancel: cancel}
	t.spawn(func(n *Thread) {
		defer cancel()
		n.Context, n.quit = ctx, fu.quit
		fu.finish(n.outcome(func() Value { return n.Call(f) }))
	}, f)
	return fu
}

// spawn runs f on a thread that lives as long as the future of an evaluation of t's environment may.
func (t *Thread) spawn(f func(*Thread), roots ...Value) {
	if t.Env.Life == nil {
		t.Go(f, roots...)
		return
	}
	n := NewThread(t.Env.Life, t.Env)
	n.Binds = t.Binds
	t.launch(n, f, roots)
}

// outcome runs f to its end, whatever that is.
func (t *Thread) outcome(f func() Value) (o *outcome) {
	defer func() {
		r := recover()
		switch r := r.(type) {
		case nil:
		case *Exception:
			o = &outcome{ex: r.At(t)}
		case *limit.Error:
			o = &outcome{ex: Errorf("CancellationException", "future: %s", r.Error()), cancelled: r.Kind == limit.Cancel}
			if !o.cancelled {
				o.limit = r
			}
		default:
			o = &outcome{ex: t.Env.internal(r)}
		}
	}()
	return &outcome{val: f()}
}

// internal reports a defect of ours that ended a thread: the stack goes to the log, Lisp learns only that it happened.
func (e *Env) internal(r any) *Exception {
	if e.Crashed != nil {
		e.Crashed(r)
	}
	return Errorf("InternalError", "future: failed inside the language; this is a defect of zeno, the log has more")
}

// finish publishes the result unless there is one; true when it did.
func (f *Future) finish(o *outcome) bool {
	if !f.result.CompareAndSwap(nil, o) {
		return false
	}
	close(f.ch)
	return true
}

// Done tells whether the future has a result or was cancelled.
func (f *Future) Done() bool { return f.result.Load() != nil }

// Cancelled tells whether the future was cancelled before it had a result.
func (f *Future) Cancelled() bool {
	o := f.result.Load()
	return o != nil && o.cancelled
}

// Cancel stops the future at its next safepoint, and the Go code it waits for, such as a spawn; false when it was done.
func (f *Future) Cancel() bool {
	ex := Errorf("CancellationException", "future: cancelled")
	if !f.finish(&outcome{ex: ex, cancelled: true}) {
		return false
	}
	close(f.quit)
	f.cancel()
	return true
}

// Await waits for the result, at most d; a negative d waits for ever. What the future threw is thrown here as the cause
// of an ExecutionException.
func (f *Future) Await(t *Thread, d time.Duration) (Value, bool) {
	if f.result.Load() == nil && !t.Await(f.ch, d) {
		return Nil, false
	}
	o := f.result.Load()
	switch {
	case o.ex == nil:
		return o.val, true
	case o.limit != nil: // ends whoever waits for it too: no code sees a limit
		t.Doom()
		panic(o.limit)
	case o.ex.Class == "CancellationException" || o.ex.Class == "InternalError":
		panic(o.ex)
	}
	ex := Errorf("ExecutionException", "%s: %s", o.ex.Class, o.ex.Error())
	ex.Cause = Of(o.ex)
	panic(ex)
}

// Peek gives the value if the future has ended with one.
func (f *Future) Peek() (Value, bool) {
	o := f.result.Load()
	if o == nil || o.ex != nil {
		return Nil, false
	}
	return o.val, true
}
