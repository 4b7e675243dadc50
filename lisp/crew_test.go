package lisp_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// crowds are programs whose threads each keep less than the limit of live bytes, and together many times as much. Each
// keeps it in another place; :done means that they all had it at once.
var crowds = map[string]string{
	"futures that wait": `
		(let [full (atom 0) go (promise)
		      fill (fn [] (let [v (vec (range 90000))] (swap! full inc) @go (count v)))
		      fs (doall (map (fn [_] (future (fill))) (range 15)))]
		  (while (< @full 15))
		  (deliver go 1) (run! deref fs) :done)`,
	"futures that run": `
		(let [full (atom 0)
		      fill (fn [] (let [v (vec (range 90000))] (swap! full inc) (while (< @full 15)) (count v)))]
		  (run! deref (doall (map (fn [_] (future (fill))) (range 15)))) :done)`,
	"the main thread beside them": `
		(let [mine (vec (range 90000)) full (atom 0) go (promise)
		      fs (doall (map (fn [_] (future (let [v (vec (range 90000))] (swap! full inc) @go (count v)))) (range 15)))]
		  (while (< @full 15))
		  (deliver go 1) (run! deref fs) (count mine) :done)`,
	"futures that wait for a capability": `
		(let [full (atom 0) go (promise)
		      fs (doall (map (fn [_] (future (let [v (vec (range 90000))] (swap! full inc) (rest-a-while) (count v)))) (range 15)))]
		  (while (< @full 15))
		  (run! deref fs) :done)`,
	"the values that start them": `
		(let [go (promise) full (atom 0)
		      task (fn [v] (fn [] (swap! full inc) @go (count v)))
		      fs (doall (map (fn [_] (future-call (task (vec (range 90000))))) (range 15)))]
		  (while (< @full 15))
		  (deliver go 1) (run! deref fs) :done)`,
	"agents": `
		(let [full (atom 0) go (promise)
		      as (doall (map (fn [_] (agent nil)) (range 15)))]
		  (doseq [a as] (send a (fn [_ v] (swap! full inc) @go (count v)) (vec (range 90000))))
		  (while (< @full 15))
		  (deliver go 1) (apply await as) :done)`,
	"transients": `
		(let [full (atom 0) go (promise)
		      fill (fn [] (let [v (reduce conj! (transient []) (range 90000))] (swap! full inc) @go (count (persistent! v))))
		      fs (doall (map (fn [_] (future (fill))) (range 15)))]
		  (while (< @full 15))
		  (deliver go 1) (run! deref fs) :done)`,
	"dynamic bindings": `
		(do (def ^:dynamic *v* nil)
		    (let [full (atom 0) go (promise)
		          fs (doall (map (fn [_] (future (binding [*v* (vec (range 90000))] (swap! full inc) @go (count *v*)))) (range 15)))]
		      (while (< @full 15))
		      (deliver go 1) (run! deref fs) :done))`,
	"transactions": `
		(let [full (atom 0) go (promise)
		      fill (fn [] (let [r (ref nil)] (dosync (ref-set r (vec (range 90000))) (swap! full inc) @go 1)))
		      fs (doall (map (fn [_] (future (fill))) (range 15)))]
		  (while (< @full 15))
		  (deliver go 1) (run! deref fs) :done)`,
	"functions that a capability calls": `(call-all (fn [_] (let [v (vec (range 90000))] (meet) (count v))))`,
	"from hand to hand": `
		(let [cells (vec (repeatedly 15 (fn [] (atom nil))))
		      pass (fn [i] (loop [v (vec (range 90000)) n 0]
		                     (if (< n 20000)
		                       (let [c (nth cells (mod (+ i n) 15)) old @c]
		                         (recur (if (compare-and-set! c old v) (or old (vec (range 90000))) v) (inc n)))
		                       (count v))))]
		  (run! deref (doall (map (fn [i] (future (pass i))) (range 15)))) :done)`,
}

// All threads of an evaluation share its limit of live bytes. Without a limit the programs reach their end, with all that
// they keep alive at once.
func TestThreadsShareTheBytes(t *testing.T) {
	rt := lisp.New()
	for name, code := range crowds {
		t.Run(name, func(t *testing.T) {
			run := func(bytes int64) (lisp.Result, uint64) {
				iso := rt.NewIsolate(lisp.Limits{Bytes: bytes, Alloc: limit.Unlimited, Steps: 500_000_000, Time: 10 * time.Minute})
				grantMeeting(iso, 15)
				var res lisp.Result
				peak := watchHeap(func() {
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
					defer cancel()
					res = iso.Eval(ctx, code)
				})
				return res, peak
			}
			if !testing.Short() {
				if res, peak := run(limit.Unlimited / 4); res.Err != nil || res.Value != ":done" {
					t.Errorf("without a limit: got %q, %v, want it to end well", res.Value, res.Err)
				} else {
					t.Logf("without a limit: %d MiB", peak>>20)
				}
			}
			least := uint64(math.MaxUint64)
			for tries := 0; tries < 3 && least > 24<<20; tries++ { // a collection may see more than is kept
				res, peak := run(4 << 20)
				if res.Err == nil || res.Err.Kind != "limit/bytes" {
					t.Fatalf("with a limit of 4 MiB: got %q, %v, want the bytes limit", res.Value, res.Err)
				}
				t.Logf("with a limit of 4 MiB: %d MiB", peak>>20)
				least = min(least, peak)
			}
			if least > 24<<20 {
				t.Errorf("with a limit of 4 MiB: the heap held %d MiB, want at most 24", least>>20)
			}
		})
	}
}

