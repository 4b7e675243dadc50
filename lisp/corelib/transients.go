package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// transients are the functions of collections under construction, and those of chunks, which are built as transients.
func transients() []Def {
	return []Def{
		{Name: "transient", Arglists: "([coll])", Doc: "A copy of a vector, map or set that is changed in place.", F1: value.Transient},
		{Name: "persistent!", Arglists: "([coll])", Doc: "Ends a transient and gives what was built.", F1: value.Persistent},
		{Name: "conj!", Arglists: "([] [coll] [coll x])", Doc: "conj of a transient.",
			F0: func(t *Thread) Value { return value.Transient(t, value.EmptyVector) }, F1: func(_ *Thread, c Value) Value { return c }, F2: value.ConjT},
		{Name: "assoc!", Arglists: "([coll key val] [coll key val & kvs])", Doc: "assoc of a transient.", F3: value.AssocT, N: assocBang, Min: 4},
		{Name: "dissoc!", Arglists: "([map key] [map key & ks])", Doc: "dissoc of a transient.", F2: value.DissocT,
			N: func(t *Thread, args []Value) Value { return foldArgs(t, value.DissocT, args) }, Min: 3},
		{Name: "disj!", Arglists: "([set] [set key] [set key & ks])", Doc: "disj of a transient.", F1: func(_ *Thread, s Value) Value { return s }, F2: value.DisjT,
			N: func(t *Thread, args []Value) Value { return foldArgs(t, value.DisjT, args) }, Min: 3},
		{Name: "pop!", Arglists: "([coll])", Doc: "pop of a transient vector.", F1: value.PopT},

		{Name: "chunk-buffer", Arglists: "([capacity])", Doc: "A buffer for the elements of a chunk.",
			F1: func(t *Thread, _ Value) Value { return value.Transient(t, value.EmptyVector) }},
		{Name: "chunk-append", Arglists: "([b x])", Doc: "Adds x to a buffer.", F2: func(t *Thread, b, x Value) Value { value.ConjT(t, b, x); return value.Nil }},
		{Name: "chunk", Arglists: "([b])", Doc: "The chunk of what a buffer holds.", F1: value.Persistent},
		{Name: "chunk-cons", Arglists: "([chunk rest])", Doc: "A chunked seq of a chunk and then rest.", F2: chunkCons},
		{Name: "chunk-first", Arglists: "([s])", Doc: "The first chunk of a chunked seq.", F1: chunkFirst},
		{Name: "chunk-rest", Arglists: "([s])", Doc: "What follows the first chunk, or ().", F1: chunkRest},
		{Name: "chunk-next", Arglists: "([s])", Doc: "A seq of what follows the first chunk, or nil.", F1: func(t *Thread, s Value) Value { return value.Seq(t, chunkRest(t, s)) }},
	}
}

func assocBang(t *Thread, args []Value) Value {
	m := args[0]
	for i := 1; i < len(args); i += 2 {
		t.Step()
		v := value.Nil // a last key without a value gets nil, as in Clojure
		if i+1 < len(args) {
			v = args[i+1]
		}
		m = value.AssocT(t, m, args[i], v)
	}
	return m
}

func chunkCons(t *Thread, chunk, rest Value) Value {
	if !rest.IsNil() && !rest.Kind().IsSeq() {
		rest = value.Seq(t, rest)
	}
	return chunkThen(t, value.ToSlice(t, chunk), rest)
}

func chunkOf(t *Thread, who string, s Value) ([]Value, Value) {
	if s.Kind().IsSeq() {
		s = value.Seq(t, s)
		if xs, rest, ok := value.ChunkOf(t, s); ok {
			return xs, rest
		}
	}
	panic(value.TypeError(t, who, s, "a chunked seq"))
}

func chunkFirst(t *Thread, s Value) Value {
	xs, _ := chunkOf(t, "chunk-first", s)
	return value.NewVector(t, xs)
}

func chunkRest(t *Thread, s Value) Value {
	_, rest := chunkOf(t, "chunk-rest", s)
	return rest
}
