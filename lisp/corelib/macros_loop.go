package corelib

import "github.com/reflection-dev/zeno/lisp/value"

func loopMacros() []value.Builtin {
	return []value.Builtin{
		macro("while", 1, many, "([test & body])", "Evaluates body again and again as long as test is true.", macWhile),
		macro("dotimes", 1, many, "([bindings & body])", "Evaluates body n times with a name bound to 0, 1, … n-1.", macDotimes),
		macro("doseq", 1, many, "([seq-exprs & body])", "Evaluates body for each element of collections, for its effects. Takes the modifiers of for.", macDoseq),
		macro("for", 2, 2, "([seq-exprs body-expr])", "The lazy seq of body for each element of collections, the last of which runs fastest. Modifiers: :let [name value …], :when test, :while test.", macFor),
		{Name: "doseq*", F2: doseqStar, Arglists: "([f coll])", Doc: "What doseq expands to: calls f with each element until it gives false."},
		{Name: "for*", F2: forStar, Arglists: "([f coll])", Doc: "What for expands to: the lazy seq of what f gives for each element, save what it skips."},
		{Name: "for-cat*", F2: forCatStar, Arglists: "([f coll])", Doc: "What a for over several collections expands to: the elements of what f gives for each element."},
		{Name: "for-skip*", F0: func(*value.Thread) value.Value { return forSkip }, Arglists: "([])", Doc: "What the function of for* gives for an element to leave out."},
		{Name: "for-stop*", F0: func(*value.Thread) value.Value { return forStop }, Arglists: "([])", Doc: "What the function of for* gives for the element to end before."},
	}
}

func macWhile(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	again := formDo(t, args[1:], formOf(t, sfRecur))
	return formOf(t, sfLoop, value.EmptyVector, formOf(t, sfIf, args[0], again))
}

func macDotimes(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	name, count := onePair(t, form, "dotimes", args[0])
	if !isPlain(name) {
		panic(malformed(form, "dotimes: got %s, want a plain name", value.Brief(t, name)))
	}
	n := freshName(t, "n")
	again := formDo(t, args[1:], formOf(t, sfRecur, formOf(t, fnInc, name)))
	return formOf(t, sfLet, formVector(t, n, formOf(t, fnLong, count)),
		formOf(t, sfLoop, formVector(t, name, value.Int(0)), formOf(t, sfIf, formOf(t, fnLess, name, n), again)))
}

// level is one collection of a for or doseq and the modifiers after it.
type forLevel struct {
	pattern, coll value.Value
	mods          []value.Value // keyword, argument, …
}

// levels reads [pattern coll :modifier argument … …].
func forLevels(t *value.Thread, form value.Value, who string, v value.Value) []forLevel {
	xs := pairsOf(t, form, who, v)
	var out []forLevel
	for i := 0; i < len(xs); i += 2 {
		t.Step()
		t.Charge(64)
		switch {
		case xs[i].Kind() != value.KindKeyword:
			out = append(out, forLevel{pattern: xs[i], coll: xs[i+1]})
		case len(out) == 0:
			panic(malformed(form, "%s: got %s first, want a name and a collection before any modifier", who, value.Brief(t, xs[i])))
		default:
			l := &out[len(out)-1]
			l.mods = append(l.mods, xs[i], xs[i+1])
		}
	}
	return out
}

// step makes the function of one element: the pattern taken apart and the modifiers around inner. It gives skip for an
// element that :when leaves out and stop for the one that :while ends at.
func (l forLevel) step(t *value.Thread, form value.Value, who string, inner, skip, stop value.Value) value.Value {
	for i := len(l.mods) - 2; i >= 0; i -= 2 {
		k, x := l.mods[i], l.mods[i+1]
		switch {
		case isKeyed(k, "when"):
			inner = placed(formOf(t, sfIf, x, inner, skip), x)
		case isKeyed(k, "while"):
			inner = placed(formOf(t, sfIf, x, inner, stop), x)
		case isKeyed(k, "let"):
			inner = letForm(t, form, who, pairsOf(t, form, who, x), []value.Value{inner})
		default:
			panic(malformed(form, "%s: got the modifier %s, want :let, :when or :while", who, value.Brief(t, k)))
		}
	}
	if isPlain(l.pattern) {
		return formOf(t, sfFn, formVector(t, l.pattern), inner)
	}
	x := freshName(t, "item")
	b := &binder{t: t, form: form, who: who}
	b.bindOwn(l.pattern, x)
	return formOf(t, sfFn, formVector(t, x), formOf(t, sfLet, formVector(t, b.out...), inner))
}

// macDoseq nests (doseq* (fn* [x] body… true) coll): the loop over the elements runs in Go, chunk by chunk.
func macDoseq(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	ls := forLevels(t, form, "doseq", args[0])
	inner := formDo(t, args[1:], value.True)
	if len(ls) == 0 {
		return formOf(t, sfDo, inner, value.Nil)
	}
	for i := len(ls) - 1; i >= 0; i-- {
		l := ls[i]
		loop := placed(formOf(t, fnDoseq, l.step(t, form, "doseq", inner, value.True, value.False), l.coll), l.coll)
		if i == 0 {
			return loop
		}
		inner = formOf(t, sfDo, loop, value.True)
	}
	return value.Nil
}

// macFor nests (for-cat* (fn* [x] (for* (fn* [y] (try body)) ys)) xs). The bare try costs nothing and keeps a recur in body
// from being taken for one of the function.
func macFor(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	ls := forLevels(t, form, "for", args[0])
	if len(ls) == 0 {
		panic(malformed(form, "for: got no bindings, want a name and a collection"))
	}
	skip, stop := formOf(t, fnForSkip), formOf(t, fnForStop)
	out, over := formOf(t, sfTry, args[1]), fnFor
	for i := len(ls) - 1; i >= 0; i-- {
		l := ls[i]
		out = placed(formOf(t, over, l.step(t, form, "for", out, skip, stop), l.coll), l.coll)
		over = fnForCat
	}
	return out
}
