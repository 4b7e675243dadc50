package value

// TransientVector is a vector under construction. Its tail is its own; nodes with its owner may be written.
type TransientVector struct {
	Header
	edit
	count int
	shift uint8
	root  *vnode
	tail  []Value // room for 32
	meta  *MetaBox
}

func newTransientVector(t *Thread, v *Vector) Value {
	t.Charge(32 * valueBytes)
	out := &TransientVector{Header: Head(KindTransientVector), count: v.Len(), shift: v.shift, root: v.root, meta: v.meta}
	out.owner = new(owner)
	out.tail = make([]Value, 32)
	n := v.Len() - tailOff(v.Len())
	copy(out.tail, v.tail.xs[:n])
	return Of(out)
}

func (v *TransientVector) persistent(t *Thread) Value {
	t.Charge(vectorBytes + vtailBytes)
	v.open(t, "persistent!")
	defer v.release()
	v.owner = nil
	out := &Vector{count: int32(v.count), shift: v.shift, root: v.root, meta: v.meta, tail: &vtail{xs: v.tail}}
	out.kind = KindVector
	out.tail.used.Store(int32(v.count - tailOff(v.count)))
	v.root, v.tail = nil, nil
	return Of(out)
}

func (v *TransientVector) conj(t *Thread, x Value) {
	t.Step()
	n := v.tailLen(t)
	if n == 32 {
		t.Charge(33*valueBytes + 4*vnodeBytes)
	}
	v.open(t, "conj!")
	defer v.release()
	if v.count >= maxVector {
		panic(ArgError("conj!: got a vector of %d elements, want fewer", v.count))
	}
	if n = v.count - tailOff(v.count); n < 32 {
		v.tail[n] = x
		v.count++
		return
	}
	v.pushTail(&vnode{leaf: v.tail, owner: v.owner})
	v.tail = make([]Value, 32)
	v.tail[0] = x
	v.count++
}

// tailLen is a guess when another thread is at work, good enough for a charge.
func (v *TransientVector) tailLen(t *Thread) (n int) {
	v.reading(&Marker{t: t}, func() { n = v.count - tailOff(v.count) })
	return n
}

func (v *TransientVector) pushTail(leaf *vnode) {
	at := v.count - 32
	switch {
	case v.root == nil:
		v.root, v.shift = &vnode{kids: []*vnode{leaf}, owner: v.owner}, 5
	case at == 1<<(v.shift+5):
		v.root = &vnode{kids: []*vnode{v.root, newPath(leaf, v.shift)}, owner: v.owner}
		v.shift += 5
	default:
		v.root = v.push(v.root, leaf, at, v.shift)
	}
}

// own gives n if the transient may write it, else a copy that it may.
func (v *TransientVector) own(n *vnode) *vnode {
	if n.owner == v.owner {
		return n
	}
	c := &vnode{owner: v.owner}
	if n.leaf != nil {
		c.leaf = append(make([]Value, 0, 32), n.leaf...)
	} else {
		c.kids = append(make([]*vnode, 0, 32), n.kids...)
	}
	return c
}

func (v *TransientVector) push(n, leaf *vnode, at int, shift uint8) *vnode {
	n = v.own(n)
	i := (at >> shift) & 31
	switch {
	case shift == 5:
		n.kids = append(n.kids[:i], leaf)
	case i < len(n.kids):
		n.kids[i] = v.push(n.kids[i], leaf, at, shift-5)
	default:
		n.kids = append(n.kids, newPath(leaf, shift-5))
	}
	return n
}

func (v *TransientVector) nth(t *Thread, i int) (Value, bool) {
	v.open(t, "nth")
	defer v.release()
	if uint(i) >= uint(v.count) {
		return Nil, false
	}
	if off := tailOff(v.count); i >= off {
		return v.tail[i-off], true
	}
	n := v.root
	for s := v.shift; s > 0; s -= 5 {
		n = n.kids[(i>>s)&31]
	}
	return n.leaf[i&31], true
}

func (v *TransientVector) assoc(t *Thread, k, x Value) {
	t.Step()
	n := transientLen(t, Of(v))
	i := vectorIndex(t, "assoc!", k, n+1)
	if i == n {
		v.conj(t, x)
		return
	}
	t.Charge(32*valueBytes + 4*vnodeBytes)
	v.open(t, "assoc!")
	defer v.release()
	if i >= v.count {
		panic(IndexError("assoc!", i, v.count))
	}
	if off := tailOff(v.count); i >= off {
		v.tail[i-off] = x
		return
	}
	v.root = v.own(v.root)
	node := v.root
	for s := v.shift; s > 0; s -= 5 {
		j := (i >> s) & 31
		node.kids[j] = v.own(node.kids[j])
		node = node.kids[j]
	}
	node.leaf[i&31] = x
}

func (v *TransientVector) pop(t *Thread) {
	t.Step()
	t.Charge(32*valueBytes + 4*vnodeBytes)
	v.open(t, "pop!")
	defer v.release()
	if v.count == 0 {
		panic(StateError("pop!: got an empty vector, want an element"))
	}
	n := v.count - tailOff(v.count)
	if n > 1 || v.count <= 32 {
		v.count--
		v.tail[n-1] = Nil
		return
	}
	leaf := v.root
	for s := v.shift; s > 0; s -= 5 {
		leaf = leaf.kids[((v.count-2)>>s)&31]
	}
	v.tail = append(make([]Value, 0, 32), leaf.leaf...)
	v.root = v.root.pop(v.count-2, v.shift)
	for v.shift > 5 && len(v.root.kids) == 1 {
		v.root, v.shift = v.root.kids[0], v.shift-5
	}
	if v.root == nil {
		v.shift = 5
	}
	v.count--
}
