package value

// Marked is what an environment keeps for a library that holds Lisp values: they count as alive.
type Marked interface{ Mark(m *Marker) }

// state marks what the environment keeps for its libraries.
func (m *Marker) state(e *Env) {
	e.State.Range(func(_, x any) bool {
		switch x := x.(type) {
		case *Atom:
			m.Value(Of(x))
		case Marked:
			x.Mark(m)
		}
		return true
	})
}

// reference marks what a reference, type or multimethod holds.
func (m *Marker) reference(v Value, k Kind) {
	switch k {
	case KindAtom:
		m.Value(As[Atom](v).Get())
	case KindVolatile:
		m.Value(As[Volatile](v).Get())
	case KindRef:
		m.Value(*As[Ref](v).p.Load())
	case KindDelay:
		m.delay(As[Delay](v))
	case KindPromise:
		if x, ok := As[Promise](v).Peek(); ok {
			m.Value(x)
		}
	case KindFuture:
		if o := As[Future](v).result.Load(); o != nil {
			m.Value(o.val)
			m.exception(o.ex)
		}
	case KindAgent:
		As[Agent](v).Mark(m)
	case KindMultiFn:
		m.multi(As[Generic](v))
	case KindType:
		typ := As[Type](v)
		m.Bytes(128 + 64*len(typ.Fields))
		m.methods(typ.methods.Load())
	case KindProtocol:
		p := As[Protocol](v)
		e := p.impls.Load()
		m.Bytes(64*len(e.types) + 128*len(p.Methods))
		m.Value(p.Doc)
		for _, x := range p.Methods {
			m.Slots([]Value{x.Arglists, x.Doc})
		}
		for _, fns := range e.fns {
			m.Value(fns)
		}
	case KindInstance:
		i := As[Instance](v)
		m.Bytes(len(i.fields) * valueBytes)
		m.Slots(i.fields)
		m.Value(Of(i.typ))
		m.methods(i.methods)
	}
	m.guarded(v)
}

func (m *Marker) guarded(v Value) {
	if g := guardOf(v); g != nil {
		m.Value(load(&g.watches))
		m.Value(load(&g.validator))
	}
	if p := refMeta(v); p != nil {
		m.Value(load(p))
	}
}

func (m *Marker) delay(d *Delay) {
	if d.Realized() {
		m.Value(d.val)
		m.exception(d.ex)
		return
	}
	if fn := d.fn.Load(); fn != nil {
		m.Value(Of(fn))
	}
}

func (m *Marker) exception(ex *Exception) {
	if ex != nil {
		m.Value(Of(ex))
	}
}

// Mark marks what the bindings hold.
func (b *Bindings) Mark(m *Marker) {
	if b == nil {
		return
	}
	m.Bytes(64 * len(b.list))
	for _, x := range b.list {
		m.Value(x.box.Get())
	}
	b.under.Mark(m)
}

// Mark marks what the agent holds, and what waits for it.
func (a *Agent) Mark(m *Marker) {
	m.Value(a.Get())
	a.mu.Lock()
	defer a.mu.Unlock()
	m.Value(a.onError)
	m.exception(a.failed)
	for _, x := range a.queue {
		m.Bytes(2*cellBytes + len(x.held)*valueBytes)
		m.Slots(x.held)
		x.binds.Mark(m)
	}
}

func (m *Marker) multi(g *Generic) {
	f, ok := g.Impl.(*MultiFn)
	if !ok {
		return
	}
	m.Bytes(256)
	m.Slots([]Value{f.dispatch, f.fallback, f.hierarchy, f.Methods(), f.Prefers()})
	if c := f.found.Load(); c != nil {
		m.Value(c.table)
	}
}

func (m *Marker) methods(t *MethodTable) {
	if t == nil {
		return
	}
	m.Value(t.named)
	for _, i := range t.impls {
		m.Bytes(cellBytes)
		m.Value(i.fns)
		m.Value(Of(i.p))
	}
}
