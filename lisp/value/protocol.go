package value

import "sync/atomic"

// Protocol is a set of functions that choose what to do by the type of their first argument.
//
// What a type does for the protocol stands inside the type (its MethodTable), or was added by extend: the table of
// extensions is replaced whole, so that looking up needs no lock.
type Protocol struct {
	Header
	NS, Name string
	Doc      Value // a string or nil
	ViaMeta  bool  // methods may stand in the metadata of a value
	Methods  []ProtocolMethod

	impls atomic.Pointer[extensions]
}

// ProtocolMethod is one function of a protocol.
type ProtocolMethod struct {
	Name     string
	Arglists Value // a list of vectors
	Doc      Value // a string or nil
	key      Value // its name as a keyword
}

// extensions maps types to maps of functions. It is never written once published.
type extensions struct {
	types []*Type // in the order they came
	fns   map[*Type]Value
}

// NewProtocol makes a protocol without extensions.
func NewProtocol(t *Thread, ns, name string, doc Value, viaMeta bool, methods []ProtocolMethod) *Protocol {
	t.Charge(256 * (1 + len(methods)))
	for i := range methods {
		methods[i].key = Kw(methods[i].Name)
	}
	p := &Protocol{Header: Head(KindProtocol), NS: ns, Name: name, Doc: doc, ViaMeta: viaMeta, Methods: methods}
	p.impls.Store(&extensions{})
	return p
}

// FullName is ns/name.
func (p *Protocol) FullName() string { return joinName(p.NS, p.Name) }

// Extend makes typ, a type or nil, do what the functions of the map fns do.
func (p *Protocol) Extend(t *Thread, typ, fns Value) {
	key := typeKey(t, "extend", typ)
	for {
		t.Step()
		old := p.impls.Load()
		n := len(old.types)
		t.Steps(n)
		t.Charge(64 * (n + 1))
		e := &extensions{types: make([]*Type, 0, n+1), fns: make(map[*Type]Value, n+1)}
		for _, x := range old.types {
			if x != key {
				e.types = append(e.types, x)
				e.fns[x] = old.fns[x]
			}
		}
		e.types = append(e.types, key)
		e.fns[key] = fns
		if p.impls.CompareAndSwap(old, e) {
			return
		}
	}
}

// typeKey gives the type that a value names.
func typeKey(t *Thread, who string, v Value) *Type {
	switch v.Kind() {
	case KindNil:
		return typeNil
	case KindType:
		return As[Type](v)
	}
	panic(TypeError(t, who, v, "a type or nil"))
}

// Extenders lists the types that were given to Extend, nil among them.
func (p *Protocol) Extenders() []Value {
	var out []Value
	for _, t := range p.impls.Load().types {
		if t == typeNil {
			out = append(out, Nil)
		} else {
			out = append(out, Of(t))
		}
	}
	return out
}

// Extends tells whether the type itself implements the protocol, inside or by extend.
func (p *Protocol) Extends(t *Thread, typ Value) bool {
	key := typeKey(t, "extends?", typ)
	if key.methods.Load().of(p) != nil {
		return true
	}
	_, ok := p.impls.Load().fns[key]
	return ok
}

// of gives the map of functions for p, or nil.
func (m *MethodTable) of(p *Protocol) *Value {
	if m == nil {
		return nil
	}
	for i := range m.impls {
		if m.impls[i].p == p {
			return &m.impls[i].fns
		}
	}
	return nil
}

// Impl gives the map of functions that v has for the protocol.
func (p *Protocol) Impl(t *Thread, v Value) (Value, bool) {
	if fns := methodsOf(v).of(p); fns != nil {
		return *fns, true
	}
	_, fns, ok := p.extension(t, TypeOf(v))
	return fns, ok
}

// extension gives what the nearest type at or above typ was extended with.
func (p *Protocol) extension(t *Thread, typ *Type) (*extensions, Value, bool) {
	e := p.impls.Load()
	if len(e.types) == 0 {
		return e, Nil, false
	}
	if fns, ok := e.fns[typ]; ok {
		return e, fns, true
	}
	if typ == typeNil {
		return e, Nil, false
	}
	t.Steps(len(typ.Supers) >> 2)
	for _, s := range typ.Supers {
		if fns, ok := e.fns[s]; ok {
			return e, fns, true
		}
	}
	fns, ok := e.fns[typeObject]
	return e, fns, ok
}

