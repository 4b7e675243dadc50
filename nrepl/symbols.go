package nrepl

import (
	"context"
	"sort"
	"strings"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/value"
)

// specials are the special forms, with what a user may want to know. The names of the forms that let, fn and loop expand to
// are left out: those who look for them look for the macros.
func specials() map[string][2]string {
	return map[string][2]string{
		"def":     {"[symbol doc-string? init?]", "Makes a var of the name in the current namespace, with the value of init."},
		"if":      {"[test then else?]", "Evaluates test; unless it is nil or false evaluates then, else else."},
		"do":      {"[& exprs]", "Evaluates the expressions in order and gives the value of the last."},
		"quote":   {"[form]", "The form itself, not evaluated."},
		"var":     {"[symbol]", "The var that the symbol names, not its value."},
		"recur":   {"[& exprs]", "Goes back to the nearest loop or fn with new values for its bindings."},
		"throw":   {"[expr]", "Throws the exception that expr gives; see ex-info."},
		"try":     {"[& exprs]", "Evaluates the expressions; (catch Class name …) handles what they throw and (finally …) runs in any case."},
		"catch":   {"[class name & exprs]", "A clause of try: handles exceptions of the class."},
		"finally": {"[& exprs]", "A clause of try: runs whatever comes of it."},
		"set!":    {"[symbol expr]", "Sets the thread's binding of a dynamic var."},
	}
}

// tool runs f on a thread of its own, in the namespace that a request names or its session is in. It is how ops look at
// the environment while the session evaluates: what f runs of the user's code has ToolTimeout.
func (s *Server) tool(r *request, f func(t *value.Thread, ns *value.Namespace)) error {
	ns := r.ses.lisp().Namespace()
	if name := r.text("ns"); name != "" {
		if n := s.conf.Env.Raw().Namespace(name); n != nil {
			ns = n
		}
	}
	ctx, cancel := context.WithTimeout(r.c.ctx, s.conf.ToolTimeout)
	defer cancel()
	_, err := s.conf.Env.Do(ctx, func(t *value.Thread) value.Value {
		t.Bind([]*value.Var{t.Env.NSVar}, []value.Value{value.Of(ns)})
		f(t, ns)
		return value.Nil
	})
	return err
}

// symbol reads the name of a symbol; nil where the text is none.
func symbol(name string) *value.Symbol {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "#'"), "'")
	if name == "" || len(name) > 512 || strings.ContainsAny(name, " \t\n()[]{}\"") {
		return nil
	}
	ns, base := value.SplitName(name)
	return value.NewSymbol(ns, base)
}

// namespaceOf finds a namespace by its name or by an alias.
func namespaceOf(t *value.Thread, name string) *value.Namespace {
	if full, ok := t.NS().Aliased(name); ok {
		name = full
	}
	return t.Env.Namespace(name)
}

// facts is what is known of a name.
type facts struct {
	ns, name string
	doc      string
	arglists []string // of each arity: "[x & more]"
	kind     string   // function, macro, var, special-form, namespace
	pos      *value.Pos
	v        *value.Var // nil for special forms and namespaces
}

// look gives what is known of a name, or nil.
func look(t *value.Thread, name string) *facts {
	if sp, ok := specials()[name]; ok {
		return &facts{ns: "clojure.core", name: name, doc: sp[1], arglists: []string{sp[0]}, kind: "special-form"}
	}
	sym := symbol(name)
	if sym == nil {
		return nil
	}
	if v := compile.Resolve(t, sym); v != nil {
		return factsOf(t, v)
	}
	if n := namespaceOf(t, sym.FullName()); n != nil {
		return factsOfNS(t, n)
	}
	return nil
}

// metaOf gives the metadata of a var, as the language shows it.
func metaOf(t *value.Thread, v *value.Var) value.Value {
	f := t.Env.Core.Var("meta")
	if f == nil {
		return value.Nil
	}
	return t.Call1(f.Get(t), value.Of(v))
}

func get(t *value.Thread, m value.Value, key string) value.Value {
	v, _ := value.Get(t, m, value.Kw(key))
	return v
}

func textAt(t *value.Thread, m value.Value, key string) string {
	if v := get(t, m, key); v.Kind() == value.KindString {
		return v.Text()
	}
	return ""
}

func factsOf(t *value.Thread, v *value.Var) *facts {
	m := metaOf(t, v)
	f := &facts{ns: v.NS, name: v.Name, doc: textAt(t, m, "doc"), kind: kindOf(v), pos: v.Pos(), v: v}
	if args := get(t, m, "arglists"); args.Kind().IsSequential() {
		value.Each(t, args, func(x value.Value) bool {
			f.arglists = append(f.arglists, value.PrStr(t, x))
			return len(f.arglists) < 100
		})
	}
	return f
}

// kindOf says what editors call what a var holds.
func kindOf(v *value.Var) string {
	root, _ := v.Root()
	switch k := root.Kind(); {
	case v.Macro.Load():
		return "macro"
	case k == value.KindFn || k == value.KindMultiFn || k == value.KindProtocolFn:
		return "function"
	}
	return "var"
}

// factsOfNS describes a namespace. It was written where the first of its vars was.
func factsOfNS(t *value.Thread, n *value.Namespace) *facts {
	f := &facts{ns: n.Name, name: n.Name, kind: "namespace", doc: textAt(t, value.Meta(value.Of(n)), "doc")}
	for _, v := range n.Vars() {
		if p := v.Pos(); p != nil && (f.pos == nil || p.Line < f.pos.Line) {
			f.pos = p
		}
	}
	if f.pos != nil {
		f.pos = &value.Pos{File: f.pos.File, Line: 1, Column: 1}
	}
	return f
}

// arglist is the arglists as one text, a line an arity.
func (f *facts) arglist() string { return strings.Join(f.arglists, "\n") }

// visible gives every name that means something in ns without a qualifier, and the var it means.
func visible(t *value.Thread, ns *value.Namespace) map[string]*value.Var {
	out := map[string]*value.Var{}
	for _, v := range t.Env.Core.Vars() {
		if !v.Private.Load() && ns.SeesCore(v.Name) {
			out[v.Name] = v
		}
	}
	for name, v := range ns.Refers() {
		out[name] = v
	}
	for _, v := range ns.Vars() {
		out[v.Name] = v
	}
	return out
}

func sortedNames[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
