package value

import (
	"context"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp/limit"
)

func evaluation(ctx context.Context) *Evaluation {
	e := &Evaluation{}
	e.Start(ctx, limit.Defaults(), NewEnv(NewNamespace("c"), nil), nil)
	e.Thread.Env.Isolate = true
	return e
}

// TestOwnContextEnds holds that the context of an evaluation ends with its parent, with a limit and with the evaluation,
// whether somebody waits for it by then, asks later, or derives another context from it.
func TestOwnContextEnds(t *testing.T) {
	ends := map[string]func(e *Evaluation, cancel func()){
		"parent":     func(_ *Evaluation, cancel func()) { cancel() },
		"evaluation": func(e *Evaluation, _ func()) { e.Run.End() },
		"limit": func(e *Evaluation, _ func()) {
			defer func() { _ = recover() }()
			e.Thread.trip(limit.Steps, 1, 2)
		},
	}
	for name, end := range ends {
		for _, early := range []bool{true, false} {
			parent, cancel := context.WithCancel(context.Background())
			e := evaluation(parent)
			ctx := e.Thread.Context
			if ctx.Err() != nil {
				t.Fatalf("%s: ended before its time: %v", name, ctx.Err())
			}
			var derived context.Context
			if early {
				var stop func()
				derived, stop = context.WithTimeout(ctx, time.Hour)
				defer stop()
			}
			end(e, cancel)
			if ctx.Err() != context.Canceled {
				t.Errorf("%s, early %v: got %v at once, want context.Canceled", name, early, ctx.Err())
			}
			if derived == nil {
				var stop func()
				derived, stop = context.WithCancel(ctx)
				defer stop()
			}
			select {
			case <-derived.Done():
			case <-time.After(time.Minute):
				t.Errorf("%s, early %v: a derived context never ended", name, early)
			}
			cancel()
		}
	}
}

// TestOwnContextKeepsValues holds that what the caller put into its context is found, before and after Done.
func TestOwnContextKeepsValues(t *testing.T) {
	type key struct{}
	e := evaluation(context.WithValue(context.Background(), key{}, 7))
	defer e.Run.End()
	for range 2 {
		if got := e.Thread.Context.Value(key{}); got != 7 {
			t.Fatalf("value: got %v, want 7", got)
		}
		e.Thread.Context.Done()
	}
}

// TestHostArgs holds that arguments that a host keeps are its own: later calls do not write to them, nor can it append
// into those of others.
func TestHostArgs(t *testing.T) {
	e := evaluation(context.Background())
	defer e.Run.End()
	var kept [][]Value
	for i := range 500 {
		args := e.Thread.HostArgs(i % 3)
		for j := range args {
			args[j] = Int(int64(i))
		}
		if cap(args) != len(args) {
			t.Fatalf("arguments of call %d: got room for %d, want %d", i, cap(args), len(args))
		}
		kept = append(kept, args)
	}
	for i, args := range kept {
		for _, a := range args {
			if a.Int() != int64(i) {
				t.Fatalf("arguments of call %d: got %d", i, a.Int())
			}
		}
	}
}
