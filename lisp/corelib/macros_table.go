package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// macros lists the macros of the core and the functions that only their expansions call.
func macros() []value.Builtin {
	helpers := []value.Builtin{
		{Name: "destructure", F1: destructure, Arglists: "([bindings])", Doc: "A vector of bindings with all patterns in it taken apart: plain names and forms, as let expands to."},
		{Name: "kwargs*", F1: kwargsMap, Arglists: "([x])", Doc: "What map patterns expand to: a map of a seq of keys and values, or x."},
		{Name: "no-clause*", F2: noClause, Arglists: "([who x])", Doc: "What case and condp without a default expand to: throws."},
		{Name: "assert-error*", F1: assertError1, F2: assertError2, Arglists: "([form] [form message])", Doc: "What assert expands to: an AssertionError."},
	}
	var out []value.Builtin
	for _, group := range [][]value.Builtin{
		condMacros(), letMacros(), arrowMacros(), defMacros(), loopMacros(), scopeMacros(), stateMacros(), nsMacros(), helpers,
	} {
		out = append(out, group...)
	}
	return out
}
