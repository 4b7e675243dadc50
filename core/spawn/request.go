package spawn

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
)

// Scripted names the backend whose agent is Request.Agent.
const Scripted = "scripted"

// SandboxNone is a Request.Sandbox that runs the agent without a box.
const SandboxNone = "none"

// Request is one spawn to run.
type Request struct {
	// ID names the spawn in state, events and the journal; empty means a fresh one.
	ID string
	// Role decides the endpoint; required. Prompt is required except for the scripted backend.
	Role, Prompt, System, Model string
	// Backend is a key of Config.Backends or Scripted; empty means backend.Default.
	Backend string
	// Entry is a backend of the caller's own, used instead of one of Config.Backends.
	Entry *backend.Backend
	// Agent plays the agent of the scripted backend.
	Agent Agent `json:"-"`
	// BaseURL is the model server, empty for the CLI's own default; APIKey is its secret.
	BaseURL, APIKey string
	// APIKeyEnv names the variable of zeno's environment that APIKey comes from: all that is kept of it where the spawn
	// has to wait for a person.
	APIKeyEnv string
	// Env is further environment; Secrets names those of its entries that are secret.
	Env     map[string]string
	Secrets []string
	// Vars override variables of the backend.
	Vars map[string]string
	// Timeout ends the spawn (default 20 min), Stall ends it after so long without output or eval (default 5 min), Grace
	// is the time between TERM and KILL (default 2 s).
	Timeout, Stall, Grace time.Duration
	// Resume is the Session of an earlier Result of the same backend.
	Resume string
	// Continue goes on with the interrupted spawn ID, in its home and its session.
	Continue bool
	// Tools lists the CLI's built-in tools the model may use; none by default.
	Tools []string
	// Advisor is the model of the CLI's own advisor, which reads along and tells the model what it thinks; AdvisorTools are
	// the built-in tools it may use, none by default. Only a backend with OwnAdvisor has one.
	Advisor      string
	AdvisorTools []string
	// Review is who must approve the answer. It is for who runs the spawn's rounds; a Runner does not look at it.
	Review *Review
	// Sandbox is SandboxNone, or empty for a box: Box says what it may use.
	Sandbox string
	Box     Box
	// Trust lets the agent run unboxed although its role may do what a person has to approve. It is for who admits the
	// spawn; a Runner does not look at it.
	Trust bool
	// Work is an existing directory to work in; empty means a fresh one that is removed afterwards.
	Work string
	// MaxTokens (in and out) and MaxUSD end the spawn when its stream shows more; zero means no such limit.
	MaxTokens int64
	MaxUSD    float64
	// OnUsage, where given, hears of what the stream has reported so far, in order, from one goroutine.
	OnUsage func(backend.Usage) `json:"-"`
}

// Status is how a spawn ended.
type Status string

// OK means that the endpoint was reached and the stream ended in an answer. Refused means that the spawn was not
// allowed to run, or to go on: a bad request, or a tool nobody granted. Rejected means that there is an answer, and that
// Review's adviser approved none in all its rounds. The others say what they are called.
const (
	OK          Status = "ok"
	Failed      Status = "failed"
	Timeout     Status = "timeout"
	Stalled     Status = "stalled"
	OverBudget  Status = "over-budget"
	Cancelled   Status = "cancelled"
	Interrupted Status = "interrupted"
	Refused     Status = "refused"
	Rejected    Status = "rejected"
)

// Causes a caller may cancel Run's context with (context.WithCancelCause) to say why: the Result's status follows. Any
// other cause is Cancelled.
var (
	ErrInterrupted = errors.New("zeno is shutting down")
	ErrOverBudget  = errors.New("the budget is used up")
)

// Result is how a spawn ended. It holds no secret.
type Result struct {
	ID     string
	Status Status
	// Exit is the CLI's exit code, 128+n after signal n, -1 where no CLI ran.
	Exit    int
	Answer  string
	Session string
	Usage   backend.Usage
	Evals   int
	Elapsed time.Duration
	// Boxed tells whether the agent ran in a box.
	Boxed bool
	// Error says what went wrong and what to do about it; empty where Status is OK.
	Error string
	// Stderr is the end of the CLI's standard error.
	Stderr string
	// Advice is what an adviser said, oldest first.
	Advice []Advice
	// Ask names the question that waits for a person, where that is why Status is Interrupted.
	Ask string
}

// Event is something that happened in a spawn. It holds no secret.
type Event struct {
	Time                 time.Time
	Spawn, Role, Backend string
	Kind                 Kind
	// Type is the stream's own word for a Line event.
	Type string
	// Tool and Text: of a Call the tool and its code, of a Line a summary, of Ended the error.
	Tool, Text string
	// Usage is set for Used: what the run has used so far.
	Usage backend.Usage
	// Result is set for Ended.
	Result *Result
	// Boxed is set for Started: whether it is to run in a box.
	Boxed bool
}

// Kind is what an Event tells.
type Kind string

