package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

const (
	askLook    = time.Second      // how often it is looked for what only time brings: a file, the lead, a role
	maxResumes = 8                // spawns resumed at once; the other answers wait
	maxRefused = 20               // times in a row that a resume may be refused before it is for the operator
	heldTime   = 10 * time.Minute // for an approved call whose capability says nothing
)

// serve makes this process one that resumes spawns. Boot calls it once the home's roles are there.
func (a *asks) serve() {
	a.serving.Store(true)
	if a.path() == "" {
		return
	}
	a.spawnGo(func() { // another process may be the first that puts a question down
		for {
			if _, err := a.existing(); err != nil {
				a.warned(err)
				return
			}
			if a.opened.Load() != nil || !a.sleep(askLook) {
				return
			}
		}
	})
}

func (a *asks) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-a.core.ctx.Done():
		return false
	}
}

// work sees to the questions until the instance closes: steps go to the journal, time runs out, and in the process that
// leads the home answers go to their agents.
func (a *asks) work(d *ask.Desk) {
	ctx := a.core.ctx
	var lead func()
	defer func() {
		if lead != nil {
			lead()
		}
	}()
	slots := make(chan struct{}, maxResumes)
	for ctx.Err() == nil {
		changed := d.Changed()
		if lead == nil && a.serving.Load() {
			if release, ok, err := d.Lead(); err != nil {
				a.warned(err)
			} else if ok {
				lead = release
				a.warned(a.recover(d))
			}
		}
		_, next, err := d.Expire(a.ctx())
		if err == nil {
			err = a.settle(d, lead != nil, slots)
		}
		if err != nil {
			a.core.conf.Log.Error("questions", "error", err)
		}
		a.forward(d)
		wait := askLook
		if !next.IsZero() {
			wait = min(wait, max(time.Until(next), 0))
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(wait):
		}
	}
}

// settle does what the state of the questions asks for.
func (a *asks) settle(d *ask.Desk, lead bool, slots chan struct{}) error {
	list, err := d.In(a.ctx(), ask.Asked, ask.Answered, ask.Called)
	if err != nil || !lead {
		return err
	}
	for _, q := range list {
		switch {
		case q.State == ask.Asked:
			if !q.Sent && time.Since(q.Asked) > 10*askLook {
				a.send(d, q) // the process that was asked is gone
			}
			continue
		case q.Kind == ask.Program || a.core.admits() != nil || a.ready(q) != nil:
			continue
		}
		a.take(q.ID, slots, func() { a.proceed(d, q) })
	}
	// What expired without an answer ends its spawn.
	stranded, err := d.Stranded(a.ctx())
	for _, id := range stranded {
		if qs, e := d.Of(a.ctx(), id); e == nil && len(qs) > 0 {
			if q := qs[len(qs)-1]; q.State == ask.Expired || q.State == ask.Withdrawn {
				a.take(q.ID, slots, func() { a.giveUp(d, q) })
			}
		}
	}
	return err
}

// take runs f for a question unless that is under way, or too much is.
func (a *asks) take(id string, slots chan struct{}, f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.busy[id] {
		return
	}
	select {
	case slots <- struct{}{}:
	default:
		return
	}
	a.busy[id] = true
	a.wg.Go(func() {
		f()
		<-slots
		a.mu.Lock()
		delete(a.busy, id)
		a.mu.Unlock()
	})
}

// ready tells whether a spawn could be resumed now.
func (a *asks) ready(q ask.Ask) error {
	a.mu.Lock()
	r := a.runs[q.Spawn]
	running := r != nil && r.running
	a.mu.Unlock()
	if running {
		return errors.New("its spawn still runs")
	}
	if (*door)(a.core).Endpoint(q.Role) == "" {
		return fmt.Errorf("role %s: not registered, or the gateway does not listen", q.Role)
	}
	return nil
}

// giveUp ends a spawn whose question has failed.
func (a *asks) giveUp(d *ask.Desk, q ask.Ask) {
	a.mu.Lock()
	r := a.runs[q.Spawn]
	running := r != nil && r.running
	a.mu.Unlock()
	if running {
		return
	}
	status := spawn.Failed
	if q.State == ask.Withdrawn {
		status = spawn.Cancelled
	}
	a.conclude(d, q, status, fmt.Sprintf("question %s: %s", q.ID, q.Note))
}

// conclude records the end of a spawn that does not run again.
func (a *asks) conclude(d *ask.Desk, q ask.Ask, status spawn.Status, why string) {
	sp, ok, err := d.Spawn(a.ctx(), q.Spawn)
	if err != nil || !ok || sp.Ended {
		a.warned(err)
		return
	}
	res := lastResult(sp)
	res.ID, res.Status, res.Error, res.Ask, res.Answer = q.Spawn, status, why, "", ""
	a.core.spawnEvent(spawn.Event{Kind: spawn.Ended, Time: time.Now(), Spawn: q.Spawn, Role: q.Role, Text: why, Result: &res})
	a.finish(d, q.Spawn, res)
}

func lastResult(sp ask.Spawn) spawn.Result {
	var res spawn.Result
	if len(sp.Result) > 0 {
		_ = json.Unmarshal(sp.Result, &res) // our own; a zero one says less and no wrong
	}
	if res.Exit == 0 {
		res.Exit = -1
	}
	return res
}

// proceed takes an answer to where it has its effect.
func (a *asks) proceed(d *ask.Desk, q ask.Ask) {
	if q.Kind == ask.Approval && q.State == ask.Answered && q.Approved() && q.Outcome == "" {
		var ok bool
		if q, ok = a.makeCall(d, q); !ok {
			return
		}
	}
	a.resume(d, q)
}

