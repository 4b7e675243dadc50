package corelib

import "github.com/reflection-dev/zeno/lisp/value"

func letMacros() []value.Builtin {
	return []value.Builtin{
		macro("let", 1, many, "([bindings & body])", "Evaluates body with names bound to values in turn. A name may be a pattern that takes a collection apart.", macLet),
		macro("loop", 1, many, "([bindings & body])", "Like let, and where recur goes.", macLoop),
		macro("if-let", 2, 3, "([bindings then] [bindings then else])", "Binds the value of a test and evaluates then if it is true, else without the binding.", macIfLet),
		macro("when-let", 1, many, "([bindings & body])", "Binds the value of a test and evaluates body if it is true.", macWhenLet),
		macro("if-some", 2, 3, "([bindings then] [bindings then else])", "Like if-let, for values that are not nil.", macIfSome),
		macro("when-some", 1, many, "([bindings & body])", "Like when-let, for values that are not nil.", macWhenSome),
		macro("when-first", 1, many, "([bindings & body])", "Binds the first element of a collection and evaluates body, unless the collection is empty.", macWhenFirst),
	}
}

// letForm makes (let* [pairs…] body…) with all patterns taken apart.
func letForm(t *value.Thread, form value.Value, who string, pairs, body []value.Value) value.Value {
	if len(pairs) == 0 {
		return formBlock(t, body)
	}
	return formSplice(t, body, sfLet, formVector(t, plainPairs(t, form, who, pairs)...))
}

func macLet(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	xs := pairsOf(t, form, "let", args[0])
	if allPlain(t, xs) {
		return formSplice(t, args[1:], sfLet, args[0])
	}
	return formSplice(t, args[1:], sfLet, formVector(t, plainPairs(t, form, "let", xs)...))
}

// loop binds each pattern to one name that recur rebinds, and takes the patterns apart again on each turn. Outside, it
// takes them apart as well, since later values may need the names.
func macLoop(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	xs := pairsOf(t, form, "loop", args[0])
	if allPlain(t, xs) {
		return formSplice(t, args[1:], sfLoop, args[0])
	}
	outer := &binder{t: t, form: form, who: "loop"}
	inner := &binder{t: t, form: form, who: "loop"}
	turn := &binder{t: t, form: form, who: "loop"}
	for i := 0; i < len(xs); i += 2 {
		if isPlain(xs[i]) {
			outer.name(xs[i], xs[i+1])
			turn.name(xs[i], xs[i])
			continue
		}
		g := freshName(t, "loop")
		outer.add(g, xs[i+1])
		outer.bindOwn(xs[i], g)
		turn.add(g, g)
		inner.bindOwn(xs[i], g)
	}
	body := formSplice(t, args[1:], sfLet, formVector(t, inner.out...))
	return formOf(t, sfLet, formVector(t, outer.out...), formOf(t, sfLoop, formVector(t, turn.out...), body))
}

// tested makes (let* [g init] (if test (let* [pattern g] then) else)).
func letTested(t *value.Thread, form value.Value, who string, binding value.Value, then []value.Value, els value.Value, some bool) value.Value {
	pattern, init := onePair(t, form, who, binding)
	g := freshName(t, "test")
	b := &binder{t: t, form: form, who: who}
	b.bindOwn(pattern, g)
	in := formSplice(t, then, sfLet, formVector(t, b.out...))
	if some {
		return formOf(t, sfLet, formVector(t, g, init), formOf(t, sfIf, formOf(t, fnNilP, g), els, in))
	}
	return formOf(t, sfLet, formVector(t, g, init), formOf(t, sfIf, g, in, els))
}

func optionalArg(args []value.Value, i int) value.Value {
	if i < len(args) {
		return args[i]
	}
	return value.Nil
}

func macIfLet(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	return letTested(t, form, "if-let", args[0], args[1:2], optionalArg(args, 2), false)
}

func macWhenLet(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	return letTested(t, form, "when-let", args[0], args[1:], value.Nil, false)
}

func macIfSome(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	return letTested(t, form, "if-some", args[0], args[1:2], optionalArg(args, 2), true)
}

func macWhenSome(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	return letTested(t, form, "when-some", args[0], args[1:], value.Nil, true)
}

func macWhenFirst(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	pattern, init := onePair(t, form, "when-first", args[0])
	s := freshName(t, "seq")
	in := letForm(t, form, "when-first", []value.Value{pattern, formOf(t, fnFirst, s)}, args[1:])
	return formOf(t, sfLet, formVector(t, s, formOf(t, fnSeq, init)), formOf(t, sfIf, s, in))
}
