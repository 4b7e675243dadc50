package compile

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

// ctx says where a form stands.
type ctx int

const (
	ctxExpr   ctx = iota // its value is used, and more follows
	ctxReturn            // its value is the value of the loop or function around it: recur may stand here
)

// analyser walks the forms of one top-level form.
type analyser struct {
	t      *value.Thread
	fn     *fnScope
	scope  *scope
	target *loopTarget   // where a recur in tail position goes; nil: nowhere
	locals bool          // there are locals at the top level, or functions
	asked  *value.Symbol // the head of the form that is looked at
	found  *value.Var    // what asked means
	from   *value.Pos    // the macro call whose expansion is being analysed; nil: none
	kept   []value.Value // the constants of the code so far
	watch  int           // the watch of kept
}

func newAnalyser(t *value.Thread) *analyser {
	a := &struct {
		analyser
		top fnScope
	}{}
	a.t, a.fn = t, &a.top
	return &a.analyser
}

// analyse turns a form into a node.
func (a *analyser) analyse(form value.Value, c ctx) node {
	a.t.Step()
	a.t.Pin(formBytes)
	a.fn.forms++
	switch form.Kind() {
	case value.KindSymbol:
		return a.symbol(value.As[value.Symbol](form))
	case value.KindList, value.KindCons, value.KindLazySeq, value.KindChunkedCons, value.KindArraySeq, value.KindVecSeq,
		value.KindEmptyList, value.KindMapSeq, value.KindRange, value.KindGenSeq, value.KindStringSeq:
		a.deeper()
		n := a.list(form, c)
		a.shallower()
		return n
	case value.KindVector, value.KindMapEntry, value.KindArrayMap, value.KindHashMap, value.KindHashSet:
		a.deeper()
		n := a.literal(form)
		a.shallower()
		return n
	}
	return a.constant(form)
}

// resolve is resolveVar. A form's head is asked for several times in a row: whether it is a macro, and what it is.
func (a *analyser) resolve(sym *value.Symbol) *value.Var {
	if sym != a.asked {
		a.asked, a.found = sym, resolveVar(a.t, sym)
	}
	return a.found
}

func (a *analyser) deeper() {
	a.t.Deeper(2)
	a.fn.deepen(1)
}

func (a *analyser) shallower() {
	a.t.Shallower(2)
	a.fn.nesting--
}

func (a *analyser) symbol(sym *value.Symbol) node {
	if l := a.lookup(sym); l != nil {
		return &localNode{l: l}
	}
	v := a.resolve(sym)
	a.asked = nil // what is defined from here on counts
	if v == nil {
		panic(a.unresolved(sym))
	}
	if v.Macro.Load() {
		ex := value.Errorf("CompilerException", "macro: can't take the value of %s", v.FullName())
		ex.Hint = "call it, inside a function where one is wanted: #(" + sym.FullName() + " %)"
		ex.Pos = a.place(sym.Pos())
		panic(ex)
	}
	if sym.NS != "" && v.Private.Load() && v.NS != a.t.NS().Name {
		ex := value.Errorf("CompilerException", "symbol: %s is private", v.FullName())
		ex.Pos = a.place(sym.Pos())
		panic(ex)
	}
	return refVar(v)
}

// refVar reads a var; what a sealed var holds is a constant.
func refVar(v *value.Var) node {
	if v.Sealed && !v.Dynamic.Load() {
		if x, ok := v.Root(); ok {
			return &constNode{x}
		}
	}
	return &varNode{v}
}

// list analyses a call, a special form or a macro call.
func (a *analyser) list(form value.Value, c ctx) node {
	if p := a.place(value.PosOf(form)); p != nil {
		a.t.Pos = p
	}
	if next, expanded := expand1(a.t, form, value.Nil, a); expanded {
		saved := a.from
		a.expanding(form)
		a.t.Push(1)[0] = next
		n := a.analyse(next, c)
		a.t.Pop(1)
		a.from = saved
		return n
	}
	s := value.Seq(a.t, form)
	if s.IsNil() {
		return &constNode{value.EmptyList}
	}
	head := value.First(a.t, s)
	rest := value.Next(a.t, s)
	if head.Kind() == value.KindSymbol {
		sym := value.As[value.Symbol](head)
		if f := special(sym); f != nil { // no local shadows one
			return f(a, form, value.ToSlice(a.t, rest), c)
		}
	}
	if n := a.construct(form, head, rest); n != nil {
		return n
	}
	if n := a.interop(form, head, rest); n != nil {
		return n
	}
	return a.call(form, head, rest)
}

