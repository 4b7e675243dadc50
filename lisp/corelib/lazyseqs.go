package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// lazyBytes is what a lazy seq with a Go thunk and a few captured values charges.
const lazyBytes = 256

// The lazy functions of one seq. Each gives a lazy seq of a Go thunk; where Clojure works a chunk at a time, so do they.
// A thunk changes nothing that it closed over, so that it can be run again after an interruption. None goes along a seq
// further than a chunk or so: it gives another lazy seq instead, so that the head of a long one is let go.

// lazily makes a lazy seq. held are the Lisp values that f closes over.
func lazily(t *Thread, f func(t *Thread) Value, held ...Value) Value {
	t.Charge(lazyBytes)
	return value.NewLazyGo(f, held...)
}

// run is how many elements of a seq without chunks a thunk looks at before it gives up its place.
const stretch = 32

// chunkwise makes a lazy seq whose parts come from each, which is given a chunk of coll, or one element, and gives what
// becomes of it.
func chunkwise(t *Thread, coll Value, each func(t *Thread, xs []Value) []Value, held ...Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		if xs, rest, ok := value.ChunkOf(t, s); ok {
			t.Steps(len(xs))
			t.Charge(16 * len(xs))
			t.Watch(xs)
			out := each(t, xs)
			t.Unwatch()
			return chunkThen(t, out, chunkwise(t, rest, each, held...))
		}
		return oneByOne(t, s, each, held)
	}, append(held[:len(held):len(held)], coll)...)
}

func oneByOne(t *Thread, s Value, each func(t *Thread, xs []Value) []Value, held []Value) Value {
	var one [1]Value
	for range stretch {
		t.Step()
		one[0] = value.First(t, s)
		out := each(t, one[:])
		rest := value.Rest(t, s)
		if len(out) == 1 {
			return value.Cons(t, out[0], chunkwise(t, rest, each, held...))
		}
		if s = value.Seq(t, rest); s.IsNil() {
			return s
		}
		if _, _, ok := value.ChunkOf(t, s); ok {
			break
		}
	}
	return chunkwise(t, s, each, held...)
}

// chunkThen puts a chunk before rest.
func chunkThen(t *Thread, xs []Value, rest Value) Value {
	if len(xs) == 0 {
		return rest
	}
	return value.NewChunkedCons(t, xs, rest)
}

func lazyMap(t *Thread, f, coll Value) Value {
	call := calling1(f)
	return chunkwise(t, coll, func(t *Thread, xs []Value) []Value {
		out := make([]Value, len(xs))
		t.Watch(out)
		for i, x := range xs {
			out[i] = call(t, x)
		}
		t.Unwatch()
		return out
	}, f)
}

func lazyFilter(t *Thread, pred, coll Value, keep bool) Value {
	call := calling1(pred)
	return chunkwise(t, coll, func(t *Thread, xs []Value) []Value {
		out := make([]Value, 0, len(xs))
		for _, x := range xs {
			if call(t, x).Truthy() == keep {
				out = append(out, x)
			}
		}
		return out
	}, pred)
}

func lazyKeep(t *Thread, f, coll Value) Value {
	call := calling1(f)
	return chunkwise(t, coll, func(t *Thread, xs []Value) []Value {
		out := make([]Value, 0, len(xs))
		t.Watch(out[:len(xs)])
		for _, x := range xs {
			if v := call(t, x); !v.IsNil() {
				out = append(out, v)
			}
		}
		t.Unwatch()
		return out
	}, f)
}

// indexed is chunkwise with the index of each element.
func indexed(t *Thread, f, coll Value, i int64, keepNil bool) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		xs, rest, ok := value.ChunkOf(t, s)
		if !ok {
			xs, rest = []Value{value.First(t, s)}, value.Rest(t, s)
		}
		t.Steps(len(xs))
		t.Charge(16 * len(xs))
		out := make([]Value, 0, len(xs))
		t.Watch(xs)
		t.Watch(out[:len(xs)])
		for j, x := range xs {
			if v := t.Call2(f, value.Int(i+int64(j)), x); keepNil || !v.IsNil() {
				out = append(out, v)
			}
		}
		t.Unwatch()
		t.Unwatch()
		more := indexed(t, f, rest, i+int64(len(xs)), keepNil)
		if !ok && len(out) == 1 {
			return value.Cons(t, out[0], more)
		}
		return chunkThen(t, out, more)
	}, f, coll)
}

