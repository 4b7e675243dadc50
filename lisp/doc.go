package lisp

import (
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// Doc gives the documentation of the core or library function name as t's environment knows it: its calls and its
// docstring. It is "" where there is none.
func Doc(t *value.Thread, name string) string {
	v := lookup(t, name)
	if v == nil {
		return ""
	}
	root, _ := v.Root()
	if root.Kind() != value.KindFn {
		return ""
	}
	b := value.As[value.Fn](root).Code.Builtin
	if b == nil {
		return metaDoc(t, v)
	}
	return name + " " + b.Arglists + " - " + b.Doc
}

// Arglists gives how the function or macro name is called, as t's environment knows it, such as ([f] [f coll]); "" where
// that is not known.
func Arglists(t *value.Thread, name string) string {
	v := lookup(t, name)
	if v == nil {
		return ""
	}
	if root, _ := v.Root(); root.Kind() == value.KindFn {
		if b := value.As[value.Fn](root).Code.Builtin; b != nil {
			return b.Arglists
		}
	}
	m := v.MetaMap()
	if m.IsNil() {
		return ""
	}
	if args, ok := value.Get(t, m, value.Kw("arglists")); ok {
		return value.PrStr(t, args)
	}
	return ""
}

func metaDoc(t *value.Thread, v *value.Var) string {
	m := v.MetaMap()
	if m.IsNil() {
		return ""
	}
	d, _ := value.Get(t, m, value.Kw("doc"))
	if d.Kind() != value.KindString {
		return ""
	}
	args, _ := value.Get(t, m, value.Kw("arglists"))
	return v.Name + " " + value.PrStr(t, args) + " - " + d.Text()
}

func lookup(t *value.Thread, name string) *value.Var {
	ns, base := value.SplitName(name)
	if ns == "" {
		if v := t.NS().Find(name); v != nil {
			return v
		}
		return t.Env.Core.Var(name)
	}
	if full, ok := t.NS().Aliased(ns); ok {
		ns = full
	}
	if n := t.Env.Namespace(ns); n != nil {
		return n.Var(base)
	}
	return nil
}

// Apropos lists at most max core functions whose name or docstring holds word, names first.
func Apropos(t *value.Thread, word string, max int) []string {
	var names, docs []string
	for _, v := range t.Env.Core.Vars() {
		t.Step()
		switch {
		case v.Private.Load():
		case strings.Contains(strings.ToLower(v.Name), word):
			names = append(names, v.Name)
		case strings.Contains(strings.ToLower(Doc(t, v.Name)), word):
			docs = append(docs, v.Name)
		}
	}
	slices.Sort(names)
	slices.Sort(docs)
	out := append(names, docs...)
	return out[:min(len(out), max)]
}
