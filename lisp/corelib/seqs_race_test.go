package corelib_test

import (
	"context"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
)

// What threads may come to share, lazy seqs and the memory of transducers, costs elements at worst when they race.
func TestShared(t *testing.T) {
	rt := lisp.New()
	for _, f := range []fact{
		{`(let [s (distinct (map (fn [x] (rem x 50)) (range 5000)))] (apply = 50 (map deref (doall (map (fn [_] (future (count s))) (range 8))))))`, "true"},
		{`(let [s (sequence (comp (map inc) (partition-all 3)) (range 3000))] (apply = 1000 (map deref (doall (map (fn [_] (future (count s))) (range 8))))))`, "true"},
		{`(let [rf ((comp (take 100) (dedupe) (distinct) (partition-all 2) (map-indexed vector)) (fn ([] 0) ([a] a) ([a _] a)))] (run! deref (doall (map (fn [_] (future (reduce rf nil (range 500)))) (range 8)))) :done)`, ":done"},
		{`(let [f (memoize (fn [x] (* x x)))] (apply = (map deref (doall (map (fn [_] (future (reduce + (map f (range 200))))) (range 8))))))`, "true"},
		{`(let [a (object-array 10)] (run! deref (doall (map (fn [i] (future (dotimes [n 500] (aset a (rem n 10) [i n]) (aget a 3)))) (range 8)))) (alength a))`, "10"},
	} {
		iso := rt.NewIsolate(lisp.Limits{})
		if res := iso.Eval(context.Background(), f.expr); res.Err != nil || res.Value != f.want {
			t.Errorf("%s: got %s, %v, want %s", f.expr, res.Value, res.Err, f.want)
		}
	}
}
