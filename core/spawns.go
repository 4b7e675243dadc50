package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Spawn runs one agent to its end, under the budget of its role. All errors are in the Result.
func (c *Core) Spawn(ctx context.Context, req spawn.Request) spawn.Result {
	return c.SpawnWith(ctx, req, SpawnOptions{})
}

// Preview tells what Spawn would start, and starts nothing.
func (c *Core) Preview(req spawn.Request) (spawn.Preview, error) {
	r, err := c.runner()
	if err != nil {
		return spawn.Preview{}, err
	}
	return r.Preview(req)
}

// SpawnWith is Spawn with a budget of its own, and with further attempts where it fails.
func (c *Core) SpawnWith(ctx context.Context, req spawn.Request, o SpawnOptions) spawn.Result {
	res, _ := c.spawnWith(ctx, req, o)
	return res
}

func (c *Core) spawnWith(ctx context.Context, req spawn.Request, o SpawnOptions) (spawn.Result, *job) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	j, end, refused := c.open(ctx, &req, o, cancel)
	if refused != nil {
		return *refused, nil
	}
	defer end()
	return c.finish(ctx, j, req, o), j
}

// open makes a spawn one that is under way, until end. refused is its Result where it cannot be.
func (c *Core) open(ctx context.Context, req *spawn.Request, o SpawnOptions, cancel context.CancelCauseFunc) (j *job, end func(), refused *spawn.Result) {
	no := func(err error) (*job, func(), *spawn.Result) {
		res := refusedSpawn(err)
		res.ID = req.ID
		return nil, nil, &res
	}
	o.standsIn = c.rehearsal.spawn(req)
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return no(errors.New("spawn: zeno is shutting down"))
	}
	if err := c.admits(); err != nil {
		c.mu.Unlock()
		return no(fmt.Errorf("spawn: %w", err))
	}
	c.spawns.Add(1)
	c.mu.Unlock()
	c.secrets.Hide(req.APIKey) // for good: the program may have it from elsewhere, too
	for _, name := range req.Secrets {
		c.secrets.Hide(req.Env[name])
	}
	j, err := c.newJob(req, o, cancel)
	if err == nil {
		err = c.jobs.open(j)
	}
	if err != nil {
		c.spawns.Done()
		return no(err)
	}
	return j, c.spawns.Done, nil
}

// finish runs an open spawn to its end.
func (c *Core) finish(ctx context.Context, j *job, req spawn.Request, o SpawnOptions) spawn.Result {
	j.hear = c.hears(req.ID, o.OnEvent)
	res := c.runRounds(ctx, j, req, o)
	j.hear.close()
	asked := res.ID // of the attempt
	res.ID = req.ID
	c.jobs.close(j, res)
	if res.Status != spawn.Interrupted { // it will not come back
		c.dropHolds(req.ID)
	}
	c.rehearsal.spawned(req.Role, res)
	return c.waitAsked(ctx, res, asked, o)
}

// spawnForm is a spawn as the program writes it.
type spawnForm struct {
	Role      string            `lisp:"role,required"`
	Prompt    string            `lisp:"prompt"`
	System    string            `lisp:"system"`
	Model     string            `lisp:"model"`
	Backend   backendForm       `lisp:"backend"` // a name, or a map that describes one
	Agent     value.Value       `lisp:"agent"`   // of :scripted: (fn [{:keys [eval tools prompt system]}] answer)
	Sandbox   sandboxForm       `lisp:"sandbox"`
	Trust     bool              `lisp:"trust"` // unboxed, although a person has to approve what its role may do
	Timeout   bind.Duration     `lisp:"timeout"`
	Stall     bind.Duration     `lisp:"stall"`
	Grace     bind.Duration     `lisp:"grace"`
	Resume    string            `lisp:"resume"`
	Tools     []string          `lisp:"tools"`
	BaseURL   string            `lisp:"base-url"`
	APIKeyEnv string            `lisp:"api-key-env"` // the variable of zeno's environment that holds the key
	Env       map[string]string `lisp:"env"`
	Vars      map[string]string `lisp:"vars"`
	Work      string            `lisp:"work"`
	ID        string            `lisp:"id"`
	Budget    *grant.LimitsForm `lisp:"budget"`
	Retries   *retriesForm      `lisp:"retries"`
	OnAsk     string            `lisp:"on-ask"` // return or wait
	Advisor   *advisorForm      `lisp:"advisor"`
	OnEvent   value.Value       `lisp:"on-event"` // a function of {:kind …}
}

