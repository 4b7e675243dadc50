package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/observe"
)

// observedEvals is how many evaluations one turn makes, each with one capability call.
const observedEvals = 2000

// watchedEval measures an evaluation with a call while it is counted and traced, beside one that nobody watches. It is
// processor time: that of the counting, of the spans and of sending them is in it, although no evaluation waits for them.
func watchedEval(rounds int) ([]measured, error) {
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	ctx := context.Background()
	var cores []*core.Core
	for range 3 {
		c, err := core.New(core.Config{})
		if err != nil {
			return nil, err
		}
		defer func() { _ = c.Close(ctx) }()
		if _, err := c.Eval(ctx, `(zeno.gateway/start! {:roles {:bench (fn [] {:vocab {"get" (fn [x] x)}})}})`); err != nil {
			return nil, err
		}
		cores = append(cores, c)
	}
	cores[1].Metrics()
	cores[2].Metrics()
	if err := cores[2].Traces().Start(ctx, observe.Export{Endpoint: sink.URL}); err != nil {
		return nil, err
	}
	times := make([][]float64, len(cores))
	for range 2 * rounds {
		for i, c := range cores {
			d, err := spent(func() error {
				for range observedEvals {
					if res := c.EvalAs(ctx, "bench", "(get 1)"); res.Err != nil {
						return fmt.Errorf("eval: %w", res.Err)
					}
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], d.Seconds())
		}
	}
	const us = 1e6 / observedEvals
	return []measured{
		{"an eval with a call, nobody watches", median(times[0]) * us, 0, "µs"},
		{"the same counted, beside that", ratio(times[1], times[0]), 1.1, "x"},
		{"the same counted and traced, beside that", ratio(times[2], times[0]), 0, "x"},
	}, nil
}
