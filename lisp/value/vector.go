package value

import "sync/atomic"

// Vector is a persistent vector: a tree of nodes of 32 and a tail of up to 32.
//
// Vectors built by conj share the array of their tail: the one who claims the next slot, by compare-and-swap of used,
// writes there, and no vector reads past its own count. Whoever comes second copies.
type Vector struct {
	Header
	count int32
	shift uint8
	meta  *MetaBox
	root  *vnode // nil while everything is in the tail
	tail  *vtail
	hash  atomic.Uint64
}

// vnode is an inner node, with kids, or a leaf of 32 values.
type vnode struct {
	kids  []*vnode
	leaf  []Value
	owner *owner // the transient that may write here, or nil
	mark  atomic.Uint32
}

type vtail struct {
	used atomic.Int32
	mark atomic.Uint32
	xs   []Value // as long as it may become before it is copied
}

const (
	vectorBytes = 48
	vnodeBytes  = 64
	vtailBytes  = 32
	maxVector   = 1 << 30
)

// EmptyVector is the vector of nothing.
var EmptyVector = Of(tailVector(nil, nil))

// tailVector makes a vector of at most 32 elements, which it keeps.
func tailVector(xs []Value, b *MetaBox) *Vector {
	box := &struct {
		v Vector
		t vtail
	}{}
	box.t.xs = xs[:len(xs):len(xs)]
	box.t.used.Store(int32(len(xs)))
	v := &box.v
	v.kind, v.count, v.tail, v.meta, v.shift = KindVector, int32(len(xs)), &box.t, b, 5
	return v
}

// NewVector makes a vector of a copy of xs.
func NewVector(t *Thread, xs []Value) Value {
	if len(xs) == 0 {
		return EmptyVector
	}
	t.Steps(len(xs) >> 3)
	t.Charge(len(xs) * valueBytes)
	return NewVectorOwned(t, append(make([]Value, 0, len(xs)), xs...))
}

// NewVectorOwned makes a vector of xs, which the caller has charged for and gives away.
func NewVectorOwned(t *Thread, xs []Value) Value {
	if len(xs) == 0 {
		return EmptyVector
	}
	if len(xs) > maxVector {
		panic(ArgError("vector: got %d elements, want at most %d", len(xs), maxVector))
	}
	t.Charge(vectorBytes + vtailBytes + len(xs)/32*(vnodeBytes+16))
	if len(xs) <= 32 {
		return Of(tailVector(xs, nil))
	}
	off := tailOff(len(xs))
	v := tailVector(xs[off:], nil)
	v.count = int32(len(xs))
	level := make([]*vnode, 0, off/32)
	for i := 0; i < off; i += 32 {
		level = append(level, &vnode{leaf: xs[i : i+32 : i+32]})
	}
	v.shift = 0
	for len(level) > 1 || v.shift == 0 {
		var up []*vnode
		for i := 0; i < len(level); i += 32 {
			end := min(i+32, len(level))
			up = append(up, &vnode{kids: level[i:end:end]})
		}
		level = up
		v.shift += 5
	}
	v.root = level[0]
	return Of(v)
}

func tailOff(n int) int {
	if n <= 32 {
		return 0
	}
	return (n - 1) &^ 31
}

// Len counts the elements.
func (v *Vector) Len() int { return int(v.count) }

// Nth gives element i, which must be there.
func (v *Vector) Nth(i int) Value {
	if off := tailOff(int(v.count)); i >= off {
		return v.tail.xs[i-off]
	}
	return v.leafOf(i)[i&31]
}

// leafOf gives the full leaf that holds i, which is not in the tail.
func (v *Vector) leafOf(i int) []Value {
	n := v.root
	for s := v.shift; s > 0; s -= 5 {
		n = n.kids[(i>>s)&31]
	}
	return n.leaf
}

// Chunk gives the elements from i to the end of the leaf that holds it. They are not to be written.
func (v *Vector) Chunk(i int) []Value {
	off := tailOff(int(v.count))
	if i >= off {
		n := int(v.count) - off
		return v.tail.xs[i-off : n : n]
	}
	return v.leafOf(i)[i&31:]
}

// Each gives every element to f, until it says false.
func (v *Vector) Each(t *Thread, f func(Value) bool) {
	for i := 0; i < int(v.count); {
		xs := v.Chunk(i)
		for _, x := range xs {
			t.Step()
			if !f(x) {
				return
			}
		}
		i += len(xs)
	}
}

func (v *Vector) withBox(b *MetaBox) *Vector {
	n := v.sibling(v.count)
	n.meta = b
	return n
}

// sibling makes a vector with the tree and tail of v.
func (v *Vector) sibling(count int32) *Vector {
	n := &Vector{count: count, shift: v.shift, meta: v.meta, root: v.root, tail: v.tail}
	n.kind = KindVector
	return n
}

// Conj puts x at the end.
func (v *Vector) Conj(t *Thread, x Value) *Vector {
	t.Charge(vectorBytes)
	n := int(v.count) - tailOff(int(v.count))
	tl := v.tail
	if n < len(tl.xs) && tl.used.CompareAndSwap(int32(n), int32(n+1)) {
		tl.xs[n] = x
		return v.sibling(v.count + 1)
	}
	return v.conjSlow(t, n, x)
}

func (v *Vector) conjSlow(t *Thread, n int, x Value) *Vector {
	if v.count >= maxVector {
		panic(ArgError("conj: got a vector of %d elements, want fewer", v.count))
	}
	if n < 32 { // the tail's array is too short or belongs to another
		size := min(max(4, 2*n), 32)
		t.Charge(vtailBytes + size*valueBytes)
		out := v.sibling(v.count + 1)
		out.tail = newTail(v.tail.xs[:n], size, x)
		return out
	}
	t.Charge(vtailBytes + 32*valueBytes + 4*(vnodeBytes+256))
	out := v.sibling(v.count + 1)
	out.tail = newTail(nil, 32, x)
	out.pushTail(&vnode{leaf: v.tail.xs[:32:32]}, int(v.count)-32)
	return out
}

