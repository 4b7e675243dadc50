package value

import "sync/atomic"

// MultiFn is a function that chooses one of its methods by what its dispatch function makes of the arguments.
//
// Methods and preferences are persistent maps that are replaced whole. What was found is remembered with the very maps it
// was found in, so a stale answer is never used.
type MultiFn struct {
	NS, Name  string
	dispatch  Value
	fallback  Value // the dispatch value of the method of last resort
	hierarchy Value // a var, atom or ref; nil: the environment's

	methods atomic.Pointer[Value]
	prefers atomic.Pointer[Value]
	found   atomic.Pointer[foundMethods]
}

type foundMethods struct {
	methods, prefers *Value
	hierarchy        Value
	table            Value // dispatch value to method
}

// foundMost bounds what a multimethod remembers.
const foundMost = 256

// NewMultiFn makes a multimethod without methods.
func NewMultiFn(t *Thread, ns, name string, dispatch, fallback, hierarchy Value) Value {
	t.Charge(256)
	m := &MultiFn{NS: ns, Name: name, dispatch: dispatch, fallback: fallback, hierarchy: hierarchy}
	empty := EmptyMap
	m.methods.Store(&empty)
	m.prefers.Store(&empty)
	return NewGeneric(KindMultiFn, m)
}

// MultiFnOf gives the multimethod behind v.
func MultiFnOf(t *Thread, who string, v Value) *MultiFn {
	if v.Kind() == KindMultiFn {
		if m, ok := As[Generic](v).Impl.(*MultiFn); ok {
			return m
		}
	}
	panic(TypeError(t, who, v, "a multimethod"))
}

// Methods gives the map of dispatch value to function.
func (m *MultiFn) Methods() Value { return *m.methods.Load() }

// Prefers gives the map of dispatch value to the set of those it goes before.
func (m *MultiFn) Prefers() Value { return *m.prefers.Load() }

func change(t *Thread, p *atomic.Pointer[Value], f func(Value) Value) {
	for {
		t.Step()
		old := p.Load()
		v := f(*old)
		if p.CompareAndSwap(old, &v) {
			return
		}
	}
}

// Add makes f the method of a dispatch value.
func (m *MultiFn) Add(t *Thread, dispatch, f Value) {
	change(t, &m.methods, func(ms Value) Value { return Assoc(t, ms, dispatch, f) })
}

// Remove takes the method of a dispatch value away.
func (m *MultiFn) Remove(t *Thread, dispatch Value) {
	change(t, &m.methods, func(ms Value) Value { return Dissoc(t, ms, dispatch) })
}

// RemoveAll takes all methods away.
func (m *MultiFn) RemoveAll(t *Thread) {
	change(t, &m.methods, func(Value) Value { return EmptyMap })
}

// Prefer makes x go before y where both fit.
func (m *MultiFn) Prefer(t *Thread, x, y Value) {
	h := m.tree(t)
	if m.before(t, h, y, x) {
		panic(StateError("prefer-method: got %s before %s, but %s: the other way round is in force", Brief(t, x), Brief(t, y), m.Name))
	}
	change(t, &m.prefers, func(ps Value) Value {
		s, _ := Get(t, ps, x)
		return Assoc(t, ps, x, Conj(t, orElse(s, EmptySet), y))
	})
}

// tree gives the hierarchy in force.
func (m *MultiFn) tree(t *Thread) Value {
	switch m.hierarchy.Kind() {
	case KindVar:
		h := As[Var](m.hierarchy).Get(t)
		if h.Kind() == KindAtom {
			return As[Atom](h).Get()
		}
		return h
	case KindAtom:
		return As[Atom](m.hierarchy).Get()
	case KindRef:
		return As[Ref](m.hierarchy).Get(t)
	case KindNil:
		return t.Env.Hierarchy(t).Get()
	}
	return m.hierarchy
}

// Invoke calls the method that the arguments choose.
func (m *MultiFn) Invoke(t *Thread, args []Value) Value {
	t.Enter()
	d := t.Call(m.dispatch, args...)
	f := m.Method(t, d)
	if f.IsNil() {
		panic(ArgError("%s: got dispatch value %s, for which there is no method", m.Name, Brief(t, d)))
	}
	v := t.Call(f, args...)
	t.Leave()
	return v
}

// Method gives the method of a dispatch value, or nil.
func (m *MultiFn) Method(t *Thread, d Value) Value {
	h := m.tree(t)
	ms, ps := m.methods.Load(), m.prefers.Load()
	c := m.found.Load()
	if c == nil || c.methods != ms || c.prefers != ps || !Identical(c.hierarchy, h) {
		c = &foundMethods{methods: ms, prefers: ps, hierarchy: h, table: EmptyMap}
	}
	if f, ok := Get(t, c.table, d); ok {
		return f
	}
	f := m.best(t, h, *ms, d)
	if Count(t, c.table) >= foundMost {
		c.table = EmptyMap
	}
	t.Charge(cellBytes)
	m.found.Store(&foundMethods{methods: ms, prefers: ps, hierarchy: h, table: Assoc(t, c.table, d, f)})
	return f
}

// best finds the method of the dispatch value nearest to d.
func (m *MultiFn) best(t *Thread, h, methods, d Value) Value {
	if f, ok := Get(t, methods, d); ok {
		return f
	}
	have := false
	var best, f Value
	EachKV(t, methods, func(k, g Value) bool {
		if !IsA(t, h, d, k) {
			return true
		}
		switch {
		case !have || m.dominates(t, h, k, best):
			best, f, have = k, g, true
		case !m.dominates(t, h, best, k):
			ex := ArgError("%s: got dispatch value %s, for which both %s and %s fit", m.Name, Brief(t, d), Brief(t, k), Brief(t, best))
			ex.Hint = "say which goes first with prefer-method"
			panic(ex)
		}
		return true
	})
	if have {
		return f
	}
	f, _ = Get(t, methods, m.fallback)
	return f
}

func (m *MultiFn) dominates(t *Thread, h, x, y Value) bool {
	return m.before(t, h, x, y) || IsA(t, h, x, y)
}

// before tells whether x was preferred to y, itself or by their parents.
func (m *MultiFn) before(t *Thread, h, x, y Value) bool {
	t.Enter()
	defer t.Leave()
	ps := m.Prefers()
	if s, _ := Get(t, ps, x); !s.IsNil() && Contains(t, s, y) {
		return true
	}
	found := false
	Each(t, related(t, h, kwParents, y), func(p Value) bool {
		found = m.before(t, h, x, p)
		return !found
	})
	if found {
		return true
	}
	Each(t, related(t, h, kwParents, x), func(p Value) bool {
		found = m.before(t, h, p, y)
		return !found
	})
	return found
}
