package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/gateway"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// host is the Core as the gateway sees it. Everything is asked anew at every request: a grant redefined at the REPL is
// seen by the next one.
type host Core

// session is the Lisp side of one spawn.
type session struct {
	*grant.Session
	active atomic.Int64 // evaluations running
	evals  atomic.Int64 // evaluations begun
	calls  *happened    // of the evaluation that runs
}

// Surface implements gateway.Host.
func (h *host) Surface(ctx context.Context, caller gateway.Caller) (gateway.Surface, bool) {
	c := (*Core)(h)
	if c.role(caller.Role).IsNil() {
		return gateway.Surface{}, false
	}
	g, err := c.grantOf(ctx, caller)
	if err != nil {
		c.report("role "+caller.Role, err)
		return gateway.Surface{Notes: "The operator's grant for this role is broken: every eval fails until it is mended."}, true
	}
	s := gateway.Surface{EvalTimeout: g.EvalTimeout, Grant: g}
	g = c.withLeased(caller, g)
	for _, cap := range g.Caps {
		s.Capabilities = append(s.Capabilities, gateway.Capability{Name: cap.Name, Arglists: cap.Arglists, Doc: cap.Doc,
			Effect: cap.Effect, Approve: cap.Approve})
	}
	if g.Asking != nil {
		s.Capabilities = append(s.Capabilities, askCapability())
	}
	return s, true
}

// Eval implements gateway.Host.
func (h *host) Eval(ctx context.Context, caller gateway.Caller, code string, now *gateway.Surface) gateway.Reply {
	var g *grant.Grant
	if now != nil {
		g, _ = now.Grant.(*grant.Grant)
	}
	return (*Core)(h).evalAs(ctx, caller, code, g)
}

// evalAs evaluates code as the agent of a spawn does, and records it. Without a grant the role is asked for its own.
func (c *Core) evalAs(ctx context.Context, caller gateway.Caller, code string, g *grant.Grant) gateway.Reply {
	if r, frozen := c.frozenReply(); frozen {
		return r
	}
	ctx = context.WithValue(ctx, callerKey{}, caller)
	if g == nil {
		var err error
		if g, err = c.grantOf(ctx, caller); err != nil {
			c.report("role "+caller.Role, err)
			return brokenGrant()
		}
	}
	s := c.session(caller)
	if s == nil {
		return gateway.Reply{Err: &gateway.EvalError{Kind: gateway.KindRevoked, Message: "the spawn has ended; nothing was evaluated"}}
	}
	if r, asked := c.asks.told(caller.Spawn); asked {
		return r
	}
	if r, ok := c.asks.reach(caller.Spawn); !ok {
		return r
	}
	s.active.Add(1)
	s.evals.Add(1)
	s.calls.reset()
	defer s.active.Add(-1)
	if r, ok := c.countEval(caller, g); !ok {
		c.recordEval(caller, code, lisp.Result{Err: &lisp.Error{Kind: r.Err.Kind, Message: r.Err.Message}})
		return r
	}
	ctx, span := c.traces.Eval(ctx, caller.Role, caller.Spawn)
	if alive := g.Limits.OrDefault().Bytes; alive < maxRealised/realisedFactor {
		ctx = context.WithValue(ctx, aliveKey{}, alive)
	}
	res := s.Eval(ctx, c.withLeased(caller, g), code)
	c.afterEval(caller, &res)
	span.EndEval(evalOutcome(res), res.Used.Steps, res.Used.Alloc, res.Used.Calls)
	c.recordEval(caller, code, res)
	if r, asked := c.asks.tell(caller.Spawn, s.calls); asked {
		return r
	}
	return reply(g, res)
}

func brokenGrant() gateway.Reply {
	return gateway.Reply{Err: &gateway.EvalError{Kind: "grant", Message: "the operator's grant for this role is broken; nothing was evaluated",
		Hint: "end your turn and say so: only the operator can mend it"}}
}

// session gives the session of a spawn, which the first evaluation makes; nil where the spawn has ended. Revoke tells the
// gateway first and drops the session then, so none is made that nobody drops.
func (c *Core) session(caller gateway.Caller) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[caller.Spawn]
	if s == nil && c.Gateway().Observe(caller.Spawn).Known {
		s = c.newSession(caller)
		c.sessions[caller.Spawn] = s
	}
	return s
}

