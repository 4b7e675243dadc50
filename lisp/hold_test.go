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

	// A few large values, in the hands of Go code.
	`(make-array Long 100 100 100 100 100)`,
	`(to-array-2d (repeat (range 1000)))`,
	`(vec (map large (range)))`,
	`(to-array (map large (range)))`,
	`(sort-by large (range 100000))`,
	`(sort (map large (range)))`,
	`((apply juxt (repeat 10000 large)) 1)`,
	`(mapv large (vec (range 100000)))`,
	`(mapv large (range) (range))`,
	`(first (map huge (range 32)))`,
	`(first (map-indexed huge (range 32)))`,
	`(first (keep huge (range 32)))`,
	`(first (for [i (range 32)] (huge)))`,
	`(first (filter some? (map huge (range 32))))`,
	`(first (map (comp huge huge) (range 32)))`,
	`(reduce (fn [_ _] (huge)) nil (map huge (range 32)))`,
	`(first (partition 10000 100000 (map large (range))))`,
	`(take-last 100000 (map large (range)))`,
	`(nth (map large (range 100000)) 99999)`,
	`(into [] (partition-all 100000) (map large (range)))`,
	`(into [] (partition-by (constantly 1)) (map large (range)))`,
	`(count (distinct (map (fn [i] [i (large)]) (range))))`,
	`(reductions conj [] (map large (range)))`,
	`(vec (iterate large 1))`,
	`(walk/walk large identity (apply list (range 100000)))`,
	`(set/index (map (fn [i] {:a i :b (large)}) (range)) [:a])`,
	`(with-out-str (pprint/print-table (repeat {:a 1})))`,
	`(eval (vec (repeat 100000 '(quoted))))`,
	`(eval (list* 'list (repeat 100000 '(wordy))))`,
	`(eval (list* 'list (map (fn [i] (list 'quote (large))) (range 100000))))`,
	`(binding [*data-readers* {'x large}] (read-string (str "[" (apply str (repeat 100000 "#x 1 ")) "]")))`,
	`(edn/read-string {:default large} (str "[" (apply str (repeat 100000 "#x 1 ")) "]"))`,
	`(call-each large (range 100000))`,
	`(call-each (fn [_] (map large (range 100000))) [1])`,
	`((fn f [n] (when (pos? n) (run! (fn [_] (f (dec n))) (huge)))) 100)`,
	`((fn f [n] (when (pos? n) (reduce-kv (fn [_ _ _] (f (dec n))) nil (zipmap (range 50000) (range))))) 100)`,
}

// keeping is what they use: 16 KiB, and 3.2 MiB.
const keeping = `
	(defn large [& _] (vec (range 1000)))
	(defn huge [& _] (vec (range 200000)))
	(defmacro quoted [] (list 'quote (large)))
	(defmacro wordy [] (list* 'str (range 1000)))`

func TestNothingIsKeptUnmeasured(t *testing.T) {
	need.Full(t, "takes half a minute; make test runs it")
	rt := lisp.New()
	env := rt.NewEnv(lisp.EnvConfig{})
	defer env.Close()
	mapv, err := env.Eval(context.Background(), "mapv", "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range keepers {
		iso := rt.NewIsolate(lisp.Limits{Bytes: 8 << 20, Steps: 4_000_000})
		iso.Grant("grab", lisp.Capable(lisp.Capability{Name: "grab",
			Call: func(context.Context, []value.Value) (value.Value, error) { return value.Nil, nil }}))
		iso.Grant("call-each", lisp.Capable(lisp.Capability{Name: "call-each", AcceptsFns: true,
			Call: func(ctx context.Context, args []value.Value) (value.Value, error) {
				return env.Call(ctx, mapv, args...)
			}}))
		if res := iso.Eval(context.Background(), keeping); res.Err != nil {
			t.Fatal(res.Err)
		}
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
