package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Spawn runs one agent to its end. All errors are in the Result.
func (c *Core) Spawn(ctx context.Context, req spawn.Request) spawn.Result {
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return spawn.Result{Status: spawn.Refused, Exit: -1, Error: "spawn: zeno is shutting down"}
	}
	if err := c.admits(); err != nil {
		c.mu.Unlock()
		return spawn.Result{Status: spawn.Refused, Exit: -1, Error: "spawn: " + err.Error()}
	}
	c.spawns.Add(1)
	c.mu.Unlock()
	defer c.spawns.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	r, err := c.runner()
	if err != nil {
		return spawn.Result{Status: spawn.Refused, Exit: -1, Error: err.Error()}
	}
	c.secrets.Hide(req.APIKey) // for good: the program may have it from elsewhere, too
	for _, name := range req.Secrets {
		c.secrets.Hide(req.Env[name])
	}
	return r.Run(ctx, req)
}

// spawnForm is a spawn as the program writes it.
type spawnForm struct {
	Role      string            `lisp:"role,required"`
	Prompt    string            `lisp:"prompt"`
	System    string            `lisp:"system"`
	Model     string            `lisp:"model"`
	Backend   string            `lisp:"backend"`
	Agent     value.Value       `lisp:"agent"` // of :scripted: (fn [{:keys [eval tools prompt system]}] answer)
	Sandbox   string            `lisp:"sandbox"`
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
	MaxTokens int64             `lisp:"max-tokens"`
	MaxUSD    float64           `lisp:"max-usd"`
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
}

type usageForm struct {
	TokensIn  int64   `lisp:"tokens-in"`
	TokensOut int64   `lisp:"tokens-out"`
	USD       float64 `lisp:"usd"`
}

// spawn is zeno.spawn/spawn.
func (c *Core) spawn(ctx context.Context, f spawnForm) (resultForm, error) {
	req := spawn.Request{ID: f.ID, Role: f.Role, Prompt: f.Prompt, System: f.System, Model: f.Model, Backend: f.Backend,
		BaseURL: f.BaseURL, Env: f.Env, Vars: f.Vars, Timeout: time.Duration(f.Timeout), Stall: time.Duration(f.Stall),
		Grace: time.Duration(f.Grace), Resume: f.Resume, Tools: f.Tools, Sandbox: f.Sandbox, Work: f.Work,
		MaxTokens: f.MaxTokens, MaxUSD: f.MaxUSD}
	if f.APIKeyEnv != "" {
		if req.APIKey = os.Getenv(f.APIKeyEnv); req.APIKey == "" {
			return resultForm{}, fmt.Errorf(":api-key-env: got %s, which is not set in zeno's environment", f.APIKeyEnv)
		}
	}
	if !f.Agent.IsNil() {
		req.Agent = c.scripted(f)
	}
	res := c.Spawn(ctx, req)
	return resultForm{ID: res.ID, Status: bind.Keyword(res.Status), Exit: res.Exit, Answer: res.Answer, Session: res.Session,
		Usage: usageForm{res.Usage.TokensIn, res.Usage.TokensOut, res.Usage.USD}, Evals: res.Evals,
		MS: res.Elapsed.Milliseconds(), Boxed: res.Boxed, Error: res.Error, Stderr: res.Stderr}, nil
}

// scripted makes an agent of a Lisp function. It gets a map: :eval, a function from code to {:text … :error? …}, that
// goes over the real endpoint; :tools, a function that lists what the endpoint offers; :prompt and :system.
func (c *Core) scripted(f spawnForm) spawn.Agent {
	return func(ctx context.Context, client spawn.Client) (string, error) {
		v, err := c.env.Do(ctx, func(t *value.Thread) value.Value {
			return t.Call(f.Agent, agentMap(t, client, f))
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

func agentMap(t *value.Thread, client spawn.Client, f spawnForm) value.Value {
	eval := bind.Func("eval", "([code])", "Evaluates code at the endpoint: {:text … :error? …}.",
		func(ctx context.Context, code string) (map[string]any, error) {
			text, isError, err := client.Eval(ctx, code)
			return map[string]any{"text": text, "error?": isError}, err
		})
	tools := bind.Func("tools", "([])", "Lists the tools of the endpoint: {:name … :description …}.", client.Tools)
	return value.NewMap(t, value.Kw("eval"), value.Of(value.NewBuiltin("eval", &eval)), value.Kw("tools"),
		value.Of(value.NewBuiltin("tools", &tools)), value.Kw("prompt"), value.Str(f.Prompt), value.Kw("system"), value.Str(f.System))
}

// spawnEvent records what a spawn's runner tells.
func (c *Core) spawnEvent(e spawn.Event) {
	c.running.event(e)
	je := journal.Event{At: e.Time, Role: e.Role, Spawn: e.Spawn, Data: map[string]any{"backend": e.Backend}}
	switch e.Kind {
	case spawn.Started:
		je.Kind, je.Durable = journal.SpawnStarted, true
	case spawn.Ended:
		je.Kind, je.Durable = journal.SpawnEnded, true
		if r := e.Result; r != nil {
			je.Outcome, je.Elapsed = string(r.Status), r.Elapsed
			je.Data["evals"], je.Data["boxed"], je.Data["exit"] = r.Evals, r.Boxed, r.Exit
			je.Data["answer"], je.Data["error"] = clip(r.Answer), clip(r.Error)
			je.Data["tokens-in"], je.Data["tokens-out"], je.Data["usd"] = r.Usage.TokensIn, r.Usage.TokensOut, r.Usage.USD
		}
	default:
		je.Kind = journal.SpawnProgress
		je.Data["what"], je.Data["type"], je.Data["tool"], je.Data["text"] = string(e.Kind), e.Type, e.Tool, clip(e.Text)
	}
	_, _ = c.record(je) // a failure is reported; the spawn is under way
}
