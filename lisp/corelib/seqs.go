package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// seqs are the functions that look at seqs and take them apart.
func seqs() []Def {
	return []Def{
		{Name: "seq", Arglists: "([coll])", Doc: "A seq of the elements of coll; nil when there are none.", F1: value.Seq},
		{Name: "first", Arglists: "([coll])", Doc: "The first element, or nil.", F1: value.First},
		{Name: "next", Arglists: "([coll])", Doc: "A seq of what follows the first element; nil when nothing does.", F1: value.Next},
		{Name: "rest", Arglists: "([coll])", Doc: "A seq of what follows the first element; () when nothing does.", F1: value.Rest},
		{Name: "second", Arglists: "([coll])", Doc: "The second element, or nil.", F1: func(t *Thread, c Value) Value { return value.First(t, value.Next(t, c)) }},
		{Name: "ffirst", Arglists: "([coll])", Doc: "The first element of the first element.", F1: func(t *Thread, c Value) Value { return value.First(t, value.First(t, c)) }},
		{Name: "fnext", Arglists: "([coll])", Doc: "The first element of next, that is the second.", F1: func(t *Thread, c Value) Value { return value.First(t, value.Next(t, c)) }},
		{Name: "nfirst", Arglists: "([coll])", Doc: "What follows the first element of the first element.", F1: func(t *Thread, c Value) Value { return value.Next(t, value.First(t, c)) }},
		{Name: "nnext", Arglists: "([coll])", Doc: "A seq of what follows the second element, or nil.", F1: func(t *Thread, c Value) Value { return value.Next(t, value.Next(t, c)) }},
		{Name: "last", Arglists: "([coll])", Doc: "The last element, or nil; in time that grows with coll unless it is a vector.", F1: lastOf},
		{Name: "butlast", Arglists: "([coll])", Doc: "A seq of all but the last element, or nil.", F1: butlast},
		{Name: "nth", Arglists: "([coll index] [coll index not-found])",
			Doc: "The element at index, from 0; throws, or gives not-found, when there is none.", F2: nth2, F3: nth3},
		{Name: "nthnext", Arglists: "([coll n])", Doc: "A seq of what follows the first n elements, or nil.", F2: nthnext},
		{Name: "nthrest", Arglists: "([coll n])", Doc: "What follows the first n elements, or ().", F2: nthrest},
		{Name: "cons", Arglists: "([x seq])", Doc: "A seq of x and then the elements of seq.", F2: value.Cons},
		{Name: "count", Arglists: "([coll])", Doc: "The number of elements of coll, or of characters of a string; 0 for nil.",
			F1: func(t *Thread, c Value) Value { return value.Int(int64(value.Count(t, c))) }},
		{Name: "bounded-count", Arglists: "([n coll])", Doc: "The count of coll if that is known at once, else it counts no further than n.", F2: boundedCount},
		{Name: "empty?", Arglists: "([coll])", Doc: "Tells whether coll has no elements.", F1: func(t *Thread, c Value) Value { return value.Bool(isEmpty(t, c)) }},
		{Name: "not-empty", Arglists: "([coll])", Doc: "coll, or nil if it has no elements.", F1: notEmpty},
		{Name: "reverse", Arglists: "([coll])", Doc: "A list of the elements in reverse.", F1: reversed},
		{Name: "rseq", Arglists: "([rev])", Doc: "A seq of a vector or sorted collection in reversed, without copying it; nil when it is empty.", F1: value.Rseq},
		{Name: "every?", Arglists: "([pred coll])", Doc: "Tells whether pred is true of every element.", F2: func(t *Thread, p, c Value) Value { return value.Bool(every(t, p, c)) }},
		{Name: "not-every?", Arglists: "([pred coll])", Doc: "Tells whether pred is false of some element.", F2: func(t *Thread, p, c Value) Value { return value.Bool(!every(t, p, c)) }},
		{Name: "some", Arglists: "([pred coll])", Doc: "The first true result of pred for an element, or nil.", F2: some},
		{Name: "not-any?", Arglists: "([pred coll])", Doc: "Tells whether pred is true of no element.", F2: func(t *Thread, p, c Value) Value { return value.Bool(!some(t, p, c).Truthy()) }},
		{Name: "take-last", Arglists: "([n coll])", Doc: "A seq of the last n elements, or nil.", F2: takeLast},
		{Name: "dorun", Arglists: "([coll] [n coll])", Doc: "Goes along a lazy seq, or its first n elements, for its effects, and gives nil.", F1: dorun1, F2: dorun2},
		{Name: "doall", Arglists: "([coll] [n coll])", Doc: "Computes a lazy seq, or its first n elements, and gives it.",
			F1: doall1, F2: doall2},
		{Name: "run!", Arglists: "([proc coll])", Doc: "Calls proc with each element for its effects, and gives nil.", F2: runAll},
		{Name: "chunked-seq?", Arglists: "([x])", Doc: "Tells whether x is a seq that is computed some elements at a time.", F1: chunkedSeq},
	}
}

// howMany gives a number of elements that a program asks for. A fraction is rounded up.
func howMany(t *Thread, who string, n Value) int64 {
	switch n.Kind() {
	case value.KindInt:
		return n.Int()
	case value.KindFloat:
		return int64(max(-1, min(n.Float()+0.9999999999, 1<<62)))
	case value.KindBigInt, value.KindRatio, value.KindBigDec:
		return manyOf(t, who, n)
	}
	panic(value.TypeError(t, who, n, "a number of elements"))
}

// manyOf is howMany of the rarer sorts of number. None is so large that there could be as many elements.
func manyOf(t *Thread, who string, n Value) int64 {
	switch {
	case value.NumSign(t, who, n) <= 0:
		return -1
	case !value.NumLess(t, n, value.Int(1<<62)):
		return 1 << 62
	}
	k := value.ToInt(t, who, n, 0, 1<<62)
	if value.NumLess(t, value.Int(k), n) {
		k++
	}
	return k
}

