package core

import (
	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/gateway"
)

// recorder is what a session tells of the calls of one spawn. It implements grant.Recorder.
type recorder struct {
	core   *Core
	caller gateway.Caller
	made   *happened // nil: nobody asks
}

func (r recorder) event(kind string, call grant.Called) journal.Event {
	e := journal.Event{Kind: kind, Role: r.caller.Role, Spawn: r.caller.Spawn, Data: map[string]any{"name": call.Name}}
	if call.Args != nil {
		e.Data["args"] = "()"
		if len(call.Args) > 0 {
			e.Data["args"] = r.core.printed(call.Args)
		}
	}
	return e
}

// Intend implements grant.Recorder.
func (r recorder) Intend(call grant.Called) (uint64, error) {
	e := r.event(journal.Intent, call)
	e.Durable = true
	e, err := r.core.record(e)
	return e.Seq, err
}

// Called implements grant.Recorder.
func (r recorder) Called(call grant.Called) error {
	if call.Refused != "" {
		_, err := r.core.record(journal.Event{Kind: journal.Refused, Role: r.caller.Role, Spawn: r.caller.Spawn, Outcome: call.Refused,
			Data: map[string]any{"what": clip(call.Err.Error()), "name": call.Name}})
		return err
	}
	e := r.event(journal.Call, call)
	if r.made != nil {
		r.made.add(callText(e.Data, call.Err))
	}
	e.Outcome, e.Elapsed = "ok", call.Elapsed
	if call.Intent > 0 {
		e.Durable, e.Data["intent"] = true, call.Intent
	}
	if call.Err != nil {
		e.Outcome = "error"
		e.Data["error"] = clip(call.Err.Error())
	}
	_, err := r.core.record(e)
	return err
}

// hideToken keeps the token of a spawn out of the journal: its agent can print it. "" ends that.
func (c *Core) hideToken(spawn, token string) {
	c.mu.Lock()
	forget := c.tokens[spawn]
	delete(c.tokens, spawn)
	if token != "" {
		c.tokens[spawn] = c.secrets.Hide(token)
	}
	c.mu.Unlock()
	if forget != nil {
		forget()
	}
}
