package core

import (
	"context"
	"errors"
	"time"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/gateway"
	"github.com/reflection-dev/zeno/lisp/value"
)

// makeCall runs an approved call, once: the state Calling is durable before it begins.
func (a *asks) makeCall(d *ask.Desk, q ask.Ask) (ask.Ask, bool) {
	q, ok, err := d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool { q.State = ask.Calling; return true }, ask.Answered)
	if err != nil || !ok {
		a.warned(err)
		return q, false
	}
	a.forward(d)
	a.at("calling")
	outcome, err := a.core.runHeld(q)
	a.at("made")
	if errors.Is(err, errNotBegun) { // nothing was done: later
		a.sleep(askLook)
		_, _, err = d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool { q.State = ask.Answered; return true }, ask.Calling)
		a.warned(err)
		return q, false
	}
	q, ok, err = d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool {
		q.State, q.Outcome = ask.Called, a.core.secrets.Text(outcome)
		return true
	}, ask.Calling)
	a.at("called")
	a.warned(err)
	return q, ok && err == nil
}

var errNotBegun = errors.New("the call was not begun")

// runHeld makes the held call of q, as it was shown.
func (c *Core) runHeld(q ask.Ask) (outcome string, err error) {
	caller := gateway.Caller{Role: q.Role, Spawn: q.Spawn}
	ctx := context.WithValue(c.ctx, callerKey{}, caller)
	g, err := c.grant(ctx, q.Role)
	if err != nil {
		return "", errNotBegun
	}
	cap := c.withLeased(caller, g).Find(q.Call.Name)
	if cap == nil {
		return ask.NotMade + q.Call.Name + " is not granted any more", nil
	}
	if held := (warden{c, q.Role, q.Spawn}).Held(cap.Name); held != nil {
		return ask.NotMade + held.Error(), nil
	}
	release, err := c.turns.Take(ctx, cap)
	if err != nil {
		return "", errNotBegun
	}
	defer release()
	var args []value.Value
	if _, err := c.env.Do(ctx, func(t *value.Thread) value.Value {
		value.Each(t, readEDN(t, q.Call.Args), func(v value.Value) bool {
			args = append(args, v)
			return true
		})
		return value.Nil
	}); err != nil {
		return ask.NotMade + "its arguments do not read: " + err.Error(), nil
	}
	rec, done := recorder{core: c, caller: caller}, grant.Called{Name: cap.Name, Args: args}
	if cap.Audit == "none" {
		done.Args = nil
	}
	if cap.Writes() {
		if done.Intent, err = rec.Intend(done); err != nil {
			return "", errNotBegun
		}
	}
	limit := cap.Timeout
	if limit <= 0 {
		limit = heldTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	v, err := c.invoke(ctx, cap.Name, cap.Fn, args)
	done.Err, done.Elapsed = err, time.Since(start)
	_ = rec.Called(done) // a failure is reported, and the state of the question is the record that counts
	if err != nil {
		return "error: " + Explain(err), nil
	}
	return "=> " + c.shown(v), nil
}

// shown is the text of a value for an agent to read.
func (c *Core) shown(v value.Value) string {
	p := value.NewPrinter(true)
	p.MaxBytes = 16 << 10
	if _, err := c.env.Do(context.WithoutCancel(c.ctx), func(t *value.Thread) value.Value {
		p.Print(t, v)
		return value.Nil
	}); err != nil {
		return "(not printed: " + clip(err.Error()) + ")"
	}
	if p.MaxBytes <= len(p.Buf) {
		return string(p.Buf[:p.MaxBytes]) + "…"
	}
	return string(p.Buf)
}
