package corelib

import (
	"math"
	"math/rand/v2"

	"github.com/reflection-dev/zeno/lisp/value"
)

// random is for the orchestrator: chance is not part of an isolate's pure core.
func random() []Def {
	return []Def{
		{Name: "rand", Arglists: "([] [n])", Doc: "A random double from 0 up to n (1 by default), n left out.", Host: true,
			F0: func(*Thread) Value { return value.Float(rand.Float64()) },
			F1: func(t *Thread, n Value) Value { return value.Float(rand.Float64() * float(t, "rand", n)) }},
		{Name: "rand-int", Arglists: "([n])", Doc: "A random integer from 0 up to n, n left out.", Host: true,
			F1: func(t *Thread, n Value) Value {
				return value.Int(int64(math.Trunc(rand.Float64() * float(t, "rand-int", n))))
			}},
		{Name: "rand-nth", Arglists: "([coll])", Doc: "A random element of a collection.", Host: true, F1: randNth},
		{Name: "shuffle", Arglists: "([coll])", Doc: "A vector of the elements in random order.", Host: true, F1: shuffle},
	}
}

func randNth(t *Thread, coll Value) Value {
	if coll.IsNil() {
		return value.Nil
	}
	n := value.Count(t, coll)
	if n == 0 {
		panic(value.Errorf("IndexOutOfBoundsException", "rand-nth: got an empty collection, want one with elements"))
	}
	x, _ := value.Nth(t, coll, rand.IntN(n))
	return x
}

func shuffle(t *Thread, coll Value) Value {
	if !coll.Kind().IsColl() || coll.Kind().IsMap() {
		panic(value.TypeError(t, "shuffle", coll, "a collection"))
	}
	xs := value.ToSlice(t, coll)
	rand.Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
	return value.NewVectorOwned(t, xs)
}
