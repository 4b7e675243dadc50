package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// records holds defrecord and deftype.
func records() []Def {
	return []Def{
		macro("defrecord", 2, many, "([name [& fields] & opts+specs])", "Defines a type of maps with fixed fields, the functions ->Name and map->Name that make them, and what they do for protocols. Methods see the fields by name.", macDefrecord),
		macro("deftype", 2, many, "([name [& fields] & opts+specs])", "Defines a type of objects with fields, the function ->Name that makes them, and what they do for protocols. Methods see the fields by name. Fields never change.", macDeftype),
		{Name: "new-type*", F3: newType, Arglists: "([name fields record?])", Doc: "What defrecord and deftype expand to."},
		{Name: "type-methods*", F3: typeMethods, Arglists: "([type owners methods])", Doc: "What defrecord and deftype expand to."},
		{Name: "new-object*", N: newObject, Min: 1, Arglists: "([type & fields])", Doc: "What ->Name expands to."},
		{Name: "map->record*", F2: mapToRecord, Arglists: "([type m])", Doc: "What map->Name expands to."},
		{Name: "field*", F2: fieldOf, Arglists: "([object n])", Doc: "What methods of a type expand to: field n of the object."},
	}
}

var (
	fnNewType     = coreSymbol("new-type*")
	fnTypeMethods = coreSymbol("type-methods*")
	fnNewObject   = coreSymbol("new-object*")
	fnMapRecord   = coreSymbol("map->record*")
	fnField       = coreSymbol("field*")
	macLetSym     = coreSymbol("let")
)

func macDefrecord(t *Thread, form, _ Value, args []Value) Value {
	return (&typeForm{t: t, form: form, who: "defrecord", record: true}).expand(args)
}

func macDeftype(t *Thread, form, _ Value, args []Value) Value {
	return (&typeForm{t: t, form: form, who: "deftype"}).expand(args)
}

// typeForm is a defrecord or deftype being expanded.
type typeForm struct {
	t      *Thread
	form   Value
	who    string
	record bool
	fields []Value // plain symbols
}

func (f *typeForm) expand(args []Value) Value {
	t, name := f.t, args[0]
	if !isPlain(name) {
		panic(malformed(f.form, "%s: got %s, want a plain name", f.who, value.Brief(t, name)))
	}
	f.readFields(args[1])
	specs := args[2:]
	for len(specs) > 1 && specs[0].Kind() == value.KindKeyword {
		specs = specs[2:]
	}
	n := value.As[value.Symbol](name).Name
	ctor, fromMap := simpleSymbol("->"+n), simpleSymbol("map->"+n)
	m := freshName(t, "m")
	fields := value.NewVector(t, f.fields)
	out := []Value{sfDo,
		formOf(t, sfDef, name, formOf(t, fnNewType, formQuote(t, value.WithMeta(t, name, value.Nil)), formQuote(t, fields), value.Bool(f.record))),
		formOf(t, sfDef, described(t, ctor, fields, "Makes a "+n+" of its fields."), formOf(t, sfFn, fields, formSplice(t, f.fields, fnNewObject, name))),
	}
	if f.record {
		out = append(out, formOf(t, sfDef, described(t, fromMap, value.NewVector(t, []Value{simpleSymbol("m")}), "Makes a "+n+" of a map."),
			formOf(t, sfFn, formVector(t, m), formOf(t, fnMapRecord, name, m))))
	}
	methods := reifyForm(t, fnTypeMethods, f.form, f.who, specs, f.method)
	out = append(out, formOf(t, fnTypeMethods, name, nth(t, methods, 1), nth(t, methods, 2)), name)
	return formOf(t, out...)
}

func nth(t *Thread, v Value, i int) Value {
	x, _ := value.Nth(t, v, i)
	return x
}

// described gives a name the metadata of a function.
func described(t *Thread, name, params Value, doc string) Value {
	return value.WithMeta(t, name, value.NewMap(t, kwArglists, formQuote(t, formOf(t, params)), kwDoc, value.Str(doc)))
}

func (f *typeForm) readFields(v Value) {
	if v.Kind() != value.KindVector {
		panic(malformed(f.form, "%s: got %s, want a vector of fields", f.who, value.Brief(f.t, v)))
	}
	seen := map[string]bool{}
	for _, x := range value.ToSlice(f.t, v) {
		if !isPlain(x) || seen[value.As[value.Symbol](x).Name] {
			panic(malformed(f.form, "%s: got field %s, want different plain names", f.who, value.Brief(f.t, x)))
		}
		f.t.Charge(80)
		seen[value.As[value.Symbol](x).Name] = true
		f.fields = append(f.fields, value.WithMeta(f.t, x, value.Nil))
	}
}

// method makes ([this params…] body…) in which the fields have names, but for those that a parameter takes.
func (f *typeForm) method(params Value, body []Value) Value {
	t := f.t
	return methodArity(t, params, body, func(this Value, used func(string) bool) []Value {
		var out []Value
		for i, x := range f.fields {
			if used(value.As[value.Symbol](x).Name) {
				out = append(out, x, formOf(t, fnField, this, value.Int(int64(i))))
			}
		}
		return out
	})
}

// asRecurring makes methods of a reify, in which recur does not name the object.
func asRecurring(t *Thread) func(Value, []Value) Value {
	return func(params Value, body []Value) Value {
		return methodArity(t, params, body, func(Value, func(string) bool) []Value { return nil })
	}
}

