package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// lazySeqs are the functions that make seqs of other seqs, and the transducers of the same name.
func lazySeqs() []Def {
	return []Def{
		{Name: "map", Arglists: "([f] [f coll] [f c1 c2] [f c1 c2 & colls])",
			Doc: "A lazy seq of f of each element, or of the first elements of several collections, the second ones and so on. A transducer without a collection.",
			F1:  mapXF, F2: lazyMap, N: func(t *Thread, args []Value) Value { return lazyMapN(t, args[0], copied(t, args[1:])) }, Min: 3},
		{Name: "mapcat", Arglists: "([f] [f & colls])", Doc: "A lazy seq of the elements of what f gives for each element. A transducer without a collection.",
			F1: mapcatXF, F2: func(t *Thread, f, c Value) Value {
				checkMapcat(t, f, c)
				return lazyConcat(t, lazyMap(t, f, c))
			},
			N: func(t *Thread, args []Value) Value {
				checkMapcat(t, args[0], args[1:]...)
				return lazyConcat(t, lazyMapN(t, args[0], copied(t, args[1:])))
			}, Min: 3},
		{Name: "filter", Arglists: "([pred] [pred coll])", Doc: "A lazy seq of the elements of which pred is true. A transducer without a collection.",
			F1: func(t *Thread, p Value) Value { return filterXF(t, "filter", p, true) }, F2: func(t *Thread, p, c Value) Value { return lazyFilter(t, p, c, true) }},
		{Name: "remove", Arglists: "([pred] [pred coll])", Doc: "A lazy seq of the elements of which pred is false. A transducer without a collection.",
			F1: func(t *Thread, p Value) Value { return filterXF(t, "remove", p, false) }, F2: func(t *Thread, p, c Value) Value { return lazyFilter(t, p, c, false) }},
		{Name: "keep", Arglists: "([f] [f coll])", Doc: "A lazy seq of the results of f that are not nil. A transducer without a collection.", F1: keepXF, F2: lazyKeep},
		{Name: "map-indexed", Arglists: "([f] [f coll])", Doc: "A lazy seq of f of the index, from 0, and each element. A transducer without a collection.",
			F1: mapIndexedXF, F2: func(t *Thread, f, c Value) Value { return indexed(t, f, c, 0, true) }},
		{Name: "keep-indexed", Arglists: "([f] [f coll])", Doc: "A lazy seq of what f gives for the index and each element, without nils. A transducer without a collection.",
			F1: keepIndexedXF, F2: func(t *Thread, f, c Value) Value { return indexed(t, f, c, 0, false) }},
		{Name: "concat", Arglists: "([] [x] [x y] [x y & zs])", Doc: "A lazy seq of the elements of each collection in turn.",
			N: func(t *Thread, args []Value) Value { return lazyConcatOf(t, copied(t, args)) }},
		{Name: "take", Arglists: "([n] [n coll])", Doc: "A lazy seq of the first n elements. A transducer without a collection.",
			F1: takeXF, F2: func(t *Thread, n, c Value) Value { return lazyTake(t, howMany(t, "take", n), c) }},
		{Name: "take-while", Arglists: "([pred] [pred coll])", Doc: "A lazy seq of the elements before the first of which pred is false. A transducer without a collection.",
			F1: takeWhileXF, F2: lazyTakeWhile},
		{Name: "take-nth", Arglists: "([n] [n coll])", Doc: "A lazy seq of every nth element, beginning with the first. A transducer without a collection.",
			F1: takeNthXF, F2: func(t *Thread, n, c Value) Value { return lazyTakeNth(t, howMany(t, "take-nth", n), c) }},
		{Name: "drop", Arglists: "([n] [n coll])", Doc: "A lazy seq of all but the first n elements. A transducer without a collection.",
			F1: dropXF, F2: func(t *Thread, n, c Value) Value { return lazyDrop(t, howMany(t, "drop", n), c) }},
		{Name: "drop-while", Arglists: "([pred] [pred coll])", Doc: "A lazy seq of the elements from the first of which pred is false. A transducer without a collection.",
			F1: dropWhileXF, F2: lazyDropWhile},
		{Name: "drop-last", Arglists: "([coll] [n coll])", Doc: "A lazy seq of all but the last element, or the last n.",
			F1: func(t *Thread, c Value) Value { return lazyDropLast(t, 1, c) }, F2: func(t *Thread, n, c Value) Value { return lazyDropLast(t, howMany(t, "drop-last", n), c) }},
		{Name: "distinct", Arglists: "([] [coll])", Doc: "A lazy seq of the elements without those that came before. A transducer without a collection.",
			F0: distinctXF, F1: func(t *Thread, c Value) Value { return lazyDistinct(t, c, value.Transient(t, value.EmptySet)) }},
		{Name: "dedupe", Arglists: "([] [coll])", Doc: "A lazy seq of the elements without those equal to the one before. A transducer without a collection.",
			F0: dedupeXF, F1: func(t *Thread, c Value) Value { return sequence2(t, dedupeXF(t), c) }},
		{Name: "interleave", Arglists: "([] [c1] [c1 c2] [c1 c2 & colls])", Doc: "A lazy seq of the first element of each collection, then the second ones and so on.",
			F0: func(*Thread) Value { return value.EmptyList },
			N:  func(t *Thread, args []Value) Value { return lazyInterleave(t, copied(t, args)) }, Min: 1},
		{Name: "interpose", Arglists: "([sep] [sep coll])", Doc: "A lazy seq of the elements with sep between them. A transducer without a collection.",
			F1: interposeXF, F2: lazyInterpose},
		{Name: "reductions", Arglists: "([f coll] [f init coll])", Doc: "A lazy seq of the intermediate values of a reduction of coll by f.",
			F2: reductions2, F3: lazyReductions},
		{Name: "replace", Arglists: "([smap] [smap coll])", Doc: "The elements with those that are keys of smap replaced by their values: a vector of a vector, else a lazy seq. A transducer without a collection.",
			F1: replaceXF, F2: replaceFn},
		{Name: "random-sample", Arglists: "([prob] [prob coll])", Doc: "A lazy seq of the elements, each with the probability prob. A transducer without a collection.",
			F1: randomSampleXF, F2: randomSample, Host: true},
		{Name: "flatten", Arglists: "([x])", Doc: "A lazy seq of the elements of nested sequential collections that are not sequential themselves.", F1: flatten},
		{Name: "tree-seq", Arglists: "([branch? children root])", Doc: "A lazy seq of the nodes of a tree, depth first.", F3: treeSeq},
		{Name: "xml-seq", Arglists: "([root])", Doc: "A lazy seq of the elements of XML data, which are maps with :content, depth first.", F1: xmlSeq},
		{Name: "iteration", Arglists: "([step & {:keys [somef vf kf initk]}])",
			Doc: "A lazy seq of what step gives for a key, initk at first, and then for the key that kf finds in each result. It ends where somef or the key says no; vf takes the value out.",
			N:   iteration, Min: 1},
		{Name: "iterate", Arglists: "([f x])", Doc: "The endless lazy seq of x, (f x), (f (f x)) and so on.", F2: iterate},
		{Name: "repeat", Arglists: "([x] [n x])", Doc: "A lazy seq of x for ever, or n times.", F1: repeat1, F2: repeat2},
		{Name: "replicate", Arglists: "([n x])", Doc: "A lazy seq of x n times; use repeat.",
			F2: func(t *Thread, n, x Value) Value { return repeat2(t, value.Int(howMany(t, "replicate", n)), x) }},
		{Name: "repeatedly", Arglists: "([f] [n f])", Doc: "A lazy seq of the results of calling f without arguments, for ever or n times.",
			F1: func(t *Thread, f Value) Value { return lazyRepeatedly(t, -1, f) },
			F2: func(t *Thread, n, f Value) Value { return lazyRepeatedly(t, max(0, howMany(t, "repeatedly", n)), f) }},
		{Name: "cycle", Arglists: "([coll])", Doc: "An endless lazy seq of the elements of coll over and over.", F1: value.NewCycle},
		{Name: "range", Arglists: "([] [end] [start end] [start end step])", Doc: "The numbers from start, 0 if not given, until end, which is not among them, by step.",
			F0: func(t *Thread) Value { return value.NewNumRange(t, value.Int(0), value.Nil, value.Int(1)) },
			F1: func(t *Thread, end Value) Value { return rangeOf(t, value.Int(0), end, value.Int(1)) },
			F2: func(t *Thread, start, end Value) Value { return rangeOf(t, start, end, value.Int(1)) }, F3: rangeOf},
	}
}