func (a *analyser) call(form, head, rest value.Value) node {
	n := &callNode{pos: a.pos(form)}
	saved := a.fn.next
	if k := rest.Kind(); k == value.KindList || k == value.KindNil { // as nearly always: no slice of forms is needed
		count := value.Count(a.t, rest)
		n.temp = a.fn.slots(count + 1)
		n.fn = a.analyse(head, ctxExpr)
		a.t.Charge(16 * count)
		n.args = make([]node, 0, count)
		for ; !rest.IsNil(); rest = value.Next(a.t, rest) {
			n.args = append(n.args, a.analyse(value.First(a.t, rest), ctxExpr))
		}
	} else {
		args := value.ToSlice(a.t, rest)
		n.temp = a.fn.slots(len(args) + 1)
		n.fn = a.analyse(head, ctxExpr)
		n.args = a.all(args)
	}
	a.fn.next = saved
	return n
}

// pos is where form stands; a form made by a macro stands where the macro is called.
func (a *analyser) pos(form value.Value) *value.Pos {
	if p := a.place(value.PosOf(form)); p != nil {
		return p
	}
	return a.t.Pos
}

// place gives the place to point the user at for what was read at p. An expansion holds forms of the user's, which stand
// within the macro call, and forms of the macro's text, which stand elsewhere: for those it is the call. nil: not known.
func (a *analyser) place(p *value.Pos) *value.Pos {
	if a.from == nil || p != nil && p.File == a.from.File &&
		(p.Line > a.from.Line || p.Line == a.from.Line && p.Column >= a.from.Column) {
		return p
	}
	return a.from
}

// expanding notes that what is analysed next is the expansion of form.
func (a *analyser) expanding(form value.Value) {
	if p := a.place(value.PosOf(form)); p != nil {
		a.from = p
	}
}

func (a *analyser) all(forms []value.Value) []node {
	out := make([]node, len(forms))
	for i, f := range forms {
		out[i] = a.analyse(f, ctxExpr)
	}
	return out
}

// body analyses forms of which the last one's value counts.
func (a *analyser) body(forms []value.Value, c ctx) node {
	switch len(forms) {
	case 0:
		return &constNode{value.Nil}
	case 1:
		return a.analyse(forms[0], c)
	}
	out := make([]node, len(forms))
	for i, f := range forms {
		if i == len(forms)-1 {
			out[i] = a.analyse(f, c)
		} else {
			out[i] = a.analyse(f, ctxExpr)
		}
	}
	return &doNode{out}
}

// literal analyses a vector, map or set; one whose parts are all constant is itself constant.
func (a *analyser) literal(form value.Value) node {
	var forms []value.Value
	if form.Kind().IsMap() {
		value.EachKV(a.t, form, func(k, v value.Value) bool {
			forms = append(forms, k, v)
			return true
		})
	} else {
		forms = value.ToSlice(a.t, form)
	}
	saved := a.fn.next
	temp := a.fn.slots(len(forms))
	items := a.all(forms)
	a.fn.next = saved
	n := a.withMeta(literalNode(form.Kind(), items, temp), form)
	if _, plain := n.(*metaNode); !plain && constant(items) {
		return a.constant(a.fold(form, items))
	}
	return n
}

func literalNode(k value.Kind, items []node, temp int) node {
	switch {
	case k.IsMap():
		return &mapNode{items, temp}
	case k.IsSet():
		return &setLitNode{items, temp}
	}
	return &vectorNode{items, temp}
}

// withMeta adds the metadata that the reader put on a literal.
func (a *analyser) withMeta(n node, form value.Value) node {
	m := value.Meta(form)
	if m.IsNil() {
		return n
	}
	return &metaNode{n, a.analyse(m, ctxExpr)}
}

func constant(items []node) bool {
	for _, n := range items {
		if _, ok := n.(*constNode); !ok {
			return false
		}
	}
	return true
}

// fold builds a literal whose parts are constant.
func (a *analyser) fold(form value.Value, items []node) value.Value {
	xs := make([]value.Value, len(items))
	for i, n := range items {
		xs[i] = n.(*constNode).v
	}
	switch k := form.Kind(); {
	case k.IsMap():
		return value.NewMapLiteral(a.t, xs)
	case k.IsSet():
		return value.NewSetLiteral(a.t, xs)
	}
	return value.NewVector(a.t, xs)
}

// fail is an error in the form being analysed.
func (a *analyser) fail(form value.Value, format string, args ...any) *value.Exception {
	ex := value.Errorf("CompilerException", format, args...)
	ex.Pos = a.pos(form)
	return ex
}