// lazyMapN calls f with the first elements of all colls, then with the second ones, until one has no more.
func lazyMapN(t *Thread, f Value, colls []Value) Value {
	return lazily(t, func(t *Thread) Value {
		t.Charge(32 * len(colls))
		firsts, rests := make([]Value, len(colls)), make([]Value, len(colls))
		t.Watch(firsts)
		t.Watch(rests)
		for i, c := range colls {
			t.Step()
			s := value.Seq(t, c)
			if s.IsNil() {
				t.Unwatch()
				t.Unwatch()
				return s
			}
			firsts[i], rests[i] = s, s
		}
		for i, s := range rests {
			firsts[i], rests[i] = value.First(t, s), value.Rest(t, s)
		}
		x := t.Call(f, firsts...)
		t.Unwatch()
		t.Unwatch()
		return value.Cons(t, x, lazyMapN(t, f, rests))
	}, append(colls[:len(colls):len(colls)], f)...)
}

// checkMapcat throws at once for arguments that could never do, as Clojure's mapcat does, which looks at the first elements.
func checkMapcat(t *Thread, f Value, colls ...Value) {
	if !value.IsCallable(t, f) {
		panic(value.TypeError(t, "mapcat", f, "a function"))
	}
	for _, c := range colls {
		if !value.Seqable(c) {
			panic(value.TypeError(t, "mapcat", c, "a collection"))
		}
	}
}

// lazyConcat gives the elements of each element of colls.
func lazyConcat(t *Thread, colls Value) Value {
	return lazily(t, func(t *Thread) Value {
		colls := colls
		for range stretch {
			t.Step()
			s := value.Seq(t, colls)
			if s.IsNil() {
				return s
			}
			colls = value.Rest(t, s)
			if in := value.Seq(t, value.First(t, s)); !in.IsNil() {
				return lazyAppend(t, in, colls)
			}
		}
		return lazyConcat(t, colls)
	}, colls)
}

// lazyAppend gives the elements of s, a seq that is not empty, and then those of the elements of colls.
func lazyAppend(t *Thread, s, colls Value) Value {
	if xs, rest, ok := value.ChunkOf(t, s); ok {
		return value.NewChunkedCons(t, xs, lazyRest(t, rest, colls))
	}
	return value.Cons(t, value.First(t, s), lazyRest(t, value.Rest(t, s), colls))
}

func lazyRest(t *Thread, rest, colls Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, rest)
		if s.IsNil() {
			return lazyConcat(t, colls)
		}
		return lazyAppend(t, s, colls)
	}, rest, colls)
}

// lazyConcatOf gives the elements of each of colls; the last is not looked at before it is needed.
func lazyConcatOf(t *Thread, colls []Value) Value {
	return lazily(t, func(t *Thread) Value {
		for i, c := range colls {
			t.Step()
			if i == len(colls)-1 {
				return c
			}
			s := value.Seq(t, c)
			if s.IsNil() {
				continue
			}
			rest := colls[i+1:]
			if xs, more, ok := value.ChunkOf(t, s); ok {
				return value.NewChunkedCons(t, xs, lazyConcatOf(t, before(t, more, rest)))
			}
			return value.Cons(t, value.First(t, s), lazyConcatOf(t, before(t, value.Rest(t, s), rest)))
		}
		return value.Nil
	}, colls...)
}

func before(t *Thread, x Value, xs []Value) []Value {
	t.Charge(16 * (len(xs) + 1))
	return append(append(make([]Value, 0, len(xs)+1), x), xs...)
}
