package lisp_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/limit"
)

// Law 3: an isolate that names no limit has every one, and each is far from unlimited.
func TestEveryLimitIsFinite(t *testing.T) {
	l := reflect.ValueOf(lisp.New().NewIsolate(lisp.Limits{}).LimitsOf())
	for i := range l.NumField() {
		if n := l.Field(i).Int(); n <= 0 || n > 1<<40 {
			t.Errorf("%s: got %d, want a finite default", l.Type().Field(i).Name, n)
		}
	}
	deep := lisp.New().NewIsolate(lisp.Limits{Depth: 1 << 40}).LimitsOf()
	if deep.Depth > limit.MaxDepth {
		t.Errorf("depth: got %d, want at most %d whatever is asked for: beyond it the Go stack ends the process", deep.Depth, limit.MaxDepth)
	}
}

// A limit is typed for Go: its kind, what was allowed and what was used.
func TestALimitIsTyped(t *testing.T) {
	for _, tt := range []struct {
		code   string
		limits lisp.Limits
		kind   limit.Kind
		allow  int64
	}{
		{`(loop [] (recur))`, lisp.Limits{Steps: 10_000}, limit.Steps, 10_000},
		{`(loop [s "a"] (recur (str s s)))`, lisp.Limits{Alloc: 1 << 20}, limit.Alloc, 1 << 20},
		{`(vec (range 1000000))`, lisp.Limits{Bytes: 1 << 20}, limit.Bytes, 1 << 20},
		{`(do (defn f [] (inc (f))) (f))`, lisp.Limits{Depth: 100}, limit.Depth, 100},
		{`(dotimes [_ 100] (println "0123456789"))`, lisp.Limits{Output: 500}, limit.Output, 500},
		{`(deref (promise))`, lisp.Limits{Time: 1_000_000}, limit.Time, 1_000_000},
		{`(doall (map (fn [_] (future (deref (promise)))) (range 5)))`, lisp.Limits{Threads: 4}, limit.Threads, 4},
	} {
		res := lisp.New().NewIsolate(tt.limits).Eval(context.Background(), tt.code)
		var le *lisp.LimitError
		if res.Err == nil || !errors.As(res.Err, &le) || le.Kind != tt.kind || le.Limit != tt.allow {
			t.Errorf("%s: got %v (%v), want a %s limit of %d", tt.code, res.Err, le, tt.kind, tt.allow)
		}
	}
}

// What agent code throws is never taken for a limit, whatever it looks like.
func TestALimitCannotBeForged(t *testing.T) {
	iso := lisp.New().NewIsolate(lisp.Limits{})
	for _, code := range []string{
		`(throw (ex-info "steps limit: used more than 1" {:kind "limit/steps"}))`,
		`(throw (ex-info "limit/time" {:zeno/limit true} (ex-info "cancelled" {})))`,
		`(assert false "limit/steps")`,
	} {
		res := iso.Eval(context.Background(), code)
		var le *lisp.LimitError
		if res.Err == nil || errors.As(res.Err, &le) || res.Err.Kind == "cancelled" {
			t.Errorf("%s: got %v, want an error of the program's own", code, res.Err)
		}
	}
}