// methodArity makes ([this params…] body…): bind gives the bindings of the fields that body uses, patterns among the
// parameters are taken apart inside them, and recur goes to the parameters after the first.
func methodArity(t *Thread, params Value, body []Value, bind func(this Value, used func(string) bool) []Value) Value {
	xs := value.ToSlice(t, params)
	if len(xs) == 0 {
		panic(value.ArgError("method: got [] for parameters, want the object first"))
	}
	names := map[string]bool{}
	for _, b := range body {
		namesIn(t, b, names)
	}
	this := freshName(t, "this")
	plain := []Value{this}
	inner := []Value{}
	if !isNamed(xs[0], "_") {
		inner = append(inner, xs[0], this)
	}
	taken := map[string]bool{}
	var loop []Value
	for _, x := range xs[1:] {
		p := x
		if !isPlain(x) {
			p = freshName(t, "arg")
			inner = append(inner, x, p)
			namesIn(t, x, names)
		}
		plain = append(plain, p)
		taken[value.As[value.Symbol](p).Name] = true
		if !isNamed(p, "&") {
			loop = append(loop, p, p)
		}
	}
	fields := bind(this, func(name string) bool { return names[name] && !taken[name] })
	if names["recur"] {
		body = []Value{formSplice(t, body, sfLoop, value.NewVector(t, loop))}
	}
	if all := append(fields, inner...); len(all) > 0 {
		body = []Value{formSplice(t, body, macLetSym, value.NewVector(t, all))}
	}
	return formSplice(t, body, value.NewVector(t, plain))
}

// namesIn collects the plain symbols of a form.
func namesIn(t *Thread, form Value, into map[string]bool) {
	t.Step()
	switch k := form.Kind(); {
	case k == value.KindSymbol:
		t.Charge(32)
		s := value.As[value.Symbol](form)
		into[s.Name] = true
	case k.IsMap():
		t.Enter()
		value.EachKV(t, form, func(a, b Value) bool {
			namesIn(t, a, into)
			namesIn(t, b, into)
			return true
		})
		t.Leave()
	case k.IsColl():
		t.Enter()
		value.Each(t, form, func(x Value) bool {
			namesIn(t, x, into)
			return true
		})
		t.Leave()
	case k == value.KindKeyword: // {:keys [a]} may be written {:keys [:a]}
		into[value.As[value.Keyword](form).Name] = true
	}
}

func newType(t *Thread, name, fields, record Value) Value {
	var kws []*value.Keyword
	value.Each(t, fields, func(x Value) bool {
		t.Charge(96)
		kws = append(kws, value.NewKeyword("", symbolOf(t, "deftype", x).Name))
		return true
	})
	t.Charge(256)
	return value.Of(value.NewType(munged(t.NS().Name), symbolOf(t, "deftype", name).Name, kws, record.Truthy()))
}

// munged is the name of a namespace as part of the name of a type.
func munged(ns string) string {
	b := []byte(ns)
	for i, c := range b {
		if c == '-' {
			b[i] = '_'
		}
	}
	return string(b)
}

func userType(t *Thread, v Value) *value.Type {
	if v.Kind() != value.KindType || value.As[value.Type](v).Sealed() {
		panic(value.TypeError(t, "deftype", v, "a type made by defrecord or deftype"))
	}
	return value.As[value.Type](v)
}

func typeMethods(t *Thread, typ, owners, methods Value) Value {
	userType(t, typ).SetMethods(methodTable(t, owners, methods))
	return value.Nil
}

func newObject(t *Thread, args []Value) Value {
	if args[0].Kind() == value.KindType && value.As[value.Type](args[0]).Sealed() {
		return newException(t, value.As[value.Type](args[0]), args[1:])
	}
	typ := userType(t, args[0])
	if len(args)-1 != len(typ.Fields) {
		panic(value.ArgError("%s: got %d values, want %d", typ.Name, len(args)-1, len(typ.Fields)))
	}
	t.Charge(16 * len(args))
	vals := append([]Value(nil), args[1:]...)
	if typ.IsRecord() {
		return value.NewRecord(t, typ, vals)
	}
	return value.NewInstance(t, typ, vals)
}

func mapToRecord(t *Thread, typ, m Value) Value {
	rt := userType(t, typ)
	if !rt.IsRecord() {
		panic(value.TypeError(t, "map->record", typ, "a type made by defrecord"))
	}
	if !m.IsNil() && !m.Kind().IsMap() {
		panic(value.TypeError(t, "map->"+rt.Name, m, "a map"))
	}
	t.Charge(16 * len(rt.Fields))
	vals := make([]Value, len(rt.Fields))
	rec := value.NewRecord(t, rt, vals)
	value.EachKV(t, m, func(k, v Value) bool {
		rec = value.Assoc(t, rec, k, v)
		return true
	})
	return rec
}

func fieldOf(t *Thread, v, n Value) Value {
	if k := v.Kind(); k != value.KindRecord && k != value.KindInstance || !n.IsInt() || n.Int() < 0 || int(n.Int()) >= value.Fields(v) {
		panic(value.TypeError(t, "method", v, "an object of the method's type"))
	}
	return value.FieldOf(v, int(n.Int()))
}
