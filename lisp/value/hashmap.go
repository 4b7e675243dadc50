package value

import (
	"math/bits"
	"sync/atomic"
)

// hnode is a node of a compressed hash trie (CHAMP): five bits of the hash choose a slot, which holds an entry (data), a
// node below (kids) or nothing. Nodes below the last bits hold entries whose hashes are equal, in a row.
//
// A node is written only by the transient that owns it, and only when nothing can fail any more.
type hnode struct {
	data, sub uint32
	kvs       []Value  // key, value, key, value … in the order of data's bits
	kids      []*hnode // in the order of sub's bits
	owner     *owner
	mark      atomic.Uint32
}

// owner is the identity of a transient.
type owner struct{ _ byte }

const (
	hnodeBytes = 80
	lastShift  = 60 // the shift of the last level before collisions
)

var emptyNode = &hnode{}

func slot(h uint64, shift uint) uint32 { return 1 << ((h >> shift) & 31) }

func index(bitmap, bit uint32) int { return bits.OnesCount32(bitmap & (bit - 1)) }

// find looks k up. Every comparison is a step, so that keys of one hash cost their finder and no one else.
func (n *hnode) find(t *Thread, h uint64, k Value) (key, val Value, ok bool) {
	for shift := uint(0); shift <= lastShift; shift += 5 {
		bit := slot(h, shift)
		if n.data&bit != 0 {
			i := 2 * index(n.data, bit)
			if sameKey(t, n.kvs[i], k) {
				return n.kvs[i], n.kvs[i+1], true
			}
			return Nil, Nil, false
		}
		if n.sub&bit == 0 {
			return Nil, Nil, false
		}
		n = n.kids[index(n.sub, bit)]
	}
	for i := 0; i < len(n.kvs); i += 2 {
		t.Step()
		if sameKey(t, n.kvs[i], k) {
			return n.kvs[i], n.kvs[i+1], true
		}
	}
	return Nil, Nil, false
}

// hashEdit is one change to a tree of nodes.
type hashEdit struct {
	t      *Thread
	o      *owner
	h      uint64
	k, v   Value
	grew   bool // assoc added an entry
	shrank bool // dissoc removed one
}

func (e *hashEdit) owns(n *hnode) bool { return e.o != nil && n.owner == e.o }

// clone copies n.
func (e *hashEdit) clone(n *hnode) *hnode {
	e.t.Charge(nodeBytes(len(n.kvs), len(n.kids)))
	c := makeNode(e.o, len(n.kvs), len(n.kids))
	c.data, c.sub = n.data, n.sub
	c.kvs, c.kids = append(c.kvs, n.kvs...), append(c.kids, n.kids...)
	return c
}

// own gives n itself if the edit may write to it, else a copy.
func (e *hashEdit) own(n *hnode) *hnode {
	if e.owns(n) {
		return n
	}
	return e.clone(n)
}

// assoc puts the entry under n.
func (e *hashEdit) assoc(n *hnode, shift uint) *hnode {
	if shift > lastShift {
		return e.assocRow(n)
	}
	bit := slot(e.h, shift)
	switch {
	case n.data&bit != 0:
		i := 2 * index(n.data, bit)
		if sameKey(e.t, n.kvs[i], e.k) {
			return e.replace(n, i)
		}
		return e.split(n, bit, i, shift)
	case n.sub&bit != 0:
		i := index(n.sub, bit)
		kid := e.assoc(n.kids[i], shift+5)
		if kid == n.kids[i] {
			return n
		}
		n = e.own(n)
		n.kids[i] = kid
		return n
	}
	e.grew = true
	i := 2 * index(n.data, bit)
	n = e.insert(n, i)
	n.data |= bit
	return n
}

func (e *hashEdit) replace(n *hnode, i int) *hnode {
	if n.kvs[i+1] == e.v {
		return n
	}
	n = e.own(n)
	n.kvs[i+1] = e.v
	return n
}

// insert puts the entry at position i of the entries of n.
func (e *hashEdit) insert(n *hnode, i int) *hnode {
	if e.owns(n) {
		e.t.Charge(4 * valueBytes)
		n.kvs = append(n.kvs, Nil, Nil)
		copy(n.kvs[i+2:], n.kvs[i:])
		n.kvs[i], n.kvs[i+1] = e.k, e.v
		return n
	}
	e.t.Charge(nodeBytes(len(n.kvs)+2, len(n.kids)))
	c := makeNode(e.o, len(n.kvs)+2, len(n.kids))
	c.data, c.sub = n.data, n.sub
	c.kvs = append(append(append(c.kvs, n.kvs[:i]...), e.k, e.v), n.kvs[i:]...)
	c.kids = append(c.kids, n.kids...)
	return c
}

