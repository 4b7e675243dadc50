package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// hierarchies holds what relates tags: keywords and symbols with a namespace, and types. Without a hierarchy for an
// argument they read and change the environment's own.
func hierarchies() []Def {
	return []Def{
		{Name: "make-hierarchy", F0: value.NewHierarchy, Arglists: "([])", Doc: "An empty hierarchy."},
		{Name: "derive", F2: deriveGlobal, F3: deriveIn, Arglists: "([tag parent] [h tag parent])", Doc: "Puts tag below parent: in the hierarchy h, which it gives changed, or in the environment's own."},
		{Name: "underive", F2: underiveGlobal, F3: value.Underive, Arglists: "([tag parent] [h tag parent])", Doc: "Undoes derive."},
		{Name: "isa?", F2: isaGlobal, F3: isaIn, Arglists: "([child parent] [h child parent])", Doc: "Whether child is parent or below it. Vectors are compared item by item."},
		{Name: "parents", F1: global(value.Parents), F2: value.Parents, Arglists: "([tag] [h tag])", Doc: "The set of the tags directly above tag, or nil."},
		{Name: "ancestors", F1: global(value.Ancestors), F2: value.Ancestors, Arglists: "([tag] [h tag])", Doc: "The set of the tags above tag, or nil."},
		{Name: "descendants", F1: global(value.Descendants), F2: value.Descendants, Arglists: "([tag] [h tag])", Doc: "The set of the tags below tag, or nil."},
	}
}

func global(f func(*Thread, Value, Value) Value) unary {
	return func(t *Thread, tag Value) Value { return f(t, t.Env.Hierarchy(t).Get(), tag) }
}

func hasNamespace(v Value) bool {
	switch v.Kind() {
	case value.KindKeyword:
		return value.As[value.Keyword](v).NS != ""
	case value.KindSymbol:
		return value.As[value.Symbol](v).NS != ""
	}
	return false
}

func isTag(v Value) bool {
	k := v.Kind()
	return k == value.KindKeyword || k == value.KindSymbol || k == value.KindType
}

func badTag(t *Thread, v Value, want string) *value.Exception {
	return value.Errorf("AssertionError", "derive: got %s, want %s", value.Brief(t, v), want)
}

func deriveGlobal(t *Thread, tag, parent Value) Value {
	if !hasNamespace(parent) {
		panic(badTag(t, parent, "a keyword or symbol with a namespace for the parent"))
	}
	if !hasNamespace(tag) && tag.Kind() != value.KindType {
		panic(badTag(t, tag, "a keyword or symbol with a namespace, or a type"))
	}
	t.Env.Hierarchy(t).Swap(t, func(h Value) Value { return deriveIn(t, h, tag, parent) })
	return value.Nil
}

func deriveIn(t *Thread, h, tag, parent Value) Value {
	if !isTag(tag) || !isTag(parent) || parent.Kind() == value.KindType {
		panic(badTag(t, tag, "keywords, symbols or a type below one of them"))
	}
	return value.Derive(t, h, tag, parent)
}

func underiveGlobal(t *Thread, tag, parent Value) Value {
	t.Env.Hierarchy(t).Swap(t, func(h Value) Value { return value.Underive(t, h, tag, parent) })
	return value.Nil
}

func isaGlobal(t *Thread, child, parent Value) Value {
	return isaIn(t, t.Env.Hierarchy(t).Get(), child, parent)
}

func isaIn(t *Thread, h, child, parent Value) Value {
	return value.Bool(value.IsA(t, h, child, parent))
}
