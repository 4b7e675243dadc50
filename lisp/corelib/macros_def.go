package corelib

import "github.com/reflection-dev/zeno/lisp/value"

func defMacros() []value.Builtin {
	return []value.Builtin{
		macro("fn", 1, many, "([name? [params*] exprs*] [name? ([params*] exprs*) +])", "Makes a function. Parameters may be patterns; a map {:pre [test…] :post [test…]} before the body states conditions, in which % is the result.", macFn),
		macro("letfn", 1, many, "([fnspecs & body])", "Binds functions that may call one another and evaluates body.", macLetfn),
		macro("defn", 2, many, "([name doc-string? attr-map? [params*] body*] [name doc-string? attr-map? ([params*] body*) + attr-map?])", "Defines a function.", macDefn),
		macro("defn-", 2, many, "([name & decls])", "Defines a function that other namespaces do not see.", macDefnPrivate),
		macro("defmacro", 2, many, "([name doc-string? attr-map? [params*] body*] [name doc-string? attr-map? ([params*] body*) + attr-map?])", "Defines a macro: a function from the forms of a call to the form that stands for it. &form is the whole call, &env holds the locals.", macDefmacro),
		macro("defonce", 2, 2, "([name expr])", "Defines name unless it has a value.", macDefonce),
		macro("declare", 0, many, "([& names])", "Defines names without values, for use before their definition.", macDeclare),
	}
}

func macDefn(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	return (&definition{t: t, form: form, who: "defn"}).expand(args)
}

func macDefnPrivate(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	return (&definition{t: t, form: form, who: "defn-", mark: kwPrivate}).expand(args)
}

func macDefmacro(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	d := &definition{t: t, form: form, who: "defmacro", mark: kwMacro, lead: []value.Value{symForm, symEnv}}
	return d.expand(args)
}

// definition is a defn or defmacro being expanded to (def ^{…} name (fn* …)).
type definition struct {
	t    *value.Thread
	form value.Value
	who  string
	mark value.Value   // what the metadata says of such a definition: :macro or :private
	lead []value.Value // parameters before the user's
	meta value.Value
}

func (d *definition) expand(args []value.Value) value.Value {
	t, name := d.t, args[0]
	if !isPlain(name) {
		panic(malformed(d.form, "%s: got %s, want a plain name", d.who, value.Brief(t, name)))
	}
	d.meta = value.EmptyMap
	args = d.attributes(args[1:])
	s := &fnSource{t: t, form: d.form, who: d.who, lead: d.lead}
	s.parse(args)
	return formOf(t, sfDef, value.WithMeta(t, name, d.metadata(name, s)), s.lower())
}

// attributes takes the docstring and the attribute maps, before or after the arities, off args.
func (d *definition) attributes(args []value.Value) []value.Value {
	if len(args) > 0 && args[0].Kind() == value.KindString {
		d.meta = value.Assoc(d.t, d.meta, kwDoc, args[0])
		args = args[1:]
	}
	if len(args) > 0 && args[0].Kind().IsMap() {
		d.merge(args[0])
		args = args[1:]
	}
	if n := len(args); n > 1 && isCall(args[0]) && args[n-1].Kind().IsMap() {
		d.merge(args[n-1])
		args = args[:n-1]
	}
	return args
}

func (d *definition) merge(m value.Value) {
	value.EachKV(d.t, m, func(k, v value.Value) bool {
		d.meta = value.Assoc(d.t, d.meta, k, v)
		return true
	})
}

// metadata is the metadata of the name, overridden by the attributes, with :arglists. It is a form: def evaluates it.
func (d *definition) metadata(name value.Value, s *fnSource) value.Value {
	t, attributes := d.t, d.meta
	d.meta = value.EmptyMap
	if m := value.Meta(name); !m.IsNil() {
		d.merge(m)
	}
	t.Charge(16 * len(s.arities))
	arglists := make([]value.Value, len(s.arities))
	for i, a := range s.arities {
		arglists[i] = a[0]
	}
	d.meta = value.Assoc(t, d.meta, kwArglists, formQuote(t, formOf(t, arglists...)))
	d.merge(attributes)
	if !d.mark.IsNil() {
		d.meta = value.Assoc(t, d.meta, d.mark, value.True)
	}
	if tag, ok := value.Get(t, d.meta, kwTag); ok && tag.Kind() == value.KindSymbol {
		d.meta = value.Assoc(t, d.meta, kwTag, formQuote(t, tag)) // names a class of the JVM: nothing here to evaluate
	}
	return d.meta
}

func macDefonce(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	if args[0].Kind() != value.KindSymbol {
		panic(malformed(form, "defonce: got %s, want a name", value.Brief(t, args[0])))
	}
	return formOf(t, sfIf, formOf(t, fnBound, formOf(t, sfDef, args[0])), value.Nil, formOf(t, sfDef, args[0], args[1]))
}

func macDeclare(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	t.Charge(16 * len(args))
	defs := make([]value.Value, 0, len(args))
	for _, name := range args {
		if name.Kind() != value.KindSymbol {
			panic(malformed(form, "declare: got %s, want a name", value.Brief(t, name)))
		}
		m := value.Meta(name)
		if m.IsNil() {
			m = value.EmptyMap
		}
		name = value.WithMeta(t, name, value.Assoc(t, m, kwDeclared, value.True))
		defs = append(defs, formOf(t, sfDef, name))
	}
	return formSplice(t, defs, sfDo)
}
