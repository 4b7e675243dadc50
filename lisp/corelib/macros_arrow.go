package corelib

import "github.com/reflection-dev/zeno/lisp/value"

func arrowMacros() []value.Builtin {
	return []value.Builtin{
		macro("->", 1, many, "([x & forms])", "Threads x through forms as their first argument.", macThreadFirst),
		macro("->>", 1, many, "([x & forms])", "Threads x through forms as their last argument.", macThreadLast),
		macro("some->", 1, many, "([expr & forms])", "Like ->, and ends with nil as soon as a value is nil.", macSomeFirst),
		macro("some->>", 1, many, "([expr & forms])", "Like ->>, and ends with nil as soon as a value is nil.", macSomeLast),
		macro("cond->", 1, many, "([expr & clauses])", "Takes tests and forms in turn and threads expr through each form whose test is true, as first argument.", macCondFirst),
		macro("cond->>", 1, many, "([expr & clauses])", "Takes tests and forms in turn and threads expr through each form whose test is true, as last argument.", macCondLast),
		macro("as->", 2, many, "([expr name & forms])", "Binds name to expr, then to the value of each form in turn.", macAsArrow),
		macro("doto", 1, many, "([x & forms])", "Evaluates forms with x as their first argument, for their effects, and gives x.", macDoto),
		macro("..", 2, many, "([x form & more])", "Host interop, which this dialect has none of.", macDotDot),
		macro("memfn", 1, many, "([name & args])", "Host interop, which this dialect has none of.", macMemfn),
	}
}

// first puts x into step as its first argument; step is a call or the name of a function.
func stepFirst(t *value.Thread, x, step value.Value) value.Value {
	if !isCall(step) {
		return placed(formOf(t, step, x), step)
	}
	xs := stepParts(t, step)
	return stepLike(t, step, formSplice(t, xs[1:], xs[0], x))
}

// last puts x into step as its last argument.
func stepLast(t *value.Thread, x, step value.Value) value.Value {
	if !isCall(step) {
		return placed(formOf(t, step, x), step)
	}
	return stepLike(t, step, formSplice(t, []value.Value{x}, stepParts(t, step)...))
}

func stepParts(t *value.Thread, step value.Value) []value.Value {
	xs := value.ToSlice(t, step)
	if len(xs) == 0 {
		panic(malformed(step, "->: got (), want a call or the name of a function"))
	}
	return xs
}

// stepLike gives a threaded form the place and the metadata of the step it was made from.
func stepLike(t *value.Thread, step, v value.Value) value.Value {
	v = placed(v, step)
	if m := userMeta(t, step); !m.IsNil() {
		v = value.WithMeta(t, v, m)
	}
	return v
}

type threader func(t *value.Thread, x, step value.Value) value.Value

func macThreadFirst(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return threadSteps(t, args, stepFirst)
}

func macThreadLast(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return threadSteps(t, args, stepLast)
}

func threadSteps(t *value.Thread, args []value.Value, into threader) value.Value {
	x := args[0]
	for _, step := range args[1:] {
		t.Step()
		x = into(t, x, step)
	}
	return x
}

func macSomeFirst(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return someArrow(t, args, stepFirst)
}

func macSomeLast(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return someArrow(t, args, stepLast)
}

func someArrow(t *value.Thread, args []value.Value, into threader) value.Value {
	g := freshName(t, "some")
	return rebindSteps(t, g, args[0], args[1:], func(step value.Value) value.Value {
		return formOf(t, sfIf, formOf(t, fnNilP, g), value.Nil, into(t, g, step))
	})
}

// rebind binds g to x and then to what each step makes of it; the last step is the value.
func rebindSteps(t *value.Thread, g, x value.Value, steps []value.Value, make func(step value.Value) value.Value) value.Value {
	if len(steps) == 0 {
		return x
	}
	b := &binder{t: t}
	b.add(g, x)
	end := len(steps) - 1
	for _, s := range steps[:end] {
		b.add(g, make(s))
	}
	return formOf(t, sfLet, formVector(t, b.out...), make(steps[end]))
}

func macCondFirst(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	return condArrow(t, form, "cond->", args, stepFirst)
}

func macCondLast(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	return condArrow(t, form, "cond->>", args, stepLast)
}

func condArrow(t *value.Thread, form value.Value, who string, args []value.Value, into threader) value.Value {
	clauses := args[1:]
	if len(clauses)%2 != 0 {
		panic(malformed(form, "%s: got %s after the value, want an even number: a test and a form each time", who, value.Plural(len(clauses), "form")))
	}
	if len(clauses) == 0 {
		return args[0]
	}
	g := freshName(t, "cond")
	b := &binder{t: t}
	b.add(g, args[0])
	var out value.Value
	for i := 0; i < len(clauses); i += 2 {
		out = formOf(t, sfIf, clauses[i], into(t, g, clauses[i+1]), g)
		if i < len(clauses)-2 {
			b.add(g, out)
		}
	}
	return formOf(t, sfLet, formVector(t, b.out...), out)
}

func macAsArrow(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	name, steps := args[1], args[2:]
	b := &binder{t: t, form: form, who: "as->"}
	b.bind(name, args[0])
	if len(steps) == 0 {
		if !isPlain(name) {
			panic(malformed(form, "as->: got %s, want a plain name", value.Brief(t, name)))
		}
		return formOf(t, sfLet, formVector(t, b.out...), name)
	}
	end := len(steps) - 1
	for _, s := range steps[:end] {
		b.bind(name, s)
	}
	return formOf(t, sfLet, formVector(t, b.out...), steps[end])
}

func macDoto(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	g := freshName(t, "doto")
	t.Charge(16 * len(args))
	body := make([]value.Value, 0, len(args))
	for _, step := range args[1:] {
		body = append(body, stepFirst(t, g, step))
	}
	return formSplice(t, append(body, g), sfLet, formVector(t, g, args[0]))
}

func macDotDot(_ *value.Thread, form, _ value.Value, _ []value.Value) value.Value {
	panic(malformed(form, "..: got host interop, which this dialect has none of; use functions and ->"))
}

func macMemfn(_ *value.Thread, form, _ value.Value, _ []value.Value) value.Value {
	panic(malformed(form, "memfn: got host interop, which this dialect has none of; use fn"))
}
