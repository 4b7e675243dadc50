package corelib

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

// namespaces holds what reads and changes namespaces. In an isolate there is require only, for the shared pure libraries
// (require.go); the rest does not exist there.
func namespaces() []Def {
	hosts := []Def{
		{Name: "in-ns", F1: inNSFn, Arglists: "([name])", Doc: "Goes to the namespace of that name, making it if there is none."},
		{Name: "create-ns", F1: createNS, Arglists: "([sym])", Doc: "The namespace of that name, made if there is none."},
		{Name: "find-ns", F1: findNS, Arglists: "([sym])", Doc: "The namespace of that name, or nil."},
		{Name: "the-ns", F1: theNS, Arglists: "([x])", Doc: "The namespace of that name, or x itself if it is one."},
		{Name: "ns-name", F1: nsName, Arglists: "([ns])", Doc: "The name of the namespace, as a symbol."},
		{Name: "all-ns", F0: allNS, Arglists: "([])", Doc: "All namespaces."},
		{Name: "remove-ns", F1: removeNS, Arglists: "([sym])", Doc: "Forgets the namespace of that name."},
		{Name: "ns-publics", F1: nsVars("ns-publics", true), Arglists: "([ns])", Doc: "The map of the public vars of the namespace by name."},
		{Name: "ns-interns", F1: nsVars("ns-interns", false), Arglists: "([ns])", Doc: "The map of the vars of the namespace by name."},
		{Name: "ns-map", F1: nsMap, Arglists: "([ns])", Doc: "The map of everything that a name means in the namespace."},
		{Name: "ns-refers", F1: nsRefers, Arglists: "([ns])", Doc: "The map of what the namespace has from elsewhere, the core included."},
		{Name: "ns-imports", F1: nsImports, Arglists: "([ns])", Doc: "The map of the built-in types by name."},
		{Name: "ns-aliases", F1: nsAliases, Arglists: "([ns])", Doc: "The map of namespaces by alias."},
		{Name: "alias", F2: aliasNS, Arglists: "([alias namespace-sym])", Doc: "Makes alias/x mean x of the namespace."},
		{Name: "ns-unalias", F2: nsUnalias, Arglists: "([ns sym])", Doc: "Removes an alias from the namespace."},
		{Name: "ns-unmap", F2: nsUnmap, Arglists: "([ns sym])", Doc: "Makes a name mean nothing in the namespace."},
		{Name: "var-source*", F1: varSource, Arglists: "([v])", Doc: "What source shows: the text that defined the var, or nil."},
		{Name: "loaded-libs", F0: loadedLibs, Arglists: "([])", Doc: "The sorted set of the names of the namespaces that require finds loaded."},
	}
	for i := range hosts {
		hosts[i].Host = true
	}
	return append(hosts, requires()...)
}

// nsOf gives the namespace that v is or names.
func nsOf(t *Thread, who string, v Value) *value.Namespace {
	switch v.Kind() {
	case value.KindNamespace:
		return value.As[value.Namespace](v)
	case value.KindSymbol:
		name := value.As[value.Symbol](v).FullName()
		if n := namespaceNamed(t, name); n != nil {
			return n
		}
		ex := value.Errorf("Exception", "%s: no namespace %s", who, name)
		ex.Hint = "require it first"
		panic(ex)
	}
	panic(value.TypeError(t, who, v, "a namespace or its name"))
}

// namespaceNamed finds a namespace by either of its names, or nil.
func namespaceNamed(t *Thread, name string) *value.Namespace {
	if n := t.Env.Namespace(name); n != nil {
		return n
	}
	return t.Env.Namespace(OtherName(name))
}

// inNS runs f with *ns* bound to n.
func inNS(t *Thread, n *value.Namespace, f func()) {
	saved := t.Binds
	t.Bind([]*value.Var{t.Env.NSVar}, []Value{value.Of(n)})
	f()
	t.Binds = saved
}

func inNSFn(t *Thread, name Value) Value {
	n := t.Env.Create(symbolOf(t, "in-ns", name).FullName())
	if m := value.Meta(name); !m.IsNil() {
		resetMeta(t, value.Of(n), m)
	}
	if b := t.Box(t.Env.NSVar); b != nil {
		b.Set(value.Of(n))
	} else { // until whoever runs this thread goes back to its own bindings
		t.Bind([]*value.Var{t.Env.NSVar}, []Value{value.Of(n)})
	}
	return value.Of(n)
}

