package corelib

import "github.com/reflection-dev/zeno/lisp/value"

func condMacros() []value.Builtin {
	return []value.Builtin{
		macro("when", 1, many, "([test & body])", "Evaluates body if test is true.", macWhen),
		macro("when-not", 1, many, "([test & body])", "Evaluates body if test is false.", macWhenNot),
		macro("if-not", 2, 3, "([test then] [test then else])", "Evaluates then if test is false, otherwise else.", macIfNot),
		macro("and", 0, many, "([] [x] [x & next])", "The first value that is false or nil, or the last one.", macAnd),
		macro("or", 0, many, "([] [x] [x & next])", "The first value that is neither false nor nil, or the last one.", macOr),
		macro("cond", 0, many, "([& clauses])", "Takes tests and expressions in turn: the value of the expression after the first true test, or nil.", macCond),
		macro("condp", 2, many, "([pred expr & clauses])", "Like cond, where each test is (pred test expr). A clause is a test and a result, or a test, :>> and a function of what pred gave. A single last form is the default.", macCondp),
		macro("case", 1, many, "([e & clauses])", "Takes constants and expressions in turn: the value of the expression whose constant equals e. A list of constants stands for any of them; a single last form is the default.", macCase),
		macro("assert", 1, 2, "([x] [x message])", "Throws an AssertionError if x is false or nil.", macAssert),
		macro("comment", 0, many, "([& body])", "Ignores body.", macComment),
	}
}

func macWhen(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, sfIf, args[0], formSplice(t, args[1:], sfDo))
}

func macWhenNot(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, sfIf, args[0], value.Nil, formSplice(t, args[1:], sfDo))
}

func macIfNot(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, sfIf, formOf(t, fnNot, args[0]), args[1], optionalArg(args, 2))
}

func macComment(*value.Thread, value.Value, value.Value, []value.Value) value.Value { return value.Nil }

func macAnd(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return nestTests(t, args, value.True, func(g, more value.Value) value.Value { return formOf(t, sfIf, g, more, g) })
}

func macOr(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return nestTests(t, args, value.Nil, func(g, more value.Value) value.Value { return formOf(t, sfIf, g, g, more) })
}

// chain nests args from the last to the first: (let* [g x] (choose g more)).
func nestTests(t *value.Thread, args []value.Value, none value.Value, choose func(g, more value.Value) value.Value) value.Value {
	if len(args) == 0 {
		return none
	}
	last := len(args) - 1
	out := args[last]
	if last == 0 {
		return out
	}
	g := freshName(t, "test")
	for i := last - 1; i >= 0; i-- {
		out = placed(formOf(t, sfLet, formVector(t, g, args[i]), choose(g, out)), args[i])
	}
	return out
}

func macCond(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	if len(args)%2 != 0 {
		panic(malformed(form, "cond: got %s, want an even number: a test and an expression each time", value.Plural(len(args), "form")))
	}
	out := value.Nil
	for i := len(args) - 2; i >= 0; i -= 2 {
		out = placed(formOf(t, sfIf, args[i], args[i+1], out), args[i])
	}
	return out
}

// condpClause is a test and what to do when it holds.
type condpClause struct {
	test, then value.Value
	feed       bool // then is a function of what the test gave
}

func macCondp(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	pred, expr := freshName(t, "pred"), freshName(t, "expr")
	clauses, out := condpClauses(t, form, args[2:], formOf(t, fnNoClause, value.Str("condp"), expr))
	for i := len(clauses) - 1; i >= 0; i-- {
		c := clauses[i]
		test := placed(formOf(t, pred, c.test, expr), c.test)
		if !c.feed {
			out = formOf(t, sfIf, test, c.then, out)
			continue
		}
		g := freshName(t, "got")
		out = formOf(t, sfLet, formVector(t, g, test), formOf(t, sfIf, g, formOf(t, c.then, g), out))
	}
	return formOf(t, sfLet, formVector(t, pred, args[0], expr, args[1]), out)
}

func condpClauses(t *value.Thread, form value.Value, xs []value.Value, none value.Value) ([]condpClause, value.Value) {
	var out []condpClause
	t.Charge(24 * len(xs))
	for len(xs) > 0 {
		switch {
		case len(xs) == 1:
			return out, xs[0]
		case isKeyed(xs[1], ">>") && len(xs) == 2:
			panic(malformed(form, "condp: got :>> as the last form, want a function after it"))
		case isKeyed(xs[1], ">>"):
			out = append(out, condpClause{xs[0], xs[2], true})
			xs = xs[3:]
		default:
			out = append(out, condpClause{xs[0], xs[1], false})
			xs = xs[2:]
		}
	}
	return out, none
}

// assertions tells whether asserts are compiled in: *assert* is true.
func assertions(t *value.Thread) bool {
	v := t.Env.Core.Var("*assert*")
	if v == nil {
		return true
	}
	if _, ok := v.Root(); !ok {
		return true
	}
	return v.Get(t).Truthy()
}

// assertForm makes (if x nil (throw …)).
func assertForm(t *value.Thread, x value.Value, message ...value.Value) value.Value {
	made := formSplice(t, message, fnAssertError, formQuote(t, x))
	return placed(formOf(t, sfIf, x, value.Nil, formOf(t, sfThrow, made)), x)
}

func macAssert(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	if !assertions(t) {
		return value.Nil
	}
	return assertForm(t, args[0], args[1:]...)
}

func assertError1(t *value.Thread, form value.Value) value.Value { return assertError(t, form, "") }

func assertError2(t *value.Thread, form, message value.Value) value.Value {
	return assertError(t, form, value.PrintStr(t, message)+"\n")
}

// assertError makes the exception of a failed assert of form.
func assertError(t *value.Thread, form value.Value, message string) value.Value {
	text := value.PrStr(t, form)
	t.Charge(2 * (len(text) + len(message)))
	return value.Of(value.Errorf("AssertionError", "Assert failed: %s%s", message, text))
}