// resume goes on with the spawn of q. Attempt n is durable before anything is started.
func (a *asks) resume(d *ask.Desk, q ask.Ask) {
	req, s, err := a.request(d, q)
	if err != nil {
		_, _, merr := d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool {
			q.State, q.Note = ask.Withdrawn, "its agent cannot go on: "+err.Error()
			return true
		}, ask.Answered, ask.Called)
		a.warned(merr)
		a.conclude(d, q, spawn.Failed, fmt.Sprintf("question %s was answered, but the agent cannot go on: %v", q.ID, err))
		return
	}
	from := q.State
	q, ok, err := d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool {
		q.State, q.Note, q.Begun = ask.Resuming, "", false
		q.Attempt++
		return true
	}, ask.Answered, ask.Called)
	if err != nil || !ok {
		a.warned(err)
		return
	}
	a.forward(d)
	a.at("resuming")
	req.ID, req.Continue, req.Prompt = q.Spawn, req.Backend != spawn.Scripted, a.core.secrets.Text(q.Prompt())
	if req.Backend == spawn.Scripted {
		req.Agent = a.resumedAgent(s.agent, req, q)
	}
	s.resuming = q.ID
	res := a.core.SpawnWith(a.core.ctx, req, SpawnOptions{Budget: s.budget, OnEvent: s.hear, asking: askOption{start: s}})
	switch {
	case !s.started && res.Status != spawn.Cancelled:
		a.refused(d, q, from, res)
	case res.Status == spawn.Interrupted && res.Ask == "" && a.core.ctx.Err() != nil:
		a.cutOff(d, q, res)
	default:
		_, _, err := d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool { q.State = ask.Resumed; return true }, ask.Resuming)
		a.warned(err)
		if res.Ask == "" {
			a.finish(d, q.Spawn, res)
		}
	}
	a.forward(d)
}

// refused puts an answer back that could not be sent: nothing was started. After many times it is for the operator.
func (a *asks) refused(d *ask.Desk, q ask.Ask, from ask.State, res spawn.Result) {
	_, _, err := d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool {
		q.State = from
		if a.core.ctx.Err() != nil {
			return true
		}
		q.Refused++
		if q.Refused >= maxRefused {
			q.State, q.Note = ask.Unknown, "the agent has not been resumed, since it was refused each time: "+res.Error
		}
		return true
	}, ask.Resuming)
	a.warned(err)
	a.sleep(time.Duration(min(q.Refused+1, 30)) * askLook)
}

// cutOff is for a resumed spawn that zeno's own end has interrupted. Where the answer had not arrived, the next start goes
// on from there.
func (a *asks) cutOff(d *ask.Desk, q ask.Ask, res spawn.Result) {
	if got, err := d.Get(a.ctx(), q.ID); err == nil && got.State == ask.Resuming {
		return // recover looks at the session
	}
	a.finish(d, q.Spawn, res)
}

// request is what the spawn of q goes on with: from memory, else from what was kept.
func (a *asks) request(d *ask.Desk, q ask.Ask) (req spawn.Request, s *askStart, err error) {
	sp, ok, err := d.Spawn(a.ctx(), q.Spawn)
	if err == nil && !ok {
		err = errors.New("nothing is kept of it")
	}
	if err != nil {
		return req, nil, err
	}
	s = &askStart{calls: sp.Calls}
	if s.budget, err = budgetOf(sp); err != nil {
		return req, nil, err
	}
	a.mu.Lock()
	r := a.runs[q.Spawn]
	a.mu.Unlock()
	if r != nil {
		req, s.agent, s.hear = r.req, r.agent, r.hear
		return req, s, nil
	}
	req, s.agent, err = a.restored(sp)
	return req, s, err
}

// restored is a spawn's request after a restart.
func (a *asks) restored(sp ask.Spawn) (req spawn.Request, agent value.Value, err error) {
	if sp.Lost != "" {
		return req, agent, errors.New(sp.Lost)
	}
	if err := json.Unmarshal(sp.Request, &req); err != nil {
		return req, agent, fmt.Errorf("what is kept of it does not read: %w", err)
	}
	if req.APIKeyEnv != "" {
		if req.APIKey = os.Getenv(req.APIKeyEnv); req.APIKey == "" {
			return req, agent, fmt.Errorf(":api-key-env: got %s, which is not set in zeno's environment", req.APIKeyEnv)
		}
	}
	if sp.Agent != "" {
		ns, name := value.SplitName(sp.Agent)
		n := a.core.env.Raw().Namespace(ns)
		if n == nil || n.Var(name) == nil {
			return req, agent, fmt.Errorf("its agent #'%s is not defined any more", sp.Agent)
		}
		agent = value.Of(n.Var(name))
	}
	return req, agent, nil
}

// resumedAgent plays a scripted agent again: its map holds :resume, what came of its question. That it was called is
// durable before it is.
func (a *asks) resumedAgent(agent value.Value, req spawn.Request, q ask.Ask) spawn.Agent {
	c := a.core
	form := spawnForm{Agent: agent, Prompt: req.Prompt, System: req.System}
	return func(ctx context.Context, client spawn.Client) (string, error) {
		if err := a.arrived(q.Spawn); err != nil {
			return "", err
		}
		v, err := c.env.Do(ctx, func(t *value.Thread) value.Value {
			m := value.Assoc(t, c.agentMap(ctx, t, client, form), value.Kw("resume"), bind.Encode(t, askFormOf(q)))
			return t.Call(agent, m)
		})
		if err != nil {
			return "", errors.New(Explain(err))
		}
		return c.text(ctx, v), nil
	}
}
