package corelib

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// protocols holds protocols and what implements them. The types that a protocol may be extended to are those that class
// gives, by the names they have on the JVM, in full or without package, or as Joker calls them: String, Long (Int), Double,
// Number, Boolean, Character (Char), Keyword, Symbol, IPersistentVector (Vector), IPersistentMap (Map), IPersistentSet
// (Set), IPersistentList (List), ISeq (Seq), IFn, Fn, Atom, …; nil for nil, Object for everything but nil. Of several that
// fit, the nearest counts, in the order that supers gives them.
func protocols() []Def {
	return []Def{
		macro("defprotocol", 1, many, "([name & opts+sigs])", "Defines a protocol and its functions: (defprotocol P \"doc\" (foo [this x] \"doc\") …).", macDefprotocol),
		macro("definterface", 1, many, "([name & sigs])", "As defprotocol.", macDefprotocol),
		macro("extend-type", 1, many, "([t & specs])", "Implements protocols for a type: (extend-type T P (foo [this] …) Q (bar [this] …)).", macExtendType),
		macro("extend-protocol", 1, many, "([p & specs])", "Implements a protocol for types: (extend-protocol P T (foo [this] …) nil (foo [_] …)).", macExtendProtocol),
		macro("reify", 0, many, "([& specs])", "An object that implements protocols: (reify P (foo [this] …)).", macReify),
		{Name: "protocol*", N: newProtocol, Min: 4, Max: 4, Arglists: "([name doc via-meta sigs])", Doc: "What defprotocol expands to."},
		{Name: "protocol-fn*", F2: protocolFn, Arglists: "([protocol n])", Doc: "What defprotocol expands to: the function of method n."},
		{Name: "reify*", F2: reify, Arglists: "([owners methods])", Doc: "What reify expands to."},
		{Name: "extend", N: extendFn, Min: 1, Arglists: "([atype & proto+mmaps])", Doc: "Implements protocols for a type by maps of functions: (extend T P {:foo (fn [this] …)})."},
		{Name: "satisfies?", F2: satisfies, Arglists: "([protocol x])", Doc: "Whether x implements the protocol."},
		{Name: "extends?", F2: extendsP, Arglists: "([protocol atype])", Doc: "Whether the type implements the protocol."},
		{Name: "extenders", F1: extenders, Arglists: "([protocol])", Doc: "The types that the protocol was extended to, or nil."},
		{Name: "find-protocol-impl", F2: findProtocolImpl, Arglists: "([protocol x])", Doc: "The map of functions that x has for the protocol, or nil."},
		{Name: "find-protocol-method", F3: findProtocolMethod, Arglists: "([protocol methodk x])", Doc: "The function that x has for a method, a keyword, of the protocol, or nil."},
	}
}

var (
	fnProtocol   = coreSymbol("protocol*")
	fnProtocolFn = coreSymbol("protocol-fn*")
	fnReify      = coreSymbol("reify*")
	fnExtend     = coreSymbol("extend")
	macExtType   = coreSymbol("extend-type")
)

func macDefprotocol(t *Thread, form, _ Value, args []Value) Value {
	name := args[0]
	if !isPlain(name) {
		panic(malformed(form, "defprotocol: got %s, want a plain name", value.Brief(t, name)))
	}
	doc, viaMeta, rest := value.Nil, value.False, args[1:]
	for len(rest) > 0 && !isCall(rest[0]) {
		switch k := rest[0].Kind(); {
		case k == value.KindString:
			doc, rest = rest[0], rest[1:]
		case k == value.KindKeyword && len(rest) > 1:
			if isKeyed(rest[0], "extend-via-metadata") {
				viaMeta = value.Bool(rest[1].Truthy())
			}
			rest = rest[2:]
		default:
			panic(malformed(form, "defprotocol: got %s, want a docstring, an option or (method [this …])", value.Brief(t, rest[0])))
		}
	}
	t.Charge(48 * len(rest))
	sigs := make([]Value, 0, len(rest))
	out := []Value{sfDo, value.Nil}
	for i, r := range rest {
		sig := protocolSig(t, form, r)
		sigs = append(sigs, value.NewVector(t, sig))
		meta := value.NewMap(t, kwArglists, formQuote(t, sig[1]), kwDoc, sig[2])
		out = append(out, formOf(t, sfDef, value.WithMeta(t, sig[0], meta), formOf(t, fnProtocolFn, name, value.Int(int64(i)))))
	}
	define := formOf(t, fnProtocol, formQuote(t, name), doc, viaMeta, formQuote(t, value.NewVector(t, sigs)))
	if !doc.IsNil() {
		name = value.WithMeta(t, name, mergedMeta(t, value.Meta(name), value.NewMap(t, kwDoc, doc)))
	}
	out[1] = formOf(t, sfDef, name, define)
	return formOf(t, append(out, formQuote(t, args[0]))...)
}

