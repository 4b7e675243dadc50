package core

import (
	"context"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// maxRealised and minRealised bound what a capability's result may take while it is realised, in bytes: an endless one ends
// here, not with the memory of the process. Between them it is realisedFactor times what the agent may keep alive: what it
// may not keep it need not get, and its threads may call for several results at once.
const (
	maxRealised    = 256 << 20
	minRealised    = 16 << 20
	realisedFactor = 4
)

type aliveKey struct{}

// realisedMost is the bound for a call under ctx, which evalAs gave what the agent may keep alive.
func realisedMost(ctx context.Context) int64 {
	alive, ok := ctx.Value(aliveKey{}).(int64)
	if !ok || alive > maxRealised/realisedFactor {
		return maxRealised
	}
	return max(minRealised, realisedFactor*alive)
}

// invoke runs a capability's function with full power. Its result is plain data when it returns: a lazy seq is program
// code, which must run under the call's timeout and before the record says how the call went.
func (c *Core) invoke(ctx context.Context, name string, f value.Value, args []value.Value) (value.Value, error) {
	ctx, span := c.traces.Call(ctx, name)
	v, err := c.env.Do(ctx, func(t *value.Thread) value.Value {
		v := t.Call(f, args...)
		if settled(v) {
			return v
		}
		limits := limit.Trusted()
		limits.Alloc = realisedMost(ctx)
		n := value.NewThread(value.NewRun(ctx, limits), t.Env)
		n.Binds = t.Binds
		n.Deeper(t.Depth())
		return lisp.Plain(n, v, lisp.Crossing{What: "its result"})
	})
	span.End(spanOutcome(err))
	return v, err
}

// settled tells of the results that most calls have that there is nothing in them to realise.
func settled(v value.Value) bool {
	switch k := v.Kind(); k {
	case value.KindKeyword, value.KindString:
		return true
	default:
		return k <= value.KindChar || value.IsPlain(v)
	}
}
