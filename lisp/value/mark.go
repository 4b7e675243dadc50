package value

// object adds the bytes of one object and marks its children.
func (m *Marker) object(v Value) {
	switch k := v.Kind(); {
	case k.IsSeq():
		m.seq(v, k)
	case k == KindVector:
		m.vector(As[Vector](v))
	case k == KindMapEntry:
		e := As[MapEntry](v)
		m.Bytes(entryBytes)
		m.Value(e.k)
		m.Value(e.v)
	case k.IsMap() || k.IsSet():
		m.mapping(v, k)
	case k == KindString:
		m.Bytes(len(v.Text()) + 40)
	case k >= KindTransientVector && k <= KindTransientSet:
		m.transient(v, k)
	default:
		m.other(v, k)
	}
	if b := metaBox(v); b != nil {
		m.Bytes(32)
		m.Value(b.M)
	}
}

func (m *Marker) seq(v Value, k Kind) {
	m.Bytes(cellBytes)
	switch k {
	case KindList:
		l := As[List](v)
		m.Value(l.first)
		m.Value(l.tail())
	case KindCons:
		c := As[ConsCell](v)
		m.Value(c.first)
		m.Value(c.rest)
	case KindLazySeq:
		m.lazy(As[LazySeq](v))
	case KindChunkedCons:
		c := As[ChunkedCons](v)
		m.Bytes(len(c.xs) * valueBytes)
		m.Slots(c.xs)
		m.Value(c.rest)
	case KindVecSeq:
		m.Value(Of(As[VecSeq](v).v))
	case KindArraySeq:
		m.Bytes(len(As[ArraySeq](v).xs) * valueBytes)
		m.Slots(As[ArraySeq](v).xs)
	case KindStringSeq:
		m.Bytes(len(As[StringSeq](v).s))
	case KindGenSeq:
		g := As[GenSeq](v)
		m.Bytes(cellBytes)
		m.Value(g.f)
		m.Value(g.x)
		if n := g.next.Load(); n != nil {
			m.Value(Of(n))
		}
	case KindMapSeq:
		s := As[MapSeq](v)
		m.Bytes(len(s.xs)*valueBytes + s.more.bytes())
		m.Slots(s.xs)
		m.iter(s.more)
	}
}

// iter marks what a walk of a map still has before it.
func (m *Marker) iter(it *mapIter) {
	m.Slots(it.first)
	m.Slots(it.kvs)
	for _, f := range it.path {
		m.hnode(f.n)
	}
	for _, n := range it.tree {
		m.tnode(n)
	}
}

// lazy marks what a lazy seq holds: its thunk, or what came of it. One that a thread is computing is on that thread's
// stack.
func (m *Marker) lazy(l *LazySeq) {
	m.Bytes(lazyBytes - cellBytes)
	switch l.state.Load() {
	case lazyDone:
		m.Value(l.val)
		return
	case lazyStepped:
		if l.state.CompareAndSwap(lazyStepped, lazyClaimed) {
			v := l.val
			l.release()
			m.Value(v)
		}
		return
	}
	if fn := l.fn.Load(); fn != nil {
		m.Value(Of(fn))
	}
	if g := l.run.Load(); g != nil {
		m.Bytes(cellBytes + len(g.held)*valueBytes)
		m.Slots(g.held)
	}
}

func (m *Marker) vector(v *Vector) {
	m.Bytes(vectorBytes)
	n := v.Len() - tailOff(v.Len())
	if !m.Seen(&v.tail.mark) {
		m.Bytes(vtailBytes + len(v.tail.xs)*valueBytes)
	}
	m.Slots(v.tail.xs[:n])
	m.vnode(v.root)
}

func (m *Marker) vnode(n *vnode) {
	if n == nil || m.Seen(&n.mark) {
		return
	}
	m.Bytes(vnodeBytes + cap(n.kids)*8 + len(n.leaf)*valueBytes)
	m.Slots(n.leaf)
	for _, kid := range n.kids {
		m.vnode(kid)
	}
}

func (m *Marker) hnode(n *hnode) {
	if n == nil || m.Seen(&n.mark) {
		return
	}
	m.Bytes(hnodeBytes + cap(n.kvs)*valueBytes + cap(n.kids)*8)
	m.Slots(n.kvs)
	for _, kid := range n.kids {
		m.hnode(kid)
	}
}

