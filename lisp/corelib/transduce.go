package corelib

import (
	"sync/atomic"

	"github.com/reflection-dev/zeno/lisp/value"
)

// transducing are the functions that run transducers, and the transducers that are nothing else.
func transducing() []Def {
	return []Def{
		{Name: "transduce", Arglists: "([xform f coll] [xform f init coll])",
			Doc: "Reduces coll with f behind the transducer xform, and completes the result.", F3: transduce3, F4: transduce4},
		{Name: "into", Arglists: "([] [to] [to from] [to xform from])",
			Doc: "The collection to with the elements of from, perhaps through a transducer, added by conj.",
			F0:  func(*Thread) Value { return value.EmptyVector }, F1: func(_ *Thread, to Value) Value { return to }, F2: into2, F3: into3},
		{Name: "sequence", Arglists: "([coll] [xform coll] [xform coll & colls])",
			Doc: "A lazy seq of coll, perhaps through a transducer; () when there is nothing.", F1: sequence1, F2: sequence2, N: sequenceN, Min: 3},
		{Name: "eduction", Arglists: "([xform* coll])",
			Doc: "The elements of coll through transducers, computed anew each time they are asked for.", N: eductionFn, Min: 1},
		{Name: "->Eduction", Arglists: "([xform coll])", Doc: "An eduction of one transducer.",
			F2: func(t *Thread, xf, coll Value) Value { return newEduction(t, xf, coll) }},
		{Name: "completing", Arglists: "([f] [f cf])",
			Doc: "The reducing function f with cf, or identity, for its completion.",
			F1:  func(t *Thread, f Value) Value { return completing(t, f, value.Nil) }, F2: completing},
		{Name: "cat", Arglists: "([rf])", Doc: "A transducer that gives the elements of each element, which must be collections.", F1: catXF},
		{Name: "halt-when", Arglists: "([pred] [pred retf])",
			Doc: "A transducer that ends the whole reduction at the first element of which pred is true; the result is that element, or what retf makes of the completed result so far and it.",
			F1:  func(t *Thread, pred Value) Value { return haltWhen(t, pred, value.Nil) }, F2: haltWhen},
		{Name: "reduced", Arglists: "([x])", Doc: "Wraps x so that reduce stops with it.",
			F1: func(t *Thread, x Value) Value { t.Charge(32); return value.NewReduced(x) }},
		{Name: "reduced?", Arglists: "([x])", Doc: "Tells whether x was made by reduced.", F1: func(_ *Thread, x Value) Value { return value.Bool(value.IsReduced(x)) }},
		{Name: "unreduced", Arglists: "([x])", Doc: "What reduced wrapped, or x itself.", F1: func(_ *Thread, x Value) Value { return value.Unreduced(x) }},
		{Name: "ensure-reduced", Arglists: "([x])", Doc: "Wraps x with reduced unless it is.", F1: ensureReduced},
	}
}

func transduce3(t *Thread, xf, f, coll Value) Value { return transduce4(t, xf, f, t.Call(f), coll) }

func transduce4(t *Thread, xf, f, init, coll Value) Value {
	rf := t.Call1(xf, f)
	return t.Call1(rf, reduceWith(t, rf, init, coll))
}

// reduceWith reduces with a Lisp function.
func reduceWith(t *Thread, f, init, coll Value) Value {
	call := calling2(f)
	held := t.Push(1)
	held[0] = f // it may be a transducer's, which keeps elements back
	acc := value.Reduce(t, func(acc, x Value) Value { return call(t, acc, x) }, init, coll)
	held[0] = Value{}
	t.Pop(1)
	return acc
}

func into2(t *Thread, to, from Value) Value {
	b := newCollector(t, to)
	value.Each(t, from, func(x Value) bool {
		b.add(x)
		return true
	})
	return b.done()
}

// into3 gives the transducer a reducing function that conjs to a transient where there is one.
func into3(t *Thread, to, xf, from Value) Value {
	add := &closure{name: "into", f0: func(*Thread) Value { return value.EmptyVector }, f1: func(_ *Thread, acc Value) Value { return acc }, f2: value.Conj}
	trans := canTransient(to)
	if trans {
		to, add.f1, add.f2 = value.Transient(t, to), persisted, value.ConjT
	}
	rf := t.Call1(xf, add.make(t))
	return persisted(t, t.Call1(rf, reduceWith(t, rf, to, from)))
}

