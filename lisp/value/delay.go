package value

import "sync/atomic"

// Delay is an expression that is computed when first asked for, once.
//
// One thread at a time holds its claim; it alone runs the thunk and writes val or ex, until the state says done, after
// which neither changes. An exception is a result and is thrown again to everyone who asks. A limit is none: it gives the
// claim back with the thunk in place, so that the delay can be tried again.
type Delay struct {
	Header
	state atomic.Uint32
	owner atomic.Pointer[Thread]        // who holds the claim
	wait  atomic.Pointer[chan struct{}] // closed when the claim is given back; made by the first who waits
	fn    atomic.Pointer[Fn]            // the thunk; nil once done
	val   Value
	ex    *Exception
}

const (
	delayIdle = iota
	delayClaimed
	delayDone
)

// NewDelay makes a delay of a function of no arguments.
func NewDelay(thunk *Fn) Value {
	d := &Delay{Header: Head(KindDelay)}
	d.fn.Store(thunk)
	return Of(d)
}

// Realized tells whether the delay has been computed.
func (d *Delay) Realized() bool { return d.state.Load() == delayDone }

// Peek gives the value if it has been computed without an exception.
func (d *Delay) Peek() (Value, bool) {
	if !d.Realized() || d.ex != nil {
		return Nil, false
	}
	return d.val, true
}

// Force computes the delay, or waits for the thread that does.
func (d *Delay) Force(t *Thread) Value {
	if d.state.Load() != delayDone && d.claim(t) {
		d.run(t)
	}
	if d.ex != nil {
		panic(d.ex)
	}
	return d.val
}

func (d *Delay) run(t *Thread) {
	defer d.release()
	fn := d.fn.Load()
	v, ex := t.Try(func() Value { return fn.Code.F0(t, fn) })
	d.val, d.ex = v, ex
	d.fn.Store(nil)
	d.state.Store(delayDone)
}

// claim takes the claim, waiting while another thread has it; false when the delay is done instead.
func (d *Delay) claim(t *Thread) bool {
	for {
		switch d.state.Load() {
		case delayDone:
			return false
		case delayClaimed:
			if d.owner.Load() == t {
				panic(StateError("delay: its own computation asks for it; a delay cannot depend on itself"))
			}
			d.await(t)
		default:
			if d.state.CompareAndSwap(delayIdle, delayClaimed) {
				d.owner.Store(t)
				return true
			}
		}
	}
}

func (d *Delay) await(t *Thread) {
	ch := d.wait.Load()
	if ch == nil {
		c := make(chan struct{})
		if !d.wait.CompareAndSwap(nil, &c) {
			return
		}
		ch = &c
	}
	if d.state.Load() == delayClaimed { // else the claim was given back before anyone could see the channel
		t.Await(*ch, -1)
	}
}

// release gives the claim back, after a panic too, and wakes those who wait.
func (d *Delay) release() {
	d.owner.Store(nil)
	d.state.CompareAndSwap(delayClaimed, delayIdle)
	if ch := d.wait.Swap(nil); ch != nil {
		close(*ch)
	}
}

// Try runs f and gives back the exception it threw, with its stack noted. A limit, and a defect of ours, pass through.
func (t *Thread) Try(f func() Value) (v Value, ex *Exception) {
	m := t.Mark()
	defer func() {
		if t.Unwinding() {
			return
		}
		r := recover()
		if r == nil {
			return
		}
		e, ok := r.(*Exception)
		if !ok {
			panic(r) // still on top of the frames that panicked: whoever reports it sees them
		}
		ex = e.At(t)
		t.Unwind(m)
	}()
	return f(), nil
}
