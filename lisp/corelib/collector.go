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
	b := &collector{t: t, slot: t.Push(1)}
	b.slot[0] = to
	if canTransient(to) {
		b.open()
	}
	return b
}

func (b *collector) open() {
	b.slot[0] = value.Transient(b.t, b.slot[0])
	b.trans = true
}

// grown opens a transient once a small map has become a large one.
func (b *collector) grown() {
	if !b.trans && b.slot[0].Kind() == value.KindHashMap {
		b.open()
	}
}

func (b *collector) add(x Value) {
	if b.trans {
		b.slot[0] = value.ConjT(b.t, b.slot[0], x)
		return
	}
	b.slot[0] = value.Conj(b.t, b.slot[0], x)
	b.grown()
}

func (b *collector) put(k, v Value) {
	if b.trans {
		b.slot[0] = value.AssocT(b.t, b.slot[0], k, v)
		return
	}
	b.slot[0] = value.Assoc(b.t, b.slot[0], k, v)
	b.grown()
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