// protocolSig gives the name, the parameter vectors and the docstring of (name [this …] [this …] "doc").
func protocolSig(t *Thread, form, sig Value) []Value {
	xs := value.ToSlice(t, sig)
	if len(xs) == 0 || !isPlain(xs[0]) {
		panic(malformed(form, "defprotocol: got %s, want (method [this …])", value.Brief(t, sig)))
	}
	doc := value.Nil
	var arglists []Value
	for _, x := range xs[1:] {
		switch x.Kind() {
		case value.KindVector:
			if value.Count(t, x) == 0 {
				panic(malformed(form, "defprotocol: got [] for %s, want at least one parameter", value.Brief(t, xs[0])))
			}
			arglists = append(arglists, x)
		case value.KindString:
			doc = x
		default:
			panic(malformed(form, "defprotocol: got %s, want (method [this …])", value.Brief(t, sig)))
		}
	}
	if len(arglists) == 0 {
		panic(malformed(form, "defprotocol: got %s, want parameters after the name", value.Brief(t, sig)))
	}
	return []Value{value.WithMeta(t, xs[0], value.Nil), value.NewList(t, arglists...), doc}
}

func newProtocol(t *Thread, args []Value) Value {
	var ms []value.ProtocolMethod
	value.Each(t, args[3], func(sig Value) bool {
		if !sig.Kind().IsVector() || value.Count(t, sig) != 3 {
			panic(value.TypeError(t, "protocol*", sig, "[name arglists doc]"))
		}
		t.Charge(96)
		ms = append(ms, value.ProtocolMethod{Name: symbolOf(t, "protocol*", nth(t, sig, 0)).Name, Arglists: nth(t, sig, 1), Doc: nth(t, sig, 2)})
		return true
	})
	name := symbolOf(t, "defprotocol", args[0]).Name
	return value.Of(value.NewProtocol(t, t.NS().Name, name, args[1], args[2].Truthy(), ms))
}

func protocolOf(t *Thread, who string, v Value) *value.Protocol {
	if v.Kind() != value.KindProtocol {
		panic(value.TypeError(t, who, v, "a protocol"))
	}
	return value.As[value.Protocol](v)
}

func protocolFn(t *Thread, p, n Value) Value {
	proto := protocolOf(t, "defprotocol", p)
	return proto.Function(t, int(value.ToInt(t, "defprotocol", n, 0, int64(len(proto.Methods))-1)))
}

// implementation is a protocol, or an interface, and the methods written after it.
type implementation struct {
	owner   Value
	methods []Value // forms (name [this …] body…)
}

// implementations parts P (foo …) (bar …) Q (baz …).
func implementations(t *Thread, form Value, who string, specs []Value) []implementation {
	var out []implementation
	for _, s := range specs {
		t.Step()
		t.Charge(48)
		if !isCall(s) {
			out = append(out, implementation{owner: s})
			continue
		}
		if len(out) == 0 {
			panic(malformed(form, "%s: got %s before any protocol", who, value.Brief(t, s)))
		}
		last := &out[len(out)-1]
		last.methods = append(last.methods, s)
	}
	return out
}

// methodMap makes the form of a map of keyword to function of methods; each of them goes through arity, which makes
// ([params] body…) of it.
func methodMap(t *Thread, form Value, who string, methods []Value, arity func(params Value, body []Value) Value) Value {
	var names []string
	arities := map[string][]Value{}
	for _, m := range methods {
		xs := value.ToSlice(t, m)
		if len(xs) < 2 || xs[0].Kind() != value.KindSymbol {
			panic(malformed(form, "%s: got %s, want (method [this …] body…)", who, value.Brief(t, m)))
		}
		name := value.As[value.Symbol](xs[0]).Name
		if _, ok := arities[name]; !ok {
			names = append(names, name)
		}
		forms := xs[1:]
		if xs[1].Kind() == value.KindVector {
			forms = []Value{formOf(t, xs[1:]...)}
		}
		for _, f := range forms {
			if !isCall(f) || value.First(t, f).Kind() != value.KindVector {
				panic(malformed(form, "%s: got %s, want (method [this …] body…)", who, value.Brief(t, m)))
			}
			t.Charge(32)
			arities[name] = append(arities[name], placed(arity(value.First(t, f), value.ToSlice(t, value.Next(t, f))), m))
		}
	}
	kvs := make([]Value, 0, 2*len(names))
	for _, name := range names {
		kvs = append(kvs, value.Kw(name), formSplice(t, arities[name], macFnSym))
	}
	return value.NewMap(t, kvs...)
}

