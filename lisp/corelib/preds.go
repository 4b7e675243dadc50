package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// pred makes the builtin of a predicate of kinds.
func pred(name, doc string, is func(v Value) bool) Def {
	return Def{Name: name, Arglists: "([x])", Doc: doc, F1: func(_ *Thread, x Value) Value { return value.Bool(is(x)) }}
}

func callable(name string) Def {
	return def1(name, "[x]", "Tells whether x can be called.", func(t *Thread, x Value) Value { return value.Bool(value.IsCallable(t, x)) })
}

// preds tell what sort of value something is.
func preds() []Def {
	kind := func(ks ...value.Kind) func(Value) bool {
		return func(v Value) bool {
			for _, k := range ks {
				if v.Kind() == k {
					return true
				}
			}
			return false
		}
	}
	return append(namePreds(), []Def{
		pred("nil?", "Tells whether x is nil.", Value.IsNil),
		pred("some?", "Tells whether x is not nil.", func(v Value) bool { return !v.IsNil() }),
		pred("any?", "True of everything.", func(Value) bool { return true }),
		pred("true?", "Tells whether x is true.", func(v Value) bool { return value.Identical(v, value.True) }),
		pred("false?", "Tells whether x is false.", func(v Value) bool { return value.Identical(v, value.False) }),
		pred("boolean?", "Tells whether x is true or false.", kind(value.KindBool)),
		pred("string?", "Tells whether x is a string.", kind(value.KindString)),
		pred("char?", "Tells whether x is a character.", kind(value.KindChar)),
		pred("uuid?", "Tells whether x is a UUID.", kind(value.KindUUID)),
		pred("inst?", "Tells whether x is an instant.", kind(value.KindInst)),
		pred("fn?", "Tells whether x was made by fn.", kind(value.KindFn, value.KindProtocolFn)),
		callable("ifn?"),
		callable("callable?"),
		pred("uri?", "Tells whether x is a URI object; there are none, URIs are strings.", func(Value) bool { return false }),
		pred("coll?", "Tells whether x is a collection.", func(v Value) bool { return v.Kind().IsColl() }),
		pred("seq?", "Tells whether x is a seq.", func(v Value) bool { return v.Kind().IsSeq() }),
		pred("seqable?", "Tells whether seq takes x.", func(v Value) bool {
			return value.Seqable(v) || v.Kind() == value.KindArray || v.Kind() == value.KindEduction
		}),
		pred("sequential?", "Tells whether x is a collection whose elements are in the order in which they were put.", func(v Value) bool { return v.Kind().IsSequential() || v.Kind() == value.KindEduction }),
		pred("associative?", "Tells whether assoc takes x.", func(v Value) bool { return v.Kind().IsMap() || v.Kind().IsVector() }),
		pred("counted?", "Tells whether count answers at once.", func(v Value) bool { return !v.IsNil() && v.Kind() != value.KindArray && value.Counted(v) }),
		pred("indexed?", "Tells whether nth finds an element at once.", func(v Value) bool { return v.Kind().IsVector() }),
		pred("reversible?", "Tells whether rseq takes x.", func(v Value) bool { return v.Kind().IsVector() || isSorted(v) }),
		pred("sorted?", "Tells whether x is a sorted map or set.", isSorted),
		pred("map?", "Tells whether x is a map.", func(v Value) bool { return v.Kind().IsMap() }),
		pred("vector?", "Tells whether x is a vector.", func(v Value) bool { return v.Kind().IsVector() }),
		pred("set?", "Tells whether x is a set.", func(v Value) bool { return v.Kind().IsSet() }),
		pred("list?", "Tells whether x is a list.", kind(value.KindList, value.KindEmptyList)),
		pred("map-entry?", "Tells whether x is an entry of a map.", kind(value.KindMapEntry)),
		pred("record?", "Tells whether x is a record.", kind(value.KindRecord)),
		pred("not", "True for nil and false, else false.", func(v Value) bool { return !v.Truthy() }),
		pred("boolean", "True unless x is nil or false.", Value.Truthy),
	}...)
}

func isSorted(v Value) bool {
	return v.Kind() == value.KindSortedMap || v.Kind() == value.KindSortedSet
}

// namePreds tell symbols and keywords apart.
func namePreds() []Def {
	symbol := func(v Value) bool { return v.Kind() == value.KindSymbol }
	keyword := func(v Value) bool { return v.Kind() == value.KindKeyword }
	ident := func(v Value) bool { return symbol(v) || keyword(v) }
	simple := func(is func(Value) bool) func(Value) bool {
		return func(v Value) bool { return is(v) && !qualified(v) }
	}
	full := func(is func(Value) bool) func(Value) bool { return func(v Value) bool { return is(v) && qualified(v) } }
	return []Def{
		pred("symbol?", "Tells whether x is a symbol.", symbol),
		pred("keyword?", "Tells whether x is a keyword.", keyword),
		pred("ident?", "Tells whether x is a symbol or keyword.", ident),
		pred("simple-symbol?", "Tells whether x is a symbol without a namespace.", simple(symbol)),
		pred("qualified-symbol?", "Tells whether x is a symbol with a namespace.", full(symbol)),
		pred("simple-keyword?", "Tells whether x is a keyword without a namespace.", simple(keyword)),
		pred("qualified-keyword?", "Tells whether x is a keyword with a namespace.", full(keyword)),
		pred("simple-ident?", "Tells whether x is a symbol or keyword without a namespace.", simple(ident)),
		pred("qualified-ident?", "Tells whether x is a symbol or keyword with a namespace.", full(ident)),
	}
}

// qualified tells whether a symbol or keyword has a namespace.
func qualified(v Value) bool {
	if v.Kind() == value.KindSymbol {
		return value.As[value.Symbol](v).NS != ""
	}
	return value.As[value.Keyword](v).NS != ""
}
