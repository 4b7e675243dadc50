package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// binder takes binding patterns apart into pairs of a plain name and a form, in the order in which they are evaluated.
type binder struct {
	t    *value.Thread
	form value.Value // what errors point at
	who  string      // the macro, for errors
	out  []value.Value
}

// plainPairs turns names and values, where a name may be a pattern, into plain names and values.
func plainPairs(t *value.Thread, form value.Value, who string, xs []value.Value) []value.Value {
	b := &binder{t: t, form: form, who: who}
	for i := 0; i < len(xs); i += 2 {
		b.bind(xs[i], xs[i+1])
	}
	return b.out
}

// destructure is the function of that name: what plainPairs does, for macros of the user's.
func destructure(t *value.Thread, bindings value.Value) value.Value {
	if bindings.Kind() != value.KindVector || value.Count(t, bindings)%2 != 0 {
		panic(value.ArgError("destructure: got %s, want a vector of patterns and forms", value.Brief(t, bindings)))
	}
	return value.NewVector(t, plainPairs(t, bindings, "destructure", value.ToSlice(t, bindings)))
}

// allPlain tells whether every name of the pairs is a plain symbol.
func allPlain(t *value.Thread, xs []value.Value) bool {
	t.Steps(len(xs))
	for i := 0; i < len(xs); i += 2 {
		if !isPlain(xs[i]) {
			return false
		}
	}
	return true
}

func (b *binder) add(name, init value.Value) {
	b.t.Step()
	b.t.Charge(64)
	b.out = append(b.out, name, init)
}

func (b *binder) fail(format string, args ...any) *value.Exception {
	return malformed(b.form, b.who+": "+format, args...)
}

// bind takes pattern apart; init is the form that gives its value.
func (b *binder) bind(pattern, init value.Value) {
	switch k := pattern.Kind(); {
	case k == value.KindSymbol:
		b.name(pattern, init)
	case k == value.KindVector:
		whole := freshName(b.t, "vec")
		b.add(whole, init)
		b.sequence(pattern, whole)
	case k.IsMap():
		whole := freshName(b.t, "map")
		b.add(whole, init)
		b.mapping(pattern, whole)
	default:
		panic(b.fail("got %s to bind, want a name, a vector or a map", value.Brief(b.t, pattern)))
	}
}

// bindOwn takes pattern apart; whole is a name of our own that already holds its value.
func (b *binder) bindOwn(pattern, whole value.Value) {
	switch k := pattern.Kind(); {
	case k == value.KindVector:
		b.sequence(pattern, whole)
	case k.IsMap():
		b.mapping(pattern, whole)
	default:
		b.bind(pattern, whole)
	}
}

func (b *binder) name(sym, init value.Value) {
	s := value.As[value.Symbol](sym)
	switch {
	case s.NS != "":
		panic(b.fail("got the qualified name %s to bind, want a plain one", value.Brief(b.t, sym)))
	case s.Name == "&":
		panic(b.fail("got & to bind, want it in a vector, before the name of the rest"))
	}
	b.add(sym, init)
}

// sequence takes apart [a b & rest :as whole].
func (b *binder) sequence(pattern, whole value.Value) {
	b.t.Enter()
	xs := value.ToSlice(b.t, pattern)
	if n := len(xs); n >= 2 && isKeyed(xs[n-2], "as") {
		b.as(xs[n-1], whole)
		xs = xs[:n-2]
	}
	rest := -1
	for i, x := range xs {
		b.t.Step()
		if x.Kind() == value.KindKeyword {
			panic(b.fail("got %s in a vector pattern, want :as and a name at its end", value.Brief(b.t, x)))
		}
		if isNamed(x, "&") && rest < 0 {
			rest = i
		}
	}
	switch {
	case rest >= 0 && rest != len(xs)-2:
		panic(b.fail("got %s after &, want 1: the name of the rest", value.Plural(len(xs)-rest-1, "form")))
	case rest >= 0:
		b.walk(xs[:rest], xs[rest+1], whole)
	default:
		for i, x := range xs {
			b.bind(x, formOf(b.t, fnNth, whole, value.Int(int64(i)), value.Nil))
		}
	}
	b.t.Leave()
}

// walk takes apart the first elements and the rest of a seq.
func (b *binder) walk(firsts []value.Value, rest, whole value.Value) {
	s := freshName(b.t, "seq")
	b.add(s, formOf(b.t, fnSeq, whole))
	for _, x := range firsts {
		if isPlain(x) {
			b.name(x, formOf(b.t, fnFirst, s))
			b.step(&s)
			continue
		}
		first := freshName(b.t, "first")
		b.add(first, formOf(b.t, fnFirst, s))
		b.step(&s)
		b.bindOwn(x, first)
	}
	b.bindOwn(rest, s)
}

// step moves s on under a new name, so that a pattern for the rest has a name to itself.
func (b *binder) step(s *value.Value) {
	next := freshName(b.t, "seq")
	b.add(next, formOf(b.t, fnNext, *s))
	*s = next
}

func (b *binder) as(name, whole value.Value) {
	if !isPlain(name) {
		panic(b.fail("got :as %s, want a plain name", value.Brief(b.t, name)))
	}
	b.add(name, whole)
}
