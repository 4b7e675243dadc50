package value

import "sync/atomic"

// ArrayMap is a small map: its entries in a row, in the order in which they were put there.
type ArrayMap struct {
	Header
	meta *MetaBox
	kvs  []Value
	hash atomic.Uint64
}

// HashMap is a map over a tree of nodes.
type HashMap struct {
	Header
	meta  *MetaBox
	root  *hnode
	count int
	hash  atomic.Uint64
}

const (
	arrayMapMax   = 8  // entries
	orderedMax    = 64 // entries of a map that is asked to keep its order
	arrayMapBytes = 48
	hashMapBytes  = 48
)

// EmptyMap is the map of nothing.
var EmptyMap = Of(newArrayMap(nil))

func newArrayMap(kvs []Value) *ArrayMap {
	return &ArrayMap{Header: Head(KindArrayMap), kvs: kvs[:len(kvs):len(kvs)]}
}

// index gives the position of k among the entries, or -1.
func (m *ArrayMap) index(t *Thread, k Value) int { return rowIndex(t, m.kvs, k) }

// rowIndex gives the position of k among entries in a row, or -1.
func rowIndex(t *Thread, kvs []Value, k Value) int {
	if k.Kind() == KindKeyword {
		kw := As[Keyword](k)
		for i := 0; i < len(kvs); i += 2 { // one object a name is the rule
			if kvs[i] == k {
				return i
			}
		}
		for i := 0; i < len(kvs); i += 2 {
			if x := kvs[i]; x.Kind() == KindKeyword && As[Keyword](x).Same(kw) {
				return i
			}
		}
		return -1
	}
	for i := 0; i < len(kvs); i += 2 {
		if sameKey(t, kvs[i], k) {
			return i
		}
	}
	return -1
}

// sameKey is Equal with the common cases first.
func sameKey(t *Thread, a, b Value) bool {
	if a == b && !a.IsFloat() {
		return true
	}
	ka, kb := a.Kind(), b.Kind()
	if ka != kb && (ka <= KindKeyword || kb <= KindKeyword) && !(ka.IsNumber() && kb.IsNumber()) {
		return false
	}
	switch {
	case ka == KindInt && kb == KindInt:
		return false
	case ka == KindKeyword:
		return As[Keyword](a).Same(As[Keyword](b))
	}
	return Equal(t, a, b)
}

func (m *ArrayMap) assoc(t *Thread, k, v Value) Value {
	i := m.index(t, k)
	if i < 0 && len(m.kvs) >= 2*arrayMapMax {
		return m.grow(t).assoc(t, k, v)
	}
	if i >= 0 && m.kvs[i+1] == v {
		return Of(m)
	}
	t.Charge(arrayMapBytes + (len(m.kvs)+2)*valueBytes)
	n := len(m.kvs)
	if i < 0 {
		i, n = n, n+2
	}
	kvs := make([]Value, n)
	copy(kvs, m.kvs)
	if n > len(m.kvs) {
		kvs[i] = k
	}
	kvs[i+1] = v
	return Of(&ArrayMap{Header: Head(KindArrayMap), meta: m.meta, kvs: kvs})
}

func (m *ArrayMap) dissoc(t *Thread, k Value) Value {
	i := m.index(t, k)
	if i < 0 {
		return Of(m)
	}
	t.Charge(arrayMapBytes + len(m.kvs)*valueBytes)
	return Of(&ArrayMap{Header: Head(KindArrayMap), meta: m.meta, kvs: without2(m.kvs, i)})
}

// grow makes a hash map of the entries.
func (m *ArrayMap) grow(t *Thread) *HashMap {
	return newHashMap(t, hashRow(t, new(owner), m.kvs), len(m.kvs)/2, m.meta)
}

// hashRow makes a tree of entries in a row.
func hashRow(t *Thread, o *owner, kvs []Value) *hnode {
	e := &hashEdit{t: t, o: o}
	root := emptyNode
	for i := 0; i < len(kvs); i += 2 {
		root = e.put(root, kvs[i], kvs[i+1])
	}
	return root
}

// put adds an entry to the tree of root.
func (e *hashEdit) put(root *hnode, k, v Value) *hnode {
	e.h, e.k, e.v, e.grew = Hash(e.t, k), k, v, false
	return e.assoc(root, 0)
}

