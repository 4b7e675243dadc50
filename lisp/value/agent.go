package value

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// Agent is a cell that changes by actions, one after another, on a thread of its own while there are any.
type Agent struct {
	Header
	p     atomic.Pointer[Value]
	meta  atomic.Pointer[Value]
	guard guard

	mu      sync.Mutex // of what follows; no Lisp code runs under it
	queue   []action
	running bool
	failed  *Exception
	carryOn bool  // keep going after an action that threw
	onError Value // a function of agent and exception, or nil
}

type action struct {
	run   func(t *Thread, old Value) Value
	held  []Value // what run closes over
	binds *Bindings
	done  chan struct{} // closed when the action has run or never will; may be nil
	lost  *lostAction   // set with done: why it never will
}

// lostAction is the limit that ended the agent's thread; it is written before done is closed.
type lostAction struct{ limit *limit.Error }

// NewAgent makes an agent that holds v. carryOn says whether it keeps going after an action that threw; onError, if not
// nil, is told of each.
func NewAgent(t *Thread, v Value, carryOn bool, onError Value) *Agent {
	t.Charge(2 * cellAlloc)
	a := &Agent{Header: Head(KindAgent), carryOn: carryOn, onError: onError}
	a.p.Store(&v)
	return a
}

// Get reads the agent.
func (a *Agent) Get() Value { return *a.p.Load() }

// Mode tells whether the agent carries on after an action that threw, and who is told.
func (a *Agent) Mode() (carryOn bool, onError Value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.carryOn, a.onError
}

// SetMode changes what Mode tells.
func (a *Agent) SetMode(carryOn bool, onError Value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.carryOn, a.onError = carryOn, onError
}

// Failed gives the exception that stopped the agent, or nil.
func (a *Agent) Failed() *Exception {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Restart sets a failed agent going again from v; drop forgets the actions that waited.
func (a *Agent) Restart(t *Thread, v Value, drop bool) {
	a.guard.validate(t, v)
	a.mu.Lock()
	if a.failed == nil {
		a.mu.Unlock()
		panic(StateError("restart-agent: got an agent that has not failed"))
	}
	a.failed = nil
	a.p.Store(&v)
	if drop {
		a.dropQueue(nil)
	}
	start := len(a.queue) > 0 && !a.running
	a.running = a.running || start
	a.mu.Unlock()
	if start {
		a.start(t)
	}
}

// Send queues f for the agent; inside a transaction it waits for the commit. held are the Lisp values it closes over, for
// the count of what is alive.
func (a *Agent) Send(t *Thread, f func(t *Thread, old Value) Value, held ...Value) {
	x := action{run: f, held: held, binds: t.Binds}
	if t.tx != nil {
		tx := t.tx
		t.Charge(cellBytes)
		tx.after = append(tx.after, func() { a.enqueue(t, x) })
		return
	}
	a.enqueue(t, x)
}

func (a *Agent) enqueue(t *Thread, x action) {
	t.Charge(2 * cellBytes)
	a.mu.Lock()
	if ex := a.failed; ex != nil {
		a.mu.Unlock()
		e := StateError("agent: has failed and needs restart-agent: %s", ex.Error())
		e.Cause = Of(ex)
		panic(e)
	}
	a.queue = append(a.queue, x)
	start := !a.running
	a.running = true
	a.mu.Unlock()
	if start {
		a.start(t)
	}
}

// start gives the agent a thread. Being refused one is a limit: the queue goes with the evaluation.
func (a *Agent) start(t *Thread) {
	started := false
	defer func() {
		if !started {
			a.stop(nil)
		}
	}()
	t.spawn(a.drain, Of(a))
	started = true
}

// stop gives the thread up, for a limit if any.
func (a *Agent) stop(lim *limit.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = false
	a.dropQueue(lim)
}

// dropQueue forgets what waits. The caller holds mu.
func (a *Agent) dropQueue(lim *limit.Error) {
	for _, x := range a.queue {
		if x.done != nil {
			x.lost.limit = lim
			close(x.done)
		}
	}
	a.queue = nil
}

// drain runs actions until none is left.
func (a *Agent) drain(t *Thread) {
	m := t.Mark()
	for {
		x, ok := a.next()
		if !ok {
			return
		}
		t.Binds = x.binds
		t.roots = append(x.held[:len(x.held):len(x.held)], Of(a))
		o := t.outcome(func() Value { return a.act(t, x) })
		if x.done != nil {
			close(x.done)
		}
		if t.Unwinding() {
			a.stop(o.limit)
			return
		}
		if o.ex != nil {
			t.Unwind(m)
			if o = t.outcome(func() Value { return a.fail(t, o.ex) }); t.Unwinding() {
				a.stop(o.limit)
				return
			}
		}
		t.Unwind(m)
	}
}

func (a *Agent) next() (action, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 || a.failed != nil {
		a.running = false
		return action{}, false
	}
	x := a.queue[0]
	a.queue = a.queue[1:]
	return x, true
}

func (a *Agent) act(t *Thread, x action) Value {
	if x.run == nil {
		return Nil
	}
	old := a.Get()
	v := x.run(t, old)
	a.guard.validate(t, v)
	a.p.Store(&v)
	a.guard.notify(t, Of(a), old, v)
	return Nil
}

func (a *Agent) fail(t *Thread, ex *Exception) Value {
	a.mu.Lock()
	if !a.carryOn {
		a.failed = ex
		for _, x := range a.queue { // whoever waits learns of the failure
			if x.done != nil {
				close(x.done)
			}
		}
		kept := a.queue[:0]
		for _, x := range a.queue {
			if x.done == nil {
				kept = append(kept, x)
			}
		}
		a.queue = kept
	}
	f := a.onError
	a.mu.Unlock()
	if !f.IsNil() {
		t.Call2(f, Of(a), Of(ex))
	}
	return Nil
}

// Await waits until every action sent so far has run, at most d; a negative d waits for ever.
func (a *Agent) Await(t *Thread, d time.Duration) bool {
	done, lost := make(chan struct{}), &lostAction{}
	a.enqueue(t, action{binds: t.Binds, done: done, lost: lost})
	if !t.Await(done, d) {
		return false
	}
	if lost.limit != nil { // ends whoever waits for it too
		t.Doom()
		panic(lost.limit)
	}
	return true
}
