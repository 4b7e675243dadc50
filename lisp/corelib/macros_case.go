package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// caseClauses are the clauses of a case: constant i leads to then[to[i]].
type caseClauses struct {
	consts []value.Value
	to     []int
	thens  []value.Value
	shared bool // an expression of some size has several constants
}

// caseMacro leaves the search to the compiler's case*. Where several constants share an expression, a first case* finds the
// number of the clause and a second one goes there, so that the expression is compiled once.
func macCase(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	g := freshName(t, "case")
	clauses := args[1:]
	els := formOf(t, fnNoClause, value.Str("case"), g)
	if len(clauses)%2 != 0 {
		els = clauses[len(clauses)-1]
		clauses = clauses[:len(clauses)-1]
	}
	c := parseCase(t, form, clauses)
	bound := formVector(t, g, args[0])
	switch {
	case len(c.consts) == 0:
		return formOf(t, sfLet, bound, els)
	case !c.shared:
		return formOf(t, sfLet, bound, caseStar(t, g, els, c.consts, func(i int) value.Value { return c.thens[c.to[i]] }))
	}
	at := freshName(t, "clause")
	find := caseStar(t, g, value.Int(-1), c.consts, func(i int) value.Value { return value.Int(int64(c.to[i])) })
	t.Charge(16 * len(c.thens))
	numbers := make([]value.Value, len(c.thens))
	for i := range numbers {
		numbers[i] = value.Int(int64(i))
	}
	run := caseStar(t, at, els, numbers, func(i int) value.Value { return c.thens[i] })
	return formOf(t, sfLet, formVector(t, g, args[0], at, find), run)
}

func caseStar(t *value.Thread, on, els value.Value, consts []value.Value, then func(int) value.Value) value.Value {
	t.Charge(16 * len(consts))
	pairs := make([]value.Value, len(consts))
	for i, k := range consts {
		pairs[i] = formVector(t, k, then(i))
	}
	return formOf(t, sfCase, on, els, formVector(t, pairs...))
}

func parseCase(t *value.Thread, form value.Value, xs []value.Value) caseClauses {
	var c caseClauses
	seen := value.EmptySet
	add := func(k value.Value) {
		t.Step()
		t.Charge(32)
		if value.Contains(t, seen, k) {
			panic(malformed(form, "case: got %s twice, want each constant once", value.Brief(t, k)))
		}
		seen = value.Conj(t, seen, k)
		c.consts = append(c.consts, k)
		c.to = append(c.to, len(c.thens))
	}
	for i := 0; i < len(xs); i += 2 {
		n := len(c.consts)
		if isCall(xs[i]) {
			value.Each(t, xs[i], func(k value.Value) bool { add(k); return true })
		} else {
			add(xs[i])
		}
		c.thens = append(c.thens, xs[i+1])
		c.shared = c.shared || len(c.consts)-n > 1 && xs[i+1].Kind().IsColl()
	}
	return c
}

// noClause throws what a case or condp without a default throws.
func noClause(t *value.Thread, who, v value.Value) value.Value {
	if who.Kind() != value.KindString {
		panic(value.TypeError(t, "no-clause*", who, "a string"))
	}
	panic(value.ArgError("%s: got a value that no clause matches (No matching clause: %s); add a default as the last form",
		who.Text(), value.Brief(t, v)))
}