// split moves the entry at i one level down, together with the new one.
func (e *hashEdit) split(n *hnode, bit uint32, i int, shift uint) *hnode {
	old := Hash(e.t, n.kvs[i])
	kid := e.pair(n.kvs[i], n.kvs[i+1], old, shift+5)
	e.t.Charge(nodeBytes(len(n.kvs), len(n.kids)+1))
	e.grew = true
	j := index(n.sub, bit)
	c := n
	if e.owns(n) {
		c.kvs = append(c.kvs[:i], c.kvs[i+2:]...)
		clear(c.kvs[len(c.kvs) : len(c.kvs)+2])
		c.kids = append(c.kids, nil)
		copy(c.kids[j+1:], c.kids[j:])
	} else {
		c = makeNode(e.o, len(n.kvs)-2, len(n.kids)+1)
		c.data, c.sub = n.data, n.sub
		c.kvs = append(append(c.kvs, n.kvs[:i]...), n.kvs[i+2:]...)
		c.kids = append(append(append(c.kids, n.kids[:j]...), nil), n.kids[j:]...)
	}
	c.kids[j] = kid
	c.data &^= bit
	c.sub |= bit
	return c
}

// pair makes the node that holds an old entry and the new one.
func (e *hashEdit) pair(k, v Value, h uint64, shift uint) *hnode {
	e.t.Charge(nodeBytes(4, 0))
	a, b := slot(h, shift), slot(e.h, shift)
	if shift <= lastShift && a == b {
		n := makeNode(e.o, 0, 1)
		n.sub, n.kids = a, append(n.kids, e.pair(k, v, h, shift+5))
		return n
	}
	n := makeNode(e.o, 4, 0)
	if shift <= lastShift {
		n.data = a | b
	}
	if a <= b {
		n.kvs = append(n.kvs, k, v, e.k, e.v)
	} else {
		n.kvs = append(n.kvs, e.k, e.v, k, v)
	}
	return n
}

// assocRow puts the entry among those of one hash.
func (e *hashEdit) assocRow(n *hnode) *hnode {
	for i := 0; i < len(n.kvs); i += 2 {
		e.t.Step()
		if sameKey(e.t, n.kvs[i], e.k) {
			return e.replace(n, i)
		}
	}
	e.grew = true
	return e.insert(n, len(n.kvs))
}

func without2(kvs []Value, i int) []Value {
	out := make([]Value, len(kvs)-2)
	copy(out, kvs[:i])
	copy(out[i:], kvs[i+2:])
	return out
}

// dissoc takes the entry of the key away; the tree is then as if it had never been there.
func (e *hashEdit) dissoc(n *hnode, shift uint) *hnode {
	if shift > lastShift {
		for i := 0; i < len(n.kvs); i += 2 {
			e.t.Step()
			if sameKey(e.t, n.kvs[i], e.k) {
				return e.remove(n, i, 0)
			}
		}
		return n
	}
	bit := slot(e.h, shift)
	if n.data&bit != 0 {
		i := 2 * index(n.data, bit)
		if sameKey(e.t, n.kvs[i], e.k) {
			return e.remove(n, i, bit)
		}
		return n
	}
	if n.sub&bit == 0 {
		return n
	}
	i := index(n.sub, bit)
	kid := e.dissoc(n.kids[i], shift+5)
	if len(kid.kvs) == 2 && len(kid.kids) == 0 {
		return e.inline(n, kid, bit, i)
	}
	if kid == n.kids[i] {
		return n
	}
	n = e.own(n)
	n.kids[i] = kid
	return n
}

func (e *hashEdit) remove(n *hnode, i int, bit uint32) *hnode {
	e.t.Charge(nodeBytes(len(n.kvs), len(n.kids)))
	e.shrank = true
	c := makeNode(e.o, len(n.kvs)-2, len(n.kids))
	c.data, c.sub = n.data&^bit, n.sub
	c.kvs = append(append(c.kvs, n.kvs[:i]...), n.kvs[i+2:]...)
	c.kids = append(c.kids, n.kids...)
	return c
}

// inline takes the last entry of a node below up into n.
func (e *hashEdit) inline(n, kid *hnode, bit uint32, i int) *hnode {
	e.t.Charge(nodeBytes(len(n.kvs)+2, len(n.kids)))
	j := 2 * index(n.data, bit)
	c := makeNode(e.o, len(n.kvs)+2, len(n.kids)-1)
	c.data, c.sub = n.data|bit, n.sub&^bit
	c.kvs = append(append(append(c.kvs, n.kvs[:j]...), kid.kvs...), n.kvs[j:]...)
	c.kids = append(append(c.kids, n.kids[:i]...), n.kids[i+1:]...)
	return c
}

// each gives every entry to f, until it says false. Trees are at most 14 nodes deep.
func (n *hnode) each(t *Thread, f func(k, v Value) bool) bool {
	for i := 0; i < len(n.kvs); i += 2 {
		t.Step()
		if !f(n.kvs[i], n.kvs[i+1]) {
			return false
		}
	}
	for _, kid := range n.kids {
		if !kid.each(t, f) {
			return false
		}
	}
	return true
}
