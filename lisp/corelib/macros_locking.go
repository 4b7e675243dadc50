package corelib

import (
	"sync"

	"github.com/reflection-dev/zeno/lisp/value"
)

// monitors are the locks that locking holds in one environment, by the identity of what is locked. There is an entry only
// while a thread holds it or waits for it.
type monitors struct {
	mu   sync.Mutex
	held map[value.Value]*monitor
}

// monitor is held by one thread, as often as it likes.
type monitor struct {
	owner   *value.Thread
	depth   int
	waiting int
	free    chan struct{} // closed and replaced when the monitor is given back
}

// lockingStar calls f while t holds the monitor of x. A limit or a throw gives the monitor back as well.
func lockingStar(t *value.Thread, x, f value.Value) value.Value {
	if x.IsNil() {
		panic(value.TypeError(t, "locking", x, "something to lock"))
	}
	t.Charge(256)
	state, _ := t.Env.State.LoadOrStore("corelib.monitors", &monitors{held: map[value.Value]*monitor{}})
	ms := state.(*monitors)
	ms.enter(t, x)
	defer ms.leave(x)
	return t.Call(f)
}

func (ms *monitors) enter(t *value.Thread, x value.Value) {
	for {
		free, ok := ms.tryEnter(t, x)
		if ok {
			return
		}
		func() {
			defer ms.stopWaiting(x)
			t.Await(free, -1)
		}()
	}
}

// tryEnter takes the monitor of x, or notes that t waits for the channel to close.
func (ms *monitors) tryEnter(t *value.Thread, x value.Value) (free <-chan struct{}, ok bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.held[x]
	switch {
	case m == nil:
		ms.held[x] = &monitor{owner: t, depth: 1, free: make(chan struct{})}
		return nil, true
	case m.owner == nil || m.owner == t:
		m.owner = t
		m.depth++
		return nil, true
	}
	m.waiting++
	return m.free, false
}

func (ms *monitors) stopWaiting(x value.Value) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.held[x]
	m.waiting--
	ms.drop(x, m)
}

func (ms *monitors) leave(x value.Value) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.held[x]
	if m.depth--; m.depth > 0 {
		return
	}
	m.owner = nil
	close(m.free)
	m.free = make(chan struct{})
	ms.drop(x, m)
}

// drop forgets a monitor that no one holds or waits for.
func (ms *monitors) drop(x value.Value, m *monitor) {
	if m.owner == nil && m.waiting == 0 {
		delete(ms.held, x)
	}
}
