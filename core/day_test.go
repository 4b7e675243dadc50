package core_test

import (
	"math"
	"runtime"
	"testing"
	"time"
)

// busyDay has 200 processes: 20 that each spawn an agent a hundred times in a day, and 180 that run every ten minutes.
const busyDay = `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.loop :as loop] '[zeno.journal :as journal])
(def done (atom 0))
(def runs (atom 0))
(def bad (atom []))
(defn grant [] {:vocab {"get" (fn [k] {:k k :list (vec (range 20))}) "put!" {:fn (fn [x] x) :effect :write}}})
(gateway/start! {:roles {:worker #'grant}})
(defn agent [{:keys [eval prompt]}]
  (eval "(def all (get :x))")
  (eval "(put! (reduce + (:list all)))")
  (:text (eval "(count (:list all))")))
(defn work [] (let [r (spawn/spawn {:role :worker :backend :scripted :prompt "go" :agent #'agent})]
  (if (= [:ok "=> 20" 3] [(:status r) (:answer r) (:evals r)]) (swap! done inc) (swap! bad conj r))))
(defn plain [] (swap! runs inc))
(doseq [i (range 20)] (loop/every (str "work" i) "864s" #'work))
(doseq [i (range 180)] (loop/every (str "plain" i) "10m" #'plain))
(loop/start!)
`

// TestADayInAMinute passes 24 hours of a busy home on a virtual clock, with its journal on disk and every agent over the
// real endpoint: nothing fails, and what it takes of memory does not grow with the hours.
func TestADayInAMinute(t *testing.T) {
	hours, want := 24, "[2000 25920 []]"
	if testing.Short() {
		hours, want = 6, "[500 6480 []]"
	}
	c, _ := clocked(t, busyDay)
	eval(t, c, `(journal/retention! {:events 20000})`)
	begun := time.Now()
	heap := map[int]float64{}
	for h := 1; h <= hours; h++ {
		eval(t, c, `(loop/advance! "1h")`)
		if h%6 == 0 || h == 3 {
			heap[h] = math.Round(10*liveHeap()) / 10
		}
	}
	took := time.Since(begun)
	if got := eval(t, c, `[@done @runs @bad]`); got != want {
		t.Errorf("got %.2000s, want %s", got, want)
	}
	n := runtime.NumGoroutine()
	for end := time.Now().Add(time.Minute); n > 100 && time.Now().Before(end); n = runtime.NumGoroutine() {
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("%d h took %s; live heap after so many hours, in MB: %v; %d goroutines", hours, took.Round(time.Millisecond), heap, n)
	if n > 100 {
		t.Errorf("got %d goroutines, want those of an idle instance", n)
	}
	if !testing.Short() && heap[24]-heap[12] > 8 { // the first 1000 spawns are remembered
		t.Errorf("the live heap grew from %.1f MB at noon to %.1f MB at midnight, want it flat", heap[12], heap[24])
	}
	if got := eval(t, c, `(:broken (journal/verify))`); got != "nil" {
		t.Errorf("the journal: got broken at %s", got)
	}
}

// liveHeap is what is in use after a collection, in MB.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
