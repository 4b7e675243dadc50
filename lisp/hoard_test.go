package lisp_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/lisp"
)

// hoards are ways to keep about 2 MB from one evaluation to the next. %d is the number of the evaluation.
var hoards = map[string]string{
	"a vector":               `(def h%d (vec (range 100000)))`,
	"a string":               `(def h%d (apply str (repeat 200000 "0123456789")))`,
	"a part of a string":     `(def h%d (subs (apply str (repeat 200000 "0123456789")) 0 1))`,
	"a match in a string":    `(def h%d (re-find #"0.." (apply str (repeat 200000 "0123456789"))))`,
	"a field of a text":      `(def h%d (first (str/split (str "a," (apply str (repeat 200000 "0123456789"))) #",")))`,
	"a name":                 `(def h%d (keyword (apply str (repeat 200000 "0123456789"))))`,
	"a symbol":               `(def h%d (symbol (apply str (repeat 200000 "0123456789"))))`,
	"a part of a symbol":     `(def h%d (symbol (namespace (symbol (str "a/" (apply str (repeat 200000 "0123456789"))))) "x"))`,
	"what was read":          `(def h%d (read-string (str "\"a\" ;" (apply str (repeat 200000 "0123456789")))))`,
	"a name that was read":   `(def h%d (read-string (str "a ;" (apply str (repeat 200000 "0123456789")))))`,
	"JSON":                   `(def h%d (json/read-string (str "[\"a\"]" (apply str (repeat 2000000 " ")))))`,
	"a big integer":          `(def h%d (mapv (fn [i] (bigint (str (inc i) (apply str (repeat 3000 "0123456789"))))) (range 160)))`,
	"a big decimal":          `(def h%d (mapv (fn [i] (bigdec (str (inc i) (apply str (repeat 3000 "0123456789"))))) (range 160)))`,
	"a regex":                `(def h%d (mapv (fn [i] (re-pattern (apply str (concat (repeat 5000 "x") (str i))))) (range 10)))`,
	"a matcher":              `(def h%d (re-matcher #"x" (apply str (repeat 200000 "0123456789"))))`,
	"a quoted constant":      `(def h%d (eval (list 'fn [] (list 'quote (vec (range 100000))))))`,
	"a constant deep inside": `(def h%d ((eval (list 'fn [] (list 'fn [] (list 'quote (vec (range 100000))))))))`,
	"a constant in a case":   `(def h%d (eval (list 'fn ['x] (list 'case 'x (apply str (repeat 200000 "0123456789")) 1 2))))`,
	"a constant unreached":   `(def h%d (eval (list 'fn ['x] (list 'if 'x 1 (list 'fn [] (apply str (repeat 200000 "0123456789")))))))`,
	"a lot of code":          `(def h%d (eval (list 'fn ['x] (cons 'do (repeat 20000 '(str x x))))))`,
	"a closure":              `(def h%d (let [v (vec (range 100000))] (fn [] v)))`,
	"a partial":              `(def h%d (partial list (vec (range 100000))))`,
	"a lazy seq":             `(def h%d (let [v (vec (range 100000))] (map inc (lazy-seq (seq v)))))`,
	"a realised seq":         `(def h%d (doall (map inc (range 40000))))`,
	"a delay":                `(def h%d (let [v (vec (range 100000))] (delay v)))`,
	"a forced delay":         `(def h%d (doto (delay (vec (range 100000))) deref))`,
	"a delay that threw":     `(def h%d (let [d (delay (throw (ex-info "" {:v (vec (range 100000))})))] (try @d (catch Exception e nil)) d))`,
	"an exception":           `(def h%d (ex-info "" {:v (vec (range 100000))}))`,
	"a message":              `(def h%d (ex-info (apply str (repeat 200000 "0123456789")) {}))`,
	"the code that threw":    `(def h%d (try (eval (list 'do (list (list 'fn [] (list 'count (list 'quote (vec (range 100000)))) '(throw (ex-info "" {})))))) (catch Exception e e)))`,
	"a future":               `(def h%d (doto (future (vec (range 100000))) deref))`,
	"a future that threw":    `(def h%d (let [f (future (throw (ex-info "" {:v (vec (range 100000))})))] (try @f (catch Exception e nil)) f))`,
	"a promise":              `(def h%d (doto (promise) (deliver (vec (range 100000)))))`,
	"an agent":               `(def h%d (agent (vec (range 100000))))`,
	"an agent's handler":     `(def h%d (let [v (vec (range 100000))] (agent 1 :error-handler (fn [a e] v))))`,
	"a failed agent's queue": `(def h%d (let [a (agent 1) go (promise)] (send a (fn [x] @go (throw (ex-info "" {})))) (send a (fn [x y] x) (vec (range 100000))) (deliver go true) (while (not (agent-error a))) a))`,
	"a volatile":             `(def h%d (volatile! (vec (range 100000))))`,
	"a ref":                  `(def h%d (ref (vec (range 100000))))`,
	"an atom":                `(def h%d (atom (vec (range 100000))))`,
	"an atom's metadata":     `(def h%d (atom 1 :meta {:v (vec (range 100000))}))`,
	"an atom's watch":        `(def h%d (let [v (vec (range 100000)) a (atom 1)] (add-watch a :k (fn [& _] v)) a))`,
	"an atom's validator":    `(def h%d (let [v (vec (range 100000))] (atom 1 :validator (fn [_] v))))`,
	"metadata":               `(def h%d (with-meta [] {:v (vec (range 100000))}))`,
	"a var's metadata":       `(do (def h%d 1) (alter-meta! #'h%d assoc :v (vec (range 100000))))`,
	"a var's watch":          `(do (def h%d 1) (let [v (vec (range 100000))] (add-watch #'h%d :k (fn [& _] v))))`,
	"a docstring":            `(eval (list 'def 'h%d (apply str (repeat 200000 "0123456789")) 1))`,
	"the name of a var":      `(eval (list 'def (symbol (str "h%d" (apply str (repeat 200000 "0123456789")))) 1))`,
	"a var in a vector":      `(do (def x (vec (range 100000))) (def h%d x))`,
	"bindings":               `(do (def ^:dynamic *d* nil) (def h%d (binding [*d* (vec (range 100000))] (bound-fn* identity))))`,
	"text kept open":         `(do (declare h%d) (with-out-str (print (apply str (repeat 100000 "0123456789"))) (def h%d (bound-fn* print))))`,
	"text written later":     `(do (when (= %d 0) (with-out-str (def w (bound-fn* print)))) (w (apply str (repeat 100000 "0123456789"))))`,
	"a multimethod":          `(do (defmulti h%d identity) (let [v (vec (range 100000))] (defmethod h%d 1 [_] v)))`,
	"a hierarchy":            `(dotimes [i 10000] (derive (keyword "h%d" (str i)) ::root))`,
	"a protocol":             `(do (defprotocol P (p [x])) (deftype T%d []) (let [v (vec (range 100000))] (extend T%d P {:p (fn [x] v)})) (def h%d P))`,
	"a type":                 `(do (defprotocol Q (q [x])) (let [v (vec (range 100000))] (deftype U [] Q (q [x] v))) (def h%d (->U)))`,
	"a record":               `(do (defrecord R [a]) (def h%d (->R (vec (range 100000)))))`,
	"a record's type":        `(do (defprotocol S (s [x])) (let [v (vec (range 100000))] (defrecord V [] S (s [x] v))) (def h%d (->V)))`,
	"a reified object":       `(do (defprotocol M (m [x])) (let [v (vec (range 100000))] (def h%d (reify M (m [x] v)))))`,
	"an array":               `(def h%d (object-array (range 120000)))`,
	"a transient":            `(def h%d (reduce conj! (transient []) (range 100000)))`,
	"a sorted map":           `(def h%d (into (sorted-map) (map (fn [i] [i i]) (range 100000))))`,
	"a comparator":           `(def h%d (let [v (vec (range 100000))] (sorted-map-by (fn [a b] (count v)))))`,
	"an eduction":            `(def h%d (eduction (map inc) (vec (range 100000))))`,
	"memoised results":       `(def h%d (doto (memoize (fn [x] (vec (range 100000)))) (apply [1])))`,
	"an iterate":             `(def h%d (let [s (iterate inc 0)] (nth s 40000) s))`,
	"a sequence":             `(def h%d (let [s (sequence (map inc) (vec (range 100000)))] s))`,
	"a half of a vector":     `(def h%d (subvec (vec (range 100000)) 0 1))`,
	"a popped vector":        `(def h%d (rest (seq (vec (range 100000)))))`,
	"a zipper":               `(def h%d (zip/vector-zip (vec (range 100000))))`,
	"a tagged literal":       `(def h%d (tagged-literal 'x (vec (range 100000))))`,
	"a reduced":              `(def h%d (reduced (vec (range 100000))))`,
	"an old definition":      `(do (def old (atom nil)) (let [o @old] (reset! old [o (vec (range 100000))])) (def h%d old))`,
}

func heap() int64 {
	runtime.GC()
	return int64(alive())
}

// What an agent keeps from one evaluation to the next is bounded, however it keeps it, and it is told.
func TestHoardsAreBounded(t *testing.T) {
	need.Full(t, "takes half a minute; make test runs it")
	rt := lisp.New()
	limits := lisp.Limits{Bytes: 4 << 20, Steps: 100_000_000}
	for name, code := range hoards {
		t.Run(name, func(t *testing.T) {
			iso := rt.NewIsolate(limits)
			before, worst, told := heap(), int64(0), false
			for n := range 11 {
				c := strings.ReplaceAll(code, "%d", fmt.Sprint(n))
				res := iso.Eval(context.Background(), c)
				switch {
				case res.Err == nil:
				case res.Err.Kind == "limit/bytes":
					told = true
				default:
					t.Fatalf("%s: %v", c, res.Err)
				}
				worst = max(worst, heap()-before)
			}
			t.Logf("at most %d MB, told: %v", worst>>20, told)
			if most := 3 * limits.Bytes; worst > most {
				t.Errorf("%s: got %d bytes kept alive, want at most %d", code, worst, most)
			}
			runtime.KeepAlive(iso)
		})
	}
}