// persisted ends a transient; a transducer may end the reduction with something else, as halt-when does.
func persisted(t *Thread, acc Value) Value {
	switch acc.Kind() {
	case value.KindTransientVector, value.KindTransientMap, value.KindTransientSet:
		return value.Persistent(t, acc)
	}
	return acc
}

func completing(t *Thread, f, cf Value) Value {
	c := &closure{name: "completing", f0: func(t *Thread) Value { return t.Call(f) }, f1: func(_ *Thread, x Value) Value { return x }, f2: calling2(f)}
	if !cf.IsNil() {
		c.f1 = calling1(cf)
	}
	return c.make(t, f, cf)
}

func sequence1(t *Thread, coll Value) Value {
	if coll.Kind().IsSeq() {
		return coll
	}
	return orElse(value.Seq(t, coll), value.EmptyList)
}

func sequence2(t *Thread, xf, coll Value) Value {
	return sequenceOf(t, xf, coll, func(t *Thread, rf, x Value) Value { return t.Call2(rf, value.Nil, x) })
}

func sequenceN(t *Thread, args []Value) Value {
	rows := lazyMapN(t, value.Of(listFn), copied(t, args[1:]))
	return sequenceOf(t, args[0], rows, func(t *Thread, rf, row Value) Value {
		return t.Call(rf, append([]Value{value.Nil}, value.ToSlice(t, row)...)...)
	})
}

var listFn = value.NewBuiltin("clojure.core/list", &Def{Name: "list", N: func(t *Thread, args []Value) Value { return value.NewList(t, args...) }})

// pipe pulls the elements of a collection through a transducer, some at a time.
type pipe struct {
	rf   Value
	feed func(t *Thread, rf, x Value) Value
	src  cell // what is still to come
	out  cell // a vector: what came through and was not yet given
	over atomic.Bool
}

func sequenceOf(t *Thread, xf, coll Value, feed func(t *Thread, rf, x Value) Value) Value {
	p := &pipe{feed: feed, src: newCell(t, coll), out: newCell(t, value.EmptyVector)}
	sink := &closure{name: "sequence", f0: func(*Thread) Value { return value.Nil }, f1: func(_ *Thread, acc Value) Value { return acc },
		f2: func(t *Thread, acc, x Value) Value {
			p.out.set(t, value.Conj(t, p.out.get(), x))
			return acc
		}}
	p.rf = t.Call1(xf, sink.make(t, p.out.held()))
	return orElse(value.Seq(t, p.lazy(t)), value.EmptyList)
}

func (p *pipe) lazy(t *Thread) Value {
	t.Charge(lazyBytes)
	return value.NewLazyGo(p.chunk, p.rf, p.src.held(), p.out.held())
}

// chunk gives the next 32 elements or so. Elements are taken off the source before they go through, so that one that was
// interrupted is not counted twice.
func (p *pipe) chunk(t *Thread) Value {
	for !p.over.Load() && value.As[value.Vector](p.out.get()).Len() < 32 {
		t.Step()
		s := value.Seq(t, p.src.get())
		last := s.IsNil()
		if !last {
			x := value.First(t, s)
			p.src.set(t, value.Rest(t, s))
			last = value.IsReduced(p.feed(t, p.rf, x))
		}
		if last {
			p.over.Store(true)
			p.src.set(t, value.Nil)
			t.Call1(p.rf, value.Nil)
		}
	}
	xs := value.ToSlice(t, p.out.get())
	if len(xs) == 0 {
		return value.Nil
	}
	p.out.set(t, value.EmptyVector)
	return value.NewChunkedCons(t, xs, p.lazy(t))
}

func eductionFn(t *Thread, args []Value) Value {
	n := len(args) - 1
	if n == 1 {
		return newEduction(t, args[0], args[1])
	}
	return newEduction(t, compFn(t, args[:n]), args[n])
}

func newEduction(t *Thread, xf, coll Value) Value {
	return value.NewEduction(t, xf, coll, func(t *Thread) Value {
		return sequenceOf(t, xf, coll, func(t *Thread, rf, x Value) Value { return t.Call2(rf, value.Nil, x) })
	})
}