// Satisfied tells whether v implements the protocol.
func (p *Protocol) Satisfied(t *Thread, v Value) bool {
	if _, ok := p.Impl(t, v); ok {
		return true
	}
	if p.ViaMeta {
		for i := range p.Methods {
			if _, ok := p.metaMethod(t, &p.Methods[i], v); ok {
				return true
			}
		}
	}
	return false
}

func (p *Protocol) metaMethod(t *Thread, m *ProtocolMethod, v Value) (Value, bool) {
	meta := Meta(v)
	if meta.IsNil() {
		return Nil, false
	}
	return Get(t, meta, Of(NewSymbol(p.NS, m.Name)))
}

// method finds what v does for m.
func (p *Protocol) method(t *Thread, m *ProtocolMethod, v Value, last *atomic.Pointer[lastMethod]) Value {
	if fns := methodsOf(v).of(p); fns != nil {
		if _, f, ok := mapGet(t, *fns, m.key); ok {
			return f
		}
		panic(p.missing(t, m, v))
	}
	if p.ViaMeta {
		if f, ok := p.metaMethod(t, m, v); ok {
			return f
		}
	}
	typ := TypeOf(v)
	if l := last.Load(); l != nil && l.typ == typ && l.e == p.impls.Load() {
		return l.f
	}
	e, fns, ok := p.extension(t, typ)
	if ok {
		if f, ok := Get(t, fns, m.key); ok && !f.IsNil() {
			last.Store(&lastMethod{typ, e, f})
			return f
		}
	}
	panic(p.missing(t, m, v))
}

// lastMethod remembers what a function of a protocol last found, for the next call.
type lastMethod struct {
	typ *Type
	e   *extensions
	f   Value
}

func (p *Protocol) missing(t *Thread, m *ProtocolMethod, v Value) *Exception {
	what := "nil"
	if !v.IsNil() {
		what = Brief(t, v) + " (" + TypeOf(v).FullName() + ")"
	}
	ex := ArgError("%s: got %s, want something that implements protocol %s", m.Name, what, p.FullName())
	ex.Hint = "extend the protocol to its type with extend-type"
	return ex
}

// Function makes the function of method i: one that calls what its first argument does for it.
func (p *Protocol) Function(t *Thread, i int) Value {
	m := &p.Methods[i]
	t.Charge(512)
	last := &atomic.Pointer[lastMethod]{}
	c := &Code{Name: joinName(p.NS, m.Name), Cost: 1, Arities: p.arities(t, m)}
	find := func(t *Thread, v Value) Value {
		t.Step()
		t.Enter()
		return p.method(t, m, v, last)
	}
	c.F0 = func(*Thread, *Fn) Value { panic(ArityError(c, 0)) }
	c.F1 = func(t *Thread, _ *Fn, a Value) Value {
		v := t.Call1(find(t, a), a)
		t.Leave()
		return v
	}
	c.F2 = func(t *Thread, _ *Fn, a, b Value) Value {
		v := t.Call2(find(t, a), a, b)
		t.Leave()
		return v
	}
	c.F3 = func(t *Thread, _ *Fn, a, b, d Value) Value {
		v := t.Call(find(t, a), a, b, d)
		t.Leave()
		return v
	}
	c.F4 = func(t *Thread, _ *Fn, a, b, d, e Value) Value {
		v := t.Call(find(t, a), a, b, d, e)
		t.Leave()
		return v
	}
	c.FN = func(t *Thread, _ *Fn, args []Value) Value {
		if len(args) == 0 {
			panic(ArityError(c, 0))
		}
		v := t.Call(find(t, args[0]), args...)
		t.Leave()
		return v
	}
	return Of(NewFn(c, []Value{Of(p)}))
}

func (p *Protocol) arities(t *Thread, m *ProtocolMethod) string {
	var ns []int
	Each(t, m.Arglists, func(args Value) bool {
		ns = append(ns, Count(t, args))
		return true
	})
	return Arities(ns, false)
}
