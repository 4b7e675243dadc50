package lisp_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
)

// hostile programs, each with the kinds of error one of which must end it. Nothing else may happen: the process lives, the
// isolate still works, and a neighbour never notices.
var hostile = []struct{ name, code, want string }{
	{"infinite loop", `(loop [] (recur))`, "limit/steps"},
	{"infinite while", `(while true)`, "limit/steps"},
	{"infinite recursion", `(do (defn f [x] (+ 1 (f x))) (f 1))`, "limit/depth"},
	{"mutual recursion", `(do (declare g) (defn f [x] (inc (g x))) (defn g [x] (inc (f x))) (f 1))`, "limit/depth"},
	{"recursion through map", `(do (defn f [x] (doall (map f [x]))) (f 1))`, "limit/depth"},
	{"recursion through apply", `(do (defn f [& xs] (inc (apply f xs))) (f 1 2))`, "limit/depth"},
	{"recursion through sort-by", `(do (defn f [x] (sort-by f [1 2 3])) (f 1))`, "limit/depth"},
	{"recursion through a lazy seq", `(do (defn f [] (lazy-seq (first (f)))) (first (f)))`, "limit/depth limit/steps"},
	{"recursion through str of a cycle", `(do (def a (atom nil)) (reset! a a) (str a))`, "limit/depth"},
	{"count of an endless seq", `(count (range))`, "limit/steps limit/bytes limit/alloc"},
	{"last of an endless seq", `(last (iterate inc 0))`, "limit/steps limit/alloc"},
	{"printing an endless seq", `(iterate inc 0)`, "limit/steps limit/bytes limit/alloc"},
	{"pr-str of an endless seq", `(pr-str (repeat :a))`, "limit/steps limit/bytes limit/alloc"},
	{"vec of an endless seq", `(vec (range))`, "limit/steps limit/bytes limit/alloc"},
	{"into of an endless seq", `(into {} (map vector (range) (range)))`, "limit/steps limit/bytes limit/alloc"},
	{"hash of an endless seq", `(hash (range))`, "limit/steps limit/alloc"},
	{"equal endless seqs", `(= (range) (range))`, "limit/steps limit/alloc"},
	{"sort of an endless seq", `(sort (range))`, "limit/steps limit/bytes limit/alloc"},
	{"apply to an endless seq", `(apply + (range))`, "limit/steps limit/bytes limit/alloc"},
	{"apply str to an endless seq", `(apply str (repeat "ab"))`, "limit/steps limit/bytes limit/alloc"},
	{"reverse of an endless seq", `(reverse (range))`, "limit/steps limit/bytes limit/alloc"},
	{"frequencies of an endless seq", `(frequencies (range))`, "limit/steps limit/bytes limit/alloc"},
	{"cycle", `(reduce + (cycle [1 2 3]))`, "limit/steps limit/alloc"},
	{"string doubling", `(loop [s "ab"] (recur (str s s)))`, "limit/bytes limit/alloc"},
	{"vector doubling", `(loop [v [1]] (recur (into v v)))`, "limit/bytes limit/alloc limit/steps"},
	{"list doubling", `(loop [v '(1)] (recur (doall (concat v v))))`, "limit/bytes limit/alloc limit/steps"},
	{"string replace bomb", `(loop [s "aa"] (recur (str/replace s "a" "aaaa")))`, "limit/bytes limit/alloc limit/steps"},
	{"string join bomb", `(loop [s "aa"] (recur (str/join s (repeat 100 s))))`, "limit/bytes limit/alloc limit/steps"},
	{"format width bomb", `(format "%1000000000d" 1)`, "limit/bytes limit/alloc limit/steps value"},
	{"bigint power tower", `(reduce *' (repeat 100000 99999999999999999999))`, "limit/steps limit/alloc"},
	{"bigint squaring", `(loop [n 10N] (recur (*' n n)))`, "limit/steps limit/alloc limit/bytes"},
	{"ratio growth", `(loop [n 1/3] (recur (+ (* n n) 1/7)))`, "limit/steps limit/alloc limit/bytes"},
	{"bigdec growth", `(loop [n 1.1M] (recur (* n n)))`, "limit/steps limit/alloc limit/bytes"},
	{"shift bomb", `(reduce *' (repeat 64 (bigint 1e300)))`, ""},
	{"macro bomb", `(do (defmacro m [n] (if (zero? n) 1 (list 'do (list 'm (dec n)) (list 'm (dec n))))) (m 30))`, "limit/steps limit/alloc limit/bytes"},
	{"endless macro", `(do (defmacro m [] '(m)) (m))`, "limit/steps limit/depth"},
	{"growing macro", `(do (defmacro m [x] (list 'm (list x x))) (m 1))`, "limit/steps limit/depth limit/alloc limit/bytes"},
	{"nested concat", `(count (reduce (fn [a i] (concat a [i])) [] (range 1000000)))`, "limit/depth limit/steps limit/bytes limit/alloc"},
	{"nested lazy map", `(first (nth (iterate (fn [s] (map inc s)) (range)) 100000))`, "limit/depth limit/steps limit/bytes limit/alloc"},
	{"deep equal", `(let [deep (fn [] (reduce (fn [a _] [a]) [] (range 100000)))] (= (deep) (deep)))`, "limit/depth"},
	{"deep print", `(reduce (fn [a _] [a]) [] (range 100000))`, "limit/depth"},
	{"deep hash", `(hash (reduce (fn [a _] (list a)) nil (range 100000)))`, "limit/depth"},
	{"deep compare", `(let [d (fn [] (reduce (fn [a _] [a]) [] (range 100000)))] (compare (d) (d)))`, "limit/depth"},
	{"deep flatten", `(count (flatten (reduce (fn [a _] [a]) [] (range 100000))))`, "none limit/depth"},
	{"deep map", `(pr-str (reduce (fn [a i] {i a}) {} (range 100000)))`, "limit/depth"},
	{"deep json", `(json/write-string (reduce (fn [a _] [a]) [] (range 100000)))`, "limit/depth"},
	{"deep read", `(read-string (apply str (repeat 1000000 "(")))`, "limit/depth limit/steps limit/bytes"},
	{"eval of a deep form", `(eval (reduce (fn [a _] (list 'inc a)) 1 (range 100000)))`, "limit/depth"},
	{"printing too much", `(dotimes [i 1000000] (println "0123456789012345678901234567890123456789"))`, "limit/output limit/steps"},
	{"catch and retry a limit", `(loop [] (try (loop [] (recur)) (catch Throwable e nil)) (recur))`, "limit/steps"},
	{"catch and retry depth", `(do (defn f [x] (inc (f x))) (loop [] (try (f 1) (catch :default e nil)) (recur)))`, "limit/depth"},
	{"finally after a limit", `(try (loop [] (recur)) (finally (def survived true)))`, "limit/steps"},
	{"swap! retry", `(let [a (atom 0)] (swap! a (fn f [x] (f x))))`, "limit/depth"},
	{"future endless", `@(future (loop [] (recur)))`, "limit/steps cancelled value"},
	{"many futures", `(doall (map (fn [i] (future (loop [] (recur)))) (range 1000)))`, "limit/threads limit/steps"},
	{"promise never delivered", `(deref (promise))`, "limit/time cancelled"},
	{"regex catastrophe", `(re-find #"(a|a)*b" (apply str (repeat 3000000 "a")))`, "limit/steps limit/bytes limit/alloc value"},
	{"regex compile bomb", `(re-pattern "((((a{100}){100}){100}){100})")`, "value"},
	{"atom hoard", `(let [a (atom [])] (loop [i 0] (swap! a conj (vec (range 1000))) (recur (inc i))))`, "limit/bytes limit/alloc limit/steps"},
	{"def hoard", `(do (def h []) (loop [] (def h (conj h (vec (range 1000)))) (recur)))`, "limit/bytes limit/alloc limit/steps"},
	{"closure hoard", `(loop [f (fn [] 1)] (recur (let [v (vec (range 1000))] (fn [] [f v]))))`, "limit/bytes limit/alloc limit/steps"},
	{"memoize hoard", `(let [f (memoize (fn [x] (vec (range 1000))))] (doseq [i (range)] (f i)))`, "limit/bytes limit/alloc limit/steps"},
	{"keyword flood", `(doseq [i (range)] (keyword (str "k" i)))`, "limit/steps limit/alloc limit/bytes"},
	{"gensym flood", `(doseq [i (range)] (gensym))`, "limit/steps limit/alloc limit/bytes"},
	{"transient hoard", `(loop [t (transient [])] (recur (conj! t (vec (range 100)))))`, "limit/bytes limit/alloc limit/steps"},
	{"array bomb", `(make-array 1000000000)`, "limit/bytes limit/alloc unresolved arity value type"},
	{"repeat string", `(apply str (repeat 100000000 "x"))`, "limit/steps limit/alloc limit/bytes"},
	{"slurp", `(slurp "/etc/passwd")`, "unresolved"},
	{"spit", `(spit "x" "y")`, "unresolved"},
	{"load-file", `(load-file "x.joke")`, "unresolved"},
	{"resolve slurp", `((resolve 'slurp) "x")`, "unresolved"},
	{"ns-publics", `(ns-publics 'clojure.core)`, "unresolved"},
	{"in-ns", `(in-ns 'user)`, "unresolved"},
	{"intern", `(intern 'user 'x 1)`, "unresolved"},
	{"find-var", `(find-var 'clojure.core/slurp)`, "unresolved"},
	{"all-ns", `(all-ns)`, "unresolved"},
	{"alter-var-root of core", `(alter-var-root #'map (fn [_] nil))`, "unresolved value compile"},
	{"with-redefs of core", `(with-redefs [map nil] 1)`, "unresolved value compile"},
	{"def into the core", `(def clojure.core/map 1)`, "compile"},
	{"read-eval", `#=(+ 1 2)`, "read"},
	{"read-eval in a string", `(read-string "#=(+ 1 2)")`, "read value"},
	{"shell", `(joker.os/sh "id")`, "unresolved"},
	{"require os", `(require 'joker.os)`, "value compile unresolved"},
	{"eval of slurp", `(eval '(slurp "/etc/passwd"))`, "unresolved"},
	{"eval of a string of slurp", `(eval (read-string "(slurp \"/etc/passwd\")"))`, "unresolved"},
	{"host interop", `(.exit System 0)`, "compile unresolved"},
	{"new", `(new java.io.File "x")`, "compile unresolved"},
	{"*out*", `*out*`, "unresolved"},
	{"*ns*", `*ns*`, "unresolved"},
	{"time", `(time 1)`, "unresolved"},
	{"rand", `(rand)`, "unresolved"},
	{"forged limit", `(throw {:kind "limit/steps"})`, "type"},
}