func (c *Core) newSession(caller gateway.Caller) *session {
	calls := &happened{}
	s := grant.NewSession(c.rt, c.invoke, recorder{c, caller, calls})
	s.Under(warden{c, caller.Role, caller.Spawn}, &c.turns)
	s.SetAsker(asker{c, caller, s.Calls})
	s.SetCalls(c.asks.callsOf(caller.Spawn))
	return &session{Session: s, calls: calls}
}

// endSession drops the isolate of a spawn.
func (c *Core) endSession(spawn string) {
	c.mu.Lock()
	s := c.sessions[spawn]
	delete(c.sessions, spawn)
	c.mu.Unlock()
	if s != nil {
		if j := c.jobs.attempt(spawn); j != nil {
			j.keepCalls(s.Calls())
		}
		s.End()
	}
}

// grantTimeout bounds what a role's function takes: it stands before every answer.
const grantTimeout = 5 * time.Second

// grant asks the program what a role may do now.
func (c *Core) grant(ctx context.Context, role string) (*grant.Grant, error) {
	f := c.role(role)
	if f.IsNil() {
		return nil, fmt.Errorf("role %s: not registered; (zeno.gateway/start! {:roles {:%s #'grant-fn}}) registers it", role, role)
	}
	ctx, cancel := context.WithTimeout(ctx, grantTimeout)
	defer cancel()
	g, err := c.decodeGrant(ctx, f)
	c.rehearsal.grant(role, g)
	return g, err
}

// decodeGrant reads a grant: a map, or what gives one.
func (c *Core) decodeGrant(ctx context.Context, f value.Value) (*grant.Grant, error) {
	var g *grant.Grant
	_, err := c.env.Do(ctx, func(t *value.Thread) value.Value {
		v := f
		if !f.Kind().IsMap() {
			v = t.Call(f)
		}
		var err error
		if g, err = grant.Decode(t, v); err != nil {
			panic(value.WrapError(err))
		}
		return value.Nil
	})
	return g, err
}

func (c *Core) role(name string) value.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.roles[name]
}

func reply(g *grant.Grant, res lisp.Result) gateway.Reply {
	r := gateway.Reply{Value: res.Value, Out: res.Out, Stats: gateway.Stats{Steps: res.Used.Steps, Bytes: res.Used.Alloc,
		Calls: res.Used.Calls, Elapsed: res.Elapsed}}
	if e := res.Err; e != nil {
		r.Stats.Left = grant.Left(g.Limits, res.Used)
		r.Err = &gateway.EvalError{Kind: e.Kind, Message: e.Message, Caret: e.Caret(), Hint: e.Hint, Data: e.Data, Stack: e.Stack}
		if e.Pos != nil {
			r.Err.Line, r.Err.Column = int(e.Pos.Line), int(e.Pos.Column)
		}
	}
	return r
}

// maxRecorded is how much of a code or an argument an event keeps, in bytes.
const maxRecorded = 4096

func evalOutcome(res lisp.Result) string {
	if res.Err != nil {
		return res.Err.Kind
	}
	return "ok"
}

func (c *Core) recordEval(caller gateway.Caller, code string, res lisp.Result) {
	e := journal.Event{Kind: journal.Eval, Role: caller.Role, Spawn: caller.Spawn, Outcome: evalOutcome(res), Elapsed: res.Elapsed,
		Data: map[string]any{"code": clip(code), "steps": res.Used.Steps, "bytes": res.Used.Alloc, "calls": res.Used.Calls}}
	if res.Err != nil {
		e.Data["error"] = clip(strings.TrimSuffix(res.Err.Message+"; "+res.Err.Hint, "; "))
	} else {
		e.Data["value"] = clip(res.Value)
	}
	_, _ = c.record(e) // a failure is reported; what was evaluated had its effects recorded
	if res.Err != nil && res.Err.Kind == "unresolved" {
		_, _ = c.record(journal.Event{Kind: journal.Refused, Role: caller.Role, Spawn: caller.Spawn, Outcome: "unresolved",
			Data: map[string]any{"what": clip(res.Err.Message)}})
	}
	var crash *lisp.Crash
	if res.Err != nil && errors.As(res.Err, &crash) {
		c.conf.Log.Error("defect in the language", "spawn", caller.Spawn, "reason", crash.Reason, "stack", string(crash.Stack))
	}
}

