package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/value"
)

// askStart is what a run of an agent is begun with, beside its request.
type askStart struct {
	agent    value.Value                        // of a scripted one
	hear     func(context.Context, Heard) error // of its events; not kept over a restart
	resuming string                             // the question whose answer it is begun with; "": it is a fresh spawn
	budget   budget.Limits                      // of the spawn
	calls    map[string]int                     // made before, by capability
	started  bool                               // set when the agent was started
}

// askOption is what a spawn has for the case that its agent asks a person.
type askOption struct {
	agent value.Value // of a scripted one
	wait  bool        // the caller waits for the answer, too
	start *askStart   // of one that goes on
}

type askStartKey struct{}

// withAsking gives a spawn's run what it needs to ask.
func (o SpawnOptions) withAsking(ctx context.Context) context.Context {
	s := o.asking.start
	if s == nil {
		s = &askStart{agent: o.asking.agent, hear: o.OnEvent, budget: o.Budget}
	}
	return context.WithValue(ctx, askStartKey{}, s)
}

// runAsking runs an agent that may ask a person.
func (c *Core) runAsking(ctx context.Context, r *spawn.Runner, req spawn.Request) spawn.Result {
	s, _ := ctx.Value(askStartKey{}).(*askStart)
	if s == nil {
		s = &askStart{}
	}
	end, err := c.asks.begin(req, s)
	if err != nil {
		return spawn.Result{ID: req.ID, Status: spawn.Refused, Exit: -1, Error: err.Error()}
	}
	return end(c.runTraced(ctx, r, req))
}

// less is what is left of a spawn's budget, where it has used some of it. A limit that is used up leaves one, so that the
// first use crosses it: none would be no limit.
func less(l budget.Limits, used budget.Amount) budget.Limits {
	if l.Tokens > 0 {
		l.Tokens = max(l.Tokens-used.Tokens, 1)
	}
	if l.Evals > 0 {
		l.Evals = max(l.Evals-used.Evals, 1)
	}
	if l.Calls > 0 {
		l.Calls = max(l.Calls-used.Calls, 1)
	}
	if l.Wall > 0 {
		l.Wall = max(l.Wall-used.Wall, 1)
	}
	if l.USD > 0 {
		l.USD = max(l.USD-used.USD, 1)
	}
	return l
}

// onAsk says what spawn does when its agent asks a person: :return, at once, or :wait until the spawn has ended for good.
func onAsk(s string) (wait bool, err error) {
	switch s {
	case "", "return":
		return false, nil
	case "wait":
		return true, nil
	}
	return false, fmt.Errorf(":on-ask: got :%s, want :return or :wait", s)
}

// waitAsked gives the end of a spawn whose agent asked a person, where its caller waits for that.
func (c *Core) waitAsked(ctx context.Context, res spawn.Result, run string, o SpawnOptions) spawn.Result {
	if !o.asking.wait || res.Ask == "" {
		return res
	}
	end, err := c.AskedResult(ctx, run)
	if err != nil {
		return res // it still waits, and says so
	}
	end.ID = res.ID
	return end
}

// budgetOf reads what is kept of a spawn's budget.
func budgetOf(sp ask.Spawn) (budget.Limits, error) {
	var l budget.Limits
	if len(sp.Budget) == 0 {
		return l, nil
	}
	if err := json.Unmarshal(sp.Budget, &l); err != nil {
		return l, errors.New("its budget does not read")
	}
	return l, nil
}
