package value

import "sync/atomic"

// tnode is a node of a persistent AVL tree. Its height is at most 1.44 log2 of its size, so that recursion over it is
// shallow whatever the program does.
type tnode struct {
	k, v   Value
	l, r   *tnode
	size   int32
	height int8
	mark   atomic.Uint32
}

const tnodeBytes = 64

// SortedMap is a map in the order of its keys.
type SortedMap struct {
	Header
	meta *MetaBox
	root *tnode
	cmp  Value // a comparator, or nil for compare
	hash atomic.Uint64
}

// SortedSet is a set in order.
type SortedSet struct {
	Header
	meta *MetaBox
	root *tnode
	cmp  Value
	hash atomic.Uint64
}

// NewSortedMap makes a sorted map of keys and values in turn. cmp is a comparator, or nil for compare.
func NewSortedMap(t *Thread, cmp Value, kvs ...Value) Value {
	if len(kvs)%2 != 0 {
		panic(ArgError("sorted-map: got no value for key %s, want keys and values in turn", Brief(t, kvs[len(kvs)-1])))
	}
	t.Charge(hashMapBytes)
	m := &SortedMap{Header: Head(KindSortedMap), cmp: cmp}
	for i := 0; i < len(kvs); i += 2 {
		m.root = m.root.put(t, cmp, kvs[i], kvs[i+1])
	}
	return Of(m)
}

// NewSortedSet makes a sorted set of xs. cmp is a comparator, or nil for compare.
func NewSortedSet(t *Thread, cmp Value, xs ...Value) Value {
	t.Charge(hashMapBytes)
	s := &SortedSet{Header: Head(KindSortedSet), cmp: cmp}
	for _, x := range xs {
		s.root = s.root.put(t, cmp, x, Nil)
	}
	return Of(s)
}

// Comparator compares with cmp, a Lisp function that gives a number or a boolean, or with Compare if cmp is nil.
func Comparator(t *Thread, cmp, a, b Value) int {
	t.Step()
	if cmp.IsNil() {
		return Compare(t, a, b)
	}
	r := t.Call2(cmp, a, b)
	switch r.Kind() {
	case KindInt:
		return sign(r.Int())
	case KindBool:
		if r.Truthy() {
			return -1
		}
		if t.Call2(cmp, b, a).Truthy() {
			return 1
		}
		return 0
	}
	if r.Kind().IsNumber() {
		return NumCompare(t, r, Int(0))
	}
	panic(TypeError(t, "compare", r, "a number or boolean from the comparator"))
}

func sign(i int64) int {
	switch {
	case i < 0:
		return -1
	case i > 0:
		return 1
	}
	return 0
}

func (n *tnode) len() int {
	if n == nil {
		return 0
	}
	return int(n.size)
}

func (n *tnode) high() int8 {
	if n == nil {
		return 0
	}
	return n.height
}

func (n *tnode) find(t *Thread, cmp, k Value) *tnode {
	for n != nil {
		switch c := Comparator(t, cmp, k, n.k); {
		case c < 0:
			n = n.l
		case c > 0:
			n = n.r
		default:
			return n
		}
	}
	return nil
}

func join(t *Thread, l *tnode, k, v Value, r *tnode) *tnode {
	t.Charge(tnodeBytes)
	return &tnode{k: k, v: v, l: l, r: r, size: int32(l.len() + r.len() + 1), height: max(l.high(), r.high()) + 1}
}

// balance joins l and r, whose heights differ by two at most, under the entry.
func balance(t *Thread, l *tnode, k, v Value, r *tnode) *tnode {
	switch d := l.high() - r.high(); {
	case d > 1 && l.l.high() >= l.r.high():
		return join(t, l.l, l.k, l.v, join(t, l.r, k, v, r))
	case d > 1:
		m := l.r
		return join(t, join(t, l.l, l.k, l.v, m.l), m.k, m.v, join(t, m.r, k, v, r))
	case d < -1 && r.r.high() >= r.l.high():
		return join(t, join(t, l, k, v, r.l), r.k, r.v, r.r)
	case d < -1:
		m := r.l
		return join(t, join(t, l, k, v, m.l), m.k, m.v, join(t, m.r, r.k, r.v, r.r))
	}
	return join(t, l, k, v, r)
}

// put adds an entry; an equal key stays as it is and gets the new value.
func (n *tnode) put(t *Thread, cmp, k, v Value) *tnode {
	if n == nil {
		if cmp.IsNil() {
			Compare(t, k, k) // so that a key that compares with nothing is refused at once
		}
		return join(t, nil, k, v, nil)
	}
	switch c := Comparator(t, cmp, k, n.k); {
	case c < 0:
		l := n.l.put(t, cmp, k, v)
		if l == n.l {
			return n
		}
		return balance(t, l, n.k, n.v, n.r)
	case c > 0:
		r := n.r.put(t, cmp, k, v)
		if r == n.r {
			return n
		}
		return balance(t, n.l, n.k, n.v, r)
	}
	if n.v == v {
		return n
	}
	return join(t, n.l, n.k, v, n.r)
}

