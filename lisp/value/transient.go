package value

import "sync/atomic"

// claim lets one thread at a time at a transient. It does not wait: two threads that change one transient are an error,
// and so is a key whose comparison comes back to it.
type claim struct{ by atomic.Pointer[Thread] }

func (c *claim) take(t *Thread) {
	if !c.by.CompareAndSwap(nil, t) {
		panic(StateError("transient: got used by two at once, want one thread at a time"))
	}
}

func (c *claim) release() { c.by.Store(nil) }

// reading runs f, which only looks, unless a thread that runs is changing the transient. The one that measures and those
// that stand still for it may be changing it and are looked at all the same, since what a thread builds is charged for, and
// so perhaps measured, before it is put in.
func (c *claim) reading(m *Marker, f func()) {
	if by := c.by.Load(); by != nil && m.stands(by) {
		f()
		return
	}
	if c.by.CompareAndSwap(nil, m.t) {
		f()
		c.release()
	}
}

// edit is what the transients have in common.
type edit struct {
	claim
	owner *owner // nil once persistent
}

func (e *edit) open(t *Thread, who string) {
	e.take(t)
	if e.owner == nil {
		e.release()
		panic(StateError("%s: got a transient after persistent!, want one in use", who))
	}
}

// TransientSet is a hash set under construction.
type TransientSet struct {
	Header
	edit
	root  *hnode
	count int
	meta  *MetaBox
}

// Transient gives a transient of a vector, map or set, in constant time; of a small map in that of a copy.
func Transient(t *Thread, coll Value) Value {
	t.Charge(2 * cellBytes)
	switch coll.Kind() {
	case KindVector, KindMapEntry:
		return newTransientVector(t, vectorOf(coll))
	case KindArrayMap, KindHashMap:
		return newTransientMap(t, coll)
	case KindHashSet:
		s := As[HashSet](coll)
		out := &TransientSet{Header: Head(KindTransientSet), root: s.root, count: s.count, meta: s.meta}
		out.owner = new(owner)
		return Of(out)
	}
	panic(TypeError(t, "transient", coll, "a vector, hash map or hash set"))
}

// Persistent ends a transient and gives what was built.
func Persistent(t *Thread, tr Value) Value {
	switch tr.Kind() {
	case KindTransientVector:
		return As[TransientVector](tr).persistent(t)
	case KindTransientMap:
		return As[TransientMap](tr).persistent(t)
	case KindTransientSet:
		s := As[TransientSet](tr)
		t.Charge(hashMapBytes)
		s.open(t, "persistent!")
		defer s.release()
		s.owner = nil
		return Of(&HashSet{Header: Head(KindHashSet), meta: s.meta, root: s.root, count: s.count})
	}
	panic(TypeError(t, "persistent!", tr, "a transient"))
}

func (s *TransientSet) conj(t *Thread, x Value) {
	s.open(t, "conj!")
	defer s.release()
	e := hashEdit{t: t, o: s.owner}
	s.root = e.put(s.root, x, Nil)
	if e.grew {
		s.count++
	}
}

func (s *TransientSet) disj(t *Thread, x Value) {
	s.open(t, "disj!")
	defer s.release()
	e := hashEdit{t: t, o: s.owner, h: Hash(t, x), k: x}
	s.root = e.dissoc(s.root, 0)
	if e.shrank {
		s.count--
	}
}

func (s *TransientSet) get(t *Thread, x Value) (Value, bool) {
	s.open(t, "get")
	defer s.release()
	k, _, ok := s.root.find(t, Hash(t, x), x)
	return k, ok
}

func transientLen(t *Thread, tr Value) int {
	switch tr.Kind() {
	case KindTransientVector:
		v := As[TransientVector](tr)
		v.open(t, "count")
		defer v.release()
		return v.count
	case KindTransientMap:
		m := As[TransientMap](tr)
		m.open(t, "count")
		defer m.release()
		return m.len()
	}
	s := As[TransientSet](tr)
	s.open(t, "count")
	defer s.release()
	return s.count
}

// ConjT is conj!.
func ConjT(t *Thread, tr, x Value) Value {
	switch tr.Kind() {
	case KindTransientVector:
		As[TransientVector](tr).conj(t, x)
	case KindTransientMap:
		eachEntry(t, x, func(k, v Value) { As[TransientMap](tr).assoc(t, "conj!", k, v) })
	case KindTransientSet:
		As[TransientSet](tr).conj(t, x)
	default:
		panic(TypeError(t, "conj!", tr, "a transient"))
	}
	return tr
}

// AssocT is assoc!.
func AssocT(t *Thread, tr, k, v Value) Value {
	switch tr.Kind() {
	case KindTransientVector:
		As[TransientVector](tr).assoc(t, k, v)
	case KindTransientMap:
		As[TransientMap](tr).assoc(t, "assoc!", k, v)
	default:
		panic(TypeError(t, "assoc!", tr, "a transient map or vector"))
	}
	return tr
}

// DissocT is dissoc!.
func DissocT(t *Thread, tr, k Value) Value {
	if tr.Kind() != KindTransientMap {
		panic(TypeError(t, "dissoc!", tr, "a transient map"))
	}
	As[TransientMap](tr).dissoc(t, k)
	return tr
}

// DisjT is disj!.
func DisjT(t *Thread, tr, x Value) Value {
	if tr.Kind() != KindTransientSet {
		panic(TypeError(t, "disj!", tr, "a transient set"))
	}
	As[TransientSet](tr).disj(t, x)
	return tr
}

// PopT is pop!.
func PopT(t *Thread, tr Value) Value {
	if tr.Kind() != KindTransientVector {
		panic(TypeError(t, "pop!", tr, "a transient vector"))
	}
	As[TransientVector](tr).pop(t)
	return tr
}
