package value

// TransientMap is a map under construction. Like an array map it keeps up to eight entries in the order in which they
// came, and becomes a tree beyond.
type TransientMap struct {
	Header
	edit
	kvs   []Value // while root is nil; room for eight entries
	root  *hnode
	count int // of the tree
	meta  *MetaBox
}

func newTransientMap(t *Thread, coll Value) Value {
	out := &TransientMap{Header: Head(KindTransientMap)}
	out.owner = new(owner)
	if coll.Kind() == KindHashMap {
		m := As[HashMap](coll)
		out.root, out.count, out.meta = m.root, m.count, m.meta
		return Of(out)
	}
	m := As[ArrayMap](coll)
	room := max(2*arrayMapMax, len(m.kvs))
	t.Charge(room * valueBytes)
	out.kvs = append(make([]Value, 0, room), m.kvs...)
	out.meta = m.meta
	return Of(out)
}

func (m *TransientMap) persistent(t *Thread) Value {
	t.Charge(hashMapBytes)
	m.open(t, "persistent!")
	defer m.release()
	m.owner = nil
	if m.root == nil {
		a := newArrayMap(m.kvs)
		a.meta = m.meta
		return Of(a)
	}
	return Of(&HashMap{Header: Head(KindHashMap), meta: m.meta, root: m.root, count: m.count})
}

func (m *TransientMap) len() int {
	if m.root == nil {
		return len(m.kvs) / 2
	}
	return m.count
}

func (m *TransientMap) assoc(t *Thread, who string, k, v Value) {
	t.Step()
	m.open(t, who)
	defer m.release()
	if m.root == nil && m.assocRow(t, k, v) {
		return
	}
	e := hashEdit{t: t, o: m.owner}
	m.root = e.put(m.root, k, v)
	if e.grew {
		m.count++
	}
}

// assocRow puts an entry among the few, if there is room; else it makes the tree.
func (m *TransientMap) assocRow(t *Thread, k, v Value) bool {
	i := rowIndex(t, m.kvs, k)
	switch {
	case i >= 0:
		m.kvs[i+1] = v
	case len(m.kvs) < 2*arrayMapMax:
		m.kvs = append(m.kvs, k, v)
	default:
		root := hashRow(t, m.owner, m.kvs)
		m.root, m.count, m.kvs = root, len(m.kvs)/2, nil
		return false
	}
	return true
}

func (m *TransientMap) dissoc(t *Thread, k Value) {
	t.Step()
	m.open(t, "dissoc!")
	defer m.release()
	if m.root == nil {
		if i := rowIndex(t, m.kvs, k); i >= 0 { // the last entry takes its place, as on the JVM
			n := len(m.kvs)
			m.kvs[i], m.kvs[i+1] = m.kvs[n-2], m.kvs[n-1]
			clear(m.kvs[n-2:])
			m.kvs = m.kvs[:n-2]
		}
		return
	}
	e := hashEdit{t: t, o: m.owner, h: Hash(t, k), k: k}
	m.root = e.dissoc(m.root, 0)
	if e.shrank {
		m.count--
	}
}

func (m *TransientMap) get(t *Thread, k Value) (Value, bool) {
	m.open(t, "get")
	defer m.release()
	if m.root == nil {
		if i := rowIndex(t, m.kvs, k); i >= 0 {
			return m.kvs[i+1], true
		}
		return Nil, false
	}
	_, v, ok := m.root.find(t, Hash(t, k), k)
	return v, ok
}
