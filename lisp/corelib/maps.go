package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// mapFns are the functions of maps.
func mapFns() []Def {
	return []Def{
		{Name: "keys", Arglists: "([map])", Doc: "A seq of the keys, or nil.", F1: value.Keys},
		{Name: "vals", Arglists: "([map])", Doc: "A seq of the values, in the order of keys, or nil.", F1: value.Vals},
		{Name: "key", Arglists: "([e])", Doc: "The key of a map entry.", F1: entryKey},
		{Name: "val", Arglists: "([e])", Doc: "The value of a map entry.", F1: entryVal},
		{Name: "select-keys", Arglists: "([map keyseq])", Doc: "A map of the entries of map whose keys are in keyseq.", F2: selectKeys},
		{Name: "merge", Arglists: "([& maps])", Doc: "The maps as one; of two entries of a key the later counts.", N: merge},
		{Name: "merge-with", Arglists: "([f & maps])", Doc: "The maps as one; entries of a key are combined by f.", N: mergeWith, Min: 1},
		{Name: "update-keys", Arglists: "([m f])", Doc: "A map with f of each key.", F2: updateKeys},
		{Name: "update-vals", Arglists: "([m f])", Doc: "A map with f of each value.", F2: updateVals},
		{Name: "subseq", Arglists: "([sc test key] [sc start-test start-key end-test end-key])",
			Doc: "A seq of the entries of a sorted collection whose keys pass the tests: <, <=, > or >= and a key.", F3: subseq3, N: subseq5, Min: 5, Max: 5},
		{Name: "rsubseq", Arglists: "([sc test key] [sc start-test start-key end-test end-key])", Doc: "Like subseq, in reverse.", F3: rsubseq3, N: rsubseq5, Min: 5, Max: 5},
	}
}

func entryKey(t *Thread, e Value) Value {
	if e.Kind() != value.KindMapEntry {
		panic(value.TypeError(t, "key", e, "a map entry"))
	}
	return value.As[value.MapEntry](e).Key()
}

func entryVal(t *Thread, e Value) Value {
	if e.Kind() != value.KindMapEntry {
		panic(value.TypeError(t, "val", e, "a map entry"))
	}
	return value.As[value.MapEntry](e).Val()
}

func selectKeys(t *Thread, m, ks Value) Value {
	b := newCollector(t, value.EmptyMap)
	value.Each(t, ks, func(k Value) bool {
		if e, ok := value.Find(t, m, k); ok {
			b.add(e)
		}
		return true
	})
	return withMetaOf(t, b.done(), m)
}

// withMetaOf gives v the metadata of from, if it has any.
func withMetaOf(t *Thread, v, from Value) Value {
	if m := value.Meta(from); !m.IsNil() && !value.Identical(v, from) {
		return value.WithMeta(t, v, m)
	}
	return v
}

func merge(t *Thread, maps []Value) Value {
	out, any := value.Nil, false
	for _, m := range maps {
		any = any || m.Truthy()
	}
	if !any {
		return out
	}
	for i, m := range maps {
		t.Step()
		switch {
		case i == 0:
			out = m
		case out.IsNil():
			out = value.Conj(t, value.EmptyMap, m)
		default:
			out = value.Conj(t, out, m)
		}
	}
	return out
}

func mergeWith(t *Thread, args []Value) Value {
	f, out, any := args[0], value.Nil, false
	for _, m := range args[1:] {
		any = any || m.Truthy()
	}
	if !any {
		return out
	}
	for i, m := range args[1:] {
		if i == 0 {
			out = m
			continue
		}
		if out.IsNil() {
			out = value.EmptyMap
		}
		eachPair(t, m, func(k, v Value) {
			if old, ok := value.Get(t, out, k); ok {
				v = t.Call2(f, old, v)
			}
			out = value.Assoc(t, out, k, v)
		})
	}
	return out
}

// eachPair gives the entries of a map or of a seq of entries.
func eachPair(t *Thread, m Value, f func(k, v Value)) {
	if m.Kind().IsMap() {
		value.EachKV(t, m, func(k, v Value) bool { f(k, v); return true })
		return
	}
	value.Each(t, m, func(e Value) bool { f(entryKey(t, e), entryVal(t, e)); return true })
}

func updateKeys(t *Thread, m, f Value) Value {
	b := newCollector(t, value.EmptyMap)
	eachKV(t, "update-keys", m, func(k, v Value) bool {
		b.put(t.Call1(f, k), v)
		return true
	})
	return withMetaOf(t, b.done(), m)
}

func updateVals(t *Thread, m, f Value) Value {
	start := value.EmptyMap
	if canTransient(m) {
		start = m // keys keep their order
	}
	b := newCollector(t, start)
	eachKV(t, "update-vals", m, func(k, v Value) bool {
		b.put(k, t.Call1(f, v))
		return true
	})
	return withMetaOf(t, b.done(), m)
}

func subseq3(t *Thread, sc, test, key Value) Value  { return subseqBy(t, sc, []Value{test, key}, false) }
func rsubseq3(t *Thread, sc, test, key Value) Value { return subseqBy(t, sc, []Value{test, key}, true) }
func subseq5(t *Thread, args []Value) Value         { return subseqBy(t, args[0], args[1:], false) }
func rsubseq5(t *Thread, args []Value) Value        { return subseqBy(t, args[0], args[1:], true) }

// subseqBy takes tests and keys in turn. A test is known by what it says of 0 and its neighbours, whatever it is called.
func subseqBy(t *Thread, sc Value, tests []Value, desc bool) Value {
	var lo, hi value.Bound
	for i := 0; i < len(tests); i += 2 {
		test, key := tests[i], tests[i+1]
		says := func(n int64) bool { return t.Call2(test, value.Int(n), value.Int(0)).Truthy() }
		b := value.Bound{Set: true, Key: key, Inclusive: says(0)}
		switch {
		case says(1) && !says(-1):
			lo = b
		case says(-1):
			hi = b
		default:
			panic(value.ArgError("subseq: got a test that is none of <, <=, > and >="))
		}
	}
	return value.Subseq(t, sc, lo, hi, desc)
}
