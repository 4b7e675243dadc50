package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// reducing are the functions that use a collection up.
func reducing() []Def {
	return []Def{
		{Name: "reduce", Arglists: "([f coll] [f val coll])",
			Doc: "Combines the elements with f, from val or the first element on; (f) when there is nothing. It stops at a reduced result.",
			F2:  reduce2, F3: reduceWith},
		{Name: "reduce-kv", Arglists: "([f init coll])", Doc: "Combines the entries of a map, or the indices and elements of a vector, with f of the result so far, the key and the value.", F3: reduceKV},
		{Name: "mapv", Arglists: "([f coll] [f c1 c2] [f c1 c2 & colls])", Doc: "The vector of f of each element, or of the elements of several collections.",
			F2: mapv2, N: func(t *Thread, args []Value) Value {
				return value.NewVectorOwned(t, value.ToSlice(t, lazyMapN(t, args[0], copied(t, args[1:]))))
			}, Min: 3},
		{Name: "filterv", Arglists: "([pred coll])", Doc: "The vector of the elements of which pred is true.", F2: filterv},
		{Name: "group-by", Arglists: "([f coll])", Doc: "A map from each result of f to the vector of the elements that gave it.", F2: groupBy},
		{Name: "frequencies", Arglists: "([coll])", Doc: "A map from each element to how often it occurs.", F1: frequencies},
		{Name: "zipmap", Arglists: "([keys vals])", Doc: "A map from each key to the value at the same place.", F2: zipmap},
		{Name: "max-key", Arglists: "([k x] [k x & more])", Doc: "The argument of which k is greatest; of several, the last.", N: maxKey, Min: 2},
		{Name: "min-key", Arglists: "([k x] [k x & more])", Doc: "The argument of which k is least; of several, the last.", N: minKey, Min: 2},
		{Name: "split-at", Arglists: "([n coll])", Doc: "A vector of the first n elements and the rest.",
			F2: func(t *Thread, n, c Value) Value {
				k := howMany(t, "split-at", n)
				return pair(t, lazyTake(t, k, c), lazyDrop(t, k, c))
			}},
		{Name: "split-with", Arglists: "([pred coll])", Doc: "A vector of the elements before the first of which pred is false, and the rest.",
			F2: func(t *Thread, p, c Value) Value { return pair(t, lazyTakeWhile(t, p, c), lazyDropWhile(t, p, c)) }},
		{Name: "splitv-at", Arglists: "([n coll])", Doc: "A vector of the vector of the first n elements and the rest.",
			F2: func(t *Thread, n, c Value) Value {
				k := howMany(t, "splitv-at", n)
				return pair(t, value.NewVectorOwned(t, firsts(t, k, c)), lazyDrop(t, k, c))
			}},
		{Name: "partition", Arglists: "([n coll] [n step coll] [n step pad coll])",
			Doc: "A lazy seq of lists of n elements, step apart; a last one that is short is left out, or filled up from pad.",
			F2:  func(t *Thread, n, c Value) Value { return partitionOf(t, n, n, c, partition{}) },
			F3:  func(t *Thread, n, step, c Value) Value { return partitionOf(t, n, step, c, partition{}) },
			F4: func(t *Thread, n, step, pad, c Value) Value {
				return partitionOf(t, n, step, c, partition{pad: pad, padded: true})
			}},
		{Name: "partitionv", Arglists: "([n coll] [n step coll] [n step pad coll])", Doc: "Like partition, with vectors.",
			F2: func(t *Thread, n, c Value) Value { return partitionOf(t, n, n, c, partition{vector: true}) },
			F3: func(t *Thread, n, step, c Value) Value { return partitionOf(t, n, step, c, partition{vector: true}) },
			F4: func(t *Thread, n, step, pad, c Value) Value {
				return partitionOf(t, n, step, c, partition{pad: pad, padded: true, vector: true})
			}},
		{Name: "partition-all", Arglists: "([n] [n coll] [n step coll])", Doc: "Like partition, and the last part may be short. A transducer without a collection.",
			F1: partitionAllXF,
			F2: func(t *Thread, n, c Value) Value { return partitionOf(t, n, n, c, partition{all: true}) },
			F3: func(t *Thread, n, step, c Value) Value { return partitionOf(t, n, step, c, partition{all: true}) }},
		{Name: "partitionv-all", Arglists: "([n] [n coll] [n step coll])", Doc: "Like partition-all, with vectors.",
			F1: partitionAllXF,
			F2: func(t *Thread, n, c Value) Value { return partitionOf(t, n, n, c, partition{all: true, vector: true}) },
			F3: func(t *Thread, n, step, c Value) Value {
				return partitionOf(t, n, step, c, partition{all: true, vector: true})
			}},
		{Name: "partition-by", Arglists: "([f] [f coll])", Doc: "A lazy seq of runs of elements for which f gives the same. A transducer without a collection.",
			F1: partitionByXF, F2: lazyPartitionBy},
	}
}

