package value

// A node and its slots are one allocation where that is possible: half the work for the allocator, and one place less to
// go on the way down. makeNode gives a node with room for so many values (two an entry) and so many nodes below.
func makeNode(o *owner, kvs, kids int) *hnode {
	var n *hnode
	if kids == 0 {
		n = leafNode(kvs)
	} else {
		n = innerNode(kids)
		if kvs > 0 {
			n.kvs = make([]Value, 0, kvs)
		}
	}
	n.owner = o
	return n
}

// nodeBytes is what makeNode allocates.
func nodeBytes(kvs, kids int) int {
	if kids == 0 {
		return hnodeBytes + roundUp(kvs, 4)*valueBytes
	}
	return hnodeBytes + roundUp(kids, 4)*8 + kvs*valueBytes
}

// roundUp rounds n up to a power of two, least at the least, up to 32.
func roundUp(n, least int) int {
	for least < n && least < 32 {
		least *= 2
	}
	return max(least, n)
}

func innerNode(kids int) *hnode {
	switch {
	case kids <= 4:
		b := &struct {
			hnode
			a [4]*hnode
		}{}
		b.kids = b.a[:0]
		return &b.hnode
	case kids <= 8:
		b := &struct {
			hnode
			a [8]*hnode
		}{}
		b.kids = b.a[:0]
		return &b.hnode
	case kids <= 16:
		b := &struct {
			hnode
			a [16]*hnode
		}{}
		b.kids = b.a[:0]
		return &b.hnode
	}
	b := &struct {
		hnode
		a [32]*hnode
	}{}
	b.kids = b.a[:0]
	return &b.hnode
}

func leafNode(kvs int) *hnode {
	switch {
	case kvs == 0:
		return &hnode{}
	case kvs <= 4:
		b := &struct {
			hnode
			a [4]Value
		}{}
		b.kvs = b.a[:0]
		return &b.hnode
	case kvs <= 8:
		b := &struct {
			hnode
			a [8]Value
		}{}
		b.kvs = b.a[:0]
		return &b.hnode
	case kvs <= 16:
		b := &struct {
			hnode
			a [16]Value
		}{}
		b.kvs = b.a[:0]
		return &b.hnode
	case kvs <= 32:
		b := &struct {
			hnode
			a [32]Value
		}{}
		b.kvs = b.a[:0]
		return &b.hnode
	}
	return &hnode{kvs: make([]Value, 0, kvs)}
}
