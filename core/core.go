// Package core is the runtime: it wires the language, the gateway and the spawns into one process that serves one home.
//
//	c, err := core.New(core.Config{Home: dir})
//	defer c.Close(ctx)
//	c.Boot(ctx)
//	v, err := c.Eval(ctx, "(+ 1 2)")
//
// The core only wires; its parts are core/home (where the program is), core/grant (what a role may call), core/spawn (how
// an agent runs) and core/journal (what happened). The invariant: it knows no role, workflow or application. All of that
// comes from the program in the home, as data and functions.
//
// Start with New and Boot; host.go is where an agent's evaluation arrives.
package core

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/core/observe"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/gateway"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl"
	"github.com/reflection-dev/zeno/stdlib"
)

// Config is what a Core is made from. The zero value is an instance without a home that prints nowhere.
type Config struct {
	Home       *home.Home                 // nil: no program; state goes to a temporary directory removed by Close
	Out        io.Writer                  // *out* of the program; nil discards
	Err        io.Writer                  // *err*, reports and warnings; nil discards
	In         io.Reader                  // *in*; nil is empty
	Args       []string                   // *command-line-args*
	Libs       []string                   // directories where namespaces are looked for, after the home's
	Log        *slog.Logger               // nil discards; secrets are taken out
	LogReports bool                       // reports and warnings go to Log instead of Err
	Journal    journal.Store              // nil: state/journal.db of the home, else a journal.Memory
	Stage2     string                     // path of the program that goes into boxes; "": the one built in, else this program if BoxSelf
	BoxSelf    bool                       // this program's main calls stage2.Main for stage2.Word
	Guard      []string                   // how to start a guard process: guard.Self(); nil: no CLI can be spawned unboxed
	Roots      *x509.CertPool             // verifies what boxes connect to; nil: the system's certificates
	Path       string                     // PATH of the agent CLIs; "" is that of this process
	Backends   map[string]backend.Backend // nil: backend.Table()
	Exit       func(code int)             // what (joker.os/exit) does; nil refuses
	Version    string                     // for MCP clients; "" is "dev"
	Editors    *Editors                   // how editors reach the instance (nREPL); nil: not at all
	Clock      loop.Clock                 // of the home's processes; nil: loop.Real{}
	Serve      bool                       // this process holds the home's lock: Boot opens the control socket
	Rehearsal  *Rehearsal                 // the home is run dry, on a Virtual Clock; nil: in earnest
	Traces     *observe.Export            // where traces are sent from Boot on; nil: nowhere, until the program says so
	Idle       bool                       // Boot leaves the home's processes unstarted: for a command that only borrows the home
}

// Core is one running instance. Its methods are safe for concurrent use.
type Core struct {
	conf      Config
	rt        *lisp.Runtime
	env       *lisp.Env
	journal   journal.Store // takes secrets out
	home      *homeJournal  // behind journal, where that is the home's
	once      *journal.Once // nil where the journal keeps no marks
	secrets   journal.Secrets
	gateway   atomic.Pointer[gateway.Server] // another one after each stop!
	loop      *loop.Loop
	rehearsal *rehearsing // nil: none
	editors   atomic.Pointer[nrepl.Server]
	control   atomic.Pointer[control.Server]
	life      *life
	asks      *asks
	boxes     *boxes
	images    *images
	budgets
	observed
	hooks   hooks
	libs    loadedLibs
	state   func() (string, error)        // the state directory, made by the first who needs it
	booting atomic.Bool                   // init.joke is loading
	runner  func() (*spawn.Runner, error) // made by the first spawn, with the state directory
	made    atomic.Pointer[spawn.Runner]
	temp    string // the state directory to remove
	ctx     context.Context
	cancel  context.CancelCauseFunc

	starting sync.Mutex // one start! or stop! at a time
	addr     string     // where the gateway was told to listen
	taken    string     // where it was to listen, and another zeno does; "": none

	listening map[string]string // where operators' commands are answered besides: address to URL

	watchCtx    context.Context // of the watching functions, which see the last events of a Close
	endWatching context.CancelFunc

	mu       sync.Mutex
	roles    map[string]value.Value // role -> function that returns its grant
	sessions map[string]*session    // by spawn
	watches  map[*watch]bool
	tokens   map[string]func() // by spawn: its token is no secret any more
	spawns   sync.WaitGroup

	waitingSpawns atomic.Int32 // callers of the verb spawn
}

