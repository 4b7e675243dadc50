package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// fnSource is a function as written: its name, if it has one, and each arity as a parameter vector and a body.
type fnSource struct {
	t       *value.Thread
	form    value.Value
	who     string
	name    value.Value
	arities [][]value.Value
	lead    []value.Value // parameters that a macro has before its own
}

// fnMacro makes fn* of fn.
func macFn(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	s := &fnSource{t: t, form: form, who: "fn"}
	if args[0].Kind() == value.KindSymbol {
		if !isPlain(args[0]) {
			panic(malformed(form, "fn: got the qualified name %s, want a plain one", value.Brief(t, args[0])))
		}
		s.name, args = args[0], args[1:]
	}
	s.parse(args)
	return value.WithMeta(t, s.lower(), userMeta(t, form))
}

// parse reads [params] body… or ([params] body…) ….
func (s *fnSource) parse(args []value.Value) {
	if len(args) == 0 {
		panic(malformed(s.form, "%s: got no parameters, want a vector of them", s.who))
	}
	if args[0].Kind() == value.KindVector {
		s.arities = [][]value.Value{args}
		return
	}
	s.t.Charge(24 * len(args))
	for _, a := range args {
		if !isCall(a) {
			panic(malformed(s.form, "%s: got %s, want a vector of parameters or ([params] body…)", s.who, value.Brief(s.t, a)))
		}
		xs := value.ToSlice(s.t, a)
		if len(xs) == 0 || xs[0].Kind() != value.KindVector {
			panic(malformed(s.form, "%s: got %s, want ([params] body…)", s.who, value.Brief(s.t, a)))
		}
		s.arities = append(s.arities, xs)
	}
}

// lower makes (fn* name? ([params] body…) …). It has a place but no metadata: the compiler gives a function the metadata of
// its form, and :line and :column are none of a function's.
func (s *fnSource) lower() value.Value {
	s.t.Charge(16 * (len(s.arities) + 2))
	xs := make([]value.Value, 0, len(s.arities)+2)
	xs = append(xs, sfFn)
	if !s.name.IsNil() {
		xs = append(xs, s.name)
	}
	for _, a := range s.arities {
		xs = append(xs, s.arity(a[0], a[1:]))
	}
	return value.WithMeta(s.t, placed(formOf(s.t, xs...), s.form), value.Nil)
}

// arity makes ([params] body…): patterns among the parameters get names of their own and are taken apart in the body.
func (s *fnSource) arity(params value.Value, body []value.Value) value.Value {
	xs := value.ToSlice(s.t, params)
	s.checkRest(xs)
	body = s.conditions(params, body)
	b := &binder{t: s.t, form: s.form, who: s.who}
	s.t.Charge(16 * (len(xs) + len(s.lead)))
	names := make([]value.Value, 0, len(xs)+len(s.lead))
	names = append(names, s.lead...)
	simple := len(s.lead) == 0
	for _, x := range xs {
		s.t.Step()
		if isPlain(x) {
			names = append(names, x)
			continue
		}
		simple = false
		g := freshName(s.t, "arg")
		names = append(names, g)
		b.bindOwn(x, g)
	}
	if simple {
		return formSplice(s.t, body, params)
	}
	if b.out != nil {
		body = []value.Value{formSplice(s.t, body, sfLet, formVector(s.t, b.out...))}
	}
	return formSplice(s.t, body, formVector(s.t, names...))
}

// checkRest sees to it that & stands before exactly one name.
func (s *fnSource) checkRest(xs []value.Value) {
	for i, x := range xs {
		if isNamed(x, "&") && (i != len(xs)-2 || isNamed(xs[i+1], "&")) {
			panic(malformed(s.form, "%s: got %s after &, want 1: the name of the rest", s.who, value.Plural(len(xs)-i-1, "form")))
		}
	}
}

// conditions puts the :pre and :post of a body, or of the metadata of its parameters, into it.
func (s *fnSource) conditions(params value.Value, body []value.Value) []value.Value {
	conds := value.Meta(params)
	if len(body) > 1 && body[0].Kind().IsMap() {
		conds, body = body[0], body[1:]
	}
	if conds.IsNil() {
		return body
	}
	pre, hasPre := value.Get(s.t, conds, kwPre)
	post, hasPost := value.Get(s.t, conds, kwPost)
	if !hasPre && !hasPost || !assertions(s.t) {
		return body
	}
	checks := s.checks("pre", pre)
	if hasPost {
		after := append(s.checks("post", post), symPercent)
		body = []value.Value{formSplice(s.t, after, sfLet, formVector(s.t, symPercent, formSplice(s.t, body, sfDo)))}
	}
	return joinForms(s.t, checks, body)
}

func (s *fnSource) checks(which string, conds value.Value) []value.Value {
	if conds.IsNil() {
		return nil
	}
	if conds.Kind() != value.KindVector {
		panic(malformed(s.form, "%s: got :%s %s, want a vector of conditions", s.who, which, value.Brief(s.t, conds)))
	}
	var out []value.Value
	for _, c := range value.ToSlice(s.t, conds) {
		s.t.Charge(32)
		out = append(out, assertForm(s.t, c))
	}
	return out
}

// letfn makes letfn* of letfn.
func macLetfn(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	specs := bindingForms(t, form, "letfn", args[0])
	t.Charge(32 * len(specs))
	pairs := make([]value.Value, 0, 2*len(specs))
	for _, spec := range specs {
		if !isCall(spec) {
			panic(malformed(form, "letfn: got %s, want (name [params] body…)", value.Brief(t, spec)))
		}
		xs := value.ToSlice(t, spec)
		if len(xs) < 2 || !isPlain(xs[0]) {
			panic(malformed(form, "letfn: got %s, want (name [params] body…)", value.Brief(t, spec)))
		}
		s := &fnSource{t: t, form: spec, who: "letfn", name: xs[0]}
		s.parse(xs[1:])
		pairs = append(pairs, xs[0], s.lower())
	}
	return formSplice(t, args[1:], sfLetfn, formVector(t, pairs...))
}
