package lisp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostileArgs are expressions that no function is fond of: each is evaluated anew for every call.
var hostileArgs = []string{
	`nil`, `true`, `0`, `1`, `-1`, `3`, `9223372036854775807`, `-9223372036854775808`, `99999999999999999999N`, `1/3`, `1.5M`, `1e999M`,
	`##NaN`, `##Inf`, `-0.0`, `1e300`, `\a`, `""`, `"abc"`, `"[[[["`, `"%s %d %x %1000000000d"`, `"(a|b)*\\1"`, `(str/join (repeat 3000 "ab"))`,
	`#"a*"`, `#"(a)|(b)"`, `:k`, `:n/k`, `'s`, `'n/s`, `'(f x)`, `'[a b & c]`, `[]`, `[1 2 3]`, `[[:a 1] [:b 2]]`, `{}`, `{:a 1 :b {:c 2}}`, `#{1 2}`,
	`(sorted-map 1 2)`, `(sorted-set 1 2)`, `(sorted-map-by (fn [a b] (throw (ex-info "cmp" {}))) 1 2)`, `(sorted-map-by (fn [a b] :no) 1 2)`,
	`(range)`, `(repeat 1)`, `(iterate inc 0)`, `(cycle [1 2])`, `(map inc (range))`, `(lazy-seq (throw (ex-info "lazy" {})))`, `(range 100000)`,
	`deep`, `deep-map`, `deep-seq`, `(cyclic)`, `(let [a (atom 1)] (add-watch a :k (fn [& _] (throw (ex-info "watch" {})))) a)`,
	`(atom 1)`, `(volatile! 1)`, `(ref 1)`, `(agent 1)`, `(promise)`, `(delay (throw (ex-info "delay" {})))`, `(future 1)`, `(reduced 1)`,
	`(let [t (transient [])] (persistent! t) t)`, `(transient [1])`, `(transient {1 2})`, `(transient #{1})`, `(int-array 3)`, `(to-array [1 :a nil])`, `(byte-array 2)`,
	`inc`, `identity`, `(fn [& _] (throw (ex-info "fn" {:a 1})))`, `(fn [] 1)`, `(fn f [& a] (apply f a))`, `(fn [& a] a)`, `(map inc)`, `(take 2)`, `(fn [rf] nil)`,
	`#'deep`, `#'inc`, `(ex-info "x" {:a 1})`, `String`, `Long`, `Proto`, `proto-fn`, `multi`, `(->Rec 1 2)`, `(map->Rec {:a 1 :z 3})`, `(->Typ 1)`, `(reify Proto (proto-fn [_] 1))`, `Rec`, `Typ`,
	`(make-hierarchy)`, `#inst "2020"`, `#uuid "00000000-0000-0000-0000-000000000000"`, `(tagged-literal 'a 1)`, `(eduction (map inc) [1 2])`, `(with-meta [1] {:a 1})`,
	`(zip/vector-zip [1 [2]])`, `(subvec [1 2 3] 1)`, `(first {:a 1})`, `(list)`, `(seq "abc")`, `(cons 1 (range))`, `java.lang.Object`, `Exception`,
	`'("a" &)`, `'(quote)`, `'[[x y] z]`, `[nil nil]`, `{nil nil}`, `"\ud800"`, `"{\"a\":"`, `(symbol "a b" "")`, `(keyword "")`, `(list 'fn* ['& '&])`, `1000000`, `65`, `-5.5`,
}

// hostilePreamble is what the arguments name.
const hostilePreamble = `
(def deep (reduce (fn [a _] [a]) [] (range 3000)))
(def deep-map (reduce (fn [a i] {i a}) {} (range 3000)))
(def deep-seq (reduce (fn [a _] (cons 1 (lazy-seq a))) nil (range 3000)))
(defn cyclic [] (let [a (atom nil)] (reset! a [a]) a))
(defprotocol Proto (proto-fn [x] [x y]))
(defrecord Rec [a b])
(deftype Typ [a] Object (toString [t] (str t)) (equals [t o] (= o t)) (hashCode [t] :no) clojure.lang.Seqable (seq [t] 5)
  clojure.lang.IFn (invoke [t] 1) clojure.lang.ILookup (valAt [t k] (get t k)) clojure.lang.Counted (count [t] :many) clojure.lang.IDeref (deref [t] @t))
(defmulti multi (fn [& a] (first a)))
(defmethod multi 1 [& a] a)`

// hostileLimits are tight, so that the endless ends soon.
var hostileLimits = Limits{Steps: 20_000, Alloc: 4 << 20, Bytes: 2 << 20, Depth: 300, Output: 1 << 14, Time: 500 * time.Millisecond, Calls: 10, Threads: 4}

// What one evaluation under hostileLimits may take of CPU time and memory, the collector's work included.
const (
	hostileTime  = time.Second
	hostileBytes = 64 << 20
)

// hostileRig runs calls, and watches what each takes.
type hostileRig struct {
	t     *testing.T
	rt    *Runtime
	iso   *Isolate
	evals int
	kinds map[string]int
	slow  time.Duration
	large uint64
}

func newHostileRig(t *testing.T) *hostileRig {
	return &hostileRig{t: t, rt: New(), kinds: map[string]int{}}
}