func reductions2(t *Thread, f, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return value.NewList(t, t.Call(f))
		}
		return lazyReductions(t, f, value.First(t, s), value.Rest(t, s))
	}, f, coll)
}

func replaced(t *Thread, smap, x Value) Value {
	if e, ok := value.Find(t, smap, x); ok {
		return value.As[value.MapEntry](e).Val()
	}
	return x
}

func replaceFn(t *Thread, smap, coll Value) Value {
	swap := &closure{name: "replace", f1: func(t *Thread, x Value) Value { return replaced(t, smap, x) }}
	f := swap.make(t, smap)
	if coll.Kind().IsVector() {
		return withMetaOf(t, mapv2(t, f, coll), coll)
	}
	return lazyMap(t, f, coll)
}

func randomSample(t *Thread, prob, coll Value) Value {
	pred := &closure{name: "random-sample", f1: func(t *Thread, _ Value) Value { return value.Bool(chosen(t, prob)) }}
	return lazyFilter(t, pred.make(t), coll, true)
}

func iterate(t *Thread, f, x Value) Value {
	t.Charge(lazyBytes)
	return value.NewIterate(f, x)
}

func repeat1(t *Thread, x Value) Value {
	t.Charge(lazyBytes)
	return value.NewRepeat(x)
}

// wholeMany is howMany where a fraction counts for nothing.
func wholeMany(t *Thread, who string, n Value) int64 {
	if n.IsFloat() {
		return int64(max(-1, min(n.Float(), 1<<62)))
	}
	return howMany(t, who, n)
}

func repeat2(t *Thread, n, x Value) Value {
	t.Charge(lazyBytes)
	return value.NewRepeatN(x, wholeMany(t, "repeat", n))
}

func rangeOf(t *Thread, start, end, step Value) Value {
	for _, x := range [...]Value{start, end, step} {
		if !x.Kind().IsNumber() {
			panic(value.TypeError(t, "range", x, "a number"))
		}
	}
	if value.NumSign(t, "range", step) == 0 {
		if value.NumEq(t, start, end) {
			return value.EmptyList
		}
		return repeat1(t, start)
	}
	return orElse(value.Seq(t, value.NewNumRange(t, start, end, step)), value.EmptyList)
}
