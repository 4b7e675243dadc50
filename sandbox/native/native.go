package native

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/volume"
)

// Config says where a backend keeps its things.
type Config struct {
	// StateDir holds a record of each live box, in boxes/. Required.
	StateDir string
	// Volumes default to StateDir/volumes.
	Volumes *volume.Store
	// Stage2 is the path of the stage two program. Empty: the one that was built in, else, where Self is set, this program.
	Stage2 string
	// Self says that this program's main calls stage2.Main, before anything else, when stage2.Word is its first argument.
	Self bool
	// Runsc is gVisor's program, for :runtime :runsc. Empty: runsc on PATH.
	Runsc string
	// Images knows images by name. Nil: only the host's own view, and a Spec with a Root.
	Images sandbox.Images
	// Events hears what happens to boxes; it must not block. Optional.
	Events func(sandbox.Event)
	// NoSpare keeps the backend from holding a first process ready for the next run while runs follow one another.
	NoSpare bool
	// NoCgroups makes the backend use rlimits and its own watch where cgroups could be written, as on hosts without them.
	NoCgroups bool
}

// given are the directories of the host that boxes on this state directory wrote to, see links_linux.go.
type given struct {
	mu   sync.Mutex
	dirs []string
}

// Backend implements sandbox.Backend.
type Backend struct {
	cfg   Config
	host  host // what this machine has; set once
	given given

	mu     sync.Mutex
	bodies map[string]*body
	closed bool
	live   sync.WaitGroup
}

var _ sandbox.Backend = (*Backend)(nil)

// New makes a backend. It reaps nothing and makes no directory until it is used; the caller calls Reap when it starts.
func New(cfg Config) (*Backend, error) {
	if cfg.StateDir == "" {
		return nil, errors.New("native: StateDir: got none, want the directory for the records of boxes")
	}
	if cfg.Volumes == nil {
		cfg.Volumes = &volume.Store{Dir: cfg.StateDir + "/volumes"}
	}
	b := &Backend{cfg: cfg, bodies: map[string]*body{}}
	b.host.noCgroups = cfg.NoCgroups
	return b, nil
}

// Name is "native".
func (b *Backend) Name() string { return "native" }

// Volumes is the store of volumes.
func (b *Backend) Volumes() *volume.Store { return b.cfg.Volumes }

// body gives the live body of that name, or nil.
func (b *Backend) body(name string) *body {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bodies[name]
}

// Stop ends a body, also one of another zeno on the same state directory.
func (b *Backend) Stop(ctx context.Context, name string) error {
	body := b.body(name)
	if body == nil {
		return b.stopForeign(ctx, name)
	}
	body.kill(sandbox.KilledStop)
	select {
	case <-body.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends every body and waits until they are gone.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	for _, body := range b.bodies {
		body.kill(sandbox.KilledCancel)
	}
	b.mu.Unlock()
	b.live.Wait()
	return b.host.close()
}

// enter takes a name for a body.
func (b *Backend) enter(name string, body *body) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errors.New("native: got a run after Close")
	}
	if other := b.bodies[name]; other != nil {
		return &sandbox.Busy{What: "name", Name: name, Holder: "a body that started at " + other.started.Format(time.TimeOnly)}
	}
	b.bodies[name] = body
	b.live.Add(1)
	return nil
}

func (b *Backend) leave(name string) {
	b.mu.Lock()
	delete(b.bodies, name)
	b.mu.Unlock()
	b.live.Done()
}

func (b *Backend) event(kind, box, format string, args ...any) {
	if b.cfg.Events != nil {
		b.cfg.Events(sandbox.Event{Time: time.Now(), Kind: kind, Box: box, Text: fmt.Sprintf(format, args...)})
	}
}
