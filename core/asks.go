package core

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/gateway"
	"github.com/reflection-dev/zeno/lisp/value"
)

// AsksFile is the name of the file of questions in the state directory of a home.
const AsksFile = "asks.db"

// askKind begins the kind of an event about a question; its state follows.
const askKind = "ask/"

// asks is what the Core knows of questions for a person. What must survive it is in the desk.
type asks struct {
	core    *Core
	open    func() (*ask.Desk, error) // made by the first question, or at Boot where there are some
	opened  atomic.Pointer[ask.Desk]
	serving atomic.Bool // Boot has been: spawns may be resumed
	wg      sync.WaitGroup
	owner   string             // this instance, as one that waits for answers
	at      func(point string) // called where a crash may come; tests crash there

	asking     sync.Mutex // one question is put down at a time
	forwarding sync.Mutex // steps go to the journal in order

	mu       sync.Mutex
	closed   bool
	runs     map[string]*askRun // spawns under way or waiting in this process, by id
	busy     map[string]bool    // questions being worked on
	channels []channel
}

// askRun is what this process knows of a spawn that may ask, or has asked.
type askRun struct {
	*askStart
	req     spawn.Request // whole, with its secrets
	running bool
	asked   *ask.Ask // the question that the run has handed over
	notice  string   // what its agent was told
	resumed bool     // that the answer it was begun with has arrived is recorded
}

func newAsks(c *Core) *asks {
	a := &asks{core: c, runs: map[string]*askRun{}, busy: map[string]bool{}, owner: newOwner(), at: func(string) {}, channels: []channel{replChannel{c}}}
	a.open = lasting(a.openDesk)
	return a
}

// path is where the questions of the home lie; "" where the home has no place for them.
func (a *asks) path() string {
	if h := a.core.conf.Home; h != nil && h.Exists() {
		return filepath.Join(h.Dir, "state", AsksFile)
	}
	return ""
}

func (a *asks) openDesk() (*ask.Desk, error) {
	path := a.path()
	if path != "" {
		if _, err := a.core.conf.Home.State(); err != nil {
			return nil, err
		}
	} else {
		state, err := a.core.state() // a temporary one
		if err != nil {
			return nil, err
		}
		path = filepath.Join(state, AsksFile)
	}
	d, err := ask.Open(context.Background(), ask.Config{Path: path})
	if err != nil {
		return nil, err
	}
	a.opened.Store(d)
	a.spawnGo(func() { a.work(d) })
	return d, nil
}

// spawnGo runs f on a goroutine that Close waits for.
func (a *asks) spawnGo(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.wg.Go(f)
	}
}

// existing opens the desk where there is one; nil where there is none.
func (a *asks) existing() (*ask.Desk, error) {
	if d := a.opened.Load(); d != nil {
		return d, nil
	}
	path := a.path()
	if path == "" {
		return nil, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return a.open()
}

// close waits for what works on questions, and lets go of the file. c.ctx has ended.
func (a *asks) close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	if !within(ctx, a.wg.Wait) {
		return fmt.Errorf("questions are still worked on: %w", ctx.Err())
	}
	if d := a.opened.Load(); d != nil {
		a.forward(d)
		return d.Close()
	}
	return nil
}