// resultForm is a spawn's end as the program sees it.
type resultForm struct {
	ID      string       `lisp:"id"`
	Status  bind.Keyword `lisp:"status"`
	Exit    int          `lisp:"exit"`
	Answer  string       `lisp:"answer"`
	Session string       `lisp:"session,omitempty"`
	Usage   usageForm    `lisp:"usage"`
	Evals   int          `lisp:"evals"`
	MS      int64        `lisp:"ms"`
	Boxed   bool         `lisp:"boxed"`
	Error   string       `lisp:"error,omitempty"`
	Stderr  string       `lisp:"stderr,omitempty"`
	Ask     string       `lisp:"ask,omitempty"` // the question that it waits for

	Advice   []adviceForm  `lisp:"advice,omitempty"`
	Attempts []attemptForm `lisp:"attempts,omitempty"`
}

type usageForm struct {
	TokensIn  int64   `lisp:"tokens-in"`
	TokensOut int64   `lisp:"tokens-out"`
	USD       float64 `lisp:"usd"`
}

// spawn is zeno.spawn/spawn.
func (c *Core) spawn(ctx context.Context, f spawnForm) (resultForm, error) {
	req, o, err := c.request(f)
	if err != nil {
		return resultForm{}, err
	}
	res, j := c.spawnWith(ctx, req, o)
	return c.result(res, j), nil
}

// request makes of a form what a spawn is started from.
func (c *Core) request(f spawnForm) (req spawn.Request, o SpawnOptions, err error) {
	req = spawn.Request{ID: f.ID, Role: f.Role, Prompt: f.Prompt, System: f.System, Model: f.Model, Backend: f.Backend.name, Entry: f.Backend.entry,
		BaseURL: f.BaseURL, Env: f.Env, Vars: f.Vars, Timeout: time.Duration(f.Timeout), Stall: time.Duration(f.Stall),
		Grace: time.Duration(f.Grace), Resume: f.Resume, Tools: f.Tools, Sandbox: f.Sandbox.name, Box: f.Sandbox.box, Trust: f.Trust, Work: f.Work}
	o.Retries = f.Retries.retries()
	if f.Budget != nil {
		if o.Budget, err = f.Budget.Limits(); err != nil {
			return req, o, fmt.Errorf(":budget %w", err)
		}
		o.Late = f.Budget.Late
	}
	req.APIKeyEnv, o.asking.agent = f.APIKeyEnv, f.Agent
	if o.asking.wait, err = onAsk(f.OnAsk); err != nil {
		return req, o, err
	}
	if f.APIKeyEnv != "" {
		if req.APIKey = os.Getenv(f.APIKeyEnv); req.APIKey == "" {
			return req, o, fmt.Errorf(":api-key-env: got %s, which is not set in zeno's environment", f.APIKeyEnv)
		}
	}
	if !f.Agent.IsNil() {
		req.Agent = c.scripted(f)
	}
	o.OnEvent = c.hearing(f.OnEvent)
	return req, o, c.advise(&req, f.Advisor)
}

// result is how a spawn ended, for the program.
func (c *Core) result(res spawn.Result, j *job) resultForm {
	return resultForm{ID: res.ID, Status: bind.Keyword(res.Status), Exit: res.Exit, Answer: res.Answer, Session: res.Session,
		Usage: usageForm{res.Usage.TokensIn, res.Usage.TokensOut, res.Usage.USD}, Evals: res.Evals,
		MS: res.Elapsed.Milliseconds(), Boxed: res.Boxed, Error: res.Error, Stderr: res.Stderr, Ask: res.Ask, Advice: adviceForms(res.Advice), Attempts: attemptForms(j)}
}

