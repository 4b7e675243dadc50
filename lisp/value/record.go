package value

import "sync/atomic"

// RecordType is a type: one made by defrecord or deftype, or a built-in one.
type RecordType struct {
	Header
	NS, Name string
	Fields   []*Keyword
	Supers   []*RecordType               // every type above, nearest first
	methods  atomic.Pointer[MethodTable] // written inside the type; nil: none
}

// NewRecordType makes a record type with these fields.
func NewRecordType(ns, name string, fields []*Keyword) *RecordType {
	return &RecordType{Header: Head(KindType), NS: ns, Name: name, Fields: fields}
}

// FullName is ns.Name, as records print.
func (r *RecordType) FullName() string { return r.NS + "." + r.Name }

// index gives the place of a field, or -1.
func (r *RecordType) index(k Value) int {
	if k.Kind() == KindKeyword {
		kw := As[Keyword](k)
		for i, f := range r.Fields {
			if f.Same(kw) {
				return i
			}
		}
	}
	return -1
}

// Record is a map with fixed fields and a type; keys beyond those are in ext.
type Record struct {
	Header
	meta *MetaBox
	typ  *RecordType
	vals []Value
	ext  Value // a map or nil
	hash atomic.Uint64
}

const recordBytes = 80

// NewRecord makes a record of values in the order of the fields; it keeps vals.
func NewRecord(t *Thread, typ *RecordType, vals []Value) Value {
	if len(vals) != len(typ.Fields) {
		panic(ArgError("%s: got %d values, want %d", typ.Name, len(vals), len(typ.Fields)))
	}
	t.Charge(recordBytes + len(vals)*valueBytes)
	return Of(&Record{Header: Head(KindRecord), typ: typ, vals: vals})
}

// Type gives the record's type.
func (r *Record) Type() *RecordType { return r.typ }

// Field gives the value of field i.
func (r *Record) Field(i int) Value { return r.vals[i] }

// Len counts the entries.
func (r *Record) Len() int {
	if r.ext.IsNil() {
		return len(r.vals)
	}
	return len(r.vals) + mapLen(r.ext)
}

// Get looks k up.
func (r *Record) Get(t *Thread, k Value) (Value, bool) {
	if i := r.typ.index(k); i >= 0 {
		return r.vals[i], true
	}
	if r.ext.IsNil() {
		return Nil, false
	}
	return Get(t, r.ext, k)
}

func (r *Record) with(vals []Value, ext Value) *Record {
	return &Record{Header: Head(KindRecord), meta: r.meta, typ: r.typ, vals: vals, ext: ext}
}

func (r *Record) withBox(b *MetaBox) *Record {
	n := r.with(r.vals, r.ext)
	n.meta = b
	return n
}

func (r *Record) assoc(t *Thread, k, v Value) Value {
	t.Charge(recordBytes + len(r.vals)*valueBytes)
	if i := r.typ.index(k); i >= 0 {
		vals := append([]Value(nil), r.vals...)
		vals[i] = v
		return Of(r.with(vals, r.ext))
	}
	return Of(r.with(r.vals, Assoc(t, r.ext, k, v)))
}

// dissoc gives a plain map when a field goes.
func (r *Record) dissoc(t *Thread, k Value) Value {
	if r.typ.index(k) < 0 {
		if r.ext.IsNil() {
			return Of(r)
		}
		t.Charge(recordBytes)
		ext := Dissoc(t, r.ext, k)
		if mapLen(ext) == 0 {
			ext = Nil
		}
		return Of(r.with(r.vals, ext))
	}
	m := EmptyMap
	r.each(t, func(key, v Value) bool {
		if !sameKey(t, key, k) {
			m = Assoc(t, m, key, v)
		}
		return true
	})
	if r.meta != nil {
		return WithMeta(t, m, r.meta.M)
	}
	return m
}

func (r *Record) each(t *Thread, f func(k, v Value) bool) {
	for i, v := range r.vals {
		t.Step()
		if !f(Of(r.typ.Fields[i]), v) {
			return
		}
	}
	EachKV(t, r.ext, f)
}

// iter walks the entries.
func (r *Record) iter(t *Thread, p part) *mapIter {
	it := &mapIter{part: p}
	if !r.ext.IsNil() {
		it = newMapIter(r.ext, p)
	}
	t.Charge(2 * len(r.vals) * valueBytes)
	kvs := make([]Value, 0, 2*len(r.vals))
	for i, v := range r.vals {
		kvs = append(kvs, Of(r.typ.Fields[i]), v)
	}
	it.first, it.left = kvs, it.left+len(r.vals)
	return it
}
