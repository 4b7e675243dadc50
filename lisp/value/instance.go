package value

// Instance is an object of a deftype or reify: fields that never change and the methods of its protocols.
type Instance struct {
	Header
	typ     *Type
	fields  []Value
	methods *MethodTable // of a reify; nil: those of the type
}

// MethodTable is the methods written inside a type or reify. It never changes once made.
type MethodTable struct {
	impls []inlineImpl
	named Value // methods of Object and of interfaces: a map of keyword to function
}

type inlineImpl struct {
	p   *Protocol
	fns Value // a map of keyword to function
}

// NewMethodTable makes a table of maps of functions by protocol, or by an interface, whose methods are known by name only.
func NewMethodTable(t *Thread, owners []Value, fns []Value) *MethodTable {
	m := &MethodTable{named: EmptyMap}
	for i, o := range owners {
		t.Step()
		t.Charge(cellBytes)
		if o.Kind() == KindProtocol {
			m.impls = append(m.impls, inlineImpl{As[Protocol](o), fns[i]})
			continue
		}
		EachKV(t, fns[i], func(k, f Value) bool {
			m.named = Assoc(t, m.named, k, f)
			return true
		})
	}
	return m
}

// NewType makes a type of deftype (or, with record, of defrecord).
func NewType(ns, name string, fields []*Keyword, record bool) *Type {
	t := NewRecordType(ns, name, fields)
	if record {
		t.Supers = []*Type{typeIRecord, typeIMap, typeAssociative, typeIColl, typeSeqable, typeILookup, typeCounted, typeIterable, typeIObj, typeIMeta, typeJMap, typeObject}
	} else {
		t.Supers = []*Type{typeIType, typeObject}
	}
	return t
}

// SetMethods gives a type its methods.
func (r *RecordType) SetMethods(m *MethodTable) { r.methods.Store(m) }

// Constructible tells whether a program may make values of r: its own types, and exceptions, but for the one that means a
// defect of the language.
func (r *RecordType) Constructible() bool {
	return !r.Sealed() || exceptionTypes[r.Name] == r && r.Name != "InternalError"
}

// Sealed tells whether r is a built-in type.
func (r *RecordType) Sealed() bool { return !r.IsRecord() && !r.isType() }

func (r *RecordType) isType() bool { return len(r.Supers) > 0 && r.Supers[0] == typeIType }

// IsRecord tells whether r was made by defrecord.
func (r *RecordType) IsRecord() bool { return len(r.Supers) > 0 && r.Supers[0] == typeIRecord }

// Fields counts the fields of an object of a deftype or record.
func Fields(v Value) int {
	if v.Kind() == KindRecord {
		return len(As[Record](v).vals)
	}
	return len(As[Instance](v).fields)
}

// NewInstance makes an object of a deftype; it keeps fields.
func NewInstance(t *Thread, typ *Type, fields []Value) Value {
	t.Charge(cellBytes + len(fields)*valueBytes)
	return Of(&Instance{Header: Head(KindInstance), typ: typ, fields: fields})
}

// NewReified makes an object of a reify.
func NewReified(t *Thread, m *MethodTable) Value {
	t.Charge(cellBytes)
	return Of(&Instance{Header: Head(KindInstance), typ: typeReified, methods: m})
}

var typeReified = class("zeno.lang.Reified", typeIObj)

// FieldOf gives field i of an object of a deftype or record.
func FieldOf(v Value, i int) Value {
	if v.Kind() == KindRecord {
		return As[Record](v).vals[i]
	}
	return As[Instance](v).fields[i]
}

// methodsOf gives the methods written inside v's type, or nil.
func methodsOf(v Value) *MethodTable {
	switch v.Kind() {
	case KindRecord:
		return As[Record](v).typ.methods.Load()
	case KindInstance:
		i := As[Instance](v)
		if i.methods != nil {
			return i.methods
		}
		return i.typ.methods.Load()
	}
	return nil
}

// Method gives the function that v's type has for a method of Object or of an interface: toString, deref, invoke …
func Method(t *Thread, v Value, name string) (Value, bool) {
	m := methodsOf(v)
	if m == nil || mapLen(m.named) == 0 {
		return Nil, false
	}
	_, f, ok := mapGet(t, m.named, Kw(name))
	return f, ok
}

// callObject calls a promise, which delivers it, a ref, which calls what it holds, or an object with a method invoke.
func (t *Thread) callObject(f Value, args []Value) (Value, bool) {
	switch f.Kind() {
	case KindPromise:
		wantArgs("promise", args, 1, 1)
		if As[Promise](f).Deliver(args[0]) {
			return f, true
		}
		return Nil, true
	case KindRef:
		t.Enter()
		v := t.Call(As[Ref](f).Get(t), args...)
		t.Leave()
		return v, true
	case KindRecord, KindInstance:
		g, ok := Method(t, f, "invoke")
		if !ok {
			return Nil, false
		}
		t.Charge((len(args) + 1) * valueBytes)
		t.Enter()
		v := t.Call(g, append([]Value{f}, args...)...)
		t.Leave()
		return v, true
	}
	return Nil, false
}

// field looks k up in an object that is no collection: a literal's part, or what a method valAt says.
func field(t *Thread, v, k Value) (Value, bool) {
	if v.Kind() == KindInstance {
		f, ok := Method(t, v, "valAt")
		if !ok {
			return Nil, false
		}
		return t.Call2(f, v, k), true
	}
	if k.Kind() != KindKeyword || As[Keyword](k).NS != "" {
		return Nil, false
	}
	if v.Kind() == KindTaggedLiteral {
		return As[TaggedLiteral](v).Field(As[Keyword](k).Name)
	}
	return As[ReaderConditional](v).Field(As[Keyword](k).Name)
}

// obey takes over the lengths that the dynamic vars of printing ask for, where any is bound.
func (p *Printer) obey(t *Thread) {
	if t.Binds == nil || t.Env == nil || t.Env.Core == nil {
		return
	}
	for name, n := range map[string]*int{"*print-length*": &p.Length, "*print-level*": &p.Level} {
		if v := t.Env.Core.Var(name); v != nil {
			if x := v.Get(t); x.IsInt() {
				*n = int(min(max(x.Int(), 0), 1<<30))
			}
		}
	}
}