// without takes the entry of k away; n itself when there is none.
func (n *tnode) without(t *Thread, cmp, k Value) *tnode {
	if n == nil {
		return nil
	}
	switch c := Comparator(t, cmp, k, n.k); {
	case c < 0:
		if l := n.l.without(t, cmp, k); l != n.l {
			return balance(t, l, n.k, n.v, n.r)
		}
		return n
	case c > 0:
		if r := n.r.without(t, cmp, k); r != n.r {
			return balance(t, n.l, n.k, n.v, r)
		}
		return n
	}
	if n.l == nil {
		return n.r
	}
	if n.r == nil {
		return n.l
	}
	m := n.r
	for m.l != nil {
		m = m.l
	}
	return balance(t, n.l, m.k, m.v, n.r.withoutFirst(t))
}

func (n *tnode) withoutFirst(t *Thread) *tnode {
	if n.l == nil {
		return n.r
	}
	return balance(t, n.l.withoutFirst(t), n.k, n.v, n.r)
}

func (n *tnode) each(t *Thread, f func(k, v Value) bool) bool {
	if n == nil {
		return true
	}
	if !n.l.each(t, f) {
		return false
	}
	t.Step()
	return f(n.k, n.v) && n.r.each(t, f)
}

func (m *SortedMap) assoc(t *Thread, k, v Value) Value {
	return m.with(t, m.root.put(t, m.cmp, k, v))
}

func (m *SortedMap) dissoc(t *Thread, k Value) Value {
	return m.with(t, m.root.without(t, m.cmp, k))
}

func (m *SortedMap) with(t *Thread, root *tnode) Value {
	if root == m.root {
		return Of(m)
	}
	t.Charge(hashMapBytes)
	return Of(&SortedMap{Header: Head(KindSortedMap), meta: m.meta, root: root, cmp: m.cmp})
}

func (s *SortedSet) conj(t *Thread, x Value) Value {
	return s.with(t, s.root.put(t, s.cmp, x, Nil))
}

func (s *SortedSet) disj(t *Thread, x Value) Value {
	return s.with(t, s.root.without(t, s.cmp, x))
}

func (s *SortedSet) with(t *Thread, root *tnode) Value {
	if root == s.root {
		return Of(s)
	}
	t.Charge(hashMapBytes)
	return Of(&SortedSet{Header: Head(KindSortedSet), meta: s.meta, root: root, cmp: s.cmp})
}

// sortedTree gives the tree and the comparator of a sorted collection.
func sortedTree(v Value) (root *tnode, cmp Value, p part, ok bool) {
	switch v.Kind() {
	case KindSortedMap:
		m := As[SortedMap](v)
		return m.root, m.cmp, partEntries, true
	case KindSortedSet:
		s := As[SortedSet](v)
		return s.root, s.cmp, partKeys, true
	}
	return nil, Nil, 0, false
}

// Bound is one end of a stretch of a sorted collection.
type Bound struct {
	Set       bool // false: no bound
	Key       Value
	Inclusive bool
}

// Subseq gives the entries or elements of a sorted collection between two bounds, in order or, with desc, in reverse; nil
// if there are none.
func Subseq(t *Thread, coll Value, lo, hi Bound, desc bool) Value {
	root, cmp, p, ok := sortedTree(coll)
	if !ok {
		panic(TypeError(t, "subseq", coll, "a sorted map or set"))
	}
	from, to := 0, root.len()
	if lo.Set {
		from = root.rank(t, cmp, lo.Key, !lo.Inclusive)
	}
	if hi.Set {
		to = root.rank(t, cmp, hi.Key, hi.Inclusive)
	}
	if from >= to {
		return Nil
	}
	return newMapSeq(t, newTreeIter(root, p, from, to, desc), 8)
}

// Rseq gives the elements of a vector or sorted collection in reverse; nil if there are none.
func Rseq(t *Thread, coll Value) Value {
	if !coll.Kind().IsVector() {
		return Subseq(t, coll, Bound{}, Bound{}, true)
	}
	v := vectorOf(coll)
	if v.Len() == 0 {
		return Nil
	}
	return reverseFrom(t, v, v.Len())
}

func reverseFrom(t *Thread, v *Vector, end int) Value {
	if end == 0 {
		return Nil
	}
	n := min(end, 32)
	t.Charge(n*valueBytes + cellBytes + lazyBytes)
	xs := make([]Value, 0, n)
	for i := end - 1; i >= end-n; i-- {
		xs = append(xs, v.Nth(i))
	}
	if end == n {
		return NewArraySeq(xs)
	}
	rest := NewLazyGo(func(t *Thread) Value { return reverseFrom(t, v, end-n) }, Of(v))
	return chunked(xs, rest)
}

// rank counts the keys below k, and k itself too if after is set.
func (n *tnode) rank(t *Thread, cmp, k Value, after bool) int {
	r := 0
	for n != nil {
		c := Comparator(t, cmp, k, n.k)
		switch {
		case c > 0 || c == 0 && after:
			r += n.l.len() + 1
			n = n.r
		default:
			n = n.l
		}
	}
	return r
}
