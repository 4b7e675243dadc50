// Package corelib holds the functions of the language's libraries that are written in Go: of clojure.core, and of the pure
// library namespaces. Each theme is a file or two with one table of builtins.
//
// The one invariant: a builtin charges for what it does before it does it (see value.Thread), because the code that
// calls it may be hostile. Start at table.go, which lists the themes.
package corelib

import (
	"slices"

	"github.com/reflection-dev/zeno/lisp/value"
)

// Def is one function of a table.
type Def = value.Builtin

// Const is one var of a library that holds plain data.
type Const struct {
	Name  string
	Value value.Value
	Doc   string
}

// Core gives the builtins of clojure.core.
func Core() []Def {
	return concat(
		numbers(),
		numberTests(),
		casts(),
		bits(),
		random(),
		coreStrings(),
		regexes(),
		macros(),
		seqs(),
		lazySeqs(),
		reducing(),
		transducing(),
		functions(),
		colls(),
		mapFns(),
		transients(),
		sorting(),
		preds(),
		arrays(),
		state(),
		futures(),
		channels(),
		vars(),
		namespaces(),
		errorFns(),
		printFns(),
		evalFns(),
		symbols(),
		literals(),
		multimethods(),
		hierarchies(),
		protocols(),
		records(),
	)
}

// Namespaces gives the builtins of the library namespaces by name.
func Namespaces() map[string][]Def {
	return map[string][]Def{
		"clojure.string":  stringNS(),
		"clojure.set":     setNS(),
		"clojure.walk":    walkNS(),
		"clojure.data":    dataNS(),
		"clojure.zip":     zipNS(),
		"joker.math":      jokerMath(),
		"clojure.math":    clojureMath(),
		"clojure.edn":     ednNS(),
		"clojure.pprint":  pprintNS(),
		"clojure.instant": instantNS(),
		"joker.json":      jokerJSON(),

		"clojure.data.json": dataJSON(),
	}
}

// Constants gives the data of the namespaces by name.
func Constants() map[string][]Const {
	return map[string][]Const{
		coreName:       slices.Concat(classConstants(), charConstants(), dataReaders()),
		"joker.math":   jokerMathConstants(),
		"clojure.math": clojureMathConstants(),
	}
}

func concat(tables ...[]Def) []Def { return slices.Concat(tables...) }
