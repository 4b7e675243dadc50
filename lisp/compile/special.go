package compile

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

type specialForm func(a *analyser, form value.Value, args []value.Value, c ctx) node

// special gives the analyser of a special form, or nil.
func special(sym *value.Symbol) specialForm {
	if sym.NS != "" {
		return nil
	}
	switch sym.Name {
	case "quote":
		return (*analyser).quote
	case "if":
		return (*analyser).ifForm
	case "do":
		return (*analyser).doForm
	case "let*":
		return (*analyser).let
	case "loop*":
		return (*analyser).loop
	case "recur":
		return (*analyser).recur
	case "fn*":
		return (*analyser).fnForm
	case "letfn*":
		return (*analyser).letfn
	case "def":
		return (*analyser).def
	case "var":
		return (*analyser).varForm
	case "set!":
		return (*analyser).set
	case "throw":
		return (*analyser).throw
	case "try":
		return (*analyser).try
	case "case*":
		return (*analyser).caseForm
	case "binding*":
		return (*analyser).binding
	case "lazy-seq*":
		return (*analyser).lazy
	case "delay*":
		return (*analyser).delay
	case "new":
		return (*analyser).newForm
	case ".", "catch", "finally", "&":
		return (*analyser).misplaced
	}
	return nil
}

// IsSpecial tells whether name is a special form.
func IsSpecial(name string) bool { return special(value.NewSymbol("", name)) != nil }

func (a *analyser) misplaced(form value.Value, _ []value.Value, _ ctx) node {
	switch name := value.As[value.Symbol](value.First(a.t, form)).Name; name {
	case "catch", "finally":
		panic(a.fail(form, "%s: got one outside try, want it as a clause of try", name))
	case "&":
		panic(a.fail(form, "&: got it in a call, want it in a parameter vector only"))
	default:
		panic(a.fail(form, "%s: got host interop, which this dialect has none of; use a function", name))
	}
}

func (a *analyser) quote(form value.Value, args []value.Value, _ ctx) node {
	if len(args) != 1 {
		panic(a.fail(form, "quote: got %s, want 1", value.Plural(len(args), "form")))
	}
	return a.constant(args[0])
}

func (a *analyser) ifForm(form value.Value, args []value.Value, c ctx) node {
	if len(args) < 2 || len(args) > 3 {
		panic(a.fail(form, "if: got %s, want a test, a then and at most one else", value.Plural(len(args), "form")))
	}
	n := &ifNode{test: a.analyse(args[0], ctxExpr), then: a.analyse(args[1], c), els: &constNode{value.Nil}}
	if len(args) == 3 {
		n.els = a.analyse(args[2], c)
	}
	if k, ok := n.test.(*constNode); ok {
		if k.v.Truthy() {
			return n.then
		}
		return n.els
	}
	return n
}

func (a *analyser) doForm(_ value.Value, args []value.Value, c ctx) node { return a.body(args, c) }

// bindings checks a vector of simple names and values and returns both.
func (a *analyser) bindings(form value.Value, args []value.Value, who string) (names []*value.Symbol, inits []value.Value) {
	if len(args) == 0 || args[0].Kind() != value.KindVector {
		panic(a.fail(form, "%s: got no binding vector, want [name value …]", who))
	}
	xs := value.ToSlice(a.t, args[0])
	if len(xs)%2 != 0 {
		panic(a.fail(form, "%s: got %s in the binding vector, want an even number", who, value.Plural(len(xs), "form")))
	}
	for i := 0; i < len(xs); i += 2 {
		names = append(names, a.plainName(form, xs[i], who))
		inits = append(inits, xs[i+1])
	}
	return names, inits
}

func (a *analyser) plainName(form, v value.Value, who string) *value.Symbol {
	if v.Kind() == value.KindSymbol {
		if s := value.As[value.Symbol](v); s.NS == "" {
			return s
		}
	}
	panic(a.fail(form, "%s: got %s, want a plain name", who, value.Brief(a.t, v)))
}