func newHashMap(t *Thread, root *hnode, count int, meta *MetaBox) *HashMap {
	t.Charge(hashMapBytes)
	return &HashMap{Header: Head(KindHashMap), meta: meta, root: root, count: count}
}

func (m *HashMap) assoc(t *Thread, k, v Value) Value {
	e := hashEdit{t: t}
	root := e.put(m.root, k, v)
	if root == m.root {
		return Of(m)
	}
	n := m.count
	if e.grew {
		n++
	}
	return Of(newHashMap(t, root, n, m.meta))
}

func (m *HashMap) dissoc(t *Thread, k Value) Value {
	e := hashEdit{t: t, h: Hash(t, k), k: k}
	root := e.dissoc(m.root, 0)
	if !e.shrank {
		return Of(m)
	}
	return Of(newHashMap(t, root, m.count-1, m.meta))
}

// NewMap makes a map of keys and values in turn; the last of two equal keys wins.
func NewMap(t *Thread, kvs ...Value) Value { return newMap(t, kvs, false) }

// NewMapLiteral makes a map of keys and values in turn; two equal keys are an error.
func NewMapLiteral(t *Thread, kvs []Value) Value { return newMap(t, kvs, true) }

// NewOrderedMap makes a map of keys and values in turn that keeps their order, unless there are more than 64: looking up
// goes along them.
func NewOrderedMap(t *Thread, kvs []Value) Value {
	if len(kvs)%2 != 0 || len(kvs) <= 2*arrayMapMax || len(kvs) > 2*orderedMax {
		return newMap(t, kvs, false)
	}
	t.Steps(len(kvs) / 2)
	return newSmallMap(t, kvs, false)
}

func newMap(t *Thread, kvs []Value, literal bool) Value {
	if len(kvs)%2 != 0 {
		panic(ArgError("map: got no value for key %s, want keys and values in turn", Brief(t, kvs[len(kvs)-1])))
	}
	if len(kvs) == 0 {
		return EmptyMap
	}
	t.Steps(len(kvs) / 2)
	if len(kvs) <= 2*arrayMapMax {
		return newSmallMap(t, kvs, literal)
	}
	e := &hashEdit{t: t, o: new(owner)}
	root, n := emptyNode, 0
	for i := 0; i < len(kvs); i += 2 {
		root = e.put(root, kvs[i], kvs[i+1])
		if e.grew {
			n++
		} else if literal {
			panic(duplicateKey(t, kvs[i]))
		}
	}
	return Of(newHashMap(t, root, n, nil))
}

func newSmallMap(t *Thread, kvs []Value, literal bool) Value {
	t.Charge(arrayMapBytes + len(kvs)*valueBytes)
	m := &ArrayMap{Header: Head(KindArrayMap), kvs: make([]Value, 0, len(kvs))}
	for i := 0; i < len(kvs); i += 2 {
		j := m.index(t, kvs[i])
		switch {
		case j < 0:
			m.kvs = append(m.kvs, kvs[i], kvs[i+1])
		case literal:
			panic(duplicateKey(t, kvs[i]))
		default:
			m.kvs[j+1] = kvs[i+1]
		}
	}
	return Of(m)
}

func duplicateKey(t *Thread, k Value) *Exception {
	return ArgError("map: duplicate key %s", Brief(t, k))
}

// mapLen counts the entries of a map that is no record.
func mapLen(m Value) int {
	switch m.Kind() {
	case KindArrayMap:
		return len(As[ArrayMap](m).kvs) / 2
	case KindHashMap:
		return As[HashMap](m).count
	}
	return As[SortedMap](m).root.len()
}

// mapGet looks k up in any map: the key as the map has it, and the value.
func mapGet(t *Thread, m, k Value) (key, val Value, ok bool) {
	switch m.Kind() {
	case KindArrayMap:
		a := As[ArrayMap](m)
		if i := a.index(t, k); i >= 0 {
			return a.kvs[i], a.kvs[i+1], true
		}
	case KindHashMap:
		return As[HashMap](m).root.find(t, Hash(t, k), k)
	case KindSortedMap:
		s := As[SortedMap](m)
		if n := s.root.find(t, s.cmp, k); n != nil {
			return n.k, n.v, true
		}
	case KindRecord:
		if v, ok := As[Record](m).Get(t, k); ok {
			return k, v, true
		}
	}
	return Nil, Nil, false
}