// The kinds of events.
const (
	Queued  Kind = "queued"
	Started Kind = "started"
	Line    Kind = "line"
	Call    Kind = "call"
	Used    Kind = "usage"
	Advised Kind = "advice"
	Ended   Kind = "ended"
)

// reserved are the environment variables zeno sets itself.
func reserved(name string) bool { return name == "HOME" || name == "PATH" || name == "ZENO_TOKEN" }

// minSecret is the shortest value that can be redacted without making nonsense of every text.
const minSecret = 4

// complete fills the request's defaults in.
func (q Request) complete() Request {
	if q.ID == "" {
		q.ID = "s" + strings.ToLower(rand.Text()[:16])
	}
	switch {
	case q.Entry != nil:
		q.Backend = q.Entry.Name
	case q.Backend == "":
		q.Backend = backend.Default
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&q.Timeout, DefaultTimeout}, {&q.Stall, DefaultStall}, {&q.Grace, DefaultGrace}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return q
}

// check reports the first field that no run could work with.
func (q Request) check(conf Config) error {
	name := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	if !name.MatchString(q.ID) {
		return fmt.Errorf("id: got %q, want up to 64 letters, digits, dots, dashes", q.ID)
	}
	if q.Role == "" {
		return errors.New("role: got none, want the name of a registered role")
	}
	if err := q.checkBox(conf); err != nil {
		return err
	}
	for field, text := range map[string]string{"prompt": q.Prompt, "system": q.System} {
		if len(text) > conf.MaxPrompt {
			return fmt.Errorf("%s: got %d bytes, want at most %d", field, len(text), conf.MaxPrompt)
		}
	}
	if q.Work != "" && !filepath.IsAbs(q.Work) {
		return fmt.Errorf("work: got %q, want an absolute path", q.Work)
	}
	for _, tool := range slices.Concat(q.Tools, q.AdvisorTools) {
		if !name.MatchString(tool) {
			return fmt.Errorf("tools: got %q, want plain tool names", tool)
		}
	}
	if err := q.checkEnv(); err != nil {
		return err
	}
	return q.checkBackend(conf)
}

func (q Request) scripted() bool { return q.Entry == nil && q.Backend == Scripted }

// entry is the backend to use.
func (q Request) entry(conf Config) (backend.Backend, bool) {
	if q.Entry != nil {
		return *q.Entry, true
	}
	b, ok := conf.Backends[q.Backend]
	return b, ok
}

func (q Request) checkEnv() error {
	for name, value := range q.Env {
		if name == "" || reserved(name) || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: got the name %q, want another: zeno sets HOME, PATH and ZENO_TOKEN", name)
		}
		if strings.ContainsRune(value, 0) {
			return fmt.Errorf("env %s: got a NUL byte, want text", name)
		}
	}
	for _, name := range q.Secrets {
		if len(q.Env[name]) < minSecret {
			return fmt.Errorf("secrets: %s: got %d bytes, want at least %d in env", name, len(q.Env[name]), minSecret)
		}
	}
	if q.APIKey != "" && len(q.APIKey) < minSecret {
		return fmt.Errorf("api key: got %d bytes, want at least %d", len(q.APIKey), minSecret)
	}
	return nil
}

func (q Request) checkBackend(conf Config) error {
	if q.Entry != nil {
		if err := q.Entry.Validate(); err != nil {
			return err
		}
	}
	if q.scripted() {
		if q.Agent == nil {
			return errors.New("agent: got none, want a function: the scripted backend has no other agent")
		}
		return nil
	}
	if _, ok := q.entry(conf); !ok {
		return fmt.Errorf("backend: got %q, want one of %s", q.Backend, strings.Join(backendNames(conf), " "))
	}
	if q.Prompt == "" {
		return errors.New("prompt: got none, want text")
	}
	if strings.ContainsRune(q.Prompt+q.System+q.Model, 0) {
		return errors.New("prompt: got a NUL byte, want text")
	}
	if len(conf.Guard) == 0 && !q.boxed() {
		return errors.New("guard: got none, want Config.Guard: a CLI without a guard could outlive zeno")
	}
	return nil
}

// statusOf turns the reason a run's context ended into a status.
func statusOf(ctx context.Context) (Status, string) {
	cause := context.Cause(ctx)
	var stop *stopError
	switch {
	case errors.As(cause, &stop):
		return stop.status, stop.reason
	case errors.Is(cause, ErrInterrupted):
		return Interrupted, cause.Error()
	case errors.Is(cause, ErrOverBudget):
		return OverBudget, cause.Error()
	case errors.Is(cause, context.DeadlineExceeded):
		return Timeout, "the caller's deadline passed"
	case errors.Is(cause, context.Canceled):
		return Cancelled, "cancelled by the caller"
	}
	return Cancelled, cause.Error()
}

// stopError is why a Runner itself ends a spawn.
type stopError struct {
	status Status
	reason string
}

func (e *stopError) Error() string { return e.reason }