// printed is the text of a call's arguments, as much of it as is recorded: no more than that is looked at.
func (c *Core) printed(args []value.Value) string {
	p := value.NewPrinter(true)
	p.MaxBytes = maxRecorded + 1
	if _, err := c.env.Do(context.WithoutCancel(c.ctx), func(t *value.Thread) value.Value {
		p.Print(t, value.NewArraySeq(args))
		return value.Nil
	}); err != nil {
		return "(not printed: " + clip(err.Error()) + ")"
	}
	return clip(string(p.Buf))
}

func clip(s string) string {
	if len(s) <= maxRecorded {
		return s
	}
	cut := maxRecorded
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

type callerKey struct{}

// callerOf tells which spawn's evaluation ctx belongs to.
func callerOf(ctx context.Context) (gateway.Caller, bool) {
	caller, ok := ctx.Value(callerKey{}).(gateway.Caller)
	return caller, ok
}

// door is the Core as a spawn's runner sees it.
type door Core

// Endpoint implements spawn.Gateway.
func (d *door) Endpoint(role string) string {
	c := (*Core)(d)
	if c.role(role).IsNil() || c.Gateway().Addr() == "" {
		return ""
	}
	return c.Gateway().URL(role)
}

// Issue implements spawn.Gateway.
func (d *door) Issue(role, spawn string, ttl time.Duration) (string, error) {
	c := (*Core)(d)
	token, err := c.Gateway().Issue(role, spawn, ttl)
	if err == nil {
		c.hideToken(spawn, token)
	}
	return token, err
}

// Revoke implements spawn.Gateway.
func (d *door) Revoke(spawn string) {
	c := (*Core)(d)
	c.Gateway().Revoke(spawn)
	c.endSession(spawn)
	c.hideToken(spawn, "") // worth nothing from now on
}

// Activity implements spawn.Gateway.
func (d *door) Activity(id string) spawn.Activity {
	c := (*Core)(d)
	a := c.Gateway().Observe(id)
	out := spawn.Activity{Revoked: !a.Known, Connected: a.Connected, Evals: int(a.Evals), Last: a.LastAt, Asked: c.asks.askedBy(id)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[id]; s != nil {
		out.Active = int(s.active.Load())
		out.Evals = max(out.Evals, int(s.evals.Load())) // the gateway forgets a spawn whose token was taken away
	}
	return out
}

// EvalAs evaluates code as an agent of role would, under its grant and limits, in an isolate of its own that is gone
// afterwards. role "" has the pure core and default limits.
func (c *Core) EvalAs(ctx context.Context, role, code string) lisp.Result {
	if r, frozen := c.frozenReply(); frozen && role != "" {
		return lisp.Result{Err: &lisp.Error{Kind: r.Err.Kind, Message: r.Err.Message, Hint: r.Err.Hint}}
	}
	if role == "" {
		return c.rt.NewIsolate(lisp.Limits{}).Eval(ctx, code)
	}
	caller := gateway.Caller{Role: role, Spawn: "eval-" + time.Now().UTC().Format("20060102T150405.000000000")}
	ctx = context.WithValue(ctx, callerKey{}, caller)
	g, err := c.grant(ctx, role)
	if err != nil {
		return lisp.Result{Err: &lisp.Error{Kind: "grant", Message: err.Error()}}
	}
	s := c.newSession(caller)
	defer s.End()
	ctx, cancel := context.WithTimeout(ctx, g.EvalTimeout)
	defer cancel()
	ctx, span := c.traces.Eval(ctx, caller.Role, caller.Spawn)
	res := s.Eval(ctx, g, code)
	span.EndEval(evalOutcome(res), res.Used.Steps, res.Used.Alloc, res.Used.Calls)
	c.recordEval(caller, code, res)
	return res
}