// begin notes a spawn that starts, so that it can ask. end forgets it, unless it waits for an answer.
func (a *asks) begin(req spawn.Request, s *askStart) (end func(spawn.Result) spawn.Result, err error) {
	if d := a.opened.Load(); d != nil && s.resuming == "" {
		if sp, ok, err := d.Spawn(a.ctx(), req.ID); err == nil && ok && !sp.Ended {
			return nil, fmt.Errorf("id: got %q, which waits for the answer to its question; want a fresh one", req.ID)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.runs[req.ID]; r != nil && r.running {
		return nil, fmt.Errorf("id: got %q, which runs already; want a fresh one", req.ID)
	}
	a.runs[req.ID] = &askRun{askStart: s, req: req, running: true}
	return func(res spawn.Result) spawn.Result { return a.end(req.ID, res) }, nil
}

func (a *asks) end(id string, res spawn.Result) spawn.Result {
	a.mu.Lock()
	r := a.runs[id]
	r.running = false
	asked := r.asked
	if res.Ask == "" {
		delete(a.runs, id)
	}
	a.mu.Unlock()
	d := a.opened.Load()
	switch {
	case d == nil || asked == nil:
	case res.Ask != "":
		a.warned(d.ChangeSpawn(a.ctx(), id, func(s *ask.Spawn) {
			s.Result = encodeResult(res)
			s.Budget = a.left(r)
		}))
	default: // it ended for another reason before it could wait
		_, _, err := d.Move(a.ctx(), asked.ID, func(q *ask.Ask) bool {
			q.State, q.Note = ask.Withdrawn, "its spawn ended: "+string(res.Status)
			return true
		}, ask.Asked)
		a.warned(err)
		a.finish(d, id, res)
	}
	return res
}

// left is what is left of a spawn's budget.
func (a *asks) left(r *askRun) json.RawMessage {
	l := r.budget
	if j := a.core.jobs.attempt(r.req.ID); j != nil {
		l = less(l, j.meter.Used())
	}
	b, err := json.Marshal(l)
	if err != nil {
		return nil
	}
	return b
}

// ctx is for writes that must not be cut short.
func (a *asks) ctx() context.Context { return context.WithoutCancel(a.core.ctx) }

func (a *asks) warned(err error) {
	if err != nil {
		a.core.conf.Log.Error("questions", "error", err)
		a.core.warn(err.Error())
	}
}

func encodeResult(res spawn.Result) json.RawMessage {
	b, err := json.Marshal(res)
	if err != nil {
		return nil
	}
	return b
}

// finish keeps how a spawn that had asked ended, and removes its home.
func (a *asks) finish(d *ask.Desk, id string, res spawn.Result) {
	a.at("ending")
	a.mu.Lock()
	if r := a.runs[id]; r != nil && !r.running {
		delete(a.runs, id)
	}
	a.mu.Unlock()
	a.warned(d.ChangeSpawn(a.ctx(), id, func(s *ask.Spawn) { s.Ended, s.Result, s.Request = true, encodeResult(res), nil }))
	if r, err := a.core.runner(); err == nil {
		r.Drop(id)
	}
}

// keeps tells the runner which spawns wait for a person. Where that cannot be known, all do.
func (a *asks) keeps(id string) bool {
	d, err := a.existing()
	if err != nil {
		return true
	}
	if d == nil {
		return false
	}
	list, err := d.Of(a.ctx(), id)
	return err != nil || slices.ContainsFunc(list, func(q ask.Ask) bool { return !q.State.Final(q.Kind) })
}

// of gives the question that a spawn under way has handed over.
func (a *asks) of(id string) (ask.Ask, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.runs[id]; r != nil && r.asked != nil {
		return *r.asked, true
	}
	return ask.Ask{}, false
}

// tell answers the evaluation of a spawn in which it asked.
func (a *asks) tell(id string, made *happened) (gateway.Reply, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.runs[id]
	if r == nil || r.asked == nil {
		return gateway.Reply{}, false
	}
	if r.notice == "" {
		r.notice = made.notice(*r.asked)
	}
	return gateway.Reply{Notice: r.notice}, true
}

// told answers a later evaluation of a spawn that has asked: in the same words.
func (a *asks) told(id string) (gateway.Reply, bool) {
	if _, asked := a.of(id); !asked {
		return gateway.Reply{}, false
	}
	return a.tell(id, &happened{})
}

// reach makes sure that the answer counts as arrived before anything is evaluated with it.
func (a *asks) reach(id string) (gateway.Reply, bool) {
	if err := a.arrived(id); err != nil {
		a.warned(err)
		return gateway.Reply{Err: &gateway.EvalError{Kind: gateway.KindInternal, Message: "it cannot be recorded that you have the answer; nothing was evaluated",
			Hint: "try again, or end your turn and say so: only the operator can mend it"}}, false
	}
	return gateway.Reply{}, true
}

// callsOf are the calls that a resumed spawn had made before.
func (a *asks) callsOf(id string) map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.runs[id]; r != nil {
		return r.calls
	}
	return nil
}

// askedBy is what the runner is told.
func (a *asks) askedBy(id string) string {
	q, _ := a.of(id)
	return q.ID
}

// started notes that the agent of a spawn is about to be started. Where it goes on with an answer, that is durable before
// it does: an attempt that has not begun may be made again.
func (a *asks) started(id string) error {
	a.mu.Lock()
	r := a.runs[id]
	if r == nil {
		a.mu.Unlock()
		return nil
	}
	question := r.resuming
	a.mu.Unlock()
	if question != "" {
		d, err := a.open()
		if err == nil {
			_, _, err = d.Move(a.ctx(), question, func(q *ask.Ask) bool { q.Begun = true; return true }, ask.Resuming)
		}
		if err != nil {
			return err
		}
		a.at("started")
	}
	a.mu.Lock()
	r.started = true
	a.mu.Unlock()
	return nil
}

// arrived records, before the first evaluation of a resumed spawn, that the answer has reached its agent: whatever it does
// now, the answer is not sent again.
func (a *asks) arrived(id string) error {
	a.mu.Lock()
	r := a.runs[id]
	if r == nil || r.resuming == "" || r.resumed {
		a.mu.Unlock()
		return nil
	}
	question := r.resuming
	a.mu.Unlock()
	d, err := a.open()
	if err != nil {
		return err
	}
	if _, _, err := d.Move(a.ctx(), question, func(q *ask.Ask) bool { q.State = ask.Resumed; return true }, ask.Resuming); err != nil {
		return err
	}
	a.at("resumed")
	a.mu.Lock()
	r.resumed = true
	a.mu.Unlock()
	a.forward(d)
	return nil
}

// forward hands steps to the journal, where this process is the one that writes the home's.
func (a *asks) forward(d *ask.Desk) {
	c := a.core
	if c.home != nil {
		if _, err := c.journalFile(); err != nil {
			return // the process that has it will
		}
	}
	a.forwarding.Lock()
	defer a.forwarding.Unlock()
	err := d.Forward(a.ctx(), func(s ask.Step) error {
		_, err := c.record(askEvent(s))
		return err
	})
	if err != nil {
		c.conf.Log.Error("questions: failed to record steps; they are kept", "error", err)
	}
}

func askEvent(s ask.Step) journal.Event {
	q := s.Ask
	e := journal.Event{At: s.At, Kind: askKind + string(q.State), Role: q.Role, Spawn: q.Spawn, Durable: true,
		Data: map[string]any{"ask": q.ID, "kind": string(q.Kind)}}
	put := func(k, v string) {
		if v != "" {
			e.Data[k] = clip(v)
		}
	}
	switch q.State {
	case ask.Asked:
		put("question", q.Text)
		if len(q.Choices) > 0 {
			e.Data["choices"] = q.Choices
		}
		if q.Default != nil {
			put("default", *q.Default)
		}
		e.Data["deadline"] = q.Deadline
		put("key", q.Key)
		if q.Call != nil {
			put("call", q.Call.Form())
		}
	case ask.Answered:
		put("answer", q.Answer)
		put("by", q.By)
	case ask.Called:
		put("outcome", q.Outcome)
	}
	put("note", q.Note)
	if q.Attempt > 0 {
		e.Data["attempt"] = q.Attempt
	}
	return e
}

// saved is what is kept of a spawn, for the time when this process is gone: all of its request but secrets.
func (a *asks) saved(r *askRun, calls map[string]int) ask.Spawn {
	s := ask.Spawn{ID: r.req.ID, Calls: calls, Budget: a.left(r)}
	req := r.req
	lose := func(format string, args ...any) {
		if s.Lost == "" {
			s.Lost = fmt.Sprintf(format, args...)
		}
	}
	if req.APIKey != "" && req.APIKeyEnv == "" {
		lose("its API key came from no variable of the environment (:api-key-env), and keys are not kept")
	}
	req.APIKey, req.Agent, req.Env = "", nil, maps.Clone(req.Env)
	for k, v := range req.Env {
		if slices.Contains(req.Secrets, k) || a.core.secrets.Text(v) != v {
			delete(req.Env, k)
			lose("its variable %s was a secret, and secrets are not kept", k)
		}
	}
	if req.Entry != nil {
		req.Entry = nil
		lose("its backend was given as an entry, which is not kept; name one of the table")
	}
	if v := req.Review; v != nil && (v.Agent != nil || v.Entry != nil) {
		lose("its advisor is a function or a backend given as an entry, which are not kept; name a backend of the table")
	}
	if r.agent.Kind() == value.KindVar {
		s.Agent = value.As[value.Var](r.agent).FullName()
	} else if req.Backend == spawn.Scripted {
		lose("its agent is a function without a name; give the var, :agent #'name")
	}
	b, err := json.Marshal(req)
	if err != nil {
		lose("its request cannot be kept: %v", err)
		b = []byte("{}")
	}
	if text := a.core.secrets.Text(string(b)); text != string(b) {
		lose("its request holds a secret, and secrets are not kept")
		b = []byte(text)
	}
	s.Request = b
	return s
}

// newOwner names this instance as one that waits. The process id alone would not do: in a container it is the same after
// a restart.
func newOwner() string { return strconv.Itoa(os.Getpid()) + "/" + rand.Text()[:8] }
