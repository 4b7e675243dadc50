package lisp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/limit"
)

// growing are loops that keep all they build, and hand it to Go code with its last use in each turn: where memory is
// charged for, it lies on no stack.
var growing = []string{
	`(loop [a nil] (recur (cons 1 a)))`,
	`(loop [a [] i 0] (recur (conj a (str i "` + strings.Repeat("text ", 40) + `")) (inc i)))`,
	`(loop [a [] i 0] (recur (conj a (format "%d%s" i "` + strings.Repeat("text ", 40) + `")) (inc i)))`,
	`(loop [a []] (recur (conj a 1)))`,
	`(loop [a (list 1)] (recur (conj a 1)))`,
	`((fn f [a] (recur (cons 1 a))) nil)`,
	`(loop [a nil b nil] (recur b (cons 1 a)))`,
	`(loop [a nil] (let [b (cons 1 a)] (recur b)))`,
	`(loop [a nil] (recur (reduced a)))`,
	`(reduce conj [] (range))`,
	`(reduce (fn [a x] (cons x a)) nil (range))`,
	`(transduce (map inc) conj [] (range))`,
	`(reduce (fn [a f] (f a)) nil (repeat (partial cons 1)))`,
	`(reduce-kv (fn [a k v] (into a (range 100))) [] (vec (range 100000)))`,
	`(nth (iterate (partial cons 1) nil) 1000000000)`,
	`(trampoline (fn f [a] (fn [] (f (cons 1 a)))) nil)`,
	`(letfn [(f [a] #(g (cons 1 a))) (g [a] #(f (cons 1 a)))] (trampoline f nil))`,
	`(last (reductions (fn [a x] (cons x a)) nil (range)))`,
	`(loop [a nil] (recur (partial list a)))`,
	`(let [fs (doall (map (fn [_] (future (loop [a nil] (recur (cons 1 a))))) (range 8)))] (run! deref fs))`,
	`(dosync (loop [r (ref nil)] (alter r (fn [x] (cons 1 x))) (recur r)))`,
}

// Everything that a program keeps is measured, also what it hands from call to call.
func TestWhatGrowsIsMeasured(t *testing.T) {
	rt := lisp.New()
	for _, code := range growing {
		t.Run(code, func(t *testing.T) {
			run := func(bytes, steps int64) (lisp.Result, uint64) {
				iso := rt.NewIsolate(lisp.Limits{Bytes: bytes, Steps: steps, Alloc: 512 << 20})
				var res lisp.Result
				peak := watchHeap(func() { res = iso.Eval(context.Background(), code) })
				return res, peak
			}
			res, peak := run(4<<20, 3_000_000)
			if res.Err == nil || res.Err.Kind != "limit/bytes" {
				t.Errorf("got %q, %v, want the bytes limit", res.Value, res.Err)
			}
			if peak > 24<<20 {
				t.Errorf("the heap held %d MiB, want at most 24 for a limit of 4", peak>>20)
			}
			if testing.Short() {
				return
			}
			if _, free := run(limit.Unlimited/4, 9_000_000); free < 16<<20 {
				t.Errorf("without the limit the heap held %d MiB, want far more: the program shows nothing", free>>20)
			} else {
				t.Logf("%d MiB; %d without the limit", peak>>20, free>>20)
			}
		})
	}
}
