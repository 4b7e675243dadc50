package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// Lazy seqs of a part of another.

func lazyTake(t *Thread, n int64, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		if n <= 0 {
			return value.Nil
		}
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		return value.Cons(t, value.First(t, s), lazyTake(t, n-1, value.Rest(t, s)))
	}, coll)
}

func lazyTakeWhile(t *Thread, pred, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		x := value.First(t, s)
		if !t.Call1(pred, x).Truthy() {
			return value.Nil
		}
		return value.Cons(t, x, lazyTakeWhile(t, pred, value.Rest(t, s)))
	}, pred, coll)
}

func lazyDrop(t *Thread, n int64, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		rest, left := dropped(t, n, coll)
		if left > 0 {
			return lazyDrop(t, left, rest)
		}
		return rest
	}, coll)
}

// dropped drops up to n elements, no more than some, and computes nothing beyond them: what follows, and what is left
// of n.
func dropped(t *Thread, n int64, coll Value) (rest Value, left int64) {
	rest = coll
	for i := 0; n > 0 && i < stretch*stretch; i++ {
		t.Step()
		if v, ok := value.SeqFrom(t, rest, n); ok {
			return orElse(v, value.EmptyList), 0
		}
		s := value.Seq(t, rest)
		if s.IsNil() {
			return rest, 0
		}
		xs, more, ok := value.ChunkOf(t, s)
		switch {
		case ok && int64(len(xs)) <= n:
			n -= int64(len(xs))
			rest = more
		case ok:
			return chunkThen(t, xs[n:], more), 0
		default:
			n--
			rest = value.Rest(t, s)
		}
	}
	return rest, n
}

func lazyDropWhile(t *Thread, pred, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		for range stretch * stretch {
			t.Step()
			if s.IsNil() || !t.Call1(pred, value.First(t, s)).Truthy() {
				return s
			}
			s = value.Next(t, s)
		}
		return lazyDropWhile(t, pred, s)
	}, pred, coll)
}

func lazyTakeNth(t *Thread, n int64, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		return value.Cons(t, value.First(t, s), lazyTakeNth(t, n, lazyDrop(t, n, s)))
	}, coll)
}

// nthRest drops n elements now.
func nthRest(t *Thread, n int64, coll Value) Value {
	for n > 0 {
		coll, n = dropped(t, n, coll)
	}
	return coll
}

func lazyDropLast(t *Thread, n int64, coll Value) Value {
	ahead := lazyDrop(t, n, coll)
	return lazyDropLastOf(t, coll, ahead)
}

func lazyDropLastOf(t *Thread, coll, ahead Value) Value {
	return lazily(t, func(t *Thread) Value {
		s, a := value.Seq(t, coll), value.Seq(t, ahead)
		if s.IsNil() || a.IsNil() {
			return value.Nil
		}
		return value.Cons(t, value.First(t, s), lazyDropLastOf(t, value.Rest(t, s), value.Rest(t, a)))
	}, coll, ahead)
}

// partition is how the partition functions differ.
type partition struct {
	n, step int64
	pad     Value
	padded  bool // a short last part is filled up from pad
	all     bool // a short last part is given as it is
	vector  bool // parts are vectors
}

func (p *partition) lazy(t *Thread, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		xs := firsts(t, p.n, s)
		if int64(len(xs)) < p.n && !p.all {
			if !p.padded {
				return value.Nil
			}
			t.Watch(xs)
			xs = append(xs, firsts(t, p.n-int64(len(xs)), p.pad)...)
			t.Unwatch()
			return value.NewList(t, p.part(t, xs))
		}
		var rest Value
		if p.step > 0 {
			t.Watch(xs)
			rest = nthRest(t, p.step, s)
			t.Unwatch()
		} else {
			rest = s
		}
		return value.Cons(t, p.part(t, xs), p.lazy(t, rest))
	}, coll, p.pad)
}

func (p *partition) part(t *Thread, xs []Value) Value {
	if p.vector {
		return value.NewVectorOwned(t, xs)
	}
	return orElse(value.NewArraySeq(xs), value.EmptyList)
}

// firsts gives the first n elements of coll, or all.
func firsts(t *Thread, n int64, coll Value) []Value {
	if n <= 0 {
		return nil
	}
	var xs []Value
	at := t.Watch(nil)
	value.Each(t, coll, func(x Value) bool {
		if len(xs) == cap(xs) {
			grow := int(min(n-int64(len(xs)), int64(max(8, len(xs)))))
			t.Charge(16 * (len(xs) + grow))
			xs = append(make([]Value, 0, len(xs)+grow), xs...)
			t.Rewatch(at, xs[:cap(xs)])
		}
		xs = append(xs, x)
		return int64(len(xs)) < n
	})
	t.Unwatch()
	return xs
}

func lazyPartitionBy(t *Thread, f, coll Value) Value {
	return lazily(t, func(t *Thread) Value {
		s := value.Seq(t, coll)
		if s.IsNil() {
			return s
		}
		x := value.First(t, s)
		k := t.Call1(f, x)
		same := &closure{name: "partition-by", f1: func(t *Thread, x Value) Value {
			return value.Bool(value.Equal(t, k, t.Call1(f, x)))
		}}
		run := value.Cons(t, x, lazyTakeWhile(t, same.make(t, k, f), value.Next(t, s)))
		rest := lazily(t, func(t *Thread) Value { return lazyDrop(t, int64(value.Count(t, run)), s) }, run, s)
		return value.Cons(t, run, lazyPartitionBy(t, f, rest))
	}, f, coll)
}
