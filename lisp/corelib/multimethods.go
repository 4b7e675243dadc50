package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// multimethods holds defmulti, defmethod and what looks into multimethods.
func multimethods() []Def {
	return []Def{
		macro("defmulti", 2, many, "([name docstring? attr-map? dispatch-fn & options])", "Defines a function that chooses a method by what dispatch-fn gives for its arguments. Options: :default the dispatch value of last resort, :hierarchy a reference to one. A second defmulti of a name changes nothing.", macDefmulti),
		macro("defmethod", 2, many, "([multifn dispatch-val & fn-tail])", "Adds a method to a multimethod.", macDefmethod),
		{Name: "multi-fn*", N: newMultiFn, Min: 4, Max: 4, Arglists: "([var dispatch default hierarchy])", Doc: "What defmulti expands to."},
		{Name: "add-method*", F3: addMethod, Arglists: "([multifn dispatch-val f])", Doc: "What defmethod expands to."},
		{Name: "remove-method", F2: removeMethod, Arglists: "([multifn dispatch-val])", Doc: "Takes the method of the dispatch value away."},
		{Name: "remove-all-methods", F1: removeAllMethods, Arglists: "([multifn])", Doc: "Takes all methods away."},
		{Name: "prefer-method", F3: preferMethod, Arglists: "([multifn dispatch-val-x dispatch-val-y])", Doc: "Makes the method of x go before that of y where both fit."},
		{Name: "methods", F1: methodsFn, Arglists: "([multifn])", Doc: "The map of dispatch value to function."},
		{Name: "get-method", F2: getMethod, Arglists: "([multifn dispatch-val])", Doc: "The function that the dispatch value would choose, or nil."},
		{Name: "prefers", F1: prefersFn, Arglists: "([multifn])", Doc: "The map of dispatch value to the set of those it goes before."},
	}
}

var (
	fnMultiFn   = coreSymbol("multi-fn*")
	fnAddMethod = coreSymbol("add-method*")
	macFnSym    = coreSymbol("fn")
)

func macDefmulti(t *Thread, form, _ Value, args []Value) Value {
	name := args[0]
	if !isPlain(name) {
		panic(malformed(form, "defmulti: got %s, want a plain name", value.Brief(t, name)))
	}
	meta, rest := nsMeta(t, name, args[1:])
	if len(rest) == 0 {
		panic(malformed(form, "defmulti: got no dispatch function"))
	}
	fallback, hierarchy := value.Value(value.Kw("default")), value.Nil
	options(t, "defmulti", rest[1:], func(key string, v Value) {
		switch key {
		case "default":
			fallback = v
		case "hierarchy":
			hierarchy = v
		default:
			panic(malformed(form, "defmulti: got option :%s, want :default or :hierarchy", key))
		}
	})
	if !meta.IsNil() {
		name = value.WithMeta(t, name, meta)
	}
	return formOf(t, sfDef, name, formOf(t, fnMultiFn, formOf(t, sfVar, args[0]), rest[0], fallback, hierarchy))
}

func macDefmethod(t *Thread, _, _ Value, args []Value) Value {
	return formOf(t, fnAddMethod, args[0], args[1], formSplice(t, args[2:], macFnSym))
}

func newMultiFn(t *Thread, args []Value) Value {
	v := varOf(t, "defmulti", args[0])
	if old, ok := v.Root(); ok && old.Kind() == value.KindMultiFn {
		return old
	}
	return value.NewMultiFn(t, v.NS, v.Name, args[1], args[2], args[3])
}

func addMethod(t *Thread, m, dispatch, f Value) Value {
	value.MultiFnOf(t, "defmethod", m).Add(t, dispatch, f)
	return m
}

func removeMethod(t *Thread, m, dispatch Value) Value {
	value.MultiFnOf(t, "remove-method", m).Remove(t, dispatch)
	return m
}

func removeAllMethods(t *Thread, m Value) Value {
	value.MultiFnOf(t, "remove-all-methods", m).RemoveAll(t)
	return m
}

func preferMethod(t *Thread, m, x, y Value) Value {
	value.MultiFnOf(t, "prefer-method", m).Prefer(t, x, y)
	return m
}

func methodsFn(t *Thread, m Value) Value { return value.MultiFnOf(t, "methods", m).Methods() }

func getMethod(t *Thread, m, dispatch Value) Value {
	return value.MultiFnOf(t, "get-method", m).Method(t, dispatch)
}

func prefersFn(t *Thread, m Value) Value { return value.MultiFnOf(t, "prefers", m).Prefers() }
