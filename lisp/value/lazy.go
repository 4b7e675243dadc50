package value

import "sync/atomic"

// LazySeq is a seq that is computed when first asked for.
//
// One thread at a time holds its claim, taken by compare-and-swap from idle or stepped; it alone reads and writes val,
// until the state says done, after which val never changes and anyone reads it. A panic in the thunk gives the claim back
// with the thunk still in place, so that the seq can be tried again.
type LazySeq struct {
	Header
	state atomic.Uint32
	meta  *MetaBox
	owner atomic.Pointer[Thread]        // who holds the claim
	wait  atomic.Pointer[chan struct{}] // closed when the claim is given back; made by the first who waits
	fn    atomic.Pointer[Fn]            // the thunk, in Lisp
	run   atomic.Pointer[goThunk]       // or in Go
	val   Value
}

type goThunk struct {
	f    func(*Thread) Value
	held []Value
}

const (
	lazyIdle    = iota // the thunk has not run
	lazyClaimed        // someone is at it
	lazyStepped        // the thunk has run; val is what it gave, perhaps another lazy seq
	lazyDone           // val is nil or a seq that is not lazy
)

const lazyBytes = 80

// NewLazySeq makes a lazy seq of a function of no arguments that gives something seqable.
func NewLazySeq(thunk *Fn) Value {
	l := &LazySeq{Header: Head(KindLazySeq)}
	l.fn.Store(thunk)
	return Of(l)
}

// NewLazyGo makes a lazy seq of a Go function. held are the Lisp values it closes over, for the count of what is alive.
func NewLazyGo(f func(*Thread) Value, held ...Value) Value { return Of(newLazyGo(f, held...)) }

func newLazyGo(f func(*Thread) Value, held ...Value) *LazySeq {
	l := &LazySeq{Header: Head(KindLazySeq)}
	l.run.Store(&goThunk{f, held})
	return l
}

// Realized tells whether the seq has been computed.
func (l *LazySeq) Realized() bool {
	s := l.state.Load()
	return s == lazyDone || s == lazyStepped
}

// seq computes the seq, or waits for the thread that does. A chain of lazy seqs that give lazy seqs is followed in a
// loop, since it may be as long as the program likes.
func (l *LazySeq) seq(t *Thread) Value {
	if l.state.Load() == lazyDone {
		return l.val
	}
	if !l.claim(t) {
		return l.val
	}
	defer l.release()
	v := l.step(t)
	for v.Kind() == KindLazySeq {
		t.Step()
		v = As[LazySeq](v).unwrap(t)
		l.val = v
	}
	v = Seq(t, v)
	l.val = v
	l.state.Store(lazyDone)
	return v
}

// unwrap gives what the thunk of l gave, one layer of laziness less.
func (l *LazySeq) unwrap(t *Thread) Value {
	if l.state.Load() == lazyDone || !l.claim(t) {
		return l.val
	}
	defer l.release()
	return l.step(t)
}

// step runs the thunk if it has not run. The caller holds the claim.
func (l *LazySeq) step(t *Thread) Value {
	var v Value
	if fn := l.fn.Load(); fn != nil {
		v = fn.Code.F0(t, fn)
	} else if g := l.run.Load(); g != nil {
		t.Step()
		t.Enter()
		t.Watch(g.held)
		v = g.f(t)
		t.Unwatch()
		t.Leave()
	} else {
		return l.val
	}
	l.val = v
	l.fn.Store(nil)
	l.run.Store(nil)
	return v
}

// claim takes the claim, waiting while another thread has it; false when the seq is done instead.
func (l *LazySeq) claim(t *Thread) bool {
	for {
		switch s := l.state.Load(); s {
		case lazyDone:
			return false
		case lazyClaimed:
			if l.owner.Load() == t {
				panic(StateError("lazy seq: its own computation asks for it; refer to parts that come before"))
			}
			l.await(t)
		default:
			if l.state.CompareAndSwap(s, lazyClaimed) {
				l.owner.Store(t)
				return true
			}
		}
	}
}

func (l *LazySeq) await(t *Thread) {
	ch := l.wait.Load()
	if ch == nil {
		c := make(chan struct{})
		if !l.wait.CompareAndSwap(nil, &c) {
			return
		}
		ch = &c
	}
	if l.state.Load() == lazyClaimed { // else the claim was given back before anyone could see the channel
		t.Await(*ch, -1)
	}
}

// release gives the claim back, after a panic too, and wakes those who wait.
func (l *LazySeq) release() {
	l.owner.Store(nil)
	if l.state.Load() == lazyClaimed {
		s := uint32(lazyStepped)
		if l.fn.Load() != nil || l.run.Load() != nil {
			s = lazyIdle
		}
		l.state.Store(s)
	}
	if l.wait.Load() == nil {
		return
	}
	if ch := l.wait.Swap(nil); ch != nil {
		close(*ch)
	}
}
