package lisp_test

import (
	"context"
	"math/big"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
)

// attacks are programs that once got past a limit or broke the language, each with the kinds of error that may end it.
var attacks = []struct{ name, code, want string }{
	{"a case of an endless constant", `(eval (list 'case* 1 nil [[(range) 1]]))`, "limit/steps limit/alloc limit/bytes"},
	{"a case of a deep constant", `(eval (list 'case* 1 nil [[(reduce (fn [a _] (list a)) nil (range 5000)) 1]]))`, "limit/depth"},
	{"a regex that nests as deeply as can be", `(let [p (re-pattern (str (apply str (repeat 999 "(?:")) "a" (apply str (repeat 999 ")*"))))] (re-matches p "a"))`, "value"},
	{"the same, searched from inside a text", `(let [p (re-pattern (str (apply str (repeat 999 "(?:")) "a" (apply str (repeat 999 ")*"))))] (dorun (re-seq p "bab")))`, "value"},
	{"cast to a protocol", `(defprotocol P (p [x])) (cast P 1)`, "type"},
}

// costly are programs that once did much for few steps: a step may take a microsecond or so, not many.
var costly = map[string]string{
	"many locals and branches": `(eval (concat '(let) [(vec (mapcat (fn [i] [(symbol (str "v" i)) i]) (range 20000)))] (map (fn [i] (list 'if (symbol (str "v" i)) 1 2)) (range 20000))))`,
	"names that mean nothing":  `(dotimes [i 1000000] (try (eval 'foooo) (catch Exception e nil)))`,
	"long names":               `(let [s (apply str (repeat 100000 "ab"))] (dotimes [i 100000] (keyword s)))`,
	"exceptions":               `(do (defn f [n] (if (zero? n) (throw (ex-info "x" {})) (try (inc (f (dec n))) (catch ExceptionInfo e (throw (ex-info "y" {} e)))))) (dotimes [i 1000000] (try (f 1000) (catch Exception e nil))))`,
}

func TestAStepIsShort(t *testing.T) {
	rt := lisp.New()
	for name, code := range costly {
		t.Run(name, func(t *testing.T) {
			most := time.Duration(slowness() * float64(4*time.Microsecond))
			best := time.Hour
			for tries := 0; tries < 3 && best > most; tries++ {
				iso := rt.NewIsolate(lisp.Limits{Steps: 1_000_000, Time: 10 * time.Minute})
				start := cpuTime()
				res := iso.Eval(context.Background(), code)
				took := cpuTime() - start
				if res.Err == nil || res.Err.Kind != "limit/steps" && res.Err.Kind != "limit/alloc" && res.Err.Kind != "limit/bytes" {
					t.Errorf("got %q, %v, want a limit", res.Value, res.Err)
				}
				best = min(best, took/time.Duration(max(res.Used.Steps, 1)))
			}
			if best > most {
				t.Errorf("got %v for a step, want about 1µs, and at most %v", best, most)
			}
		})
	}
}

// cpuTime is what the process has used: the clock on the wall tells of the other programs too.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// slowness is by how much this machine computes slower than the one on which the bounds of these tests were set, or 1: the
// processor time of multiplications and a text of big numbers, of which the best of a few counts.
var slowness = sync.OnceValue(func() float64 {
	const there = 6 * time.Millisecond
	n, _ := new(big.Int).SetString(strings.Repeat("9876543217", 3000), 10)
	best := time.Hour
	for range 10 {
		start := cpuTime()
		for range 10 {
			new(big.Int).Mul(n, n)
		}
		_ = new(big.Int).Mul(n, n).String()
		best = min(best, cpuTime()-start)
	}
	return max(1, float64(best)/float64(there))
})

func TestAttacks(t *testing.T) {
	rt := lisp.New()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			iso := rt.NewIsolate(lisp.Limits{Time: 5 * time.Minute})
			res := iso.Eval(context.Background(), a.code)
			kind := "none"
			if res.Err != nil {
				kind = res.Err.Kind
			}
			if !contains(strings.Fields(a.want), kind) {
				t.Errorf("%s: ended as %s (%q, %v), want one of %s", a.code, kind, res.Value, res.Err, a.want)
			}
		})
	}
}

// Limits too small to begin with end the evaluation, not the process.
func TestTinyLimits(t *testing.T) {
	rt := lisp.New()
	for _, l := range []lisp.Limits{{Steps: 1}, {Alloc: 1}, {Bytes: 1}, {Depth: 1}, {Output: 1}, {Calls: 1}, {Threads: 1}, {Time: 1},
		{Steps: 1, Alloc: 1, Bytes: 1, Depth: 1, Output: 1, Time: 1}} {
		iso := rt.NewIsolate(l)
		for _, code := range []string{``, `1`, `(def x [1 2 3])`, `(println "hello")`, `(throw (ex-info "x" {:a (range)}))`, `@(future 1)`, `(`, `foo`} {
			if res := iso.Eval(context.Background(), code); res.Err != nil && res.Err.Kind == "internal" {
				t.Errorf("%+v: %s: got %v, want a limit or an answer", l, code, res.Err)
			}
		}
	}
}

// The var behind with-out-str is the runtime's: what one isolate did to it, all would see.
func TestSharedVarIsOutOfReach(t *testing.T) {
	rt := lisp.New()
	a, b := rt.NewIsolate(lisp.Limits{}), rt.NewIsolate(lisp.Limits{})
	for _, code := range []string{
		`(keys (get-thread-bindings))`,
		`(with-out-str (print (keys (get-thread-bindings))))`,
		`@(future (keys (get-thread-bindings)))`,
		`((bound-fn* (fn [] (keys (get-thread-bindings)))))`,
	} {
		for _, i := range []*lisp.Isolate{a, b} {
			if res := i.Eval(context.Background(), code); res.Err != nil || res.Value != "nil" && res.Value != `""` && res.Value != `"nil"` {
				t.Errorf("%s: got %s, %v, want nothing bound", code, res.Value, res.Err)
			}
		}
	}
}

// The deepest recursion that the limit lets through stays far from the end of the Go stack, which nothing survives: 1 GB.
func TestDepthFitsTheGoStack(t *testing.T) {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	defer env.Close()
	for name, nest := range map[string]string{
		"call": `(list 'identity a)`, "if": `(list 'if a 1 2)`, "let": `(list 'let ['a a] 'a)`, "vector": `[a]`, "map": `{:a a}`,
		"sum": `(list '+ 1 2 3 a)`, "try": `(list 'try a '(catch ArithmeticException e 1))`, "finally": `(list 'try a '(finally 1))`,
		"case": `(list 'case a 1 2 3)`, "binding": `(list 'binding '[*print-length* 1] a)`, "for": `(list 'first (list 'for '[x [1]] a))`,
		"lazy": `(list 'first (list 'lazy-seq [a]))`, "delay": `(list 'force (list 'delay a))`, "apply": `(list 'apply '+ [a])`,
	} {
		t.Run(name, func(t *testing.T) {
			code := `(declare again) (eval (list 'defn 'again [] (reduce (fn [a _] ` + nest + `) '(again) (range 150)))) (again)`
			stack := make(chan uint64)
			go func() { // on a stack of its own
				_, err := env.Eval(context.Background(), code, "t")
				if err == nil || !strings.Contains(err.Error(), "nested deeper") {
					t.Errorf("got %v, want a stack that is too deep", err)
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				stack <- m.StackInuse
			}()
			if n := <-stack; n > 128<<20 {
				t.Errorf("got %d bytes of stack, want at most an eighth of what there is", n)
			}
			runtime.GC()
		})
	}
}