// grantMeeting grants a capability that lasts a while when n have called it, one that calls a function n times at once, and one in which those
// n calls wait for each other.
func grantMeeting(iso *lisp.Isolate, n int) {
	all, rested := make(chan struct{}), make(chan struct{})
	var arrived, resting atomic.Int64
	iso.Grant("rest-a-while", lisp.Capable(lisp.Capability{Name: "rest-a-while", Call: func(ctx context.Context, _ []value.Value) (value.Value, error) {
		if resting.Add(1) == int64(n) {
			close(rested)
		}
		select {
		case <-ctx.Done():
			return value.Nil, ctx.Err()
		case <-rested:
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
		return value.Nil, ctx.Err()
	}}))
	iso.Grant("meet", lisp.Capable(lisp.Capability{Name: "meet", Call: func(ctx context.Context, _ []value.Value) (value.Value, error) {
		if arrived.Add(1) == int64(n) {
			close(all)
		}
		select {
		case <-ctx.Done():
		case <-all:
		}
		return value.Nil, ctx.Err()
	}}))
	iso.Grant("call-all", lisp.Capable(lisp.Capability{Name: "call-all", AcceptsFns: true, Call: func(ctx context.Context, args []value.Value) (value.Value, error) {
		env := lisp.New().NewEnv(lisp.EnvConfig{})
		defer env.Close()
		errs := make(chan error, n)
		for range n {
			go func() {
				_, err := env.Call(ctx, args[0], value.Nil)
				errs <- err
			}()
		}
		var failed error
		for range n {
			if err := <-errs; err != nil {
				failed = err
			}
		}
		return value.Kw("done"), failed
	}}))
}

// What threads share counts once: a program that works on one big value with many threads keeps it, not many of it.
func TestWhatThreadsShareCountsOnce(t *testing.T) {
	iso := lisp.New().NewIsolate(lisp.Limits{Bytes: 8 << 20})
	res := iso.Eval(context.Background(), `
		(let [v (vec (range 150000))
		      part (fn [i] (reduce + (map (fn [x] (* x i)) v)))]
		  (count (mapv deref (doall (map (fn [i] (future (part i))) (range 15))))))`)
	if res.Err != nil || res.Value != "15" {
		t.Errorf("got %q, %v, want 15", res.Value, res.Err)
	}
}

// Threads that measure at the same time, stop each other, and end in between do not wait for each other for ever.
func TestMeasuringThreadsDoNotWaitForEachOther(t *testing.T) {
	rt := lisp.New()
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		iso := rt.NewIsolate(lisp.Limits{Bytes: 2 << 20, Alloc: limit.Unlimited, Steps: 300_000_000, Time: 10 * time.Minute})
		start := time.Now()
		res := iso.Eval(context.Background(), `
			(let [shared (atom nil)
			      busy (fn [i] (dotimes [n 60]
			                     (case (mod (+ i n) 5)
			                       0 (count (vec (range 3000)))
			                       1 (swap! shared (fn [_] (vec (range 2000))))
			                       2 (locking shared (count (mapv inc (range 2000))))
			                       3 (count @(delay (doall (map inc (range 2000)))))
			                       4 (dosync (count (apply str (range 1000)))))))]
			  (dotimes [_ 4] (run! deref (doall (map (fn [i] (future (busy i))) (range 14))))) :done)`)
		if res.Err != nil || res.Value != ":done" {
			t.Fatalf("got %q, %v, want :done", res.Value, res.Err)
		}
		t.Logf("%v", time.Since(start))
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > 50; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %d goroutines afterwards, want a few", runtime.NumGoroutine())
		}
	}
}

// A limit that a thread meets while others stand still ends all of them, and soon.
func TestALimitEndsThoseWhoStandStill(t *testing.T) {
	iso := lisp.New().NewIsolate(lisp.Limits{Bytes: 4 << 20, Alloc: limit.Unlimited, Steps: limit.Unlimited / 2, Time: time.Hour})
	start := time.Now()
	res := iso.Eval(context.Background(), `
		(let [fs (doall (map (fn [_] (future (loop [v []] (recur (conj v (vec (range 100))))))) (range 15)))]
		  (run! deref fs))`)
	if res.Err == nil || !strings.HasPrefix(res.Err.Kind, "limit/bytes") {
		t.Errorf("got %q, %v, want the bytes limit", res.Value, res.Err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("got an end after %v, want it soon", took)
	}
}