func createNS(t *Thread, name Value) Value {
	return value.Of(t.Env.Create(symbolOf(t, "create-ns", name).FullName()))
}

func findNS(t *Thread, name Value) Value {
	if n := namespaceNamed(t, symbolOf(t, "find-ns", name).FullName()); n != nil {
		return value.Of(n)
	}
	return value.Nil
}

func theNS(t *Thread, v Value) Value { return value.Of(nsOf(t, "the-ns", v)) }

func nsName(t *Thread, v Value) Value {
	return value.Of(value.NewSymbol("", nsOf(t, "ns-name", v).Name))
}

func allNS(t *Thread) Value {
	all := t.Env.Namespaces()
	t.Charge(16 * len(all))
	out := make([]Value, 0, len(all)+1)
	core := false
	for _, n := range all {
		core = core || n == t.Env.Core
		out = append(out, value.Of(n))
	}
	if !core {
		out = append(out, value.Of(t.Env.Core))
	}
	return value.NewList(t, out...)
}

func removeNS(t *Thread, name Value) Value {
	n := findNS(t, name)
	if n.IsNil() {
		return n
	}
	if value.As[value.Namespace](n) == t.Env.Core {
		panic(value.ArgError("remove-ns: got the core, which cannot be removed"))
	}
	t.Env.Remove(value.As[value.Namespace](n).Name)
	return n
}

func simpleSymbol(name string) Value { return value.Of(value.NewSymbol("", name)) }

func nsVars(who string, public bool) unary {
	return func(t *Thread, v Value) Value {
		m := value.EmptyMap
		for _, x := range nsOf(t, who, v).Vars() {
			if !public || !x.Private.Load() {
				m = value.Assoc(t, m, simpleSymbol(x.Name), value.Of(x))
			}
		}
		return m
	}
}

func nsRefers(t *Thread, v Value) Value {
	n := nsOf(t, "ns-refers", v)
	m := value.EmptyMap
	if n != t.Env.Core {
		for _, x := range t.Env.Core.Vars() {
			if !x.Private.Load() && n.SeesCore(x.Name) {
				m = value.Assoc(t, m, simpleSymbol(x.Name), value.Of(x))
			}
		}
	}
	for name, x := range n.Refers() {
		m = value.Assoc(t, m, simpleSymbol(name), value.Of(x))
	}
	return m
}

func nsMap(t *Thread, v Value) Value {
	m := nsRefers(t, v)
	for _, x := range nsOf(t, "ns-map", v).Vars() {
		m = value.Assoc(t, m, simpleSymbol(x.Name), value.Of(x))
	}
	return m
}

func nsImports(t *Thread, v Value) Value {
	nsOf(t, "ns-imports", v)
	m := value.EmptyMap
	for name, typ := range value.Types() {
		m = value.Assoc(t, m, simpleSymbol(name), value.Of(typ))
	}
	return m
}

func nsAliases(t *Thread, v Value) Value {
	m := value.EmptyMap
	for name, full := range nsOf(t, "ns-aliases", v).Aliases() {
		if n := namespaceNamed(t, full); n != nil {
			m = value.Assoc(t, m, simpleSymbol(name), value.Of(n))
		}
	}
	return m
}

func aliasNS(t *Thread, alias, ns Value) Value {
	t.NS().Alias(symbolOf(t, "alias", alias).Name, nsOf(t, "alias", ns).Name)
	return value.Nil
}

func nsUnalias(t *Thread, ns, alias Value) Value {
	nsOf(t, "ns-unalias", ns).Unalias(symbolOf(t, "ns-unalias", alias).Name)
	return value.Nil
}

func nsUnmap(t *Thread, ns, name Value) Value {
	nsOf(t, "ns-unmap", ns).Unmap(symbolOf(t, "ns-unmap", name).Name)
	return value.Nil
}

func varSource(t *Thread, v Value) Value {
	s := varOf(t, "source", v).Source()
	if s == "" {
		return value.Nil
	}
	t.Charge(len(s))
	return value.Str(s)
}

func loadedLibs(t *Thread) Value {
	var names []Value
	for _, n := range t.Env.Namespaces() {
		t.Charge(64)
		names = append(names, simpleSymbol(n.Name))
		if other := OtherName(n.Name); other != n.Name && len(n.Name) > 6 && n.Name[:6] == "joker." {
			names = append(names, simpleSymbol(other))
		}
	}
	return value.NewSortedSet(t, value.Nil, names...)
}