// New makes an instance. Nothing of the home has run yet: see Boot. Nothing is written before the first spawn.
func New(conf Config) (*Core, error) {
	c := &Core{conf: conf.complete(), roles: map[string]value.Value{}, sessions: map[string]*session{},
		watches: map[*watch]bool{}, tokens: map[string]func(){}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.watchCtx, c.endWatching = context.WithCancel(context.Background())
	c.openJournal()
	c.initObserved()
	c.life = newLife()
	c.state = lasting(c.stateDir)
	c.runner = lasting(c.newRunner)
	c.loop = c.newLoop()
	c.rehearsal = c.newRehearsal()
	c.asks = newAsks(c)
	c.boxes = newBoxes(c)
	c.images = newImages(c)
	c.rt = lisp.New()
	c.env = c.rt.NewEnv(lisp.EnvConfig{Out: c.conf.Out, Err: c.conf.Err, In: c.conf.In, Source: c.source,
		Namespaces: c.namespaces(), Context: c.ctx})
	stdlib.Install(c.env.Raw(), stdlib.Config{Err: c.conf.Err, Args: append([]string{"zeno"}, c.conf.Args...), Exit: c.conf.Exit})
	c.rehearsal.install(c.env.Raw())
	c.setArgs()
	g, err := gateway.New(c.gatewayConfig(""))
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	c.gateway.Store(g)
	return c, nil
}

func (c *Core) newRunner() (*spawn.Runner, error) {
	state, err := c.state()
	if err != nil {
		return nil, err
	}
	r, err := spawn.New(spawn.Config{Boxes: c.boxes.forSpawns, Secrets: &c.boxes.secrets, Roots: c.conf.Roots, OnEgress: c.spawnEgress, Guard: c.conf.Guard, Gateway: (*door)(c), StateDir: state,
		Path: c.conf.Path, Backends: c.conf.Backends, Log: c.conf.Log, OnStart: c.spawnStarting, OnEvent: c.spawnEvent, Warn: c.rehearsal.warned(c.warn), Keep: c.asks.keeps})
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	c.made.Store(r)
	return r, nil
}

func (conf Config) complete() Config {
	if conf.Out == nil {
		conf.Out = io.Discard
	}
	if conf.Err == nil {
		conf.Err = io.Discard
	}
	if conf.Log == nil {
		conf.Log = slog.New(slog.DiscardHandler)
	}
	if conf.Version == "" {
		conf.Version = "dev"
	}
	return conf
}

func (c *Core) stateDir() (string, error) {
	if c.conf.Home != nil && c.conf.Home.Exists() {
		return c.conf.Home.State()
	}
	dir, err := os.MkdirTemp("", "zeno-state-")
	if err != nil {
		return "", fmt.Errorf("core: failed to make a state directory: %w", err)
	}
	c.temp = dir
	return dir, nil
}

// Env is the orchestrator's environment.
func (c *Core) Env() *lisp.Env { return c.env }

// Journal is what the instance records to.
func (c *Core) Journal() journal.Store { return c.journal }

// Gateway is the agents' listener; after (zeno.gateway/stop!) it is another one.
func (c *Core) Gateway() *gateway.Server { return c.gateway.Load() }

// Home is the instance's home, or nil.
func (c *Core) Home() *home.Home { return c.conf.Home }

// Eval evaluates src with the orchestrator's full power, in the namespace user.
func (c *Core) Eval(ctx context.Context, src string) (value.Value, error) {
	return c.env.Eval(ctx, src, "eval")
}

// Close ends what runs, spawns first: it waits for them as long as ctx lasts.
func (c *Core) Close(ctx context.Context) error {
	c.mu.Lock() // no spawn begins from now on
	c.cancel(spawn.ErrInterrupted)
	c.mu.Unlock()
	defer c.life.cut(nil)
	var errs []error
	if err := c.endHooks(ctx); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if err := c.stopEditors(ctx); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if err := c.loop.Stop(ctx); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if !within(ctx, c.spawns.Wait) {
		errs = append(errs, fmt.Errorf("core: spawns still run: %w", ctx.Err()))
	}
	if err := c.asks.close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if err := c.endWatches(ctx); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if err := c.Gateway().Stop(ctx); err != nil {
		errs = append(errs, err)
	}
	if r := c.made.Load(); r != nil {
		r.Close()
	}
	if err := c.boxes.close(); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if !within(ctx, c.env.Close) {
		errs = append(errs, fmt.Errorf("core: futures of the program still run: %w", ctx.Err()))
	}
	if err := c.stopControl(ctx); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if err := c.traces.Stop(ctx); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if err := c.closeLedger(); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if err := c.closeJournal(); err != nil {
		errs = append(errs, fmt.Errorf("core: %w", err))
	}
	if c.temp != "" {
		errs = append(errs, os.RemoveAll(c.temp))
	}
	return errors.Join(errs...)
}

// within waits for f as long as ctx lasts.
func within(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// setArgs sets *command-line-args*, which is nil where there are none.
func (c *Core) setArgs() {
	v := c.env.Raw().Core.Var("*command-line-args*")
	if v == nil || len(c.conf.Args) == 0 {
		return
	}
	args := make([]value.Value, len(c.conf.Args))
	for i, a := range c.conf.Args {
		args[i] = value.Str(a)
	}
	v.SetRoot(value.NewList(c.env.Thread(c.ctx), args...))
}

func (c *Core) warn(line string) {
	if c.conf.LogReports {
		c.conf.Log.Warn(line)
		return
	}
	fmt.Fprintln(c.conf.Err, "zeno: "+line)
}

// source finds a library: the home's own first, then those of Config.Libs, then those shipped with the binary.
func (c *Core) source(lib string) (src, file string, ok bool, err error) {
	if h := c.conf.Home; h != nil {
		if src, file, ok, err = h.Source(lib); ok || err != nil {
			c.libs.first(lib, src)
			return src, file, ok, err
		}
	}
	if len(c.conf.Libs) > 0 {
		if src, file, ok, err = (&home.Home{Paths: c.conf.Libs}).Source(lib); ok || err != nil {
			return src, file, ok, err
		}
	}
	src, file, ok = stdlib.Source(lib)
	return src, file, ok, nil
}
