package corelib

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

func nsMacros() []value.Builtin {
	return []value.Builtin{
		macro("ns", 1, many, "([name docstring? attr-map? references*])", "Goes to the namespace name, making it if there is none. References: (:require [lib :as alias :refer [name…]] …), (:use …), (:refer …), (:refer-clojure :exclude [name…]), (:import …), (:load …). An agent has one namespace: there only :require and :use count.", macNS),
		hostMacro("refer-clojure", 0, many, "([& filters])", "Makes the names of the core known in the namespace, filtered like those of refer.", macReferClojure),
		hostMacro("import", 0, many, "([& import-specs])", "Takes the names of exception classes, which are known anyway, and of record types of other namespaces.", macImport),
	}
}

func macNS(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	name := args[0]
	if name.Kind() != value.KindSymbol {
		panic(malformed(form, "ns: got %s, want a name", value.Brief(t, name)))
	}
	meta, refs := nsMeta(t, name, args[1:])
	if t.Env.Isolate {
		return nsOfIsolate(t, form, refs)
	}
	in := formOf(t, fnInNS, formQuote(t, name))
	t.Charge(16 * (len(refs) + 3))
	out := append(make([]value.Value, 0, len(refs)+3), sfDo, in)
	if !meta.IsNil() {
		out = append(out, formOf(t, fnResetMeta, in, meta))
	}
	for _, ref := range refs {
		if f := nsReference(t, form, ref); !f.IsNil() {
			out = append(out, placed(f, ref))
		}
	}
	return formOf(t, append(out, value.Nil)...)
}

// nsOfIsolate takes libraries in: an isolate has but one namespace to be in.
func nsOfIsolate(t *value.Thread, form value.Value, refs []value.Value) value.Value {
	t.Charge(16 * (len(refs) + 2))
	out := append(make([]value.Value, 0, len(refs)+2), sfDo)
	for _, ref := range refs {
		f := nsReference(t, form, ref)
		if h := value.First(t, f); value.Identical(h, fnRequire) || value.Identical(h, fnUse) {
			out = append(out, placed(f, ref))
		}
	}
	return formOf(t, append(out, value.Nil)...)
}

// nsMeta gives the metadata of the namespace, nil if there is none, and the references.
func nsMeta(t *value.Thread, name value.Value, args []value.Value) (meta value.Value, refs []value.Value) {
	meta = value.Meta(name)
	if len(args) > 0 && args[0].Kind() == value.KindString {
		meta = mergedMeta(t, meta, value.NewMap(t, kwDoc, args[0]))
		args = args[1:]
	}
	if len(args) > 0 && args[0].Kind().IsMap() {
		meta = mergedMeta(t, meta, args[0])
		args = args[1:]
	}
	return meta, args
}

// merged adds the entries of n to m, a map or nil.
func mergedMeta(t *value.Thread, m, n value.Value) value.Value {
	if m.IsNil() {
		m = value.EmptyMap
	}
	value.EachKV(t, n, func(k, v value.Value) bool {
		m = value.Assoc(t, m, k, v)
		return true
	})
	return m
}

// nsReference turns (:require spec…) and its like into a call; nil is one that means nothing here.
func nsReference(t *value.Thread, form, ref value.Value) value.Value {
	if !isCall(ref) && ref.Kind() != value.KindVector {
		panic(malformed(form, "ns: got %s, want a reference such as (:require [lib :as alias])", value.Brief(t, ref)))
	}
	xs := value.ToSlice(t, ref)
	switch name := nsRefName(xs); name {
	case "require":
		return formSplice(t, allQuoted(t, xs[1:]), fnRequire)
	case "use":
		return formSplice(t, allQuoted(t, xs[1:]), fnUse)
	case "refer":
		return formSplice(t, allQuoted(t, xs[1:]), fnRefer)
	case "refer-clojure":
		return formSplice(t, allQuoted(t, xs[1:]), fnRefer, formQuote(t, symCore))
	case "load":
		return formSplice(t, allQuoted(t, xs[1:]), fnLoad)
	case "import":
		return formSplice(t, xs[1:], macImportSym)
	case "gen-class":
		return value.Nil
	}
	panic(malformed(form, "ns: got %s, want :require, :use, :refer, :refer-clojure, :import or :load first", value.Brief(t, ref)))
}

func nsRefName(xs []value.Value) string {
	if len(xs) == 0 {
		return ""
	}
	switch xs[0].Kind() {
	case value.KindKeyword:
		return value.As[value.Keyword](xs[0]).FullName()
	case value.KindSymbol:
		return value.As[value.Symbol](xs[0]).FullName()
	}
	return ""
}

func allQuoted(t *value.Thread, xs []value.Value) []value.Value {
	t.Charge(16 * len(xs))
	out := make([]value.Value, len(xs))
	for i, x := range xs {
		out[i] = formQuote(t, x)
	}
	return out
}

func macReferClojure(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formSplice(t, args, fnRefer, formQuote(t, symCore))
}

// macImport refers record types of other namespaces and lets the names of exceptions pass; the rest of the JVM is not
// here.
func macImport(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	out := []value.Value{sfDo}
	add := func(spec value.Value, pkg, class string) {
		t.Step()
		t.Charge(16)
		if f := importClass(t, form, spec, pkg, class); !f.IsNil() {
			out = append(out, f)
		}
	}
	for _, spec := range args {
		if inner, ok := quotedForm(t, spec); ok {
			spec = inner
		}
		switch {
		case spec.Kind() == value.KindSymbol:
			full := value.As[value.Symbol](spec).Name
			i := strings.LastIndexByte(full, '.')
			add(spec, full[:max(0, i)], full[i+1:])
		case isCall(spec) || spec.Kind() == value.KindVector:
			xs := symbolNames(t, form, spec)
			for _, class := range xs[1:] {
				add(spec, xs[0], class)
			}
		default:
			panic(malformed(form, "import: got %s, want a class or [package Class…]", value.Brief(t, spec)))
		}
	}
	return formOf(t, append(out, value.Nil)...)
}

// quotedForm gives the x of (quote x).
func quotedForm(t *value.Thread, v value.Value) (value.Value, bool) {
	if !isCall(v) || value.Count(t, v) != 2 || !isNamed(value.First(t, v), "quote") {
		return v, false
	}
	return nth(t, v, 1), true
}

func symbolNames(t *value.Thread, form, spec value.Value) []string {
	var out []string
	for _, x := range value.ToSlice(t, spec) {
		if x.Kind() != value.KindSymbol {
			panic(malformed(form, "import: got %s, want a class or [package Class…]", value.Brief(t, spec)))
		}
		out = append(out, value.As[value.Symbol](x).Name)
	}
	if len(out) == 0 {
		panic(malformed(form, "import: got an empty spec, want a class or [package Class…]"))
	}
	return out
}

func importClass(t *value.Thread, form, spec value.Value, pkg, class string) value.Value {
	if value.KnownClass(class) {
		return value.Nil
	}
	pkg = strings.ReplaceAll(pkg, "_", "-")
	if n := t.Env.Namespace(pkg); n != nil && n.Var(class) != nil {
		only := formVector(t, value.Of(value.NewSymbol("", class)))
		return formOf(t, fnRefer, formQuote(t, value.Of(value.NewSymbol("", pkg))), kwOnly, formQuote(t, only))
	}
	panic(malformed(form, "import: got %s in %s, want an exception or a record type; there are no Java classes here",
		class, value.Brief(t, spec)))
}
