package corelib

import (
	"strconv"

	"github.com/reflection-dev/zeno/lisp/value"
)

// The macros of the core are Go functions from forms to forms: nothing has to be read or compiled at start-up. They obey
// three rules. What they refer to is named in full (clojure.core/seq), so that a local of the user's called seq changes
// nothing. Names that they bind are fresh. Each form of the user's stands in the expansion once, however deep macros
// nest, so that the size of code grows with the size of what was written and not as a power of it.

// macroFn turns a macro call into the form that stands for it. args are the forms after the name.
type macroFn func(t *value.Thread, form, env value.Value, args []value.Value) value.Value

// many is the most arguments of a macro that takes any number.
const many = -1

// macro makes the builtin of a macro that takes least to most forms.
func macro(name string, least, most int, arglists, doc string, f macroFn) value.Builtin {
	want := macroArities(least, most)
	n := func(t *value.Thread, args []value.Value) value.Value {
		got := max(0, len(args)-2)
		t.Steps(got)
		if len(args) < 2 || got < least || most != many && got > most {
			ex := value.Errorf("ArityException", "%s: got %d argument%s, want %s", name, got, pluralS(got), want)
			if len(args) > 0 {
				ex.Pos = value.PosOf(args[0])
			}
			panic(ex)
		}
		return placed(f(t, args[0], args[1], args[2:]), args[0])
	}
	return value.Builtin{Name: name, N: n, Macro: true, Arglists: arglists, Doc: doc}
}

// hostMacro is a macro that makes no sense in an isolate.
func hostMacro(name string, least, most int, arglists, doc string, f macroFn) value.Builtin {
	b := macro(name, least, most, arglists, doc, f)
	b.Host = true
	return b
}

func macroArities(least, most int) string {
	if most == many {
		return value.Arities([]int{least}, true)
	}
	var ns []int
	for i := least; i <= most; i++ {
		ns = append(ns, i)
	}
	return value.Arities(ns, false)
}

func pluralS(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// placed gives a list that a macro made the place of the form it came from, unless it has one.
func placed(v, form value.Value) value.Value {
	if v.Kind() != value.KindList || value.PosOf(v) != nil {
		return v
	}
	if p := value.PosOf(form); p != nil {
		return value.WithPos(v, p)
	}
	return v
}

// malformed is an error in the form of a macro call; it points at the form.
func malformed(form value.Value, format string, args ...any) *value.Exception {
	ex := value.ArgError(format, args...)
	ex.Pos = value.PosOf(form)
	return ex
}

// freshName makes a symbol that no program has.
func freshName(t *value.Thread, prefix string) value.Value {
	t.Charge(112)
	return value.Of(value.NewSymbol("", prefix+"__"+strconv.FormatInt(t.Env.Gensym(), 10)))
}

// formOf makes the list of xs.
func formOf(t *value.Thread, xs ...value.Value) value.Value { return value.NewList(t, xs...) }

// formSplice makes the list of head and then tail.
func formSplice(t *value.Thread, tail []value.Value, head ...value.Value) value.Value {
	return value.NewList(t, joinForms(t, head, tail)...)
}

// joinForms makes one slice of two.
func joinForms(t *value.Thread, a, b []value.Value) []value.Value {
	n := len(a) + len(b)
	t.Steps(n)
	t.Charge(16 * n)
	out := make([]value.Value, 0, n)
	return append(append(out, a...), b...)
}

// formVector makes the vector of xs.
func formVector(t *value.Thread, xs ...value.Value) value.Value { return value.NewVector(t, xs) }

// formDo makes (do body… last).
func formDo(t *value.Thread, body []value.Value, last value.Value) value.Value {
	return formSplice(t, joinForms(t, body, []value.Value{last}), sfDo)
}

// userMeta gives the metadata of a form without what the reader adds: its line and column.
func userMeta(t *value.Thread, v value.Value) value.Value {
	m := value.Meta(v)
	if m.IsNil() || value.PosOf(v) == nil || !isCall(v) {
		return m
	}
	m = value.Dissoc(t, value.Dissoc(t, m, kwLine), kwColumn)
	if value.Count(t, m) == 0 {
		return value.Nil
	}
	return m
}

// formQuote makes (quote x).
func formQuote(t *value.Thread, x value.Value) value.Value { return formOf(t, sfQuote, x) }

// formThunk makes (fn* [] body…).
func formThunk(t *value.Thread, body []value.Value) value.Value {
	return formSplice(t, body, sfFn, value.EmptyVector)
}

// formBlock makes one form of body: the form itself if there is but one.
func formBlock(t *value.Thread, body []value.Value) value.Value {
	if len(body) == 1 {
		return body[0]
	}
	return formSplice(t, body, sfDo)
}

// bindingForms gives the elements of a vector form.
func bindingForms(t *value.Thread, form value.Value, who string, v value.Value) []value.Value {
	if v.Kind() != value.KindVector {
		panic(malformed(form, "%s: got %s, want a vector of bindings", who, value.Brief(t, v)))
	}
	return value.ToSlice(t, v)
}

// pairsOf gives the elements of a vector of names and values.
func pairsOf(t *value.Thread, form value.Value, who string, v value.Value) []value.Value {
	xs := bindingForms(t, form, who, v)
	if len(xs)%2 != 0 {
		panic(malformed(form, "%s: got %s in %s, want an even number: a name and a value each time",
			who, value.Plural(len(xs), "form"), value.Brief(t, v)))
	}
	return xs
}

// onePair gives the name and the value of a vector of just these.
func onePair(t *value.Thread, form value.Value, who string, v value.Value) (pattern, init value.Value) {
	xs := bindingForms(t, form, who, v)
	if len(xs) != 2 {
		panic(malformed(form, "%s: got %s in %s, want 2: a name and a value", who, value.Plural(len(xs), "form"), value.Brief(t, v)))
	}
	return xs[0], xs[1]
}

// isPlain tells whether v is a symbol without a namespace.
func isPlain(v value.Value) bool {
	return v.Kind() == value.KindSymbol && value.As[value.Symbol](v).NS == ""
}

// isNamed tells whether v is the symbol of that name.
func isNamed(v value.Value, name string) bool {
	return isPlain(v) && value.As[value.Symbol](v).Name == name
}

// isKeyed tells whether v is the keyword of that name.
func isKeyed(v value.Value, name string) bool {
	if v.Kind() != value.KindKeyword {
		return false
	}
	k := value.As[value.Keyword](v)
	return k.NS == "" && k.Name == name
}

// isCall tells whether v is a list form.
func isCall(v value.Value) bool { return v.Kind().IsSeq() }
