package value

import "sync/atomic"

// HashSet is a set over a tree of nodes whose values are nil.
type HashSet struct {
	Header
	meta  *MetaBox
	root  *hnode
	count int
	hash  atomic.Uint64
}

// EmptySet is the set of nothing.
var EmptySet = Of(&HashSet{Header: Head(KindHashSet), root: emptyNode})

// NewSet makes a set of xs.
func NewSet(t *Thread, xs ...Value) Value { return newSet(t, xs, false) }

// NewSetLiteral makes a set of xs; two equal elements are an error.
func NewSetLiteral(t *Thread, xs []Value) Value { return newSet(t, xs, true) }

func newSet(t *Thread, xs []Value, literal bool) Value {
	if len(xs) == 0 {
		return EmptySet
	}
	e := &hashEdit{t: t, o: new(owner)}
	root, n := emptyNode, 0
	for _, x := range xs {
		t.Step()
		root = e.put(root, x, Nil)
		if e.grew {
			n++
		} else if literal {
			panic(ArgError("set: duplicate element %s", Brief(t, x)))
		}
	}
	return Of(newHashSet(t, root, n, nil))
}

func newHashSet(t *Thread, root *hnode, count int, meta *MetaBox) *HashSet {
	t.Charge(hashMapBytes)
	return &HashSet{Header: Head(KindHashSet), meta: meta, root: root, count: count}
}

func (s *HashSet) conj(t *Thread, x Value) Value {
	e := hashEdit{t: t}
	root := e.put(s.root, x, Nil)
	if !e.grew {
		return Of(s)
	}
	return Of(newHashSet(t, root, s.count+1, s.meta))
}

func (s *HashSet) disj(t *Thread, x Value) Value {
	e := hashEdit{t: t, h: Hash(t, x), k: x}
	root := e.dissoc(s.root, 0)
	if !e.shrank {
		return Of(s)
	}
	return Of(newHashSet(t, root, s.count-1, s.meta))
}

// setGet looks x up in any set: the element as the set has it.
func setGet(t *Thread, s, x Value) (Value, bool) {
	if s.Kind() == KindHashSet {
		k, _, ok := As[HashSet](s).root.find(t, Hash(t, x), x)
		return k, ok
	}
	ss := As[SortedSet](s)
	if n := ss.root.find(t, ss.cmp, x); n != nil {
		return n.k, true
	}
	return Nil, false
}

func setLen(s Value) int {
	if s.Kind() == KindHashSet {
		return As[HashSet](s).count
	}
	return As[SortedSet](s).root.len()
}
