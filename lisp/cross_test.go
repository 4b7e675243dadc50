package lisp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// callers gives an isolate call-it, a capability that calls the function that it is given.
func callers(rt *lisp.Runtime, l lisp.Limits) (*lisp.Isolate, *lisp.Env) {
	env := rt.NewEnv(lisp.EnvConfig{})
	iso := rt.NewIsolate(l)
	iso.Grant("call-it", lisp.Capable(lisp.Capability{Name: "call-it", AcceptsFns: true,
		Call: func(ctx context.Context, args []value.Value) (value.Value, error) { return env.Call(ctx, args[0]) }}))
	iso.Grant("try-it", lisp.Capable(lisp.Capability{Name: "try-it", AcceptsFns: true,
		Call: func(ctx context.Context, args []value.Value) (value.Value, error) {
			if v, err := env.Call(ctx, args[0]); err == nil {
				return v, nil
			}
			return value.Kw("survived"), nil
		}}))
	return iso, env
}

// An isolate that goes back and forth across the boundary goes deeper each time: every crossing is on the same Go stack.
func TestDepthCountsAcrossTheBoundary(t *testing.T) {
	iso, env := callers(lisp.New(), lisp.Limits{Calls: 1 << 40})
	defer env.Close()
	res := iso.Eval(context.Background(), `
		(defn down [n f] (if (zero? n) (f) (inc (down (dec n) f))))
		(defn again [] (down 500 (fn [] (call-it again))))
		(again)`)
	if res.Err == nil || res.Err.Kind != "limit/depth" {
		t.Errorf("got %q, %v, want limit/depth", res.Value, res.Err)
	}
}

// A limit ends the evaluation whoever meets it: a future, an agent, a function that a capability calls and whose failure
// it takes lightly. Nothing of the evaluation runs on.
func TestALimitOfOneThreadEndsAll(t *testing.T) {
	for _, tt := range []struct{ name, code, want string }{
		{"a future that no one asks", `(let [f (future (down))] (while (not (future-done? f))) (reset! after :ran) :survived)`, "limit/depth"},
		{"a future asked with patience", `(let [f (future (down))] (loop [] (when (= (deref f 10 :no) :no) (recur))) (reset! after :ran) :survived)`, "limit/depth"},
		{"a future forgotten at the end", `(let [f (future (down))] (loop [] (when (not (future-done? f)) (recur))) :survived)`, "limit/depth"},
		{"an agent", `(let [a (agent 0) p (promise)] (send a (fn [_] (deliver p 1) (down))) @p (dotimes [i 1000000] i) (reset! after :ran) :survived)`, "limit/depth"},
		{"an agent's handler", `(let [a (agent 0 :error-handler (fn [_ _] (down)))] (send a (fn [_] (/ 1 0))) (dotimes [i 1000000] i) (reset! after :ran) :survived)`, "limit/depth"},
		{"a function a capability calls", `(let [v (try-it down)] (reset! after :ran) v)`, "limit/depth"},
		{"bytes in a future", `(let [f (future (loop [v []] (recur (conj v (vec (range 1000))))))] (while (not (future-done? f))) (reset! after :ran) :survived)`, "limit/"},
		{"a promise that no one will keep", `(let [p (promise)] (future (down) (deliver p 1)) @p (reset! after :ran) :survived)`, "limit/depth"},
		{"what is cancelled is no limit", `(let [f (future (loop [] (recur)))] (future-cancel f) (reset! after :ran) :survived)`, ""},
		{"what throws is no limit", `(let [f (future (/ 1 0))] (while (not (future-done? f))) (try-it (fn [] (/ 1 0))) (reset! after :ran) :survived)`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			iso, env := callers(lisp.New(), lisp.Limits{})
			defer env.Close()
			ctx := context.Background()
			if res := iso.Eval(ctx, `(def after (atom nil)) (defn down [] (inc (down)))`); res.Err != nil {
				t.Fatal(res.Err)
			}
			res := iso.Eval(ctx, tt.code)
			after := iso.Eval(ctx, `@after`).Value
			if tt.want == "" {
				if res.Value != ":survived" || after != ":ran" {
					t.Errorf("got %q, %v, want it to go on", res.Value, res.Err)
				}
				return
			}
			if res.Err == nil || !strings.HasPrefix(res.Err.Kind, tt.want) {
				t.Errorf("got %q, %v, want %s", res.Value, res.Err, tt.want)
			}
			if r := iso.Eval(ctx, `(+ 1 1)`); r.Value != "2" {
				t.Errorf("afterwards: got %v, want 2", r.Err)
			}
		})
	}
}
