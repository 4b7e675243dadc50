package spawn

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
)

// A real CLI tells what it uses while it runs, and is ended at the first message that crosses a budget: of five evals it
// makes one or two.
func TestRealCLIsEndAtTheFirstCrossing(t *testing.T) {
	for _, cli := range []string{"claude", "omp"} {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			r := newReal(t, cli, nil)
			r.req.Prompt = "go [[eval: 1]] [[eval: 2]] [[eval: 3]] [[eval: 4]] [[eval: 5]]"
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			var heard atomic.Int64
			r.req.OnUsage = func(u backend.Usage) {
				heard.Add(1)
				if u.TokensIn+u.TokensOut > 20 {
					cancel(ErrOverBudget)
				}
			}
			begun := time.Now()
			res := r.Run(ctx, r.req)
			want(t, res, OverBudget, "")
			if res.Usage.TokensIn+res.Usage.TokensOut <= 20 || res.Evals > 3 || heard.Load() < 2 {
				t.Errorf("got %+v after %d reports, want an end in the middle", res, heard.Load())
			}
			t.Logf("%s: %d evals, %+v, %v", cli, res.Evals, res.Usage, time.Since(begun))
		})
	}
}