func pair(t *Thread, x, y Value) Value {
	t.Charge(32)
	return value.NewVectorOwned(t, []Value{x, y})
}

func partitionOf(t *Thread, n, step, coll Value, p partition) Value {
	p.n, p.step = howMany(t, "partition", n), howMany(t, "partition", step)
	if p.n < 0 && !p.padded { // no part has so few elements
		return value.EmptyList
	}
	return p.lazy(t, coll)
}

func reduce2(t *Thread, f, coll Value) Value {
	call, begun := calling2(f), false
	acc := value.Reduce(t, func(acc, x Value) Value {
		if !begun {
			begun = true
			return x
		}
		return call(t, acc, x)
	}, value.Nil, coll)
	if !begun {
		return t.Call(f)
	}
	return acc
}

func reduceKV(t *Thread, f, init, coll Value) Value {
	acc := t.Push(1)
	acc[0] = init
	step := func(k, v Value) bool {
		acc[0] = t.Call(f, acc[0], k, v)
		return !value.IsReduced(acc[0])
	}
	eachKV(t, "reduce-kv", coll, step)
	v := acc[0]
	acc[0] = Value{}
	t.Pop(1)
	return value.Unreduced(v)
}

// eachKV gives the entries of a map, the elements of a vector by their index, or the entries that another collection holds,
// until step says false.
func eachKV(t *Thread, who string, coll Value, step func(k, v Value) bool) {
	switch k := coll.Kind(); {
	case k.IsMap() || k == value.KindNil:
		value.EachKV(t, coll, step)
	case k.IsVector():
		i := int64(-1)
		value.Each(t, coll, func(x Value) bool {
			i++
			return step(value.Int(i), x)
		})
	case value.Seqable(coll):
		value.Each(t, coll, func(e Value) bool { return step(entryKey(t, e), entryVal(t, e)) })
	default:
		panic(value.TypeError(t, who, coll, "a map or vector"))
	}
}

// mapv2 keeps what it has built on the Lisp side, so that it is counted as alive.
func mapv2(t *Thread, f, coll Value) Value {
	call := calling1(f)
	if value.Counted(coll) {
		n := value.Count(t, coll)
		t.Charge(16 * n)
		t.Pin(16 * n)
		out := make([]Value, 0, n)
		t.Watch(out[:n])
		value.Each(t, coll, func(x Value) bool {
			out = append(out, call(t, x))
			return true
		})
		t.Unwatch()
		t.Unpin(16 * n)
		return value.NewVectorOwned(t, out)
	}
	b := newCollector(t, value.EmptyVector)
	value.Each(t, coll, func(x Value) bool {
		b.add(call(t, x))
		return true
	})
	return b.done()
}

func filterv(t *Thread, pred, coll Value) Value {
	call, b := calling1(pred), newCollector(t, value.EmptyVector)
	value.Each(t, coll, func(x Value) bool {
		if call(t, x).Truthy() {
			b.add(x)
		}
		return true
	})
	return b.done()
}

func groupBy(t *Thread, f, coll Value) Value {
	call, groups := calling1(f), newCollector(t, value.EmptyMap)
	value.Each(t, coll, func(x Value) bool {
		k := call(t, x)
		g, ok := groups.get(k)
		if !ok {
			g = value.EmptyVector
		}
		groups.put(k, value.Conj(t, g, x))
		return true
	})
	return groups.done()
}

func frequencies(t *Thread, coll Value) Value {
	counts := newCollector(t, value.EmptyMap)
	value.Each(t, coll, func(x Value) bool {
		n, ok := counts.get(x)
		if !ok {
			n = value.Int(0)
		}
		counts.put(x, value.Int(n.Int()+1))
		return true
	})
	return counts.done()
}

func zipmap(t *Thread, keys, vals Value) Value {
	m, it := newCollector(t, value.EmptyMap), value.NewIter(vals)
	value.Each(t, keys, func(k Value) bool {
		v, ok := it.Next(t)
		if ok {
			m.put(k, v)
		}
		return ok
	})
	return m.done()
}

func maxKey(t *Thread, args []Value) Value {
	return extreme(t, args, func(a, b Value) bool { return value.NumLess(t, b, a) })
}
func minKey(t *Thread, args []Value) Value {
	return extreme(t, args, func(a, b Value) bool { return value.NumLess(t, a, b) })
}

// extreme gives the argument whose key nothing beats. As in Clojure, of two the second wins a tie; what NaN makes of it
// depends on the order, and is Clojure's.
func extreme(t *Thread, args []Value, beats func(a, b Value) bool) Value {
	f, best := args[0], args[1]
	if len(args) == 2 {
		return best
	}
	k := t.Call1(f, best)
	for i, x := range args[2:] {
		kx := t.Call1(f, x)
		if i == 0 && beats(k, kx) || i > 0 && !(beats(kx, k) || value.NumEq(t, kx, k)) {
			continue
		}
		best, k = x, kx
	}
	return best
}
