package value

// mapIter walks a map or set, remembering its way, so that it can be copied and gone on with.
type mapIter struct {
	part  part
	left  int // elements still to come
	desc  bool
	first []Value     // entries to go before all others: the fields of a record
	kvs   []Value     // entries in a row
	path  []hashFrame // nodes of a hash map still to walk
	tree  []*tnode    // nodes of a sorted one whose entry comes next, the next one last
}

type hashFrame struct {
	n *hnode
	i int // of kids
}

func (it *mapIter) bytes() int {
	return 128 + cap(it.path)*16 + cap(it.tree)*8
}

func (it *mapIter) clone() *mapIter {
	c := *it
	c.path = append([]hashFrame(nil), it.path...)
	c.tree = append([]*tnode(nil), it.tree...)
	return &c
}

func (it *mapIter) element(k, v Value) Value {
	switch it.part {
	case partKeys:
		return k
	case partVals:
		return v
	}
	return NewMapEntry(k, v)
}

// newMapIter walks a map that is no record, or a set.
func newMapIter(m Value, p part) *mapIter {
	switch m.Kind() {
	case KindArrayMap:
		kvs := As[ArrayMap](m).kvs
		return &mapIter{part: p, left: len(kvs) / 2, kvs: kvs}
	case KindHashMap:
		h := As[HashMap](m)
		return newHashIter(h.root, h.count, p)
	case KindHashSet:
		s := As[HashSet](m)
		return newHashIter(s.root, s.count, partKeys)
	case KindSortedSet:
		p = partKeys
	}
	root, _, _, _ := sortedTree(m)
	return newTreeIter(root, p, 0, root.len(), false)
}

func newHashIter(root *hnode, count int, p part) *mapIter {
	return &mapIter{part: p, left: count, kvs: root.kvs, path: []hashFrame{{root, 0}}}
}

// newTreeIter walks the entries of rank from until to.
func newTreeIter(root *tnode, p part, from, to int, desc bool) *mapIter {
	it := &mapIter{part: p, left: to - from, desc: desc}
	skip := from
	if desc {
		skip = root.len() - to
	}
	it.descend(root, skip)
	return it
}

// descend goes to the entry that comes after skip others under n.
func (it *mapIter) descend(n *tnode, skip int) {
	for n != nil {
		near, far := n.l, n.r
		if it.desc {
			near, far = far, near
		}
		if skip <= near.len() {
			it.tree = append(it.tree, n)
			n = near
			continue
		}
		skip -= near.len() + 1
		n = far
	}
}

// next gives the next entry; false at the end.
func (it *mapIter) next() (k, v Value, ok bool) {
	if it.left == 0 {
		return Nil, Nil, false
	}
	it.left--
	if len(it.first) > 0 {
		k, v = it.first[0], it.first[1]
		it.first = it.first[2:]
		return k, v, true
	}
	if n := len(it.tree); n > 0 {
		return it.nextTree()
	}
	for len(it.kvs) == 0 {
		if len(it.path) == 0 {
			return Nil, Nil, false
		}
		f := &it.path[len(it.path)-1]
		if f.i == len(f.n.kids) {
			it.path = it.path[:len(it.path)-1]
			continue
		}
		kid := f.n.kids[f.i]
		f.i++
		it.kvs = kid.kvs
		if len(kid.kids) > 0 {
			it.path = append(it.path, hashFrame{kid, 0})
		}
	}
	k, v = it.kvs[0], it.kvs[1]
	it.kvs = it.kvs[2:]
	return k, v, true
}

func (it *mapIter) nextTree() (k, v Value, ok bool) {
	n := it.tree[len(it.tree)-1]
	it.tree = it.tree[:len(it.tree)-1]
	if it.desc {
		it.descend(n.l, 0)
	} else {
		it.descend(n.r, 0)
	}
	return n.k, n.v, true
}

// Keys gives the keys of a map as a seq, or nil.
func Keys(t *Thread, m Value) Value { return mapPart(t, m, partKeys, "keys") }

// Vals gives the values of a map as a seq, or nil.
func Vals(t *Thread, m Value) Value { return mapPart(t, m, partVals, "vals") }

func mapPart(t *Thread, m Value, p part, who string) Value {
	if k := m.Kind(); k.IsMap() {
		if k == KindRecord {
			return newMapSeq(t, As[Record](m).iter(t, p), 8)
		}
		return newMapSeq(t, newMapIter(m, p), 8)
	}
	s := Seq(t, m)
	if s.IsNil() {
		return Nil
	}
	var out []Value
	Each(t, s, func(e Value) bool {
		if e.Kind() != KindMapEntry {
			panic(TypeError(t, who, e, "a map, or a seq of map entries"))
		}
		t.Charge(2 * valueBytes)
		if p == partKeys {
			out = append(out, As[MapEntry](e).k)
		} else {
			out = append(out, As[MapEntry](e).v)
		}
		return true
	})
	return NewArraySeq(out)
}