// asWritten leaves a method as it is.
func asWritten(t *Thread) func(Value, []Value) Value {
	return func(params Value, body []Value) Value { return formSplice(t, body, params) }
}

func macExtendType(t *Thread, form, _ Value, args []Value) Value {
	out := []Value{fnExtend, args[0]}
	for _, i := range implementations(t, form, "extend-type", args[1:]) {
		out = append(out, i.owner, methodMap(t, form, "extend-type", i.methods, asWritten(t)))
	}
	return formOf(t, out...)
}

func macExtendProtocol(t *Thread, form, _ Value, args []Value) Value {
	out := []Value{sfDo}
	for _, i := range implementations(t, form, "extend-protocol", args[1:]) {
		out = append(out, formSplice(t, i.methods, macExtType, i.owner, args[0]))
	}
	return formOf(t, append(out, value.Nil)...)
}

func macReify(t *Thread, form, _ Value, args []Value) Value {
	return reifyForm(t, fnReify, form, "reify", args, asRecurring(t))
}

// reifyForm makes (f [owner…] [{methods}…]).
func reifyForm(t *Thread, f, form Value, who string, specs []Value, arity func(Value, []Value) Value) Value {
	var owners, maps []Value
	for _, i := range implementations(t, form, who, specs) {
		owners = append(owners, i.owner)
		maps = append(maps, methodMap(t, form, who, i.methods, arity))
	}
	return formOf(t, f, value.NewVector(t, owners), value.NewVector(t, maps))
}

func reify(t *Thread, owners, methods Value) Value {
	return value.NewReified(t, methodTable(t, owners, methods))
}

// methodTable makes the table of a list of owners and one of maps of functions. Agents can reach what macros expand to, so
// nothing is taken on trust.
func methodTable(t *Thread, owners, methods Value) *value.MethodTable {
	os, ms := value.ToSlice(t, owners), value.ToSlice(t, methods)
	if len(os) != len(ms) {
		panic(value.ArgError("methods: got %d maps of functions for %d owners", len(ms), len(os)))
	}
	for i, m := range ms {
		if !m.Kind().IsMap() {
			panic(value.TypeError(t, "methods", m, "a map of functions"))
		}
		if os[i].Kind() == value.KindProtocol {
			checkMethods(t, value.As[value.Protocol](os[i]), m)
		}
	}
	return value.NewMethodTable(t, os, ms)
}

// checkMethods refuses a method that the protocol does not have: a slip of the pen that would show when it is called only.
func checkMethods(t *Thread, p *value.Protocol, fns Value) {
	value.EachKV(t, fns, func(k, _ Value) bool {
		names := make([]string, 0, len(p.Methods))
		for _, m := range p.Methods {
			t.Step()
			if value.Equal(t, k, value.Kw(m.Name)) {
				return true
			}
			names = append(names, m.Name)
		}
		ex := value.ArgError("method: got %s, which protocol %s/%s does not have", strings.TrimPrefix(value.Brief(t, k), ":"), p.NS, p.Name)
		if len(names) > 0 {
			t.Charge(32 * len(names))
			ex.Hint = "it has " + strings.Join(names[:min(len(names), 20)], ", ")
		}
		panic(ex)
	})
}

func extendFn(t *Thread, args []Value) Value {
	if len(args)%2 == 0 {
		panic(value.ArgError("extend: got a protocol without a map of functions"))
	}
	for i := 1; i < len(args); i += 2 {
		if !args[i+1].Kind().IsMap() {
			panic(value.TypeError(t, "extend", args[i+1], "a map of functions"))
		}
		if args[i].Kind() == value.KindType {
			panic(value.ArgError("extend: got %s, which is no protocol", value.Brief(t, args[i])))
		}
		protocolOf(t, "extend", args[i]).Extend(t, args[0], args[i+1])
	}
	return value.Nil
}

func satisfies(t *Thread, p, v Value) Value {
	return value.Bool(protocolOf(t, "satisfies?", p).Satisfied(t, v))
}

func extendsP(t *Thread, p, typ Value) Value {
	return value.Bool(protocolOf(t, "extends?", p).Extends(t, typ))
}

func extenders(t *Thread, p Value) Value {
	return value.Seq(t, value.NewList(t, protocolOf(t, "extenders", p).Extenders()...))
}

func findProtocolImpl(t *Thread, p, v Value) Value {
	m, _ := protocolOf(t, "find-protocol-impl", p).Impl(t, v)
	return m
}

func findProtocolMethod(t *Thread, p, k, v Value) Value {
	f, _ := value.Get(t, findProtocolImpl(t, p, v), k)
	return f
}
