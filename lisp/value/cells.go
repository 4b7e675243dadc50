package value

import "sync/atomic"

// guard is what a reference checks and tells when it changes. Both parts are replaced whole, so that no lock is held while
// Lisp code runs.
type guard struct {
	watches   atomic.Pointer[Value] // a map from key to function of key, reference, old and new
	validator atomic.Pointer[Value] // a predicate of the new value
}

func load(p *atomic.Pointer[Value]) Value {
	if v := p.Load(); v != nil {
		return *v
	}
	return Nil
}

// validate throws unless the validator takes v.
func (g *guard) validate(t *Thread, v Value) {
	if f := load(&g.validator); !f.IsNil() && !t.Call1(f, v).Truthy() {
		panic(StateError("reference: got %s, which its validator refuses", Brief(t, v)))
	}
}

// notify tells every watch that ref changed.
func (g *guard) notify(t *Thread, ref, old, new Value) {
	w := load(&g.watches)
	if w.IsNil() {
		return
	}
	EachKV(t, w, func(k, f Value) bool {
		t.Call(f, k, ref, old, new)
		return true
	})
}

// guardOf gives the guard of a reference, or nil.
func guardOf(v Value) *guard {
	switch v.Kind() {
	case KindAtom:
		return &As[Atom](v).guard
	case KindVar:
		return &As[Var](v).guard
	case KindRef:
		return &As[Ref](v).guard
	case KindAgent:
		return &As[Agent](v).guard
	}
	return nil
}

func mustGuard(t *Thread, who string, v Value) *guard {
	g := guardOf(v)
	if g == nil {
		panic(TypeError(t, who, v, "an atom, var, ref or agent"))
	}
	if v.Kind() == KindVar && As[Var](v).Sealed {
		panic(StateError("%s: got %s, which is sealed, want a var of yours", who, As[Var](v).FullName()))
	}
	return g
}

// AddWatch makes f be called with key, ref, old and new value whenever ref changes.
func AddWatch(t *Thread, ref, key, f Value) {
	changeWatches(t, mustGuard(t, "add-watch", ref), func(m Value) Value {
		if m.IsNil() {
			m = EmptyMap
		}
		return Assoc(t, m, key, f)
	})
}

// RemoveWatch undoes AddWatch.
func RemoveWatch(t *Thread, ref, key Value) {
	changeWatches(t, mustGuard(t, "remove-watch", ref), func(m Value) Value {
		if m.IsNil() {
			return m
		}
		return Dissoc(t, m, key)
	})
}

func changeWatches(t *Thread, g *guard, f func(Value) Value) {
	for {
		t.Step()
		old := g.watches.Load()
		m := f(load(&g.watches))
		if g.watches.CompareAndSwap(old, &m) {
			return
		}
	}
}

// SetValidator makes f decide what ref may hold; nil lets it hold anything. What it holds now must pass.
func SetValidator(t *Thread, ref, f Value) {
	g := mustGuard(t, "set-validator!", ref)
	if !f.IsNil() {
		if v, ok := held(t, ref); ok && !t.Call1(f, v).Truthy() {
			panic(StateError("set-validator!: got a reference that holds %s, which the validator refuses", Brief(t, v)))
		}
	}
	g.validator.Store(&f)
}

// Validator gives the validator of ref, or nil.
func Validator(t *Thread, ref Value) Value {
	g := guardOf(ref)
	if g == nil {
		panic(TypeError(t, "get-validator", ref, "an atom, var, ref or agent"))
	}
	return load(&g.validator)
}

// held gives what a reference holds now.
func held(t *Thread, ref Value) (Value, bool) {
	switch ref.Kind() {
	case KindAtom:
		return As[Atom](ref).Get(), true
	case KindRef:
		return As[Ref](ref).Get(t), true
	case KindAgent:
		return As[Agent](ref).Get(), true
	}
	return As[Var](ref).Root()
}

// Atom is a cell that changes by compare-and-swap.
type Atom struct {
	Header
	p     atomic.Pointer[Value]
	meta  atomic.Pointer[Value]
	guard guard
}

const cellAlloc = 96 // bytes of a reference and its first value

// NewAtom makes an atom that holds v.
func NewAtom(t *Thread, v Value) *Atom {
	t.Charge(cellAlloc)
	a := &Atom{Header: Head(KindAtom)}
	a.p.Store(&v)
	return a
}

