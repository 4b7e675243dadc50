package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/observe"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// spawnFunctions are those of zeno.spawn that watch over spawns.
func (c *Core) spawnFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("spawn-async", "([{:keys [role prompt …]}])",
			"Starts a spawn, as spawn does, and gives {:id … :role … :result p} at once; p is a promise of what spawn would give. It goes on when the evaluation that started it has ended.", c.spawnAsync),
		bind.Func("wait", "([spawn] [spawn {:keys [timeout else]}])",
			"Waits for the end of a spawn (its id, or what spawn-async gave) and gives what spawn would. With :timeout it gives :else (nil) where that takes longer.", c.waitFor),
		bind.Func("cancel!", "([spawn] [spawn why])", "Ends a spawn: its CLI is killed, its status is :cancelled. Tells whether it was still going.", c.cancelSpawn),
		bind.Func("ps", "([] [{:keys [all]}])",
			"Lists the spawns that have not ended, oldest first: [{:id … :role … :backend … :state :starting|:queued|:running|:backoff … :attempt … :evals … :tokens … :usd … :left {…}}]; with :all true those that ended lately, too.", c.ps),
		bind.Func("logs", "([spawn] [spawn {:keys [after max]}])",
			"Gives what is recorded of a spawn, oldest first: at most :max events (default 1000) after the number :after.", c.spawnLogs),
	}
}

// idForm names a spawn: its id, or a map with :id.
type idForm string

// DecodeLisp implements bind.Decoder.
func (f *idForm) DecodeLisp(t *value.Thread, v value.Value) error {
	id := v
	if v.Kind().IsMap() {
		id, _ = value.Get(t, v, value.Kw("id"))
	}
	if id.Kind() != value.KindString || id.Text() == "" {
		return fmt.Errorf("got %s (%s), want the id of a spawn, or what spawn-async gave", value.Brief(t, v), v.Kind())
	}
	*f = idForm(id.Text())
	return nil
}

func (c *Core) spawnAsync(ctx context.Context, t *value.Thread, f spawnForm) (value.Value, error) {
	req, o, err := c.request(f)
	if err != nil {
		return value.Nil, err
	}
	ctx, cancel := context.WithCancelCause(observe.Follow(c.ctx, ctx))
	j, end, refused := c.open(ctx, &req, o, cancel)
	promise := value.NewPromise(t)
	deliver := func(res spawn.Result) {
		defer cancel(nil)
		_, err := c.env.Do(context.WithoutCancel(ctx), func(t *value.Thread) value.Value {
			value.As[value.Promise](promise).Deliver(bind.Encode(t, c.result(res, j)))
			return value.Nil
		})
		if err != nil {
			c.report("spawn "+req.ID, err)
		}
	}
	if refused != nil {
		deliver(*refused)
	} else {
		c.loop.Clock().Go(ctx, func(ctx context.Context) {
			defer end()
			deliver(c.finish(ctx, j, req, o))
		})
	}
	return value.NewMap(t, value.Kw("id"), value.Str(req.ID), value.Kw("role"), value.Kw(req.Role), value.Kw("result"), promise), nil
}

type waitForm struct {
	Timeout *bind.Duration `lisp:"timeout"`
	Else    value.Value    `lisp:"else"`
}

func (c *Core) waitFor(t *value.Thread, id idForm, f *waitForm) (value.Value, error) {
	j, err := c.jobs.find(string(id))
	if err != nil {
		return value.Nil, err
	}
	if caller, ok := t.Context.Value(jobKey{}).(*job); ok && caller == j {
		return value.Nil, fmt.Errorf("spawn %s: got a wait for itself, which would never end", id)
	}
	d := time.Duration(-1)
	if f != nil && f.Timeout != nil {
		d = max(time.Duration(*f.Timeout), 0)
	}
	if !t.Await(j.done, d) {
		if f != nil {
			return f.Else, nil
		}
		return value.Nil, nil
	}
	return bind.Encode(t, c.result(j.result, j)), nil
}

func (c *Core) cancelSpawn(id idForm, why *string) (bool, error) {
	if why == nil {
		why = new(string)
	}
	return c.CancelSpawn(string(id), *why)
}

type psForm struct {
	All bool `lisp:"all"`
}

func (c *Core) ps(f *psForm) []map[string]any {
	out := []map[string]any{}
	for _, s := range c.Spawns(f != nil && f.All) {
		m := map[string]any{"id": s.ID, "role": bind.Keyword(s.Role), "backend": bind.Keyword(s.Backend), "state": bind.Keyword(s.State),
			"since": s.Since, "ms": s.Elapsed.Milliseconds(), "attempt": s.Attempt, "evals": s.Used.Evals, "calls": s.Used.Calls,
			"tokens": s.Used.Tokens, "usd": s.Used.USD.Float(), "left": leftMaps(s.Left)}
		if s.Model != "" {
			m["model"] = s.Model
		}
		if s.Result != nil {
			m["status"] = bind.Keyword(s.Result.Status)
			if s.Result.Error != "" {
				m["error"] = s.Result.Error
			}
		}
		out = append(out, m)
	}
	return out
}

type logsForm struct {
	After int64 `lisp:"after"`
	Max   int   `lisp:"max"`
}

// errEnough ends a reading of logs.
var errEnough = errors.New("enough")

func (c *Core) spawnLogs(ctx context.Context, t *value.Thread, id idForm, f *logsForm) (value.Value, error) {
	if f == nil {
		f = &logsForm{}
	}
	if f.Max <= 0 {
		f.Max = 1000
	}
	var out []value.Value
	err := c.Logs(ctx, LogQuery{Spawn: string(id), After: uint64(max(f.After, 0))}, func(e journal.Event) error {
		if len(out) >= f.Max {
			return errEnough
		}
		out = append(out, eventMap(t, e))
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return value.Nil, err
	}
	return value.NewVector(t, out), nil
}

// retriesForm is :retries of a spawn.
type retriesForm struct {
	Max        int           `lisp:"max,required"`
	Backoff    bind.Duration `lisp:"backoff"`
	MaxBackoff bind.Duration `lisp:"max-backoff"`
	On         []string      `lisp:"on"`
}

func (f *retriesForm) retries() Retries {
	if f == nil {
		return Retries{}
	}
	r := Retries{Max: f.Max, Backoff: time.Duration(f.Backoff), MaxBackoff: time.Duration(f.MaxBackoff)}
	for _, s := range f.On {
		r.On = append(r.On, spawn.Status(s))
	}
	return r
}

type attemptForm struct {
	ID     string       `lisp:"id"`
	Status bind.Keyword `lisp:"status"`
	Error  string       `lisp:"error,omitempty"`
	MS     int64        `lisp:"ms"`
}

func attemptForms(j *job) []attemptForm {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.attempts) < 2 {
		return nil
	}
	out := make([]attemptForm, len(j.attempts))
	for i, a := range j.attempts {
		out[i] = attemptForm{a.ID, bind.Keyword(a.Status), a.Error, a.Elapsed.Milliseconds()}
	}
	return out
}
