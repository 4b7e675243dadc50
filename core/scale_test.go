package core_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/reflection-dev/zeno/core/spawn"
)

// 200 spawns, 32 at a time, 10 evals each: none fails, none sees another's definitions, and noleak finds no goroutine
// left (TestMain).
func TestManySpawns(t *testing.T) {
	c, _ := start(t, reader)
	const spawns, parallel, evals = 200, 32, 10
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i := range spawns {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			res := c.Spawn(context.Background(), spawn.Request{Role: "reader", Backend: spawn.Scripted, Agent: counting(i, evals)})
			if res.Status != spawn.OK || res.Evals != evals {
				t.Errorf("spawn %d: got %s with %d evals: %s", i, res.Status, res.Evals, res.Error)
			}
		}()
	}
	wg.Wait()
}

// counting is an agent that keeps a number of its own and checks it at every eval.
func counting(id, evals int) spawn.Agent {
	return func(ctx context.Context, agent spawn.Client) (string, error) {
		for n := range evals {
			code := `(def me (echo (+ me 1)))`
			if n == 0 {
				code = fmt.Sprintf(`(def me (echo %d))`, id*1000)
			}
			if text, failed, err := agent.Eval(ctx, code+" me"); err != nil || failed || text != fmt.Sprintf("=> %d", id*1000+n) {
				return "", fmt.Errorf("eval %d: got %q %v, want => %d", n, text, err, id*1000+n)
			}
		}
		return "done", nil
	}
}
