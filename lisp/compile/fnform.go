package compile

import (
	"fmt"

	"github.com/reflection-dev/zeno/lisp/value"
)

// fnForm analyses (fn* name? [params] body…) and (fn* name? ([params] body…) …).
func (a *analyser) fnForm(form value.Value, args []value.Value, _ ctx) node {
	var name *value.Symbol
	if len(args) > 0 && args[0].Kind() == value.KindSymbol {
		name = value.As[value.Symbol](args[0])
		args = args[1:]
	}
	n := a.fnNode(form, name, args)
	if m := value.Meta(form); !m.IsNil() {
		n.meta = a.analyse(m, ctxExpr)
	}
	return n
}

func (a *analyser) fnNode(form value.Value, name *value.Symbol, args []value.Value) *fnNode {
	a.locals = true
	n := &fnNode{name: a.fnName(name), pos: a.pos(form)}
	if len(args) > 0 && args[0].Kind() == value.KindVector {
		args = []value.Value{value.NewList(a.t, args...)}
	}
	outer := &captures{}
	for _, f := range args {
		if !f.Kind().IsSeq() {
			panic(a.fail(form, "fn: got %s, want ([params] body…)", value.Brief(a.t, f)))
		}
		n.arities = append(n.arities, a.arity(form, f, name, outer))
	}
	if len(n.arities) == 0 {
		panic(a.fail(form, "fn: got no parameter vector, want [params] or ([params] body…)"))
	}
	a.checkArities(form, n)
	for _, l := range outer.locals {
		n.captures = append(n.captures, &localNode{l: l})
	}
	n.held = held(n.arities)
	a.keep(n.held)
	return n
}

// captures are the locals that the arities of one function capture together, each once.
type captures struct{ locals []*local }

func (c *captures) index(l *local) int {
	for i, x := range c.locals {
		if x == l {
			return i
		}
	}
	c.locals = append(c.locals, l)
	return len(c.locals) - 1
}

func (a *analyser) fnName(name *value.Symbol) string {
	ns := a.t.NS().Name
	if name != nil {
		return ns + "/" + name.Name
	}
	return ns + "/fn"
}

// arity analyses ([params] body…). The frame is: parameters, the rest, the function itself, captures, then the rest of
// the locals. All arities of a function share its captures, so their slots are laid out when all are known.
func (a *analyser) arity(form, f value.Value, name *value.Symbol, outer *captures) *arity {
	params := value.First(a.t, f)
	if params.Kind() != value.KindVector {
		panic(a.fail(form, "fn: got %s, want a parameter vector", value.Brief(a.t, params)))
	}
	in := &analyser{t: a.t, fn: &fnScope{up: a.fn, outer: a.scope}, from: a.from}
	ar := &arity{scope: in.fn, target: &loopTarget{}}
	if name != nil {
		ar.self = &local{sym: name, fn: in.fn}
		in.scope = &scope{ar.self, nil}
	}
	in.params(form, params, ar)
	if name != nil {
		ar.self.slot = in.fn.slot()
	}
	in.target = ar.target
	a.t.Deeper(2)
	ar.body = in.body(value.ToSlice(a.t, value.Next(a.t, f)), ctxReturn)
	a.t.Shallower(2)
	in.layout(ar, outer)
	return ar
}

func (a *analyser) params(form, params value.Value, ar *arity) {
	xs := value.ToSlice(a.t, params)
	for i := 0; i < len(xs); i++ {
		sym := a.plainName(form, xs[i], "fn")
		if sym.Name != "&" {
			ar.params = append(ar.params, a.bind(sym))
			continue
		}
		if i != len(xs)-2 {
			panic(a.fail(form, "fn: got %d names after &, want 1", len(xs)-i-1))
		}
		ar.rest = a.bind(a.plainName(form, xs[i+1], "fn"))
		break
	}
	ar.target.locals = append(ar.target.locals, ar.params...)
	if ar.rest != nil {
		ar.target.locals = append(ar.target.locals, ar.rest)
	}
}

// layout gives captures their slots, after all others, and notes where the function keeps each: the arities of one
// function share what it captured.
func (a *analyser) layout(ar *arity, outer *captures) {
	ar.capSlot = a.fn.size
	for i, c := range a.fn.captures {
		c.to.slot = ar.capSlot + i
		ar.capFrom = append(ar.capFrom, outer.index(c.from))
	}
	a.fn.size += len(a.fn.captures)
}

