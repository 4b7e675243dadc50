package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/reflection-dev/zeno/lisp"
)

// freshIsolate measures making an isolate, under the default limits.
func freshIsolate(rounds int) ([]measured, error) {
	const n = 200_000
	rt := lisp.New()
	var ns, bytes []float64
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := spent(func() error {
			for range n {
				runtime.KeepAlive(rt.NewIsolate(lisp.Limits{}))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		runtime.ReadMemStats(&after)
		ns = append(ns, float64(d.Nanoseconds())/n)
		bytes = append(bytes, float64(after.TotalAlloc-before.TotalAlloc)/n)
	}
	return []measured{
		{"fresh isolate", median(ns), 1000, "ns"},
		{"fresh isolate, memory", median(bytes), 1000, "B"},
	}, nil
}

// smallEval measures the least that an agent can ask for: a fresh isolate that reads and evaluates one form.
func smallEval(rounds int) ([]measured, error) {
	const n = 50_000
	rt := lisp.New()
	var us []float64
	for range rounds {
		d, err := spent(func() error {
			for range n {
				res := rt.NewIsolate(lisp.Limits{}).Eval(context.Background(), "(+ 1 2)")
				if res.Value != "3" {
					return fmt.Errorf("(+ 1 2): got %q, want 3", res.Value)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		us = append(us, float64(d.Nanoseconds())/n/1000)
	}
	return []measured{{"fresh isolate, read and eval (+ 1 2)", median(us), 5, "µs"}}, nil
}
