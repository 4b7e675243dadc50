package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/gateway"
)

// The events of an operator's commands: control/ and the verb.
const controlKind = "control/"

// DefaultDrain is how long an instance that was told to stop waits for what runs.
const DefaultDrain = 30 * time.Second

// frozenFile marks a home whose instance is frozen: it comes up frozen, too.
const frozenFile = "frozen"

// life is what the operator has told the instance to do with itself.
type life struct {
	frozen atomic.Pointer[Frozen]

	changing sync.Mutex // one freeze or thaw at a time

	mu       sync.Mutex
	drain    time.Duration // 0: DefaultDrain
	begun    time.Time
	deadline time.Time // of the drain; zero: nobody asked to stop
	timer    *time.Timer
	asked    chan struct{}   // closed by the first Stop
	over     context.Context // ends at the deadline
	cut      context.CancelCauseFunc
}

func newLife() *life {
	l := &life{asked: make(chan struct{})}
	l.over, l.cut = context.WithCancelCause(context.Background())
	return l
}

// Frozen says since when an instance is frozen, by whom and why.
type Frozen struct {
	Since time.Time `json:"since"`
	By    string    `json:"by"`
	Why   string    `json:"why,omitempty"`
}

func (f *Frozen) Error() string {
	s := fmt.Sprintf("zeno is frozen since %s by %s", f.Since.UTC().Format("2006-01-02 15:04:05 MST"), f.By)
	if f.Why != "" {
		s += " (" + f.Why + ")"
	}
	return s + "; `zeno thaw` or (zeno.engine/thaw!) ends that"
}

// errDraining is why new work is refused while the instance drains.
var errDraining = errors.New("zeno is stopping and takes no new work; ask again when it has started anew")

// Freeze stops what would begin: evals are answered with an error of the kind frozen, spawns are refused, processes are not
// run, webhooks are taken in and wait. What runs goes on, and all state is kept, this one too: a restart comes up frozen.
// A second call changes nothing.
func (c *Core) Freeze(by control.By, why string) error {
	c.life.changing.Lock()
	defer c.life.changing.Unlock()
	if c.life.frozen.Load() != nil {
		return nil
	}
	f := &Frozen{Since: time.Now(), By: by.String(), Why: why}
	c.life.frozen.Store(f) // first of all: what fails below must not keep it from being frozen
	c.loop.Hold()
	_ = c.recordControl(by, "freeze", map[string]any{"why": why}) // it is reported
	if err := c.writeFrozen(f); err != nil {
		return fmt.Errorf("freeze: it is frozen, but would not be after a restart: %w", err)
	}
	return nil
}

// Thaw ends a Freeze.
func (c *Core) Thaw(by control.By) error {
	c.life.changing.Lock()
	defer c.life.changing.Unlock()
	if c.life.frozen.Load() == nil {
		return nil
	}
	if err := c.recordControl(by, "thaw", nil); err != nil {
		return fmt.Errorf("thaw: it stays frozen, since that cannot be recorded: %w", err)
	}
	if err := c.writeFrozen(nil); err != nil {
		return fmt.Errorf("thaw: it stays frozen: %w", err)
	}
	c.life.frozen.Store(nil)
	if !c.Draining() {
		c.loop.Release()
	}
	c.wakeHooks()
	return nil
}

// Frozen tells of a Freeze; nil where there is none.
func (c *Core) Frozen() *Frozen { return c.life.frozen.Load() }

func (c *Core) frozenPath() string {
	if c.conf.Home == nil || !c.conf.Home.Exists() {
		return ""
	}
	return filepath.Join(c.conf.Home.Dir, "state", frozenFile)
}

// writeFrozen keeps f for the next start; nil takes it away.
func (c *Core) writeFrozen(f *Frozen) error {
	path := c.frozenPath()
	if path == "" {
		return nil
	}
	if f == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return home.SyncDir(filepath.Dir(path))
	}
	if _, err := c.conf.Home.State(); err != nil {
		return err
	}
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return home.WriteSynced(path, append(b, '\n'))
}

// frozenReply answers an agent's eval while the instance is frozen.
func (c *Core) frozenReply() (gateway.Reply, bool) {
	f := c.life.frozen.Load()
	if f == nil {
		return gateway.Reply{}, false
	}
	return gateway.Reply{Err: &gateway.EvalError{Kind: "frozen", Message: fmt.Sprintf("the operator has frozen zeno at %s; nothing was evaluated",
		f.Since.UTC().Format("2006-01-02 15:04:05 MST")), Hint: "what you defined is kept: try again later, or end your turn and say so"}}, true
}

// admits tells whether new work may begin.
func (c *Core) admits() error {
	if c.Draining() {
		return errDraining
	}
	if f := c.life.frozen.Load(); f != nil {
		return f
	}
	return nil
}

// recordControl records a command of an operator's.
func (c *Core) recordControl(by control.By, verb string, data map[string]any) error {
	e := journal.Event{Kind: controlKind + verb, Outcome: "ok", Durable: true,
		Data: map[string]any{"by": map[string]any{"via": by.Via, "uid": by.UID, "pid": by.PID}}}
	for k, v := range data {
		if v != "" && v != nil {
			e.Data[k] = v
		}
	}
	_, err := c.record(e)
	return err
}

// FrozenHome tells of the Freeze of a home that may not be served; nil where there is none.
func FrozenHome(h *home.Home) *Frozen {
	path := filepath.Join(h.Dir, "state", frozenFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f := &Frozen{By: "the file " + path}
	if err == nil && len(bytes.TrimSpace(b)) > 0 {
		err = json.Unmarshal(b, f)
	}
	if err != nil { // it counts: it was put there
		f.Why = "the file does not read: " + err.Error()
	}
	return f
}

// ReadFrozen makes an instance whose home was frozen be so, as Boot does.
func (c *Core) ReadFrozen() {
	if c.conf.Home == nil || !c.conf.Home.Exists() {
		return
	}
	f := FrozenHome(c.conf.Home)
	if f == nil {
		return
	}
	c.life.frozen.Store(f)
	c.loop.Hold()
	if !c.conf.Idle {
		c.warn(f.Error())
	}
}