func (a *analyser) checkArities(form value.Value, n *fnNode) {
	seen := map[int]bool{}
	variadic := -1
	for _, ar := range n.arities {
		switch {
		case ar.rest != nil && variadic >= 0:
			panic(a.fail(form, "fn: got two arities with &, want at most one"))
		case ar.rest != nil:
			variadic = len(ar.params)
		case seen[len(ar.params)]:
			panic(a.fail(form, "fn: got two arities of %d parameters, want different ones", len(ar.params)))
		default:
			seen[len(ar.params)] = true
		}
	}
	for k := range seen {
		if variadic >= 0 && k > variadic {
			panic(a.fail(form, "fn: got an arity of %d parameters beside one of %d and more, want the & arity to have the most", k, variadic))
		}
	}
}

// thunk analyses body as a function of no arguments.
func (a *analyser) thunk(form value.Value, body []value.Value, who string) *fnNode {
	f := value.Cons(a.t, value.EmptyVector, value.NewList(a.t, body...))
	n := a.fnNode(form, nil, []value.Value{f})
	n.name = fmt.Sprintf("%s/%s", a.t.NS().Name, who)
	return n
}

func (a *analyser) letfn(form value.Value, args []value.Value, c ctx) node {
	names, inits := a.bindings(form, args, "letfn")
	scope, next := a.scope, a.fn.next
	n := &letfnNode{}
	for _, name := range names {
		n.locals = append(n.locals, a.bind(name))
	}
	for i, f := range inits {
		parts := value.ToSlice(a.t, f)
		if len(parts) < 2 || a.clause(f) != "fn*" {
			panic(a.fail(form, "letfn: got %s, want a function", value.Brief(a.t, f)))
		}
		parts = parts[1:]
		if parts[0].Kind() == value.KindSymbol {
			parts = parts[1:]
		}
		n.fns = append(n.fns, a.fnNode(f, nil, parts))
		n.fns[i].name = a.fnName(names[i])
	}
	n.body = a.body(args[1:], c)
	a.scope, a.fn.next = scope, next
	return n
}

// def analyses (def name), (def name init) and (def name "doc" init).
func (a *analyser) def(form value.Value, args []value.Value, _ ctx) node {
	if len(args) == 0 || len(args) > 3 {
		panic(a.fail(form, "def: got %s, want a name, perhaps a docstring, and a value", value.Plural(len(args), "form")))
	}
	if args[0].Kind() != value.KindSymbol {
		panic(a.fail(form, "def: got %s (%s), want a name first", value.Brief(a.t, args[0]), args[0].Kind()))
	}
	sym := value.As[value.Symbol](args[0])
	meta := value.Meta(args[0])
	if len(args) == 3 {
		if args[1].Kind() != value.KindString {
			panic(a.fail(form, "def: got %s, want a docstring before the value", value.Brief(a.t, args[1])))
		}
		meta = value.Assoc(a.t, orEmpty(meta), value.Kw("doc"), args[1])
	}
	n := &defNode{v: a.intern(form, sym), pos: a.pos(form), text: a.t.Form}
	if !meta.IsNil() {
		n.meta = a.analyse(quoteTag(a.t, meta), ctxExpr)
		n.dynamic, n.macro, n.private = flag(a.t, meta, "dynamic"), flag(a.t, meta, "macro"), flag(a.t, meta, "private")
	}
	if n.dynamic {
		n.v.Dynamic.Store(true)
	}
	if len(args) > 1 {
		n.init = a.analyse(args[len(args)-1], ctxExpr)
		f, ok := n.init.(*fnNode)
		if ok && n.macro {
			f.hidden = 2
		}
		if ok && f.name == a.t.NS().Name+"/fn" {
			f.name = n.v.FullName()
		}
	}
	return n
}

// quoteTag keeps a type hint from being evaluated: classes are names here, not values.
func quoteTag(t *value.Thread, meta value.Value) value.Value {
	tag := value.Kw("tag")
	if v, ok := value.Get(t, meta, tag); ok && v.Kind() == value.KindSymbol {
		return value.Assoc(t, meta, tag, value.NewList(t, value.Sym("quote"), v))
	}
	return meta
}

func flag(t *value.Thread, meta value.Value, name string) bool {
	v, _ := value.Get(t, meta, value.Kw(name))
	return v.Truthy()
}

func orEmpty(m value.Value) value.Value {
	if m.IsNil() {
		return value.EmptyMap
	}
	return m
}

// intern gives the var that a def of sym defines: always one of the current namespace.
func (a *analyser) intern(form value.Value, sym *value.Symbol) *value.Var {
	ns := a.t.NS()
	if sym.NS != "" {
		if n := namespaceOf(a.t, ns, sym.NS); n != ns {
			panic(a.fail(form, "def: got %s, want a name of the current namespace %s", sym.FullName(), ns.Name))
		}
	}
	if v := ns.Var(sym.Name); v != nil && v.Sealed {
		panic(a.fail(form, "def: got %s, which is part of the sealed core; define the name in a namespace of your own", v.FullName()))
	}
	a.t.Charge(128 + len(sym.Name))
	return ns.Intern(sym.Name)
}
