package compile

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// isSpecial tells whether sym is the special form name.
func isSpecial(sym *value.Symbol, name string) bool { return sym.NS == "" && sym.Name == name }

// expand1 expands form once if it is a call of a macro. local tells whether a name is a local, which no macro shadows.
func expand1(t *value.Thread, form, env value.Value, a *analyser) (value.Value, bool) {
	k := form.Kind()
	if !k.IsSeq() {
		return form, false
	}
	head := value.First(t, form)
	if head.Kind() != value.KindSymbol {
		return form, false
	}
	sym := value.As[value.Symbol](head)
	if special(sym) != nil || a != nil && a.lookup(sym) != nil {
		return form, false
	}
	v := a.resolveHead(t, sym)
	if v == nil || !v.Macro.Load() {
		return form, false
	}
	t.Step()
	p := value.PosOf(form)
	if a != nil {
		p = a.place(p)
	}
	if p != nil {
		t.Pos = p
	}
	args := value.ToSlice(t, value.Next(t, form))
	if a != nil && env.IsNil() {
		env = a.envMap()
	}
	all := append([]value.Value{form, env}, args...)
	pos := t.Pos
	out := t.Call(v.Get(t), all...)
	if a != nil {
		a.asked = nil // it may have defined something
	}
	t.Pos = pos // not where the macro last called something
	return positioned(out, form), true
}

func (a *analyser) resolveHead(t *value.Thread, sym *value.Symbol) *value.Var {
	if a == nil {
		return resolveVar(t, sym)
	}
	return a.resolve(sym)
}

// positioned gives an expansion the place of the form it came from, unless it has one.
func positioned(out, form value.Value) value.Value {
	if k := out.Kind(); k == value.KindList && value.PosOf(out) == nil {
		if p := value.PosOf(form); p != nil {
			return value.WithPos(out, p)
		}
	}
	return out
}

func (a *analyser) envMap() value.Value {
	var kvs []value.Value
	for _, name := range a.localNames() {
		kvs = append(kvs, value.Of(value.NewSymbol("", name)), value.True)
	}
	if kvs == nil {
		return value.Nil
	}
	return value.NewMap(a.t, kvs...)
}

// resolveVar finds the var that sym means in t's namespace, or nil.
func resolveVar(t *value.Thread, sym *value.Symbol) *value.Var {
	ns := t.NS()
	if sym.NS != "" {
		n := namespaceOf(t, ns, sym.NS)
		if n == nil {
			return nil
		}
		if n == ns {
			return n.Find(sym.Name)
		}
		return n.Var(sym.Name)
	}
	if v := ns.Find(sym.Name); v != nil {
		return v
	}
	if ns.SeesCore(sym.Name) {
		if v := t.Env.Core.Var(sym.Name); v != nil {
			return v
		}
	}
	return typeVar(t, sym.Name)
}

// typeVar finds the var of a type or protocol by the name that a class of it has on the JVM: my_app.shapes.Circle is
// my-app.shapes/Circle. It reaches no further than that symbol would.
func typeVar(t *value.Thread, name string) *value.Var {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || i == len(name)-1 {
		return nil
	}
	for _, ns := range []string{name[:i], strings.ReplaceAll(name[:i], "_", "-")} {
		v := resolveVar(t, value.NewSymbol(ns, name[i+1:]))
		if v == nil {
			continue
		}
		if root, ok := v.Root(); ok && (root.Kind() == value.KindType || root.Kind() == value.KindProtocol) {
			return v
		}
	}
	return nil
}

// RecordNamed finds the record type that a text names by its class, as #my_app.shapes.Circle does, or nil.
func RecordNamed(t *value.Thread, name string) *value.Type {
	v := typeVar(t, name)
	if v == nil {
		return nil
	}
	root, _ := v.Root()
	if root.Kind() != value.KindType || !value.As[value.Type](root).IsRecord() {
		return nil
	}
	return value.As[value.Type](root)
}

