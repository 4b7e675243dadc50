package core

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/lisp/bind"
)

// startControl opens the control socket, where the instance serves its home.
func (c *Core) startControl(ctx context.Context) error {
	if !c.conf.Serve || c.conf.Home == nil || !c.conf.Home.Exists() {
		return nil
	}
	state, err := c.state()
	if err != nil {
		return err
	}
	s := control.New(control.Config{Dir: state, Log: c.conf.Log})
	s.Register(c.verbs()...)
	s.Register(c.boxVerbs()...)
	s.Mount("metrics", http.HandlerFunc(c.serveMetrics))
	c.count()
	if err := s.Start(ctx); err != nil {
		return err
	}
	c.secrets.Hide(s.AdminToken())
	c.control.Store(s)
	return nil
}

func (c *Core) stopControl(ctx context.Context) error {
	if s := c.control.Load(); s != nil {
		return s.Stop(ctx)
	}
	return nil
}

// Control is how commands of the operator reach the instance, for registering more of them; nil where it serves no home.
func (c *Core) Control() *control.Server { return c.control.Load() }

// verbs are what can be asked for at the control socket.
func (c *Core) verbs() []control.Verb {
	return []control.Verb{
		{Name: "ps", Doc: "what runs: the instance, its processes, its spawns, with {all} also those that ended lately", Call: c.verbPS},
		{Name: "logs", Doc: "the events of one spawn: {spawn, after, follow}", Stream: c.verbLogs},
		{Name: "journal/tail", Doc: "the newest events: {lines, follow}", Stream: c.verbTail},
		{Name: "journal/show", Doc: "the events of one spawn: {spawn}", Stream: c.verbLogs},
		{Name: "journal/verify", Doc: "check the chain: {anchor}", Call: c.verbVerify},
		{Name: "processes/pause", Doc: "hold the schedules of processes: {names}, all without", Change: true, Call: c.process("pause", false, c.loop.Pause)},
		{Name: "processes/resume", Doc: "end a pause: {names}, all without", Change: true, Call: c.process("resume", true, c.loop.Resume)},
		{Name: "processes/run-now", Doc: "run processes once, now: {names}", Change: true, Call: c.verbRunNow},
		{Name: "freeze", Doc: "stop new evals, spawns and runs, and keep all state: {why}", Change: true, Call: c.verbFreeze},
		{Name: "thaw", Doc: "end a freeze", Change: true, Call: c.verbThaw},
		{Name: "inbox", Doc: "the questions that wait for a person", Call: c.verbInbox},
		{Name: "answer", Doc: "answer a question: {id, text}", Change: true, Call: c.verbAnswer},
		{Name: "spawn", Doc: "run an agent to its end: {role, prompt, system, model, backend, base-url, api-key-env, timeout-ms, sandbox, box, trust}; it is cancelled where the caller hangs up", Change: true, MaxBody: maxSpawnArgs, Stream: c.verbSpawn},
		{Name: "cancel", Doc: "end a spawn: {spawn, why}", Change: true, Call: c.verbCancel},
		{Name: "gc", Doc: "remove what ended long ago: {keep-ms, dry-run}", Change: true, Call: c.verbGC},
		{Name: "stop", Doc: "drain and end: {now, timeout-ms}", Change: true, Call: c.verbStop},
	}
}

// Status is the instance as `zeno ps` shows it.
type Status struct {
	PID       int           `json:"pid"`
	Version   string        `json:"version"`
	Home      string        `json:"home"`
	State     string        `json:"state"` // "running", "frozen" or "draining"
	Frozen    *Frozen       `json:"frozen,omitempty"`
	Deadline  time.Time     `json:"deadline,omitzero"` // of a drain
	Gateway   string        `json:"gateway,omitempty"`
	Asks      int           `json:"asks,omitempty"` // questions that wait for a person
	AsksError string        `json:"asks-error,omitempty"`
	Processes []ProcessInfo `json:"processes"`
	Spawns    []SpawnInfo   `json:"spawns"`
	Hooks     []HookInfo    `json:"webhooks,omitempty"`
}

// ProcessInfo is a process as `zeno ps` shows it.
type ProcessInfo struct {
	Name     string    `json:"name"`
	Schedule string    `json:"schedule"`
	State    string    `json:"state"`
	Paused   bool      `json:"paused,omitempty"`
	Overdue  bool      `json:"overdue,omitempty"`
	Runs     int       `json:"runs"`
	Failures int       `json:"failures"`
	Failing  int       `json:"failing,omitempty"` // failures in a row
	Since    time.Time `json:"since,omitzero"`    // of the run under way
	Next     time.Time `json:"next,omitzero"`
	Last     time.Time `json:"last-at,omitzero"`
	LastMS   float64   `json:"last-ms,omitempty"`
	Outcome  string    `json:"last-outcome,omitempty"`
	Error    string    `json:"error,omitempty"` // of the last run that failed
}

// Status tells what the instance does.
func (c *Core) Status() Status {
	s := Status{PID: os.Getpid(), Version: c.conf.Version, State: "running", Frozen: c.Frozen(), Processes: []ProcessInfo{},
		Spawns: c.spawnInfos(false), Hooks: c.hookInfos()}
	if s.Frozen != nil {
		s.State = "frozen"
	}
	if c.Draining() {
		s.State = "draining"
		c.life.mu.Lock()
		s.Deadline = c.life.deadline
		c.life.mu.Unlock()
	}
	if c.conf.Home != nil {
		s.Home = c.conf.Home.Dir
	}
	if a := c.Gateway().Addr(); a != "" {
		s.Gateway = "http://" + a
	}
	for _, p := range c.loop.Processes() {
		s.Processes = append(s.Processes, processInfo(p))
	}
	ctx, cancel := context.WithTimeout(c.ctx, 2*time.Second)
	defer cancel()
	if list, err := c.Inbox(ctx); err == nil {
		s.Asks = len(list)
	} else {
		s.AsksError = err.Error()
	}
	return s
}