func TestHostilePrograms(t *testing.T) {
	rt := lisp.New()
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			iso := rt.NewIsolate(lisp.Limits{})
			neighbour := rt.NewIsolate(lisp.Limits{})
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			evalCtx := ctx
			if strings.Contains(h.want, "limit/time") {
				var stop context.CancelFunc
				evalCtx, stop = context.WithTimeout(ctx, 200*time.Millisecond)
				defer stop()
			}
			start := time.Now()
			res := iso.Eval(evalCtx, h.code)
			took := time.Since(start)
			kind := "none"
			if res.Err != nil {
				kind = res.Err.Kind
			}
			if h.want != "" && !contains(strings.Fields(h.want), kind) {
				t.Errorf("%s: ended as %s (%v), want one of %s", h.code, kind, res.Err, h.want)
			}
			t.Logf("%s after %v: steps %d, bytes %d", kind, took, res.Used.Steps, res.Used.Alloc)
			for _, i := range []*lisp.Isolate{iso, neighbour} {
				if r := i.Eval(ctx, `(reduce + (map inc (range 100)))`); r.Err != nil || r.Value != "5050" {
					t.Errorf("afterwards: got %q, %v, want 5050", r.Value, r.Err)
				}
			}
		})
	}
}

// A 100 MB literal and 2,000,000 nested parentheses arrive as code.
func TestHostileSources(t *testing.T) {
	rt := lisp.New()
	for name, code := range map[string]string{
		"nested parentheses": strings.Repeat("(", 2_000_000),
		"balanced nest":      strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000),
		"quotes":             strings.Repeat("'", 2_000_000) + "x",
		"huge string":        `"` + strings.Repeat("x", 100<<20) + `"`,
		"huge vector":        "[" + strings.Repeat("1 ", 20<<20) + "]",
		"huge number":        strings.Repeat("9", 10<<20),
		"huge symbol":        strings.Repeat("a", 50<<20),
	} {
		t.Run(name, func(t *testing.T) {
			iso := rt.NewIsolate(lisp.Limits{})
			res := iso.Eval(context.Background(), code)
			if res.Err == nil {
				t.Fatalf("got no error, want one")
			}
			t.Logf("%s: %s", res.Err.Kind, res.Err.Message)
			if r := iso.Eval(context.Background(), `1`); r.Value != "1" {
				t.Errorf("afterwards: got %v, want 1", r)
			}
		})
	}
}

