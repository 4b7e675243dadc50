package msb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/secret"
	"github.com/reflection-dev/zeno/sandbox/volume"
)

// Name of the backend.
const Name = "msb"

// DefaultBoot bounds the start of a microVM.
const DefaultBoot = 2 * time.Minute

// Config says how a backend finds its program and its secrets.
type Config struct {
	// Secrets finds the values of secrets; nil is the environment.
	Secrets secret.Resolver
	// Getenv reads PATH, HOME, MSB_HOME, MSB_LIBKRUNFW_PATH and TMPDIR, all that msb is given of the environment; nil is
	// os.Getenv.
	Getenv func(string) string
	// Events hears what happens to boxes; it must not block. Optional.
	Events func(sandbox.Event)
	// Images takes an archive or an image spec, see sandbox.Images, into msb and gives its name there. secrets are names that
	// its environment may not have. Nil: only names of images that msb has.
	Images func(ctx context.Context, image string, secrets []string) (string, error)
	// Boot bounds the start of a microVM; default DefaultBoot.
	Boot time.Duration
}

// Backend implements sandbox.Backend. It starts nothing until it is used.
type Backend struct {
	cfg  Config
	home string // of msb: its volumes, and in zeno/ our locks and records

	mu     sync.Mutex
	bodies map[string]*body
	closed bool
	live   sync.WaitGroup

	toolMu sync.Mutex
	found  *tool // once it was found usable
}

var _ sandbox.Backend = (*Backend)(nil)

// New makes a backend. The caller calls Reap when it starts.
func New(cfg Config) (*Backend, error) {
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	if cfg.Secrets == nil {
		cfg.Secrets = secret.Env{}
	}
	if cfg.Boot == 0 {
		cfg.Boot = DefaultBoot
	}
	if cfg.Boot < 0 {
		return nil, fmt.Errorf("msb: Boot: got %v, want a positive time", cfg.Boot)
	}
	home := cfg.Getenv("MSB_HOME")
	if home == "" && cfg.Getenv("HOME") != "" {
		home = filepath.Join(cfg.Getenv("HOME"), ".microsandbox")
	}
	return &Backend{cfg: cfg, home: home, bodies: map[string]*body{}}, nil
}

// Name is "msb".
func (b *Backend) Name() string { return Name }

// Stop ends a body, also one of another zeno of the same MSB_HOME.
func (b *Backend) Stop(ctx context.Context, name string) error {
	b.mu.Lock()
	y := b.bodies[name]
	b.mu.Unlock()
	if y == nil {
		return b.stopForeign(ctx, name)
	}
	y.kill(sandbox.KilledStop)
	select {
	case <-y.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends every body and waits until they are gone.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	for _, y := range b.bodies {
		y.kill(sandbox.KilledCancel)
	}
	b.mu.Unlock()
	b.live.Wait()
	return nil
}

func (b *Backend) enter(y *body) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := y.spec.Name
	if b.closed {
		return errors.New("msb: got a run after Close")
	}
	if other := b.bodies[name]; other != nil {
		return &sandbox.Busy{What: "name", Name: name, Holder: "a body that started at " + other.started.Format(time.TimeOnly)}
	}
	b.bodies[name] = y
	b.live.Add(1)
	return nil
}

func (b *Backend) leave(y *body) {
	b.mu.Lock()
	delete(b.bodies, y.spec.Name)
	b.mu.Unlock()
	b.live.Done()
}

func (b *Backend) event(kind, box, format string, args ...any) {
	if b.cfg.Events != nil {
		b.cfg.Events(sandbox.Event{Time: time.Now(), Kind: kind, Box: box, Text: fmt.Sprintf(format, args...)})
	}
}

// names and volumes hold the locks: msb itself lets a second box replace the first, and mounts a volume twice.
func (b *Backend) names() *volume.Store {
	return &volume.Store{Dir: filepath.Join(b.home, "zeno", "names")}
}

func (b *Backend) volumes() *volume.Store {
	return &volume.Store{Dir: filepath.Join(b.home, "zeno", "volumes")}
}

func refuse(what, why, fix string) error {
	return &sandbox.Unenforceable{Backend: Name, What: what, Why: why, Fix: fix}
}