func lastOf(t *Thread, coll Value) Value {
	switch coll.Kind() {
	case value.KindVector:
		return value.Peek(t, coll)
	case value.KindRange:
		v, _ := value.Nth(t, coll, value.Count(t, coll)-1)
		return v
	}
	out := value.Nil
	value.Each(t, coll, func(x Value) bool {
		out = x
		return true
	})
	return out
}

func butlast(t *Thread, coll Value) Value {
	xs := value.ToSlice(t, coll)
	if len(xs) < 2 {
		return value.Nil
	}
	return value.Seq(t, value.NewVectorOwned(t, xs[:len(xs)-1]))
}

// position gives an index; false when it lies outside what an index can be.
func position(t *Thread, n Value) (int, bool) {
	if !n.IsInt() {
		if !n.Kind().IsNumber() {
			panic(value.TypeError(t, "nth", n, "a number as index"))
		}
		n = value.Int(value.Wrap(t, "nth", n))
	}
	if i := n.Int(); i >= 0 && i < 1<<31 {
		return int(i), true
	}
	return 0, false
}

func nth2(t *Thread, coll, n Value) Value {
	i, ok := position(t, n)
	if coll.IsNil() { // asked before: a long seq is not held while it is walked
		return coll
	}
	if ok {
		if v, ok := value.Nth(t, coll, i); ok {
			return v
		}
	}
	panic(value.Errorf("IndexOutOfBoundsException", "nth: got index %s, which is outside of the collection", value.Brief(t, n)))
}

func nth3(t *Thread, coll, n, other Value) Value {
	i, ok := position(t, n)
	if !ok {
		i = -1
	}
	if v, ok := value.Nth(t, coll, i); ok {
		return v
	}
	return other
}

func nthnext(t *Thread, coll, n Value) Value {
	if s := value.Seq(t, coll); s.IsNil() { // whatever n is
		return s
	}
	return value.Seq(t, nthRest(t, howMany(t, "nthnext", n), coll))
}

func nthrest(t *Thread, coll, n Value) Value {
	k := howMany(t, "nthrest", n)
	if k <= 0 {
		return coll
	}
	return orElse(nthRest(t, k, coll), value.EmptyList)
}

func boundedCount(t *Thread, n, coll Value) Value {
	if value.Counted(coll) {
		return value.Int(int64(value.Count(t, coll)))
	}
	most, i := howMany(t, "bounded-count", n), int64(0)
	if most > 0 {
		value.Each(t, coll, func(Value) bool {
			i++
			return i < most
		})
	}
	return value.Int(i)
}

func isEmpty(t *Thread, coll Value) bool {
	switch coll.Kind() {
	case value.KindVector:
		return value.As[value.Vector](coll).Len() == 0
	case value.KindString:
		return coll.Text() == ""
	}
	if value.Counted(coll) {
		return value.Count(t, coll) == 0
	}
	return value.Seq(t, coll).IsNil()
}

func notEmpty(t *Thread, coll Value) Value {
	if isEmpty(t, coll) {
		return value.Nil
	}
	return coll
}

func reversed(t *Thread, coll Value) Value {
	b := newCollector(t, value.EmptyList)
	value.Each(t, coll, func(x Value) bool {
		b.add(x)
		return true
	})
	return b.done()
}

func every(t *Thread, pred, coll Value) bool {
	call, all := calling1(pred), true
	value.Each(t, coll, func(x Value) bool {
		all = call(t, x).Truthy()
		return all
	})
	return all
}

func some(t *Thread, pred, coll Value) Value {
	call, out := calling1(pred), value.Nil
	value.Each(t, coll, func(x Value) bool {
		if v := call(t, x); v.Truthy() {
			out = v
			return false
		}
		return true
	})
	return out
}

func takeLast(t *Thread, n, coll Value) Value {
	k := howMany(t, "take-last", n)
	if k <= 0 {
		return value.Nil
	}
	s := value.Seq(t, coll)
	if value.Counted(s) {
		return value.Seq(t, nthRest(t, int64(value.Count(t, s))-k, s))
	}
	held := t.Push(1)
	held[0] = s
	lead := nthRest(t, k, s)
	for lead = value.Seq(t, lead); !lead.IsNil(); lead = value.Next(t, lead) {
		t.Step()
		s = value.Next(t, s)
		held[0] = s
	}
	t.Pop(1)
	return s
}

func doall1(t *Thread, coll Value) Value {
	t.Holding(coll, func() { dorun1(t, coll) })
	return coll
}

func doall2(t *Thread, n, coll Value) Value {
	t.Holding(coll, func() { dorun2(t, n, coll) })
	return coll
}

func dorun1(t *Thread, coll Value) Value {
	value.Each(t, coll, func(Value) bool { return true })
	return value.Nil
}

func dorun2(t *Thread, n, coll Value) Value {
	k := howMany(t, "dorun", n)
	for s := value.Seq(t, coll); k > 0 && !s.IsNil(); k-- {
		t.Step()
		s = value.Next(t, s)
	}
	return value.Nil
}

func runAll(t *Thread, proc, coll Value) Value {
	reduceWith(t, (&closure{name: "run!", f2: func(t *Thread, _, x Value) Value { return t.Call1(proc, x) }}).make(t, proc), value.Nil, coll)
	return value.Nil
}

func chunkedSeq(_ *Thread, x Value) Value {
	switch x.Kind() {
	case value.KindChunkedCons, value.KindVecSeq, value.KindRange:
		return value.True
	}
	return value.False
}