// Get reads the atom.
func (a *Atom) Get() Value { return *a.p.Load() }

// Swap replaces what the atom holds by f of it, again if another thread was faster, and gives both.
func (a *Atom) Swap(t *Thread, f func(Value) Value) (old, new Value) {
	for {
		p := a.p.Load()
		v := f(*p)
		if a.Replace(t, p, v) {
			return *p, v
		}
		t.Step()
	}
}

// CompareAndSet replaces what the atom holds by v if it holds exactly old.
func (a *Atom) CompareAndSet(t *Thread, old, v Value) bool {
	p := a.p.Load()
	return Identical(*p, old) && a.Replace(t, p, v)
}

// Load gives the place of what the atom holds now, for Replace. It must not be written.
func (a *Atom) Load() *Value { return a.p.Load() }

// Replace puts v where what was at p is, unless the atom has changed since; false when it has.
func (a *Atom) Replace(t *Thread, p *Value, v Value) bool {
	if a.guard.validator.Load() != nil {
		a.guard.validate(t, v)
	}
	t.Charge(valueBytes)
	if !a.p.CompareAndSwap(p, &v) {
		return false
	}
	if a.guard.watches.Load() != nil {
		a.guard.notify(t, Of(a), *p, v)
	}
	return true
}

// Volatile is a cell without any of an atom's promises but that of being read whole.
type Volatile struct {
	Header
	p atomic.Pointer[Value]
}

// NewVolatile makes a volatile that holds v.
func NewVolatile(t *Thread, v Value) Value {
	t.Charge(cellBytes)
	c := &Volatile{Header: Head(KindVolatile)}
	c.p.Store(&v)
	return Of(c)
}

// Get reads the volatile.
func (c *Volatile) Get() Value { return *c.p.Load() }

// Set writes the volatile.
func (c *Volatile) Set(t *Thread, v Value) {
	t.Charge(valueBytes)
	c.p.Store(&v)
}

// Root of a var, changed like an atom.

// Alter replaces the root of v by f of it and gives the new root.
func (v *Var) Alter(t *Thread, f func(Value) Value) Value {
	if v.Sealed {
		panic(StateError("alter-var-root: got %s, which is sealed, want a var of yours", v.FullName()))
	}
	for {
		t.Step()
		p := v.root.Load()
		old := load(&v.root)
		x := f(old)
		v.guard.validate(t, x)
		t.Charge(valueBytes)
		if v.root.CompareAndSwap(p, &x) {
			v.guard.notify(t, Of(v), old, x)
			return x
		}
	}
}

// refMeta is the cell of the metadata of a reference or namespace, or nil.
func refMeta(v Value) *atomic.Pointer[Value] {
	switch v.Kind() {
	case KindAtom:
		return &As[Atom](v).meta
	case KindVar:
		return &As[Var](v).meta
	case KindRef:
		return &As[Ref](v).meta
	case KindAgent:
		return &As[Agent](v).meta
	case KindNamespace:
		return &As[Namespace](v).meta
	}
	return nil
}

// RefMeta gives the metadata of a reference, var or namespace; false when v is none.
func RefMeta(v Value) (Value, bool) {
	p := refMeta(v)
	if p == nil {
		return Nil, false
	}
	return load(p), true
}

// AlterMeta replaces the metadata of a reference, var or namespace by f of it.
func AlterMeta(t *Thread, who string, v Value, f func(Value) Value) Value {
	p := refMeta(v)
	if p == nil {
		panic(TypeError(t, who, v, "an atom, var, ref, agent or namespace"))
	}
	if v.Kind() == KindVar && As[Var](v).Sealed {
		panic(StateError("%s: got %s, which is sealed, want a var of yours", who, As[Var](v).FullName()))
	}
	if v.Kind() == KindNamespace && t.Env.Isolate {
		panic(StateError("%s: got a namespace, whose metadata an agent cannot change", who))
	}
	for {
		t.Step()
		old := p.Load()
		m := f(load(p))
		if !m.IsNil() && !m.Kind().IsMap() {
			panic(TypeError(t, who, m, "a map or nil"))
		}
		if p.CompareAndSwap(old, &m) {
			return m
		}
	}
}
