package corelib

import (
	"strconv"

	"github.com/reflection-dev/zeno/lisp/value"
)

// symbols holds names and types.
func symbols() []Def {
	return []Def{
		{Name: "symbol", F1: symbol, F2: symbol2, Arglists: "([name] [ns name])", Doc: "The symbol of a name, which may be a string, symbol, keyword or var."},
		{Name: "keyword", F1: keyword, F2: keyword2, Arglists: "([name] [ns name])", Doc: "The keyword of a name, which may be a string, symbol or keyword; nil for anything else."},
		{Name: "find-keyword", F1: findKeyword, F2: func(*Thread, Value, Value) Value { return value.Nil }, Arglists: "([name] [ns name])", Doc: "A keyword is itself; nil for anything else, since no list of keywords is kept that one program could see another's in."},
		{Name: "name", F1: nameOf, Arglists: "([x])", Doc: "The name of a symbol or keyword without its namespace; a string is its own name."},
		{Name: "namespace", F1: namespaceOf, Arglists: "([x])", Doc: "The namespace of a symbol or keyword, or nil."},
		{Name: "gensym", F0: gensym0, F1: gensym1, Arglists: "([] [prefix-string])", Doc: "A symbol that no program has."},
		{Name: "type", F1: typeOf, Arglists: "([x])", Doc: "The :type of x's metadata, or its class."},
		{Name: "class", F1: classOf, Arglists: "([x])", Doc: "The type of x, named as on the JVM; nil for nil."},
		{Name: "class?", F1: kindTest(value.KindType), Arglists: "([x])", Doc: "Whether x is a type."},
		{Name: "instance?", F2: instanceP, Arglists: "([c x])", Doc: "Whether x is of the type c."},
		{Name: "cast", F2: cast, Arglists: "([c x])", Doc: "x if it is of the type c; throws otherwise."},
		{Name: "supers", F1: supers, Arglists: "([class])", Doc: "The set of the types above the type, or nil."},
		{Name: "bases", F1: supers, Arglists: "([class])", Doc: "As supers."},
	}
}

func symbol(t *Thread, v Value) Value {
	switch v.Kind() {
	case value.KindSymbol:
		return v
	case value.KindString:
		t.Charge(112)
		return value.Of(value.NewSymbol(value.OwnName(t, v.Text())))
	case value.KindKeyword:
		k := value.As[value.Keyword](v)
		t.Charge(112)
		return value.Of(value.NewSymbol(k.NS, k.Name))
	case value.KindVar:
		x := value.As[value.Var](v)
		t.Charge(112)
		return value.Of(value.NewSymbol(x.NS, x.Name))
	}
	panic(value.ArgError("symbol: got %s, want a string, symbol, keyword or var", value.Brief(t, v)))
}

// nameParts checks the namespace, which may be nil, and the name.
func nameParts(t *Thread, who string, ns, name Value) (string, string) {
	n := stringOf(t, who, name)
	if ns.IsNil() {
		return "", n
	}
	return stringOf(t, who, ns), n
}

func symbol2(t *Thread, ns, name Value) Value {
	s, n := nameParts(t, "symbol", ns, name)
	t.Charge(112)
	return value.Of(value.NewSymbol(s, n))
}

func keyword(t *Thread, v Value) Value {
	switch v.Kind() {
	case value.KindKeyword:
		return v
	case value.KindString:
		t.Charge(96)
		return value.Of(value.NewKeyword(value.OwnName(t, v.Text())))
	case value.KindSymbol:
		s := value.As[value.Symbol](v)
		t.Charge(96)
		return value.Of(value.NewKeyword(s.NS, s.Name))
	}
	return value.Nil
}

func keyword2(t *Thread, ns, name Value) Value {
	s, n := nameParts(t, "keyword", ns, name)
	t.Charge(96)
	return value.Of(value.NewKeyword(s, n))
}

func findKeyword(_ *Thread, v Value) Value {
	if v.Kind() == value.KindKeyword {
		return v
	}
	return value.Nil
}

func nameOf(t *Thread, v Value) Value {
	switch v.Kind() {
	case value.KindString:
		return v
	case value.KindSymbol:
		t.Charge(48)
		return value.Str(value.As[value.Symbol](v).Name)
	case value.KindKeyword:
		t.Charge(48)
		return value.Str(value.As[value.Keyword](v).Name)
	}
	if f, ok := value.HostOf[interface{ Name() string }](v); ok { // an open file, as in Joker
		return value.Str(f.Name())
	}
	panic(value.TypeError(t, "name", v, "a symbol, keyword or string"))
}

func namespaceOf(t *Thread, v Value) Value {
	ns := ""
	switch v.Kind() {
	case value.KindSymbol:
		ns = value.As[value.Symbol](v).NS
	case value.KindKeyword:
		ns = value.As[value.Keyword](v).NS
	default:
		panic(value.TypeError(t, "namespace", v, "a symbol or keyword"))
	}
	if ns == "" {
		return value.Nil
	}
	t.Charge(48)
	return value.Str(ns)
}

func gensym0(t *Thread) Value { return gensym1(t, value.Str("G__")) }

func gensym1(t *Thread, prefix Value) Value {
	s := value.ToString(t, prefix)
	t.Charge(112 + len(s))
	return value.Of(value.NewSymbol("", s+strconv.FormatInt(t.Env.Gensym(), 10)))
}

func typeOf(t *Thread, v Value) Value {
	if m := metaOf(t, v); !m.IsNil() {
		if x, ok := value.Get(t, m, value.Kw("type")); ok && !x.IsNil() {
			return x
		}
	}
	return classOf(t, v)
}

func classOf(_ *Thread, v Value) Value {
	if v.IsNil() {
		return v
	}
	return value.Of(value.TypeOf(v))
}

func instanceP(t *Thread, c, v Value) Value {
	switch c.Kind() {
	case value.KindType:
		return value.Bool(!v.IsNil() && value.TypeOf(v).Below(value.As[value.Type](c)))
	case value.KindProtocol:
		return value.Bool(value.As[value.Protocol](c).Satisfied(t, v))
	}
	panic(value.TypeError(t, "instance?", c, "a type"))
}

func cast(t *Thread, c, v Value) Value {
	if v.IsNil() || instanceP(t, c, v).Truthy() {
		return v
	}
	panic(value.TypeError(t, "cast", v, "a "+value.Brief(t, c)))
}

func supers(t *Thread, c Value) Value {
	if c.Kind() != value.KindType {
		panic(value.TypeError(t, "supers", c, "a type"))
	}
	var out []Value
	for _, s := range value.As[value.Type](c).Supers {
		out = append(out, value.Of(s))
	}
	if out == nil {
		return value.Nil
	}
	return value.NewSet(t, out...)
}

// classConstants are the vars of the core that name the built-in types.
func classConstants() []Const {
	var out []Const
	for name, typ := range value.Types() {
		out = append(out, Const{Name: name, Value: value.Of(typ), Doc: "The type " + typ.FullName() + "."})
	}
	return out
}
