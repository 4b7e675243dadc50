package corelib

import (
	"context"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// vars holds what reads, changes and binds vars. What finds a var by a name made at run time is absent in an isolate.
func vars() []Def {
	return []Def{
		{Name: "var?", F1: kindTest(value.KindVar), Arglists: "([v])", Doc: "Whether v is a var."},
		{Name: "var-get", F1: varGet, Arglists: "([x])", Doc: "What the var stands for."},
		{Name: "var-set", F2: varSet, Arglists: "([x val])", Doc: "Sets the thread binding of the var."},
		{Name: "alter-var-root", N: alterVarRoot, Min: 2, Arglists: "([v f & args])", Doc: "Replaces the root of the var by f of it and args, and gives it."},
		{Name: "bound?", N: boundP, Arglists: "([& vars])", Doc: "Whether all vars stand for something."},
		{Name: "thread-bound?", N: threadBound, Arglists: "([& vars])", Doc: "Whether all vars have a thread binding."},
		{Name: "with-bindings*", N: withBindings, Min: 2, Arglists: "([binding-map f & args])", Doc: "Calls f with the vars of the map bound to its values."},
		{Name: "bound-fn*", F1: boundFn, Arglists: "([f])", Doc: "A function that calls f with the bindings in force now; what is not bound now is as it is bound where the function is called."},
		{Name: "get-thread-bindings", F0: threadBindings, Arglists: "([])", Doc: "The map of the vars bound on this thread and their values."},
		{Name: "push-thread-bindings", F1: pushBindings, Host: true, Arglists: "([bindings])", Doc: "Binds the vars of the map, until pop-thread-bindings."},
		{Name: "pop-thread-bindings", F0: popBindings, Host: true, Arglists: "([])", Doc: "Undoes the last push-thread-bindings."},
		{Name: "with-redefs-fn", F2: withRedefs, Arglists: "([binding-map func])", Doc: "Calls func with the roots of the vars of the map replaced, for every thread, and puts them back."},
		{Name: "find-var", F1: findVar, Host: true, Arglists: "([sym])", Doc: "The var of a qualified symbol, or nil."},
		{Name: "resolve", F1: resolve, F2: resolveEnv, Host: true, Arglists: "([sym] [env sym])", Doc: "The var that the symbol means in *ns*, or nil."},
		{Name: "ns-resolve", F2: nsResolve, F3: nsResolveEnv, Host: true, Arglists: "([ns sym] [ns env sym])", Doc: "The var that the symbol means in the namespace, or nil."},
		{Name: "requiring-resolve", F1: requiringResolve, Host: true, Arglists: "([sym])", Doc: "The var of a qualified symbol; its namespace is loaded if it must be."},
		{Name: "intern", F2: intern2, F3: intern3, Host: true, Arglists: "([ns name] [ns name val])", Doc: "The var of that name in the namespace, made if there is none, with val for its root."},
	}
}

// unlimited makes a thread for Go code that builds constants.
func unlimited() *Thread {
	return value.NewThread(value.NewRun(context.Background(), limit.Trusted()), nil)
}

func varOf(t *Thread, who string, v Value) *value.Var {
	if v.Kind() != value.KindVar {
		panic(value.TypeError(t, who, v, "a var"))
	}
	return value.As[value.Var](v)
}

func varGet(t *Thread, v Value) Value { return varOf(t, "var-get", v).Get(t) }

func varSet(t *Thread, v, x Value) Value {
	b := t.Box(varOf(t, "var-set", v))
	if b == nil {
		panic(value.StateError("var-set: got %s, which has no thread binding", value.Brief(t, v)))
	}
	b.Set(x)
	return x
}

func alterVarRoot(t *Thread, args []Value) Value {
	return varOf(t, "alter-var-root", args[0]).Alter(t, func(x Value) Value { return callWith(t, args[1], x, args[2:]) })
}

func boundP(t *Thread, args []Value) Value {
	for _, v := range args {
		x := varOf(t, "bound?", v)
		if _, ok := x.Root(); !ok && t.Box(x) == nil {
			return value.False
		}
	}
	return value.True
}

func threadBound(t *Thread, args []Value) Value {
	for _, v := range args {
		if t.Box(varOf(t, "thread-bound?", v)) == nil {
			return value.False
		}
	}
	return value.True
}

// bindings gives the vars and values of a map of bindings.
func bindings(t *Thread, who string, m Value) (vars []*value.Var, vals []Value) {
	value.EachKV(t, m, func(k, v Value) bool {
		t.Charge(24)
		x := varOf(t, who, k)
		if !x.Dynamic.Load() {
			panic(value.StateError("%s: got %s, which is not dynamic, want a var with ^:dynamic", who, x.FullName()))
		}
		vars, vals = append(vars, x), append(vals, v)
		return true
	})
	return vars, vals
}

func withBindings(t *Thread, args []Value) Value {
	vars, vals := bindings(t, "with-bindings", args[0])
	saved := t.Binds
	t.Bind(vars, vals)
	v := t.Call(args[1], args[2:]...)
	t.Binds = saved
	return v
}

func boundFn(t *Thread, f Value) Value {
	binds := t.Binds
	call := func(t *Thread, args []Value) Value {
		saved := t.Binds
		t.BindAll(binds)
		v := t.Call(f, args...)
		t.Binds = saved
		return v
	}
	b := &value.Builtin{Name: "bound-fn", N: call}
	t.Charge(1024)
	fn := value.NewBuiltin(coreName+"/bound-fn", b)
	fn.Caps = []Value{f, value.NewHost("bindings", binds)}
	return value.Of(fn)
}

func threadBindings(t *Thread) Value {
	vars, vals := t.Bound()
	t.Charge(48 * len(vars))
	m := value.EmptyMap
	for i, v := range vars {
		if t.Env.Isolate && v == t.Env.OutVar { // it is the runtime's, and has no name here
			continue
		}
		m = value.Assoc(t, m, value.Of(v), vals[i])
	}
	return m
}

func pushBindings(t *Thread, m Value) Value {
	vars, vals := bindings(t, "push-thread-bindings", m)
	t.PushBindings(vars, vals)
	return value.Nil
}

func popBindings(t *Thread) Value {
	t.PopBindings()
	return value.Nil
}

func withRedefs(t *Thread, m, f Value) Value {
	type root struct {
		v   *value.Var
		old Value
		had bool
	}
	var saved []root
	value.EachKV(t, m, func(k, x Value) bool {
		t.Charge(48)
		v := varOf(t, "with-redefs", k)
		if v.Sealed {
			panic(value.StateError("with-redefs: got %s, which is sealed, want a var of yours", v.FullName()))
		}
		old, had := v.Root()
		saved = append(saved, root{v, old, had})
		return true
	})
	defer func() { // for a limit as well
		for _, r := range saved {
			if r.had {
				r.v.SetRoot(r.old)
			} else {
				r.v.Unbind()
			}
		}
	}()
	value.EachKV(t, m, func(k, x Value) bool {
		value.As[value.Var](k).SetRoot(x)
		return true
	})
	return t.Call(f)
}

func symbolOf(t *Thread, who string, v Value) *value.Symbol {
	if v.Kind() != value.KindSymbol {
		panic(value.TypeError(t, who, v, "a symbol"))
	}
	return value.As[value.Symbol](v)
}

func orNil(v *value.Var) Value {
	if v == nil {
		return value.Nil
	}
	return value.Of(v)
}

func findVar(t *Thread, v Value) Value {
	sym := symbolOf(t, "find-var", v)
	if sym.NS == "" {
		panic(value.ArgError("find-var: got %s, want a symbol with a namespace", sym.Name))
	}
	ns := t.Env.Namespace(sym.NS)
	if ns == nil {
		panic(value.ArgError("find-var: no namespace %s", sym.NS))
	}
	return orNil(ns.Var(sym.Name))
}

func resolve(t *Thread, v Value) Value {
	return orNil(compile.Resolve(t, symbolOf(t, "resolve", v)))
}

func resolveEnv(t *Thread, env, v Value) Value {
	if value.Contains(t, env, v) {
		return value.Nil
	}
	return resolve(t, v)
}

func nsResolve(t *Thread, ns, v Value) Value {
	sym := symbolOf(t, "ns-resolve", v)
	var out Value
	inNS(t, nsOf(t, "ns-resolve", ns), func() { out = orNil(compile.Resolve(t, sym)) })
	return out
}

func nsResolveEnv(t *Thread, ns, env, v Value) Value {
	if value.Contains(t, env, v) {
		return value.Nil
	}
	return nsResolve(t, ns, v)
}

func requiringResolve(t *Thread, v Value) Value {
	sym := symbolOf(t, "requiring-resolve", v)
	if sym.NS == "" {
		panic(value.ArgError("requiring-resolve: got %s, want a symbol with a namespace", sym.Name))
	}
	ns := loadedNS(t, sym.NS, false)
	return orNil(ns.Var(sym.Name))
}

func intern2(t *Thread, ns, name Value) Value {
	sym := symbolOf(t, "intern", name)
	v := nsOf(t, "intern", ns).Intern(sym.Name)
	if m := value.Meta(name); !m.IsNil() {
		v.SetMeta(m)
	}
	return value.Of(v)
}

func intern3(t *Thread, ns, name, x Value) Value {
	v := intern2(t, ns, name)
	if value.As[value.Var](v).Sealed {
		panic(value.StateError("intern: got %s, which is sealed", value.Brief(t, v)))
	}
	value.As[value.Var](v).SetRoot(x)
	return v
}

// varMeta gives the metadata of a var: what def noted, what a builtin says of itself, and :name, :ns and its place.
func varMeta(t *Thread, v *value.Var) Value {
	if v.MetaWhole() {
		return v.MetaMap()
	}
	m := value.EmptyMap
	put := func(key string, x Value) {
		m = value.Assoc(t, m, value.Kw(key), x)
	}
	builtinMeta(t, v, put)
	if p := v.Pos(); p != nil {
		put("line", value.Int(int64(p.Line)))
		put("column", value.Int(int64(p.Column)))
		if p.File != "" {
			put("file", value.Str(p.File))
		}
	}
	value.EachKV(t, v.MetaMap(), func(k, x Value) bool {
		m = value.Assoc(t, m, k, x)
		return true
	})
	if v.Macro.Load() {
		put("macro", value.True)
	}
	if v.Dynamic.Load() {
		put("dynamic", value.True)
	}
	if v.Private.Load() {
		put("private", value.True)
	}
	if v.NS == "" {
		return m
	}
	put("name", value.Of(value.NewSymbol("", v.Name)))
	if t.Env.Isolate { // a namespace can be changed, and that of the core is everyone's
		put("ns", simpleSymbol(v.NS))
	} else if ns := t.Env.Namespace(v.NS); ns != nil {
		put("ns", value.Of(ns))
	}
	return m
}

// builtinMeta adds the docstring and the arglists of a builtin.
func builtinMeta(t *Thread, v *value.Var, put func(string, Value)) {
	b := builtinOf(v)
	if b == nil {
		if doc := tableDoc(v); doc != "" {
			put("doc", value.Str(doc))
		}
		return
	}
	if b.Doc != "" {
		put("doc", value.Str(b.Doc))
	}
	if b.Arglists != "" {
		if args, err := readData(t, b.Arglists); err == nil {
			put("arglists", args)
		}
	}
}

// streamDocs documents the dynamic vars that each environment makes for itself.
var streamDocs = map[string]string{
	"*ns*":  "The namespace that code is read and evaluated in.",
	"*in*":  "Where read-line and read take their text.",
	"*out*": "Where print and its like write.",
	"*err*": "Where warnings and reports go.",
}

// tableDoc is the documentation of a dynamic var or a constant of the language's own namespaces.
func tableDoc(v *value.Var) string {
	if v.NS == coreName {
		if doc := streamDocs[v.Name]; doc != "" {
			return doc
		}
		for _, d := range Dynamics() {
			if d.Name == v.Name {
				return d.Doc
			}
		}
	} else if v.NS != "joker.math" && v.NS != "clojure.math" {
		return ""
	}
	for _, c := range Constants()[v.NS] {
		if c.Name == v.Name {
			return c.Doc
		}
	}
	return ""
}

func builtinOf(v *value.Var) *value.Builtin {
	x, ok := v.Root()
	if !ok || x.Kind() != value.KindFn {
		return nil
	}
	return value.As[value.Fn](x).Code.Builtin
}
