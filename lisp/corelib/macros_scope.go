package corelib

import "github.com/reflection-dev/zeno/lisp/value"

func scopeMacros() []value.Builtin {
	host := hostMacro("with-in-str", 1, many, "([s & body])", "Evaluates body with *in* reading from the string s.", macWithInStr)
	return []value.Builtin{
		host,
		macro("binding", 1, many, "([bindings & body])", "Evaluates body with dynamic vars bound to new values, on this thread and in futures made in body.", macBinding),
		macro("with-bindings", 1, many, "([binding-map & body])", "Evaluates body with the vars of a map bound to its values.", macWithBindings),
		macro("with-redefs", 1, many, "([bindings & body])", "Evaluates body with the roots of vars replaced, for every thread, and puts them back.", macWithRedefs),
		macro("with-local-vars", 1, many, "([bindings & body])", "Evaluates body with names bound to vars that only this thread sees: var-get and var-set read and write them.", macWithLocalVars),
		macro("with-out-str", 0, many, "([& body])", "Evaluates body and gives what it printed.", macWithOutStr),
		macro("with-open", 1, many, "([bindings & body])", "Evaluates body with names bound to things that close! then closes, in reverse order.", macWithOpen),
		macro("bound-fn", 1, many, "([& fntail])", "A function that runs with the dynamic bindings in force where it was made.", macBoundFn),
		{Name: "local-var*", F0: localVar, Arglists: "([])", Doc: "What with-local-vars expands to: a new dynamic var."},
	}
}

func macBinding(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	varNames(t, form, "binding", args[0])
	return formSplice(t, args[1:], sfBinding, args[0])
}

// varNames checks a vector of names of vars and values, and gives it as pairs.
func varNames(t *value.Thread, form value.Value, who string, v value.Value) []value.Value {
	xs := pairsOf(t, form, who, v)
	for i := 0; i < len(xs); i += 2 {
		if xs[i].Kind() != value.KindSymbol {
			panic(malformed(form, "%s: got %s, want the name of a var", who, value.Brief(t, xs[i])))
		}
	}
	return xs
}

func macWithBindings(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, fnWithBindings, args[0], formThunk(t, args[1:]))
}

func macWithRedefs(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	xs := varNames(t, form, "with-redefs", args[0])
	t.Charge(16 * len(xs))
	roots := make([]value.Value, 0, len(xs))
	for i := 0; i < len(xs); i += 2 {
		roots = append(roots, formOf(t, sfVar, xs[i]), xs[i+1])
	}
	return formOf(t, fnWithRedefs, formSplice(t, roots, fnHashMap), formThunk(t, args[1:]))
}

func macWithLocalVars(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	xs := varNames(t, form, "with-local-vars", args[0])
	b := &binder{t: t, form: form, who: "with-local-vars"}
	for i := 0; i < len(xs); i += 2 {
		b.name(xs[i], formOf(t, fnLocalVar))
	}
	return formOf(t, sfLet, formVector(t, b.out...), formOf(t, fnWithBindings, formSplice(t, xs, fnHashMap), formThunk(t, args[1:])))
}

func localVar(t *value.Thread) value.Value {
	t.Charge(256)
	v := value.NewVar("", "local-var")
	v.Dynamic.Store(true)
	return value.Of(v)
}

func macWithOutStr(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, fnWithOutStr, formThunk(t, args))
}

func macWithInStr(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, fnWithInStr, args[0], formThunk(t, args[1:]))
}

func macWithOpen(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	xs := pairsOf(t, form, "with-open", args[0])
	out := formBlock(t, args[1:])
	for i := len(xs) - 2; i >= 0; i -= 2 {
		if !isPlain(xs[i]) {
			panic(malformed(form, "with-open: got %s, want a plain name", value.Brief(t, xs[i])))
		}
		closing := formOf(t, sfFinally, formOf(t, fnClose, xs[i]))
		out = formOf(t, sfLet, formVector(t, xs[i], xs[i+1]), formOf(t, sfTry, out, closing))
	}
	return out
}

func macBoundFn(t *value.Thread, form, env value.Value, args []value.Value) value.Value {
	return formOf(t, fnBoundFn, macFn(t, form, env, args))
}
