package lisp_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// busywork is what the isolates of TestIsolatesInParallel do: everything that could meet in something shared. Each gives a
// value that depends on nothing but the number %d.
var busywork = []string{
	`(do (defprotocol P (p [x])) (extend-type Long P (p [x] [:long x])) (extend-protocol P String (p [x] [:string %d]) nil (p [x] :nil)) (= [[:long %d] [:string %d] :nil] [(p %d) (p "a") (p nil)]))`,
	`(do (defmulti m (fn [x] (mod x 3))) (dotimes [i 3] (defmethod m i [x] (+ x %d))) (= (m 4) (+ 4 %d)))`,
	`(do (derive ::a%d ::b%d) (and (isa? ::a%d ::b%d) (= #{::b%d} (parents ::a%d)) (not (isa? ::a%d ::nothing))))`,
	`(let [re (re-pattern (str "(x+)" %d))] (= (re-matches re (str "xxx" %d)) [(str "xxx" %d) "xxx"]))`,
	`(= (mapv (fn [i] (re-seq #"a(\d)" "a1 a2 b3")) (range 3)) (vec (repeat 3 '(["a1" "1"] ["a2" "2"]))))`,
	`(every? true? (map (fn [i] (= (keyword (str "k" i)) (keyword (str "k" i)))) (range 200)))`,
	`(= (read-string (pr-str {:a%d [1 2 'x%d "s"]})) {:a%d [1 2 'x%d "s"]})`,
	`(= (json/read-string (json/write-string {"a" [1 2.5 nil %d]})) {"a" [1 2.5 nil %d]})`,
	`(do (defrecord R [a b]) (let [r (->R 1 %d)] (and (= r (map->R {:a 1 :b %d})) (= (hash r) (hash (->R 1 %d))))))`,
	`(= (with-out-str (pprint/pprint {:a %d}) (print @(future (with-out-str (print %d))))) (str "{:a " %d "}\n" %d))`,
	`(let [a (atom 0)] (dorun (pmap (fn [i] (dotimes [_ 50] (swap! a inc))) (range 4))) (= @a 200))`,
	`(let [r (ref 0)] (doall (map deref (doall (map (fn [i] (future (dotimes [_ 20] (dosync (alter r inc))))) (range 4))))) (= @r 80))`,
	`(let [a (agent 0)] (dotimes [i 50] (send a + %d)) (await a) (= @a (* 50 %d)))`,
	`(let [d (delay (vec (range %d)))] (apply = (map deref (doall (map (fn [_] (future (count @d))) (range 4))))))`,
	`(let [s (map (fn [x] (* x x)) (range 300))] (apply = (map deref (doall (map (fn [_] (future (reduce + s))) (range 4))))))`,
	`(= shared {:a [1 2 {:b #{1 2 3}}] :s "text" :n 12345678901234567890})`,
	`(let [v (:a shared)] (and (= (conj v %d) [1 2 {:b #{1 2 3}} %d]) (= (hash shared) (hash (into {} shared)))))`,
	`(let [t (transient (:a shared))] (conj! t %d) (= (count (persistent! t)) 4))`,
	`(= (give {:n %d}) {:n %d :from :orchestrator})`,
	`(= (call-it (fn [] [%d shared])) [%d shared])`,
	`(let [m (memoize (fn [x] (* x %d)))] (= (map m [1 2 1 2]) (map (fn [x] (* x %d)) [1 2 1 2])))`,
	`(binding [*print-length* 2] (= (pr-str [1 2 %d]) "[1 2 ...]"))`,
	`(= 50000 (count (reduce conj [shared] (range 49999))))`,
	`(do (defmacro twice [x] (list 'do x x)) (let [a (atom 0)] (twice (swap! a inc)) (= 2 @a)))`,
	`(= (sort-by - (range 50)) (reverse (range 50)))`,
	`(= "1 0002 3.00" (format "%s %04x %.2f" 1 2 3.0))`,
	`(try (throw (ex-info "x" {:n %d})) (catch ExceptionInfo e (= {:n %d} (ex-data e))))`,
	`(= [:unresolved] (try (eval 'no-such-name) (catch Exception e [:unresolved])))`,
	`(let [x (object-array 3)] (dotimes [i 3] (aset x i (+ i %d))) (= (vec x) (mapv + (range 3) (repeat %d))))`,
	`(do (def ^:dynamic *d* 0) (= %d (binding [*d* %d] @(future *d*))))`,
	`(= (into (sorted-map) (map (fn [i] [i %d]) (range 40))) (zipmap (range 40) (repeat %d)))`,
	`(= 4 (reduce + (map deref (doall (map (fn [i] (future (locking shared 1))) (range 4))))))`,
}

// 16 isolates of one runtime, and its orchestrator, do everything at once. Each sees what it would see alone, and the
// race detector finds nothing.
func TestIsolatesInParallel(t *testing.T) {
	rt := lisp.New()
	env := rt.NewEnv(lisp.EnvConfig{})
	defer env.Close()
	ctx := context.Background()
	shared, err := env.Eval(ctx, `{:a [1 2 {:b #{1 2 3}}] :s "text" :n 12345678901234567890}`, "t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = env.Eval(ctx, `(defn give [m] (assoc m :from :orchestrator))`, "t"); err != nil {
		t.Fatal(err)
	}
	give, _ := env.Eval(ctx, `give`, "t")
	var wg sync.WaitGroup
	for n := range 16 {
		iso := rt.NewIsolate(lisp.Limits{Threads: 64, Bytes: 4 << 20})
		iso.Grant("shared", shared)
		for name, call := range map[string]func(context.Context, []value.Value) (value.Value, error){
			"give": func(ctx context.Context, args []value.Value) (value.Value, error) {
				return env.Call(ctx, give, args...)
			},
			"call-it": func(ctx context.Context, args []value.Value) (value.Value, error) { return env.Call(ctx, args[0]) },
		} {
			iso.Grant(name, lisp.Capable(lisp.Capability{Name: name, AcceptsFns: true, Call: call}))
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			for round := range 3 {
				for i := range busywork {
					code := strings.ReplaceAll(busywork[(i+n)%len(busywork)], "%d", fmt.Sprint(100*round+n))
					if res := iso.Eval(ctx, code); res.Value != "true" {
						t.Errorf("%s: got %q, %v, want true", code, res.Value, res.Err)
					}
				}
			}
		}()
	}
	for n := range 2 { // the orchestrator has libraries and a core of its own, over the same shared parts
		wg.Add(1)
		go func() {
			defer wg.Done()
			for round := range 3 {
				for _, code := range busywork[:15] {
					code = strings.ReplaceAll(strings.ReplaceAll(code, "%d", fmt.Sprint(100*round+n)), "json/", "joker.json/")
					code = strings.ReplaceAll(code, "pprint/", "clojure.pprint/")
					if strings.Contains(code, "def") || strings.Contains(code, "derive") {
						continue // its definitions are those of all its threads
					}
					v, err := env.Eval(ctx, `(do (require 'joker.json 'clojure.pprint) `+code+`)`, "t")
					if err != nil || !v.Truthy() {
						t.Errorf("orchestrator: %s: got %v", code, err)
					}
				}
			}
		}()
	}
	wg.Wait()
}