func newTail(xs []Value, size int, x Value) *vtail {
	tl := &vtail{xs: make([]Value, size)}
	copy(tl.xs, xs)
	tl.xs[len(xs)] = x
	tl.used.Store(int32(len(xs) + 1))
	return tl
}

// pushTail puts a full leaf whose first index is at into the tree.
func (v *Vector) pushTail(leaf *vnode, at int) {
	switch {
	case v.root == nil:
		v.root, v.shift = &vnode{kids: []*vnode{leaf}}, 5
	case at == 1<<(v.shift+5): // the tree is full: one level more
		v.root = &vnode{kids: []*vnode{v.root, newPath(leaf, v.shift)}}
		v.shift += 5
	default:
		v.root = v.root.push(leaf, at, v.shift)
	}
}

func newPath(n *vnode, shift uint8) *vnode {
	for ; shift > 0; shift -= 5 {
		n = &vnode{kids: []*vnode{n}}
	}
	return n
}

func (n *vnode) push(leaf *vnode, at int, shift uint8) *vnode {
	i := (at >> shift) & 31
	kids := make([]*vnode, max(i+1, len(n.kids)))
	copy(kids, n.kids)
	switch {
	case shift == 5:
		kids[i] = leaf
	case i < len(n.kids):
		kids[i] = n.kids[i].push(leaf, at, shift-5)
	default:
		kids[i] = newPath(leaf, shift-5)
	}
	return &vnode{kids: kids}
}

// AssocN puts x at index i, which is at most the length.
func (v *Vector) AssocN(t *Thread, i int, x Value) *Vector {
	if i == int(v.count) {
		return v.Conj(t, x)
	}
	off := tailOff(int(v.count))
	out := v.sibling(v.count)
	if i >= off {
		n := int(v.count) - off
		t.Charge(vectorBytes + vtailBytes + n*valueBytes)
		xs := append(make([]Value, 0, n), v.tail.xs[:n]...)
		xs[i-off] = x
		out.tail = &vtail{xs: xs}
		out.tail.used.Store(int32(n))
		return out
	}
	t.Charge(vectorBytes + 32*valueBytes + int(v.shift/5)*(vnodeBytes+256))
	out.root = v.root.assoc(i, v.shift, x)
	return out
}

func (n *vnode) assoc(i int, shift uint8, x Value) *vnode {
	if shift == 0 {
		leaf := append(make([]Value, 0, 32), n.leaf...)
		leaf[i&31] = x
		return &vnode{leaf: leaf}
	}
	kids := append(make([]*vnode, 0, len(n.kids)), n.kids...)
	j := (i >> shift) & 31
	kids[j] = kids[j].assoc(i, shift-5, x)
	return &vnode{kids: kids}
}

// Pop takes the last element away; the vector must not be empty.
func (v *Vector) Pop(t *Thread) *Vector {
	t.Charge(vectorBytes)
	n := int(v.count)
	if n == 1 {
		out := v.sibling(0)
		out.tail, out.root = As[Vector](EmptyVector).tail, nil
		return out
	}
	out := v.sibling(v.count - 1)
	if n-tailOff(n) > 1 || n <= 32 {
		return out
	}
	t.Charge(vtailBytes + int(v.shift/5)*(vnodeBytes+256))
	out.tail = &vtail{xs: v.leafOf(n - 2)}
	out.tail.used.Store(32)
	out.root = v.root.pop(n-2, v.shift)
	for out.shift > 5 && len(out.root.kids) == 1 {
		out.root, out.shift = out.root.kids[0], out.shift-5
	}
	if out.root == nil {
		out.shift = 5
	}
	return out
}

// pop takes the leaf that holds i, the last one, off the tree; nil when nothing is left.
func (n *vnode) pop(i int, shift uint8) *vnode {
	j := (i >> shift) & 31
	var kid *vnode
	if shift > 5 {
		kid = n.kids[j].pop(i, shift-5)
	}
	if kid == nil {
		if j == 0 {
			return nil
		}
		return &vnode{kids: append([]*vnode(nil), n.kids[:j]...)}
	}
	kids := append(make([]*vnode, 0, j+1), n.kids[:j]...)
	return &vnode{kids: append(kids, kid)}
}

// Subvec copies the elements from start until end, which must be within.
func (v *Vector) Subvec(t *Thread, start, end int) Value {
	n := end - start
	t.Steps(n >> 3)
	t.Charge(n * valueBytes)
	xs := make([]Value, 0, n)
	for i := start; i < end; {
		c := v.Chunk(i)
		c = c[:min(len(c), end-i)]
		xs = append(xs, c...)
		i += len(c)
	}
	return NewVectorOwned(t, xs)
}

// MapEntry is a key and its value: a vector of two.
type MapEntry struct {
	Header
	k, v Value
}

const entryBytes = 48

// NewMapEntry makes an entry.
func NewMapEntry(k, v Value) Value {
	return Of(&MapEntry{Header: Head(KindMapEntry), k: k, v: v})
}

// Key gives the key.
func (e *MapEntry) Key() Value { return e.k }

// Val gives the value.
func (e *MapEntry) Val() Value { return e.v }

// vectorOf gives v, a vector or an entry, as a vector.
func vectorOf(v Value) *Vector {
	if v.Kind() == KindMapEntry {
		e := As[MapEntry](v)
		return tailVector([]Value{e.k, e.v}, nil)
	}
	return As[Vector](v)
}
