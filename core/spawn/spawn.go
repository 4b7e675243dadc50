// Package spawn runs agents: short-lived programs driven by a model that reach back only through their own MCP endpoint.
//
// A Runner takes a Request, issues a token for it, prepares a private home, starts the CLI that the request's backend
// describes (core/spawn/backend) under a guard (core/spawn/guard), reads its stream, and returns a Result. The scripted
// backend does the same with a Go function in place of a CLI, over the same real endpoint.
//
// The invariant: Run always returns, with a status that says how the spawn ended, and nothing the spawn started runs
// then. What a CLI claims is not believed: its exit code may be 0 with the endpoint down, so a run is ok only where
// zeno's own endpoint saw the spawn's token and the stream showed an answer and no error.
//
// A secret (the token, the API key, what Request.Secrets names) is redacted from everything the package hands out:
// results, events, log lines, errors.
//
// A CLI runs in a box unless its request says none (box.go). One that does not says so through Config.Warn and
// Result.Boxed: with a shell it can reach whatever the user of zeno can.
//
// Start reading at Runner.Run; judge.go holds the verdict.
package spawn

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

// Gateway is the side of zeno that an agent talks to. Its methods are called from many goroutines.
type Gateway interface {
	// Endpoint is the MCP URL of a role, empty where no such role is registered.
	Endpoint(role string) string
	// Issue makes a bearer token bound to role and spawn that expires after ttl.
	Issue(role, spawn string, ttl time.Duration) (token string, err error)
	// Revoke ends the spawn's token and frees its isolate.
	Revoke(spawn string)
	// Activity tells what reached the endpoint under the spawn's token.
	Activity(spawn string) Activity
}

// Activity is what the endpoint saw of one spawn.
type Activity struct {
	// Revoked: the endpoint does not know the spawn any more.
	Revoked bool
	// Connected: any MCP request was answered under the spawn's token.
	Connected bool
	// Evals counts evals that began; Active those that run now.
	Evals, Active int
	// Last is the time of the latest request.
	Last time.Time
	// Asked names the question that the spawn has handed to a person; it stays after Revoke. Empty: none.
	Asked string
}

// Config is how a Runner runs. Zero values stand for the defaults given.
type Config struct {
	// Guard is the argv prefix that starts a guard process, see guard.Self. CLIs that run unboxed need it.
	Guard []string
	// Boxes gives what makes boxes, at the first need of it. Nil: none are made, and boxed spawns are refused.
	Boxes func() (Boxes, error)
	// Secrets resolves what Box.Secrets names; nil: the environment of this process.
	Secrets secret.Resolver
	// Roots verifies what boxes connect to; nil: the system's certificates.
	Roots *x509.CertPool
	// OnEgress, where given, hears what the proxies of boxes decide. It is called from many goroutines and must return soon.
	OnEgress func(spawn, role string, e egress.Event)
	// Gateway is required.
	Gateway Gateway
	// StateDir is required: homes live in StateDir/spawns, session files in StateDir/sessions.
	StateDir string
	// Backends is the table of CLIs; nil means backend.Table().
	Backends map[string]backend.Backend
	// Path is the PATH of the CLIs; empty means that of this process when New is called.
	Path string
	// Log may be nil.
	Log *slog.Logger
	// OnStart, where given, hears of every spawn before anything of it runs; where it fails the spawn is refused.
	OnStart func(Event) error
	// OnEvent, where given, gets the events of every spawn: those of one spawn in order, from various goroutines.
	OnEvent func(Event)
	// Warn, where given, gets one line for a person, such as that a spawn runs unboxed.
	Warn func(string)

	// Keep, where given, tells which spawns wait for the answer of a person: their homes and sessions stay.
	Keep func(spawn string) bool
	// AskWait is how long a spawn that asked may take to show the result of that evaluation (default 10 s).
	AskWait time.Duration

	// MaxSpawns run at once (default 64); up to MaxQueue more wait (default 256), the rest is refused.
	MaxSpawns, MaxQueue int
	// MaxLine bounds one line of a stream, longer ones are skipped (default 4 MiB); MaxOutput bounds a whole stream, and
	// the spawn that exceeds it fails (default 256 MiB).
	MaxLine, MaxOutput int
	// MaxPrompt bounds prompt and system text, each (default 16 MiB).
	MaxPrompt int
	// MaxSessions bounds how many spawns' session files are kept; the oldest go first (default 1000).
	MaxSessions int
	// MaxSession bounds the session files that a resume copies (default 256 MiB).
	MaxSession int64
	// StderrTail is how many bytes of standard error a Result holds (default 4096).
	StderrTail int
}

// Defaults of a Request.
const (
	DefaultTimeout = 20 * time.Minute
	DefaultStall   = 5 * time.Minute
	DefaultGrace   = 2 * time.Second
)

func (c *Config) setDefaults() {
	for _, d := range []struct {
		field *int
		value int
	}{
		{&c.MaxSpawns, 64}, {&c.MaxQueue, 256}, {&c.MaxLine, 4 << 20}, {&c.MaxOutput, 256 << 20},
		{&c.MaxPrompt, 16 << 20}, {&c.MaxSessions, 1000}, {&c.StderrTail, 4096},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.MaxSession <= 0 {
		c.MaxSession = 256 << 20
	}
	if c.Secrets == nil {
		c.Secrets = secret.Env{}
	}
	if c.AskWait <= 0 {
		c.AskWait = DefaultAskWait
	}
	if c.Backends == nil {
		c.Backends = backend.Table()
	}
	if c.Path == "" {
		c.Path = os.Getenv("PATH")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// Runner runs spawns. Its methods are safe for concurrent use.
type Runner struct {
	conf      Config
	transport *http.Transport
	slots     chan struct{}

	mu      sync.Mutex
	waiting int
	active  map[string]bool
}

// New checks the configuration, makes the state directories and removes what spawns of a killed zeno left in them.
func New(conf Config) (*Runner, error) {
	if conf.Gateway == nil {
		return nil, fmt.Errorf("spawn: got no Gateway, want one")
	}
	if !filepath.IsAbs(conf.StateDir) {
		return nil, fmt.Errorf("spawn: state directory: got %q, want an absolute path", conf.StateDir)
	}
	conf.setDefaults()
	for name, b := range conf.Backends {
		if err := b.Validate(); err != nil {
			return nil, fmt.Errorf("spawn: %s: %w", name, err)
		}
	}
	r := &Runner{
		conf:      conf,
		transport: &http.Transport{MaxIdleConnsPerHost: conf.MaxSpawns, IdleConnTimeout: time.Minute},
		slots:     make(chan struct{}, conf.MaxSpawns),
		active:    map[string]bool{},
	}
	for _, dir := range []string{r.spawnsDir(), r.indexDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("spawn: failed to make the state directory: %w", err)
		}
	}
	r.sweep()
	return r, nil
}

// Close releases idle connections. It does not end spawns: cancel their contexts and wait for Run first.
func (r *Runner) Close() {
	r.transport.CloseIdleConnections()
}

func (r *Runner) spawnsDir() string   { return filepath.Join(r.conf.StateDir, "spawns") }
func (r *Runner) sessionsDir() string { return filepath.Join(r.conf.StateDir, "sessions") }
func (r *Runner) indexDir() string    { return filepath.Join(r.sessionsDir(), ".ids") }