// constructed finds the var of the type that a constructor's name means, Point. or new Point: a type of the program's own
// or a class of exceptions. Nil: none.
func constructed(t *value.Thread, sym *value.Symbol) *value.Var {
	v := resolveVar(t, sym)
	if v == nil {
		return nil
	}
	root, bound := v.Root()
	if !bound || root.Kind() == value.KindType && value.As[value.Type](root).Constructible() {
		return v
	}
	return nil
}

// constructorName is Point of Point. , or nil.
func constructorName(sym *value.Symbol) *value.Symbol {
	if n := len(sym.Name); n > 1 && sym.Name[n-1] == '.' && sym.Name[0] != '.' {
		return value.NewSymbol(sym.NS, sym.Name[:n-1])
	}
	return nil
}

func namespaceOf(t *value.Thread, ns *value.Namespace, name string) *value.Namespace {
	if full, ok := ns.Aliased(name); ok {
		name = full
	}
	return t.Env.Namespace(name)
}

// Resolve finds the var that sym means in t's namespace, or nil.
func Resolve(t *value.Thread, sym *value.Symbol) *value.Var { return resolveVar(t, sym) }

// unresolved says that sym means nothing, and what is near.
func (a *analyser) unresolved(sym *value.Symbol) *value.Exception {
	ex := value.Errorf("UnresolvedSymbolException", "symbol: unable to resolve %s", value.Brief(a.t, value.Of(sym)))
	if why := absent(a.t, sym); why != "" {
		ex.Hint = why
	} else if near := nearest(a.t, sym, a.localNames()); near != "" {
		ex.Hint = "did you mean " + near + "?"
	}
	ex.Pos = a.place(sym.Pos())
	if ex.Pos == nil {
		ex.Pos = a.t.Pos
	}
	return ex
}

// nearest names the closest known name, or "".
func nearest(t *value.Thread, sym *value.Symbol, locals []string) string {
	best, bestDist := "", min(3, len(sym.Name)/2+1)
	try := func(shown, name string) {
		t.Step()
		t.Charge(16)
		if d := distance(sym.Name, name, bestDist); d < bestDist {
			best, bestDist = shown, d
		}
	}
	ns := t.NS()
	if sym.NS != "" {
		n := namespaceOf(t, ns, sym.NS)
		if n == nil {
			return ""
		}
		for _, v := range n.Vars() {
			try(sym.NS+"/"+v.Name, v.Name)
		}
		return best
	}
	for _, l := range locals {
		try(l, l)
	}
	for _, v := range ns.Vars() {
		try(v.Name, v.Name)
	}
	for name := range ns.Refers() {
		try(name, name)
	}
	for _, v := range t.Env.Core.Vars() {
		if !strings.HasSuffix(v.Name, "*") {
			try(v.Name, v.Name)
		}
	}
	return best
}

// distance is the edit distance of a and b, or max when it is at least that.
func distance(a, b string, max int) int {
	if len(a)-len(b) >= max || len(b)-len(a) >= max || len(a) > 64 {
		return max
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag, least := prev[0], i
		prev[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = prev[j]
			prev[j] = min(cost, prev[j]+1, prev[j-1]+1)
			least = min(least, prev[j])
		}
		if least >= max {
			return max
		}
	}
	return prev[len(b)]
}

// Qualify gives the full name that a symbol has in a syntax-quote: special forms stay, what resolves gets its
// namespace, all else the current one.
func Qualify(t *value.Thread, sym *value.Symbol) *value.Symbol {
	ns := t.NS()
	if sym.NS != "" {
		if n := namespaceOf(t, ns, sym.NS); n != nil && n.Name != sym.NS {
			return value.NewSymbol(n.Name, sym.Name)
		}
		return sym
	}
	if special(sym) != nil || value.KnownClass(sym.Name) {
		return sym
	}
	if class := constructorName(sym); class != nil {
		if v := constructed(t, class); v != nil && !value.KnownClass(class.Name) {
			return value.NewSymbol("", v.NS+"."+v.Name+".")
		}
	}
	if v := resolveVar(t, sym); v != nil {
		return value.NewSymbol(v.NS, v.Name)
	}
	return value.NewSymbol(ns.Name, sym.Name)
}