func (a *analyser) let(form value.Value, args []value.Value, c ctx) node {
	names, inits := a.bindings(form, args, "let")
	scope, next := a.scope, a.fn.next
	n := &letNode{}
	for i, name := range names {
		n.inits = append(n.inits, a.analyse(inits[i], ctxExpr))
		n.locals = append(n.locals, a.bind(name))
	}
	n.body = a.body(args[1:], c)
	a.scope, a.fn.next = scope, next
	if len(n.locals) == 0 {
		return n.body
	}
	return n
}

func (a *analyser) loop(form value.Value, args []value.Value, _ ctx) node {
	names, inits := a.bindings(form, args, "loop")
	scope, next, target := a.scope, a.fn.next, a.target
	n := &loopNode{target: &loopTarget{}}
	for i, name := range names {
		n.inits = append(n.inits, a.analyse(inits[i], ctxExpr))
		n.locals = append(n.locals, a.bind(name))
	}
	n.target.locals = n.locals
	a.target = n.target
	n.body = a.body(args[1:], ctxReturn)
	a.scope, a.fn.next, a.target = scope, next, target
	if !n.target.used {
		return &letNode{n.locals, n.inits, n.body}
	}
	return n
}

func (a *analyser) recur(form value.Value, args []value.Value, c ctx) node {
	if c != ctxReturn || a.target == nil {
		panic(a.fail(form, "recur: got it outside tail position, want it last in a loop or fn (and not across try)"))
	}
	if len(args) != len(a.target.locals) {
		panic(a.fail(form, "recur: got %s, want %d, one for each binding", value.Plural(len(args), "value"), len(a.target.locals)))
	}
	a.target.used = true
	saved := a.fn.next
	n := &recurNode{target: a.target, temp: a.fn.slots(len(args))}
	n.args = a.all(args)
	a.fn.next = saved
	return n
}

func (a *analyser) varForm(form value.Value, args []value.Value, _ ctx) node {
	if len(args) != 1 || args[0].Kind() != value.KindSymbol {
		panic(a.fail(form, "var: got no symbol, want the name of a var"))
	}
	return &constNode{value.Of(a.mustResolve(args[0]))}
}

func (a *analyser) mustResolve(name value.Value) *value.Var {
	sym := value.As[value.Symbol](name)
	v := resolveVar(a.t, sym)
	if v == nil {
		panic(a.unresolved(sym))
	}
	return v
}

func (a *analyser) set(form value.Value, args []value.Value, _ ctx) node {
	if len(args) != 2 || args[0].Kind() != value.KindSymbol {
		panic(a.fail(form, "set!: got %s, want the name of a var and a value", value.Plural(len(args), "form")))
	}
	if a.lookup(value.As[value.Symbol](args[0])) != nil {
		panic(a.fail(form, "set!: got a local, want a dynamic var; locals never change"))
	}
	return &assignNode{a.mustResolve(args[0]), a.analyse(args[1], ctxExpr)}
}

func (a *analyser) throw(form value.Value, args []value.Value, _ ctx) node {
	if len(args) != 1 {
		panic(a.fail(form, "throw: got %s, want one exception", value.Plural(len(args), "form")))
	}
	return &throwNode{a.analyse(args[0], ctxExpr), a.pos(form)}
}

func (a *analyser) binding(form value.Value, args []value.Value, _ ctx) node {
	if len(args) == 0 || args[0].Kind() != value.KindVector {
		panic(a.fail(form, "binding: got no binding vector, want [var value …]"))
	}
	xs := value.ToSlice(a.t, args[0])
	if len(xs)%2 != 0 {
		panic(a.fail(form, "binding: got %s in the binding vector, want an even number", value.Plural(len(xs), "form")))
	}
	saved, target := a.fn.next, a.target
	n := &bindingNode{temp: a.fn.slots(len(xs) / 2)}
	for i := 0; i < len(xs); i += 2 {
		if xs[i].Kind() != value.KindSymbol {
			panic(a.fail(form, "binding: got %s, want the name of a var", value.Brief(a.t, xs[i])))
		}
		n.vars = append(n.vars, a.mustResolve(xs[i]))
		n.inits = append(n.inits, a.analyse(xs[i+1], ctxExpr))
	}
	a.target = nil
	n.body = a.body(args[1:], ctxExpr)
	a.fn.next, a.target = saved, target
	return n
}

