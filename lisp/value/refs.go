package value

import (
	"sync"
	"sync/atomic"
)

// Ref is a cell that changes inside transactions only.
//
// A transaction runs without locks, on what it first saw of each ref. At its end it takes the lock of all refs of the
// environment, checks that none it touched has changed meanwhile, and writes; if one has, it runs again. No lock is held
// while Lisp code runs. commute is therefore no more than alter.
type Ref struct {
	Header
	p     atomic.Pointer[Value]
	meta  atomic.Pointer[Value]
	guard guard
}

// NewRef makes a ref that holds v.
func NewRef(t *Thread, v Value) *Ref {
	t.Charge(cellAlloc)
	r := &Ref{Header: Head(KindRef)}
	r.p.Store(&v)
	return r
}

// Get reads the ref: inside a transaction, what the transaction sees.
func (r *Ref) Get(t *Thread) Value {
	if t.tx != nil {
		return t.tx.entry(t, r).now
	}
	return *r.p.Load()
}

// Set gives the ref a value in the transaction that t is in.
func (r *Ref) Set(t *Thread, who string, f func(Value) Value) Value {
	if t.tx == nil {
		panic(StateError("%s: got a ref outside a transaction, want it inside dosync", who))
	}
	e := t.tx.entry(t, r)
	v := f(e.now)
	e.now, e.written = v, true
	return v
}

// InTransaction tells whether t is in one.
func (t *Thread) InTransaction() bool { return t.tx != nil }

type transaction struct {
	entries []*refEntry
	after   []func() // sends that wait for the commit
}

type refEntry struct {
	ref     *Ref
	seen    *Value
	now     Value
	written bool
}

// entry gives what the transaction knows of r. Transactions are small: a list is enough.
func (tx *transaction) entry(t *Thread, r *Ref) *refEntry {
	t.Steps(1 + len(tx.entries)>>2)
	for _, e := range tx.entries {
		if e.ref == r {
			return e
		}
	}
	t.Charge(cellBytes)
	p := r.p.Load()
	e := &refEntry{ref: r, seen: p, now: *p}
	tx.entries = append(tx.entries, e)
	return e
}

// retries bounds how often a transaction runs.
const retries = 10_000

// Transact runs f as a transaction; inside another one it is part of that.
func (t *Thread) Transact(f func() Value) Value {
	if t.tx != nil {
		return f()
	}
	for range retries {
		t.Step()
		v, tx := t.attempt(f)
		if !tx.commit(t) {
			continue
		}
		for _, e := range tx.entries {
			if e.written {
				e.ref.guard.notify(t, Of(e.ref), *e.seen, e.now)
			}
		}
		for _, g := range tx.after {
			g()
		}
		return v
	}
	panic(StateError("dosync: other transactions changed its refs %d times while it ran; make it smaller", retries))
}

func (t *Thread) attempt(f func() Value) (Value, *transaction) {
	tx := &transaction{}
	t.tx = tx
	defer func() { t.tx = nil }()
	v := f()
	for _, e := range tx.entries {
		if e.written {
			e.ref.guard.validate(t, e.now)
		}
	}
	return v, tx
}

// mark marks what the transaction would write.
func (tx *transaction) mark(m *Marker) {
	if tx == nil {
		return
	}
	for _, e := range tx.entries {
		m.Bytes(cellBytes)
		m.Value(e.now)
	}
}

type refLock struct{ sync.Mutex }

// commit writes what the transaction made unless a ref has changed since it looked.
func (tx *transaction) commit(t *Thread) bool {
	t.Steps(2 * len(tx.entries))
	t.Charge(valueBytes * len(tx.entries))
	l, _ := t.Env.State.LoadOrStore("refs", &refLock{})
	lock := l.(*refLock)
	lock.Lock()
	defer lock.Unlock()
	for _, e := range tx.entries {
		if e.ref.p.Load() != e.seen {
			return false
		}
	}
	for _, e := range tx.entries {
		if e.written {
			v := e.now
			e.ref.p.Store(&v)
		}
	}
	return true
}
