package corelib_test

import (
	"context"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
)

// Every function that goes through a collection charges for it: each of these would run for ever, or fill the memory,
// and ends by a limit instead.
var endless = []string{
	`(dorun (range))`, `(reduce + (range))`, `(reduce-kv + 0 (vec (range)))`, `(into [] (repeat 1))`, `(into #{} (range))`,
	`(into [] (map inc) (range))`, `(transduce (map inc) + (range))`, `(transduce (take-nth 2) conj [] (range))`,
	`(mapv inc (range))`, `(filterv even? (range))`, `(filterv nil? (range))`, `(first (filter nil? (range)))`,
	`(first (keep (fn [_]) (iterate inc 0)))`, `(first (drop-while some? (range)))`, `(last (drop 10000000000 (range)))`,
	`(nthrest (cycle [1]) 1000000000000)`, `(nthnext (range) 1000000000000)`, `(nth (iterate inc 0) 1000000000)`,
	`(take-last 2 (range))`, `(butlast (range))`, `(count (distinct (range)))`, `(first (drop 1 (distinct (repeat 1))))`,
	`(count (dedupe (repeat 1)))`, `(group-by identity (range))`, `(group-by (constantly 1) (range))`, `(zipmap (range) (range))`,
	`(every? some? (range))`, `(some nil? (range))`, `(run! identity (range))`, `(count (partition 2 (range)))`,
	`(count (partition-all 2 (range)))`, `(count (partition 1000000000 (range)))`, `(count (first (partition-by nil? (range))))`,
	`(count (interleave (range) (range)))`, `(count (interpose 1 (range)))`, `(count (reductions + (range)))`,
	`(count (flatten (repeat [1])))`, `(count (tree-seq any? (fn [x] [x x]) 1))`, `(count (mapcat vector (range)))`,
	`(count (concat (range) (range)))`, `(first (apply concat (repeat nil)))`, `(first (mapcat identity (repeat nil)))`,
	`(count (take-while some? (range)))`, `(count (sequence (map inc) (range)))`, `(first (sequence (filter nil?) (range)))`,
	`(reduce + (eduction (map inc) (range)))`, `(count (map vector (range) (range)))`, `(count (repeatedly (constantly 1)))`,
	`(set (range))`, `(hash-ordered-coll (range))`, `(hash-unordered-coll (range))`, `(sort-by - (range))`,
	`(select-keys {} (range))`, `(assoc-in {} (range) 1)`, `(update-in {} (range) inc)`,
	`(int-array (range))`, `(int-array 200000000)`, `(make-array 1000 1000 1000 1000)`, `(to-array (range))`,
	`(let [f (memoize identity)] (run! f (range)))`, `(apply max-key identity (range))`, `(trampoline (fn f [] f))`,
	`(dorun (iteration (fn [k] (inc (or k 0)))))`, `(loop [v (transient [])] (recur (conj! v 1)))`,
	`(loop [c identity n 0] (recur (comp c inc) (inc n)))`, `(clojure.set/union #{1} (range))`, `(clojure.walk/postwalk identity (range))`,
	`((reduce comp (repeat 100000 inc)) 1)`, `(first ((reduce comp (repeat 100000 (map inc))) conj))`,
	`(clojure.walk/postwalk identity (reduce (fn [a _] [a]) [] (range 100000)))`,
	`(clojure.data/diff (reduce (fn [a _] [a]) 1 (range 100000)) (reduce (fn [a _] [a]) 2 (range 100000)))`,
	`(reduce (fn [s _] (filter odd? s)) (range) (range 100000)) `, `(first (reduce (fn [s _] (rest (map inc s))) (range) (range 100000)))`,
	`(transduce (comp (mapcat range) (filter nil?)) conj [] (range))`, `(transduce (partition-by nil?) conj [] (range))`,
	`(transduce (distinct) conj [] (range))`, `(dorun (repeat 100000000000 1))`, `(vec (range 1e18))`, `(vec (range 1000000000000))`,
}

func TestEndless(t *testing.T) {
	rt := lisp.New()
	for _, code := range endless {
		t.Run(code, func(t *testing.T) {
			iso := rt.NewIsolate(lisp.Limits{Steps: 300_000, Alloc: 40 << 20, Bytes: 4 << 20})
			iso.Eval(context.Background(), `(require 'clojure.set 'clojure.walk 'clojure.data)`)
			start := time.Now()
			res := iso.Eval(context.Background(), code)
			if res.Err == nil {
				t.Fatalf("got %s, want a limit", res.Value)
			}
			switch res.Err.Kind {
			case "limit/steps", "limit/alloc", "limit/bytes", "limit/depth":
			default:
				t.Fatalf("got %v, want a limit", res.Err)
			}
			if took := time.Since(start); took > 2*time.Minute {
				t.Errorf("took %v, want less", took)
			}
			t.Logf("%s after %v", res.Err.Kind, time.Since(start))
		})
	}
}
