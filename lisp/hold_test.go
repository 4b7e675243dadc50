package lisp_test

import (
	"context"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Programs that keep all of an endless seq while Go code realises it. What the language keeps for them is measured, so the
// process never holds much more than the limit.
var keepers = []string{
	`(doall (map vector (range)))`,
	`(map vector (range))`, // printing the result
	`(pr-str (map vector (range)))`,
	`(hash (map vector (range)))`,
	`(= (map vector (range)) (map vector (range)))`,
	`(vec (map vector (range)))`,
	`(set (map vector (range)))`,
	`(sort (map vector (range)))`,
	`(reverse (map vector (range)))`,
	`(apply list (map vector (range)))`,
	`(to-array (map vector (range)))`,
	`(into [] (map vector (range)))`,
	`(group-by first (map vector (range)))`,
	`(partition-by neg? (range))`,
	`(let [s (map vector (range))] (count s) s)`,
	`(def s (map vector (range))) (count s)`,
	`(last (cons 1 (map vector (range))))`,
	`(reduce (fn [a x] (cons x a)) nil (range))`,
	`(distinct (map vector (range)))`,
	`(let [[a & more] (map vector (range))] (count more) a)`,
	`((fn [& xs] (count xs) xs) (map vector (range)))`,
	`(take! (map vector (range)))`,
	`(swap! (atom nil) (fn [_] (doall (map vector (range)))))`,
	`@(delay (doall (map vector (range))))`,
	`@(future (doall (map vector (range))))`,
	`(grab (map vector (range)))`,
	`(memoize (doall (map vector (range))))`,
	`(frequencies (map vector (range)))`,
	`(str (map vector (range)))`,
	`(clojure.string/join "," (map vector (range)))`,
	`(json/write-string (map vector (range)))`,
	`(interleave (doall (map vector (range))) [1])`,
	`(case (doall (map vector (range))) 1 2)`,
	`(ex-info "x" {:a (doall (map vector (range)))})`,
	`(with-meta [] {:a (doall (map vector (range)))})`,
	`(tree-seq vector? identity [(doall (map vector (range)))])`,
	`(zipmap (range) (map vector (range)))`,
	`(mapv vector (range))`,
	`(reductions + (range))`,
	`(nth (doall (map vector (range))) 3)`,
	`(compare (vec (map vector (range))) [])`,
	`(split-with (constantly true) (map vector (range)))`,
	`(second (split-with (constantly true) (map vector (range))))`,
	`(clojure.walk/postwalk identity (map vector (range)))`,
	`(flatten (map vector (range)))`,
	`(run! identity (doall (map vector (range))))`,
	`(pmap vector (range))`,
}

func TestNothingIsKeptUnmeasured(t *testing.T) {
	need.Full(t, "takes half a minute; make test runs it")
	rt := lisp.New()
	for _, code := range keepers {
		iso := rt.NewIsolate(lisp.Limits{Bytes: 8 << 20, Steps: 4_000_000})
		iso.Grant("grab", lisp.Capable(lisp.Capability{Name: "grab",
			Call: func(context.Context, []value.Value) (value.Value, error) { return value.Nil, nil }}))
		peak := watchHeap(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			iso.Eval(ctx, code)
		})
		if peak > 64<<20 {
			t.Errorf("%s: the heap held %d MiB, want at most 64 for a limit of 8", code, peak>>20)
		}
	}
}

// watchHeap runs f and gives how much what the collector found alive grew meanwhile. It does not count what was built since
// the collection and is garbage already: on a busy machine that is as much as one likes.
func watchHeap(f func()) uint64 {
	runtime.GC()
	before := alive()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(40 * time.Millisecond):
				runtime.GC()
				if now := alive(); now > before {
					most = max(most, now-before)
				}
			}
		}
	}()
	f()
	close(done)
	return <-peak
}

// alive is how many bytes of objects the last collection found alive.
func alive() uint64 {
	m := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(m)
	return m[0].Value.Uint64()
}