// scripted makes an agent of a Lisp function. It gets a map: :eval, a function from code to {:text … :error? …}, that
// goes over the real endpoint; :tools, a function that lists what the endpoint offers; :usage!, a function that
// counts what the agent used elsewhere; :prompt and :system.
func (c *Core) scripted(f spawnForm) spawn.Agent {
	return func(ctx context.Context, client spawn.Client) (string, error) {
		f := f
		f.Prompt, f.System = spawn.Texts(ctx)
		v, err := c.env.Do(ctx, func(t *value.Thread) value.Value {
			return t.Call(f.Agent, c.agentMap(ctx, t, client, f))
		})
		if err != nil {
			return "", errors.New(Explain(err))
		}
		return c.text(ctx, v), nil
	}
}

// text is the answer of a scripted agent: a string as it is, anything else printed.
func (c *Core) text(ctx context.Context, v value.Value) string {
	if v.Kind() == value.KindString {
		return v.Text()
	}
	s, err := c.env.Print(ctx, v)
	if err != nil {
		return err.Error()
	}
	return s
}

func (c *Core) agentMap(ctx context.Context, t *value.Thread, client spawn.Client, f spawnForm) value.Value {
	eval := bind.Func("eval", "([code])", "Evaluates code at the endpoint: {:text … :error? …}.",
		func(ctx context.Context, code string) (map[string]any, error) {
			text, isError, err := client.Eval(ctx, code)
			return map[string]any{"text": text, "error?": isError}, err
		})
	usage := c.usageOf(ctx)
	tools := bind.Func("tools", "([])", "Lists the tools of the endpoint: {:name … :description …}.", client.Tools)
	return value.NewMap(t, value.Kw("eval"), value.Of(value.NewBuiltin("eval", &eval)), value.Kw("tools"),
		value.Of(value.NewBuiltin("tools", &tools)), value.Kw("usage!"), value.Of(value.NewBuiltin("usage!", &usage)), value.Kw("prompt"), value.Str(f.Prompt), value.Kw("system"), value.Str(f.System))
}

// spawnStarting records that a spawn is about to start. Where that fails it is not started.
func (c *Core) spawnStarting(e spawn.Event) error {
	if j := c.jobs.attempt(e.Spawn); j != nil {
		j.become(jobRunning)
	}
	data := map[string]any{"backend": e.Backend, "boxed": e.Boxed}
	if id := c.traces.TraceOf(e.Spawn); id != "" {
		data["trace"] = id
	}
	_, err := c.record(journal.Event{At: e.Time, Kind: journal.SpawnStarted, Role: e.Role, Spawn: e.Spawn, Durable: true, Data: data})
	if err != nil {
		return fmt.Errorf("what is started is recorded first, and the record cannot be written: %w", err)
	}
	return c.asks.started(e.Spawn)
}

// spawnEvent records what a spawn's runner tells.
func (c *Core) spawnEvent(e spawn.Event) {
	if j := c.jobs.attempt(e.Spawn); j != nil {
		j.hear.tell(e)
	}
	je := journal.Event{At: e.Time, Role: e.Role, Spawn: e.Spawn, Data: map[string]any{"backend": e.Backend}}
	switch e.Kind {
	case spawn.Started, spawn.Used: // the one is recorded before, see spawnStarting; the other is the ledger's
		return
	case spawn.Ended:
		je.Kind, je.Durable = journal.SpawnEnded, true
		if r := e.Result; r != nil {
			je.Outcome, je.Elapsed = string(r.Status), r.Elapsed
			je.Data["evals"], je.Data["boxed"], je.Data["exit"] = r.Evals, r.Boxed, r.Exit
			je.Data["answer"], je.Data["error"] = clip(r.Answer), clip(r.Error)
			if r.Ask != "" {
				je.Data["ask"] = r.Ask
			}
			je.Data["tokens-in"], je.Data["tokens-out"], je.Data["usd"] = r.Usage.TokensIn, r.Usage.TokensOut, r.Usage.USD
		}
	default:
		je.Kind = journal.SpawnProgress
		je.Data["what"], je.Data["type"], je.Data["tool"], je.Data["text"] = string(e.Kind), e.Type, e.Tool, clip(e.Text)
	}
	_, _ = c.record(je) // a failure is reported; the spawn is under way
}
