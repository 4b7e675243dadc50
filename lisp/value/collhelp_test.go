package value

import (
	"context"
	"errors"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
)

func testThread() *Thread { return limitedThread(limit.Trusted()) }

func limitedThread(l limit.Limits) *Thread {
	return NewThread(NewRun(context.Background(), l), NewEnv(NewNamespace("clojure.core"), nil))
}

// thrown runs f and gives the Lisp exception it threw, or nil.
func thrown(f func()) (ex *Exception) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Exception:
			ex = r
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// tripped runs f and gives the limit it hit, or nil.
func tripped(f func()) (le *limit.Error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if err, ok := r.(error); !ok || !errors.As(err, &le) {
			panic(r)
		}
	}()
	f()
	return nil
}

func wantThrow(tb testing.TB, class string, f func()) {
	tb.Helper()
	ex := thrown(f)
	if ex == nil {
		tb.Fatalf("throws: got nothing, want %s", class)
	}
	if ex.Class != class {
		tb.Fatalf("throws: got %s: %s, want %s", ex.Class, ex.Error(), class)
	}
}

// show prints v for a test.
func show(v Value) string { return PrStr(testThread(), v) }

func ints(xs ...int64) []Value {
	out := make([]Value, len(xs))
	for i, x := range xs {
		out[i] = Int(x)
	}
	return out
}

// colliding gives symbols of different names and one hash.
func colliding(name string) Value {
	return Of(&Symbol{Header: Head(KindSymbol), Name: name, hash: 7})
}

// goFn makes a function of Go code.
func goFn(b Builtin) Value { return Of(NewBuiltin("test/f", &b)) }