func processInfo(p loop.Status) ProcessInfo {
	i := ProcessInfo{Name: p.Name, Schedule: p.Schedule, State: string(p.State), Paused: p.Paused, Overdue: p.Overdue, Runs: p.Runs,
		Failures: p.Failures, Failing: p.Failing, Since: p.Since, Next: p.Next}
	if p.Last.Outcome != "" {
		i.Last, i.LastMS, i.Outcome = p.Last.Started, millis(p.Last.Elapsed), outcome(p.Last)
	}
	if p.Err != nil {
		i.Error = clip(p.Err.Error())
	}
	return i
}

func (c *Core) verbPS(_ context.Context, q control.Request) (any, error) {
	var in struct {
		All bool `json:"all"`
	}
	if err := q.Decode(&in); err != nil {
		return nil, err
	}
	s := c.Status()
	if in.All {
		s.Spawns = c.spawnInfos(true)
	}
	return s, nil
}

// namesForm names processes.
type namesForm struct {
	Names []string `json:"names"`
}

// process makes a verb of what a loop does to processes. record: it is not done where it cannot be recorded.
func (c *Core) process(verb string, record bool, f func(...string) error) func(context.Context, control.Request) (any, error) {
	return func(_ context.Context, q control.Request) (any, error) {
		var in namesForm
		if err := q.Decode(&in); err != nil {
			return nil, err
		}
		for _, n := range in.Names {
			if _, err := c.loop.Process(n); err != nil {
				return nil, &control.Error{Kind: control.Usage, Message: err.Error()}
			}
		}
		if err := c.recordControl(q.By, verb, map[string]any{"processes": in.Names}); err != nil && record {
			return nil, err
		}
		if err := f(in.Names...); err != nil {
			return nil, verbError(err)
		}
		return c.Status(), nil
	}
}

func verbError(err error) error {
	switch {
	case errors.Is(err, loop.ErrUnknown):
		return &control.Error{Kind: control.Usage, Message: err.Error()}
	case errors.Is(err, loop.ErrHeld), errors.Is(err, loop.ErrStopped):
		return &control.Error{Kind: control.Refused, Message: err.Error()}
	}
	return err
}

func (c *Core) verbRunNow(_ context.Context, q control.Request) (any, error) {
	var in namesForm
	if err := q.Decode(&in); err != nil {
		return nil, err
	}
	if len(in.Names) == 0 {
		return nil, &control.Error{Kind: control.Usage, Message: "run-now: got no process, want the names of those to run"}
	}
	if err := c.admits(); err != nil {
		return nil, &control.Error{Kind: control.Refused, Message: "run-now: " + err.Error()}
	}
	out := map[string]bind.Keyword{}
	for _, n := range in.Names {
		if _, err := c.loop.Process(n); err != nil {
			return nil, verbError(err)
		}
	}
	if err := c.recordControl(q.By, "run-now", map[string]any{"processes": in.Names}); err != nil {
		return nil, err
	}
	for _, n := range in.Names {
		how, err := c.runNow(n)
		if err != nil {
			return nil, verbError(err)
		}
		out[n] = how
	}
	return out, nil
}

func (c *Core) verbFreeze(_ context.Context, q control.Request) (any, error) {
	var in struct {
		Why string `json:"why"`
	}
	if err := q.Decode(&in); err != nil {
		return nil, err
	}
	if err := c.Freeze(q.By, clip(in.Why)); err != nil {
		return nil, err
	}
	return c.Status(), nil
}

func (c *Core) verbThaw(_ context.Context, q control.Request) (any, error) {
	if err := c.Thaw(q.By); err != nil {
		return nil, err
	}
	return c.Status(), nil
}

func (c *Core) verbStop(_ context.Context, q control.Request) (any, error) {
	var in struct {
		Now     bool  `json:"now"`
		Timeout int64 `json:"timeout-ms"`
	}
	if err := q.Decode(&in); err != nil {
		return nil, err
	}
	if in.Timeout < 0 || in.Timeout > (365*24*time.Hour).Milliseconds() {
		return nil, &control.Error{Kind: control.Usage, Message: fmt.Sprintf("timeout-ms: got %d, want 0 to a year", in.Timeout)}
	}
	c.Stop(q.By, StopOptions{Now: in.Now, Timeout: time.Duration(in.Timeout) * time.Millisecond})
	return c.Status(), nil
}

func (c *Core) verbVerify(ctx context.Context, q control.Request) (any, error) {
	var in struct {
		Anchor string `json:"anchor"`
	}
	if err := q.Decode(&in); err != nil {
		return nil, err
	}
	f, err := c.journalFile()
	if err != nil {
		return nil, err
	}
	from := journal.Anchor{}
	if in.Anchor != "" {
		if from, err = journal.ParseAnchor(in.Anchor); err != nil {
			return nil, &control.Error{Kind: control.Usage, Message: err.Error()}
		}
	}
	r, err := f.Verify(ctx, from)
	if err != nil {
		return nil, err
	}
	return map[string]any{"ok": r.Broken == nil, "events": r.Events, "anchor": r.To.String(), "broken": r.Broken}, nil
}
