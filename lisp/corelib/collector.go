package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// collector adds to a collection in place where that can be done. What it has built lies on the thread's stack, so that it
// is counted as alive; done gives the slot back, and so does whoever recovers from a panic.
type collector struct {
	t     *Thread
	slot  []Value // of one: the collection or its transient
	trans bool
}

func newCollector(t *Thread, to Value) *collector {
	b := &collector{t: t, slot: t.Push(1), trans: canTransient(to)}
	if b.trans {
		to = value.Transient(t, to)
	}
	b.slot[0] = to
	return b
}

// canTransient tells whether v can be added to in place.
func canTransient(v Value) bool {
	switch v.Kind() {
	case value.KindVector, value.KindArrayMap, value.KindHashMap, value.KindHashSet:
		return true
	}
	return false
}

func (b *collector) add(x Value) {
	if b.trans {
		b.slot[0] = value.ConjT(b.t, b.slot[0], x)
		return
	}
	b.slot[0] = value.Conj(b.t, b.slot[0], x)
}

func (b *collector) put(k, v Value) {
	if b.trans {
		b.slot[0] = value.AssocT(b.t, b.slot[0], k, v)
		return
	}
	b.slot[0] = value.Assoc(b.t, b.slot[0], k, v)
}

func (b *collector) get(k Value) (Value, bool) { return value.Get(b.t, b.slot[0], k) }

// done ends the building.
func (b *collector) done() Value {
	v := b.slot[0]
	b.slot[0] = value.Nil
	b.t.Pop(1)
	if b.trans {
		return value.Persistent(b.t, v)
	}
	return v
}
