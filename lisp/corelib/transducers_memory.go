package corelib

import (
	"sync/atomic"

	"github.com/reflection-dev/zeno/lisp/value"
)

func dedupeXF(t *Thread) Value {
	return transducer(t, "dedupe", func(t *Thread, rf Value) Value {
		var begun atomic.Bool
		prior := newCell(t, value.Nil)
		return reducer(t, "dedupe", rf, func(t *Thread, acc, x Value) Value {
			if begun.Load() && value.Equal(t, prior.get(), x) {
				return acc
			}
			begun.Store(true)
			prior.set(t, x)
			return t.Call2(rf, acc, x)
		}, nil, prior.held())
	})
}

func distinctXF(t *Thread) Value {
	return transducer(t, "distinct", func(t *Thread, rf Value) Value {
		seen := newCell(t, value.EmptySet)
		return reducer(t, "distinct", rf, func(t *Thread, acc, x Value) Value {
			s := seen.get()
			if value.Contains(t, s, x) {
				return acc
			}
			seen.set(t, value.Conj(t, s, x))
			return t.Call2(rf, acc, x)
		}, nil, seen.held())
	})
}

func partitionAllXF(t *Thread, n Value) Value {
	size := howMany(t, "partition-all", n)
	return transducer(t, "partition-all", func(t *Thread, rf Value) Value {
		part := newCell(t, value.EmptyVector)
		return reducer(t, "partition-all", rf, func(t *Thread, acc, x Value) Value {
			p := value.Conj(t, part.get(), x)
			if int64(value.As[value.Vector](p).Len()) != size {
				part.set(t, p)
				return acc
			}
			part.set(t, value.EmptyVector)
			return t.Call2(rf, acc, p)
		}, flushing(rf, part), part.held())
	})
}

func partitionByXF(t *Thread, f Value) Value {
	return transducer(t, "partition-by", func(t *Thread, rf Value) Value {
		part, prior := newCell(t, value.EmptyVector), newCell(t, value.Nil)
		return reducer(t, "partition-by", rf, func(t *Thread, acc, x Value) Value {
			k, p := t.Call1(f, x), part.get()
			same := value.As[value.Vector](p).Len() == 0 || value.Equal(t, k, prior.get())
			prior.set(t, k)
			if same {
				part.set(t, value.Conj(t, p, x))
				return acc
			}
			part.set(t, value.EmptyVector)
			acc = t.Call2(rf, acc, p)
			if !value.IsReduced(acc) {
				part.set(t, value.Conj(t, value.EmptyVector, x))
			}
			return acc
		}, flushing(rf, part), part.held(), prior.held(), f)
	}, f)
}

// flushing completes a reduction that keeps a part back.
func flushing(rf Value, part cell) func(t *Thread, acc Value) Value {
	return func(t *Thread, acc Value) Value {
		if p := part.get(); value.As[value.Vector](p).Len() > 0 {
			part.set(t, value.EmptyVector)
			acc = value.Unreduced(t.Call2(rf, acc, p))
		}
		return t.Call1(rf, acc)
	}
}

var haltKey = value.Kw("clojure.core/halt")

// haltWhen gives the transducer that ends everything at an element of which pred is true.
func haltWhen(t *Thread, pred, ret Value) Value {
	return transducer(t, "halt-when", func(t *Thread, rf Value) Value {
		halt := haltKey
		step := func(t *Thread, acc, x Value) Value {
			if !t.Call1(pred, x).Truthy() {
				return t.Call2(rf, acc, x)
			}
			if !ret.IsNil() {
				x = t.Call2(ret, t.Call1(rf, acc), x)
			}
			t.Charge(32)
			return value.NewReduced(value.NewMap(t, halt, x))
		}
		done := func(t *Thread, acc Value) Value {
			if acc.Kind().IsMap() {
				if v, ok := value.Get(t, acc, halt); ok {
					return v
				}
			}
			return t.Call1(rf, acc)
		}
		return reducer(t, "halt-when", rf, step, done, pred, ret)
	}, pred, ret)
}