// A limit runs no finally: what the program would do after it never happens.
func TestLimitRunsNoFinally(t *testing.T) {
	iso := lisp.New().NewIsolate(lisp.Limits{})
	iso.Eval(context.Background(), `(def a (atom 0))`)
	iso.Eval(context.Background(), `(try (loop [] (recur)) (catch Throwable e (reset! a 1)) (finally (reset! a 2)))`)
	if r := iso.Eval(context.Background(), `@a`); r.Value != "0" {
		t.Errorf("got %s, want 0: neither catch nor finally may run", r.Value)
	}
}

// Isolates see nothing of each other.
func TestIsolatesShareNothing(t *testing.T) {
	rt := lisp.New()
	a, b := rt.NewIsolate(lisp.Limits{}), rt.NewIsolate(lisp.Limits{})
	ctx := context.Background()
	a.Eval(ctx, `(def secret 42)`)
	if r := a.Eval(ctx, `secret`); r.Value != "42" {
		t.Fatalf("its own definition: got %v, want 42", r)
	}
	for _, code := range []string{`secret`, `user/secret`, `@#'secret`, `@#'user/secret`, `(eval 'secret)`} {
		if r := b.Eval(ctx, code); r.Err == nil || r.Err.Kind != "unresolved" {
			t.Errorf("%s: got %v %v, want unresolved", code, r.Value, r.Err)
		}
	}
}

// Cancelling stops an evaluation at once.
func TestCancel(t *testing.T) {
	rt := lisp.New()
	for _, code := range []string{`(loop [] (recur))`, `(count (range))`, `(deref (promise))`, `@(future (loop [] (recur)))`} {
		iso := rt.NewIsolate(lisp.Limits{Steps: 1 << 50, Alloc: 1 << 50})
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Add(1)
		var res lisp.Result
		go func() {
			defer wg.Done()
			res = iso.Eval(ctx, code)
		}()
		time.Sleep(20 * time.Millisecond)
		cancel()
		wg.Wait()
		if res.Err == nil || res.Err.Kind != "cancelled" {
			t.Errorf("%s: got %v, want cancelled", code, res.Err)
		}
	}
}

func contains(xs []string, x string) bool {
	for _, y := range xs {
		if x == y {
			return true
		}
	}
	return false
}
