package core

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/spawn"
)

// spawnCallers is how many callers may wait for their spawns at the control socket at once: what is left of its
// connections is for those who ask after the spawns, and end them.
const spawnCallers = 32

// maxSpawnArgs bounds the argument of the verb spawn: a prompt and a system prompt, escaped for JSON.
const maxSpawnArgs = 64 << 20

// SpawnArgs are what the verb spawn takes: a spawn as the command line asks for it.
type SpawnArgs struct {
	Role    string `json:"role"`
	Prompt  string `json:"prompt"`
	System  string `json:"system,omitempty"`
	Model   string `json:"model,omitempty"`
	Backend string `json:"backend,omitempty"`
	BaseURL string `json:"base-url,omitempty"`
	// APIKey is the model server's key, and APIKeyEnv the name of the variable that it came from. Without a key it is
	// that variable of zeno's own environment.
	APIKey    string     `json:"api-key,omitempty"`
	APIKeyEnv string     `json:"api-key-env,omitempty"`
	TimeoutMS int64      `json:"timeout-ms,omitempty"`
	Sandbox   string     `json:"sandbox,omitempty"` // "none": no box
	Box       *spawn.Box `json:"box,omitempty"`
	Trust     bool       `json:"trust,omitempty"`
}

// SpawnLine is a line of what the verb spawn answers: first the spawn's id, last its end.
type SpawnLine struct {
	Spawn  string    `json:"spawn,omitempty"`
	Result *SpawnEnd `json:"result,omitempty"`
}

// SpawnEnd is a spawn's end as JSON: the map that zeno.spawn/spawn gives.
type SpawnEnd struct {
	ID      string     `json:"id"`
	Status  string     `json:"status"`
	Exit    int        `json:"exit"`
	Answer  string     `json:"answer"`
	Session string     `json:"session,omitempty"`
	Usage   SpawnUsage `json:"usage"`
	Evals   int        `json:"evals"`
	MS      int64      `json:"ms"`
	Boxed   bool       `json:"boxed"`
	Error   string     `json:"error,omitempty"`
	Stderr  string     `json:"stderr,omitempty"`
	Ask     string     `json:"ask,omitempty"` // the question that it waits for
}

// SpawnUsage is what a spawn used of its model.
type SpawnUsage struct {
	TokensIn  int64   `json:"tokens-in"`
	TokensOut int64   `json:"tokens-out"`
	USD       float64 `json:"usd"`
}

// EndOf is a Result as JSON has it.
func EndOf(res spawn.Result) SpawnEnd {
	return SpawnEnd{ID: res.ID, Status: string(res.Status), Exit: res.Exit, Answer: res.Answer, Session: res.Session,
		Usage: SpawnUsage{res.Usage.TokensIn, res.Usage.TokensOut, res.Usage.USD}, Evals: res.Evals,
		MS: res.Elapsed.Milliseconds(), Boxed: res.Boxed, Error: res.Error, Stderr: res.Stderr, Ask: res.Ask}
}

func (a SpawnArgs) request() (spawn.Request, error) {
	req := spawn.Request{ID: newSpawnID(), Role: a.Role, Prompt: a.Prompt, System: a.System, Model: a.Model, Backend: a.Backend,
		BaseURL: a.BaseURL, APIKey: a.APIKey, Timeout: time.Duration(a.TimeoutMS) * time.Millisecond, Sandbox: a.Sandbox, Trust: a.Trust}
	wrong := func(format string, args ...any) error {
		return &control.Error{Kind: control.Usage, Message: "spawn: " + fmt.Sprintf(format, args...)}
	}
	switch {
	case a.Role == "":
		return req, wrong("role: got none, want the name of a registered role")
	case a.Backend == spawn.Scripted:
		return req, wrong("backend: got scripted, whose agent is a function of the program; want an agent CLI")
	case a.TimeoutMS < 0 || a.TimeoutMS > (365*24*time.Hour).Milliseconds():
		return req, wrong("timeout-ms: got %d, want 0 to a year", a.TimeoutMS)
	}
	if a.Box != nil {
		req.Box = *a.Box
	}
	if a.APIKeyEnv == "" {
		return req, nil
	}
	own := os.Getenv(a.APIKeyEnv)
	if req.APIKey == "" {
		req.APIKey = own
	}
	if req.APIKey == "" {
		return req, wrong("api-key-env: got %s, which is not set in zeno's environment", a.APIKeyEnv)
	}
	if req.APIKey == own { // what has to wait for a person can be gone on with after a restart, too
		req.APIKeyEnv = a.APIKeyEnv
	}
	return req, nil
}

// verbSpawn runs a spawn for as long as its caller listens: one who hangs up ends it.
func (c *Core) verbSpawn(ctx context.Context, q control.Request, send func(any) error) error {
	var in SpawnArgs
	if err := q.Decode(&in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	if c.booting.Load() && c.role(req.Role).IsNil() {
		return &control.Error{Kind: control.Refused, Message: fmt.Sprintf("spawn: zeno is still loading its home, and has no role %s yet; ask again when it has", req.Role)}
	}
	if c.waitingSpawns.Add(1) > spawnCallers {
		c.waitingSpawns.Add(-1)
		return &control.Error{Kind: control.Refused, Message: fmt.Sprintf("spawn: %d callers wait for theirs already; (zeno.spawn/spawn-async {…}) in zeno does not need one", spawnCallers)}
	}
	defer c.waitingSpawns.Add(-1)
	if err := c.recordControl(q.By, "spawn", map[string]any{"spawn": req.ID, "role": req.Role}); err != nil {
		return err
	}
	if err := send(SpawnLine{Spawn: req.ID}); err != nil {
		return err
	}
	end := EndOf(c.Spawn(ctx, req))
	return send(SpawnLine{Result: &end})
}