func (a *analyser) lazy(form value.Value, args []value.Value, _ ctx) node {
	return &lazyNode{a.thunk(form, args, "lazy-seq")}
}

func (a *analyser) delay(form value.Value, args []value.Value, _ ctx) node {
	return &delayNode{a.thunk(form, args, "delay")}
}

// caseForm analyses (case* name default [[const then] …]).
func (a *analyser) caseForm(form value.Value, args []value.Value, c ctx) node {
	if len(args) != 3 || args[2].Kind() != value.KindVector {
		panic(a.fail(form, "case: got a malformed case*, want a name, a default and a vector of pairs"))
	}
	n := &caseNode{expr: a.analyse(args[0], ctxExpr), els: a.analyse(args[1], c)}
	value.Each(a.t, args[2], func(pair value.Value) bool {
		k, _ := value.Nth(a.t, pair, 0)
		then, _ := value.Nth(a.t, pair, 1)
		a.keep(k)
		n.consts, n.hashes = append(n.consts, k), append(n.hashes, value.Hash(a.t, k)) // k may be endless: it is the program's time
		n.targets = append(n.targets, len(n.thens))
		n.thens = append(n.thens, a.analyse(then, c))
		return true
	})
	return n
}

// tryNesting is how many expressions a try counts for: its frames are the largest on the Go stack.
const tryNesting = 3

func (a *analyser) try(form value.Value, args []value.Value, _ ctx) node {
	target := a.target
	a.target = nil
	a.fn.deepen(tryNesting)
	defer func() { a.target = target; a.fn.nesting -= tryNesting }()
	n := &tryNode{}
	end := len(args)
	for i, f := range args {
		switch a.clause(f) {
		case "catch":
			end = min(end, i)
			n.catches = append(n.catches, a.catch(f))
		case "finally":
			end = min(end, i)
			if i != len(args)-1 {
				panic(a.fail(f, "finally: got forms after it, want it last in try"))
			}
			n.finally = a.body(value.ToSlice(a.t, value.Next(a.t, f)), ctxExpr)
		default:
			if i > end {
				panic(a.fail(form, "try: got an expression after a catch, want clauses only"))
			}
		}
	}
	n.body = a.body(args[:end], ctxExpr)
	if n.catches == nil && n.finally == nil {
		return n.body
	}
	return n
}

func (a *analyser) clause(f value.Value) string {
	if k := f.Kind(); k != value.KindList && k != value.KindCons {
		return ""
	}
	if h := value.First(a.t, f); h.Kind() == value.KindSymbol {
		if s := value.As[value.Symbol](h); s.NS == "" {
			return s.Name
		}
	}
	return ""
}

func (a *analyser) catch(f value.Value) catchClause {
	parts := value.ToSlice(a.t, value.Next(a.t, f))
	if len(parts) < 2 {
		panic(a.fail(f, "catch: got %s, want a class, a name and a body", value.Plural(len(parts), "form")))
	}
	class, scope, next := a.catchClass(f, parts[0]), a.scope, a.fn.next
	l := a.bind(a.plainName(f, parts[1], "catch"))
	c := catchClause{class: class, local: l, body: a.body(parts[2:], ctxExpr)}
	a.scope, a.fn.next = scope, next
	return c
}

// catchClass names what a clause catches; "" is everything. Classes are names, not values.
func (a *analyser) catchClass(form, v value.Value) string {
	switch v.Kind() {
	case value.KindKeyword:
		if value.As[value.Keyword](v).FullName() == "default" {
			return ""
		}
	case value.KindSymbol:
		name := value.As[value.Symbol](v).FullName()
		if value.KnownClass(name) {
			return name
		}
		panic(a.fail(form, "catch: got %s, want Exception, ExceptionInfo, :default or another known class", name))
	}
	panic(a.fail(form, "catch: got %s, want the name of a class or :default", value.Brief(a.t, v)))
}