func (r *hostileRig) renew() {
	r.iso = r.rt.NewIsolate(hostileLimits)
	r.iso.SetLimits(Limits{})
	if res := r.iso.Eval(context.Background(), hostilePreamble); res.Err != nil {
		r.t.Fatalf("preamble: %v", res.Err)
	}
	r.iso.SetLimits(hostileLimits)
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// processTime is the CPU time that the process has used: the clock on the wall tells of the other programs too.
func processTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (r *hostileRig) run(code string) {
	if r.evals%200 == 0 { // what a call has defined or changed does not live long
		r.renew()
	}
	r.evals++
	before, start := allocated(), processTime()
	res := r.iso.Eval(context.Background(), code)
	took, bytes := processTime()-start, allocated()-before
	kind := "value"
	if e := res.Err; e != nil {
		kind = e.Kind
		if e.Kind == "internal" || e.Class == "InternalError" {
			reason := ""
			if c, ok := e.err.(*Crash); ok {
				reason = fmt.Sprintf("%v\n%s", c.Reason, c.Stack)
			}
			r.t.Errorf("%s: got %v, want no defect of ours: %s", code, e, reason)
		}
	}
	r.kinds[kind]++
	if strings.Contains(res.Value, "InternalError") {
		r.t.Errorf("%s: got %s, want no defect of ours", code, res.Value)
	}
	if took > hostileTime {
		r.t.Errorf("%s: took %v, want at most %v", code, took, hostileTime)
	}
	if bytes > hostileBytes {
		r.t.Errorf("%s: allocated %d bytes, want at most %d", code, bytes, hostileBytes)
	}
	if took > r.slow {
		r.slow = took
		r.t.Logf("slowest so far, %v: %s (%s)", took, code, kind)
	}
	if bytes > r.large {
		r.large = bytes
		r.t.Logf("largest so far, %d: %s (%s, charged %d)", bytes, code, kind, res.Used.Alloc)
	}
}

// hostileCallees names everything that an agent can name: functions, macros, what is private, special forms.
func hostileCallees(rt *Runtime) []string {
	var out []string
	for _, v := range rt.core.Vars() {
		out = append(out, callee(v.NS, v.Name, v.Macro.Load(), v.Private.Load()))
	}
	for _, ns := range rt.shared {
		for _, v := range ns.Vars() {
			out = append(out, callee(v.NS, v.Name, v.Macro.Load(), v.Private.Load()))
		}
	}
	out = append(out, "quote", "if", "do", "let*", "loop*", "recur", "fn*", "letfn*", "def", "var", "set!", "throw", "try", "case*", "binding*",
		"lazy-seq*", "delay*", ".", "new", "catch", "finally", "&")
	slices.Sort(out)
	return slices.Compact(out)
}

func callee(ns, name string, macro, private bool) string {
	if private && !macro {
		return "#'" + ns + "/" + name
	}
	return ns + "/" + name
}

// TestEveryFunctionWithHostileArguments calls everything that an isolate holds with arguments that it cannot want. Whatever
// comes of it is a value, an exception or a limit: never a defect of ours, and never more time or memory than the limits
// allow. ZENO_HOSTILE sets how many calls of two, three and four arguments each function gets (default 12); ZENO_SEED
// chooses others.
func TestEveryFunctionWithHostileArguments(t *testing.T) {
	n, seed := envInt("ZENO_HOSTILE", 12), envInt("ZENO_SEED", 1)
	if testing.Short() {
		n = 1
	}
	r := newHostileRig(t)
	rnd := rand.New(rand.NewPCG(uint64(seed), 2))
	pick := func() string { // an argument, or one inside others: what macros expand to is handed vectors of vectors
		wraps := []string{"[%s]", "[[%s]]", "'[[%s %s]]", "[%s %s]", "[[%s %s %s]]", "{%s %s}", "(list %s %s)", "'((%s) %s)", "(with-meta [] {%s 1})"}
		if rnd.IntN(4) > 0 {
			return hostileArgs[rnd.IntN(len(hostileArgs))]
		}
		w := wraps[rnd.IntN(len(wraps))]
		for strings.Contains(w, "%s") {
			w = strings.Replace(w, "%s", strings.ReplaceAll(hostileArgs[rnd.IntN(len(hostileArgs))], "%", ""), 1)
		}
		return w
	}
	only := os.Getenv("ZENO_ONLY")
	callees := hostileCallees(r.rt)
	for _, f := range callees {
		if only != "" && !strings.Contains(f, only) {
			continue
		}
		r.run("(" + f + ")")
		for i, a := range hostileArgs {
			if !testing.Short() || i%8 == r.evals%8 {
				r.run("(" + f + " " + a + ")")
			}
		}
		for args := 2; args <= 4; args++ {
			for range n {
				code := "(" + f
				for range args {
					code += " " + pick()
				}
				r.run(code + ")")
			}
		}
	}
	t.Logf("%d names, %d calls: %v", len(callees), r.evals, r.kinds)
	if only == "" && (r.kinds["value"] == 0 || r.kinds["type"] == 0 || r.kinds["limit/steps"] == 0) {
		t.Errorf("got %v, want values, type errors and limits among the outcomes", r.kinds)
	}
}

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}
