package corelib

import (
	"sync/atomic"

	"github.com/reflection-dev/zeno/lisp/value"
)

// The transducers: each function here gives what its core function gives when called without a collection. A reducing
// function of theirs may reach two threads, by way of a transducer that the program wrote, so what it remembers lies in
// cells: a race then costs elements, never memory.

// transducer makes a function from a reducing function to another.
func transducer(t *Thread, name string, wrap func(t *Thread, rf Value) Value, held ...Value) Value {
	return (&closure{name: name, f1: wrap}).make(t, held...)
}

// reducer makes a reducing function before rf: step takes an element, done, if not nil, completes.
func reducer(t *Thread, name string, rf Value, step func(t *Thread, acc, x Value) Value, done func(t *Thread, acc Value) Value, held ...Value) Value {
	if done == nil {
		done = calling1(rf)
	}
	c := &closure{name: name, f0: func(t *Thread) Value { return t.Call(rf) }, f1: done, f2: step}
	return c.make(t, append(held, rf)...)
}

func mapXF(t *Thread, f Value) Value {
	return transducer(t, "map", func(t *Thread, rf Value) Value {
		next, call := calling2(rf), calling1(f)
		c := &closure{name: "map", least: 3, f0: func(t *Thread) Value { return t.Call(rf) }, f1: calling1(rf),
			f2:   func(t *Thread, acc, x Value) Value { return next(t, acc, call(t, x)) },
			more: func(t *Thread, args []Value) Value { return next(t, args[0], t.Call(f, args[1:]...)) }}
		return c.make(t, rf, f)
	}, f)
}

func filterXF(t *Thread, name string, pred Value, keep bool) Value {
	return transducer(t, name, func(t *Thread, rf Value) Value {
		next, call := calling2(rf), calling1(pred)
		return reducer(t, name, rf, func(t *Thread, acc, x Value) Value {
			if call(t, x).Truthy() == keep {
				return next(t, acc, x)
			}
			return acc
		}, nil, pred)
	}, pred)
}

func keepXF(t *Thread, f Value) Value {
	return transducer(t, "keep", func(t *Thread, rf Value) Value {
		next, call := calling2(rf), calling1(f)
		return reducer(t, "keep", rf, func(t *Thread, acc, x Value) Value {
			if v := call(t, x); !v.IsNil() {
				return next(t, acc, v)
			}
			return acc
		}, nil, f)
	}, f)
}

func mapIndexedXF(t *Thread, f Value) Value {
	return transducer(t, "map-indexed", func(t *Thread, rf Value) Value {
		var i counter
		return reducer(t, "map-indexed", rf, func(t *Thread, acc, x Value) Value {
			return t.Call2(rf, acc, t.Call2(f, value.Int(i.next()), x))
		}, nil, f)
	}, f)
}

func keepIndexedXF(t *Thread, f Value) Value {
	return transducer(t, "keep-indexed", func(t *Thread, rf Value) Value {
		var i counter
		return reducer(t, "keep-indexed", rf, func(t *Thread, acc, x Value) Value {
			if v := t.Call2(f, value.Int(i.next()), x); !v.IsNil() {
				return t.Call2(rf, acc, v)
			}
			return acc
		}, nil, f)
	}, f)
}

// catXF is cat: it gives the elements of each element.
func catXF(t *Thread, rf Value) Value {
	next := calling2(rf)
	return reducer(t, "cat", rf, func(t *Thread, acc, xs Value) Value {
		return value.Reduce(t, func(acc, x Value) Value {
			acc = next(t, acc, x)
			if value.IsReduced(acc) {
				t.Charge(32)
				return value.NewReduced(acc)
			}
			return acc
		}, acc, xs)
	}, nil)
}

func mapcatXF(t *Thread, f Value) Value {
	m := mapXF(t, f)
	return transducer(t, "mapcat", func(t *Thread, rf Value) Value { return t.Call1(m, catXF(t, rf)) }, m)
}

func takeXF(t *Thread, n Value) Value {
	limit := howMany(t, "take", n)
	return transducer(t, "take", func(t *Thread, rf Value) Value {
		var i counter
		return reducer(t, "take", rf, func(t *Thread, acc, x Value) Value {
			k := i.next()
			if k < limit {
				acc = t.Call2(rf, acc, x)
			}
			if k+1 >= limit {
				return ensureReduced(t, acc)
			}
			return acc
		}, nil)
	})
}

func takeWhileXF(t *Thread, pred Value) Value {
	return transducer(t, "take-while", func(t *Thread, rf Value) Value {
		return reducer(t, "take-while", rf, func(t *Thread, acc, x Value) Value {
			if t.Call1(pred, x).Truthy() {
				return t.Call2(rf, acc, x)
			}
			return value.NewReduced(acc)
		}, nil, pred)
	}, pred)
}

func dropXF(t *Thread, n Value) Value {
	skip := howMany(t, "drop", n)
	return transducer(t, "drop", func(t *Thread, rf Value) Value {
		var i counter
		return reducer(t, "drop", rf, func(t *Thread, acc, x Value) Value {
			if i.next() < skip {
				return acc
			}
			return t.Call2(rf, acc, x)
		}, nil)
	})
}

func dropWhileXF(t *Thread, pred Value) Value {
	return transducer(t, "drop-while", func(t *Thread, rf Value) Value {
		var through atomic.Bool
		return reducer(t, "drop-while", rf, func(t *Thread, acc, x Value) Value {
			if !through.Load() && t.Call1(pred, x).Truthy() {
				return acc
			}
			through.Store(true)
			return t.Call2(rf, acc, x)
		}, nil, pred)
	}, pred)
}

func takeNthXF(t *Thread, n Value) Value {
	k := howMany(t, "take-nth", n)
	return transducer(t, "take-nth", func(t *Thread, rf Value) Value {
		var i counter
		return reducer(t, "take-nth", rf, func(t *Thread, acc, x Value) Value {
			if value.Rem(t, value.Int(i.next()), value.Int(k)).Int() == 0 {
				return t.Call2(rf, acc, x)
			}
			return acc
		}, nil)
	})
}

func interposeXF(t *Thread, sep Value) Value {
	return transducer(t, "interpose", func(t *Thread, rf Value) Value {
		var begun atomic.Bool
		return reducer(t, "interpose", rf, func(t *Thread, acc, x Value) Value {
			if begun.Swap(true) {
				acc = t.Call2(rf, acc, sep)
				if value.IsReduced(acc) {
					return acc
				}
			}
			return t.Call2(rf, acc, x)
		}, nil, sep)
	}, sep)
}

func replaceXF(t *Thread, smap Value) Value {
	return transducer(t, "replace", func(t *Thread, rf Value) Value {
		return reducer(t, "replace", rf, func(t *Thread, acc, x Value) Value {
			return t.Call2(rf, acc, replaced(t, smap, x))
		}, nil, smap)
	}, smap)
}

func randomSampleXF(t *Thread, prob Value) Value {
	return transducer(t, "random-sample", func(t *Thread, rf Value) Value {
		return reducer(t, "random-sample", rf, func(t *Thread, acc, x Value) Value {
			if chosen(t, prob) {
				return t.Call2(rf, acc, x)
			}
			return acc
		}, nil)
	})
}

func ensureReduced(t *Thread, v Value) Value {
	if value.IsReduced(v) {
		return v
	}
	t.Charge(32)
	return value.NewReduced(v)
}