func (m *Marker) tnode(n *tnode) {
	if n == nil || m.Seen(&n.mark) {
		return
	}
	m.Bytes(tnodeBytes)
	m.Value(n.k)
	m.Value(n.v)
	m.tnode(n.l)
	m.tnode(n.r)
}

func (m *Marker) mapping(v Value, k Kind) {
	m.Bytes(hashMapBytes)
	switch k {
	case KindArrayMap:
		m.Bytes(len(As[ArrayMap](v).kvs) * valueBytes)
		m.Slots(As[ArrayMap](v).kvs)
	case KindHashMap:
		m.hnode(As[HashMap](v).root)
	case KindHashSet:
		m.hnode(As[HashSet](v).root)
	case KindSortedMap:
		m.tnode(As[SortedMap](v).root)
		m.Value(As[SortedMap](v).cmp)
	case KindSortedSet:
		m.tnode(As[SortedSet](v).root)
		m.Value(As[SortedSet](v).cmp)
	case KindRecord:
		r := As[Record](v)
		m.Value(Of(r.typ))
		m.Bytes(recordBytes - hashMapBytes + len(r.vals)*valueBytes)
		m.Slots(r.vals)
		m.Value(r.ext)
	}
}

// transient marks a transient, unless another thread is writing to it: then that thread's own measurement sees it.
func (m *Marker) transient(v Value, k Kind) {
	switch k {
	case KindTransientVector:
		x := As[TransientVector](v)
		m.Bytes(cellBytes + 32*valueBytes)
		x.reading(m, func() {
			m.Slots(x.tail)
			m.vnode(x.root)
		})
	case KindTransientMap:
		x := As[TransientMap](v)
		m.Bytes(cellBytes + 2*arrayMapMax*valueBytes)
		x.reading(m, func() {
			m.Bytes(max(0, len(x.kvs)-2*arrayMapMax) * valueBytes)
			m.Slots(x.kvs)
			m.hnode(x.root)
		})
	case KindTransientSet:
		x := As[TransientSet](v)
		m.Bytes(cellBytes)
		x.reading(m, func() {
			m.hnode(x.root)
		})
	}
}

// runtimeFnBytes is what a function that a function of the core makes takes besides what it closes over.
const runtimeFnBytes = 448

// other marks what is no collection.
func (m *Marker) other(v Value, k Kind) {
	m.Bytes(cellBytes)
	switch k {
	case KindFn:
		f := As[Fn](v)
		m.Bytes(len(f.Caps) * valueBytes)
		m.Slots(f.Caps)
		m.Value(f.Code.Held)
		if f.Code.Builtin == nil && f.Code.Pos == nil { // made at run time, by partial and the like
			m.Bytes(runtimeFnBytes)
		}
	case KindKeyword:
		m.Bytes(len(As[Keyword](v).NS) + len(As[Keyword](v).Name))
	case KindSymbol:
		m.Bytes(len(As[Symbol](v).NS) + len(As[Symbol](v).Name))
	case KindBigInt, KindRatio, KindBigDec, KindRegex, KindMatcher:
		m.Bytes(Weight(v))
	case KindHost:
		if x, ok := As[Host](v).X.(Marked); ok {
			x.Mark(m)
		}
	case KindArray:
		As[Array](v).mark(m)
	case KindEduction:
		m.Bytes(cellBytes)
		m.Value(As[Eduction](v).XF)
		m.Value(As[Eduction](v).Coll)
	case KindReduced:
		m.Value(As[Reduced](v).V)
	case KindException:
		e := As[Exception](v)
		m.Bytes(cellBytes + len(e.Trace)*16)
		for _, f := range e.Trace {
			if f.Code != nil {
				m.Value(f.Code.Held)
			}
		}
		m.Value(e.Message)
		m.Value(e.Data)
		m.Value(e.Cause)
	case KindTaggedLiteral:
		l := As[TaggedLiteral](v)
		m.Value(l.Tag)
		m.Value(l.Form)
	case KindReaderConditional:
		m.Value(As[ReaderConditional](v).Form)
	case KindVar:
		x := As[Var](v)
		if root, ok := x.Root(); ok && !x.Sealed {
			m.Bytes(len(x.Name))
			m.Value(root)
		}
	}
	m.reference(v, k)
}
