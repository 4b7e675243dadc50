package core

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Heard is one event of a spawn, for SpawnOptions.OnEvent.
type Heard struct {
	spawn.Event
	// Of is the id of the spawn; Event.Spawn is that of the run.
	Of string
	// Dropped counts the events that were left out just before this one, since the handler was too slow.
	Dropped int64
}

const (
	maxHeard   = 1000            // events that wait for a handler; further ones are dropped and counted
	hearWithin = 5 * time.Second // how long the end of a spawn waits for its handler to have heard all
)

// hearer hands the events of one spawn to a function, in order, on a goroutine of its own: what reads a CLI's stream
// never waits for it.
type hearer struct {
	core    *Core
	id      string
	f       func(context.Context, Heard) error
	events  chan Heard
	done    chan struct{}
	cancel  context.CancelFunc
	mu      sync.Mutex
	closed  bool
	dropped atomic.Int64
	failed  atomic.Bool
}

// hears starts a hearer; nil for no function.
func (c *Core) hears(id string, f func(context.Context, Heard) error) *hearer {
	if f == nil {
		return nil
	}
	// Not the spawn's context: the handler is to hear of the end of one that is cancelled.
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
	l := &hearer{core: c, id: id, f: f, events: make(chan Heard, maxHeard), done: make(chan struct{}), cancel: cancel}
	go l.serve(ctx)
	return l
}

func (l *hearer) serve(ctx context.Context) {
	defer close(l.done)
	for e := range l.events {
		if ctx.Err() != nil {
			continue
		}
		if err := l.f(ctx, e); err != nil && ctx.Err() == nil && !l.failed.Swap(true) {
			l.core.report("spawn "+l.id+": on-event", err)
		}
	}
}

// tell passes an event on. It never waits.
func (l *hearer) tell(e spawn.Event) {
	if l == nil || e.Kind == spawn.Line && e.Text == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	n := l.dropped.Swap(0)
	select {
	case l.events <- Heard{Event: e, Of: l.id, Dropped: n}:
	default:
		l.dropped.Add(n + 1)
	}
}

// close waits until all is heard, but for no longer than hearWithin: then the handler is cancelled.
func (l *hearer) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	close(l.events)
	l.mu.Unlock()
	defer l.cancel()
	select {
	case <-l.done:
	case <-time.After(hearWithin):
		l.cancel()
		l.core.warn(fmt.Sprintf("spawn %s: on-event: got no return within %v of the spawn's end, want a handler that is quick; it was cancelled, and did not hear of everything", l.id, hearWithin))
		select {
		case <-l.done:
		case <-time.After(hearWithin):
			l.core.conf.Log.Error("on-event handler did not return after it was cancelled; it is left behind", "spawn", l.id)
		}
	}
	if n := l.dropped.Load(); n > 0 {
		l.core.warn(fmt.Sprintf("spawn %s: on-event: the handler was too slow and did not hear of the last %d events; want one that is quicker", l.id, n))
	}
}

// hearing makes a handler of a function of the program.
func (c *Core) hearing(f value.Value) func(context.Context, Heard) error {
	if f.IsNil() {
		return nil
	}
	return func(ctx context.Context, h Heard) error {
		_, err := c.env.Do(ctx, func(t *value.Thread) value.Value {
			return t.Call(f, heardMap(t, h))
		})
		return err
	}
}

// heardMap is an event as the program's function gets it.
func heardMap(t *value.Thread, h Heard) value.Value {
	kind := h.Kind
	if kind == spawn.Line {
		kind = "text"
	}
	m := map[string]any{"kind": bind.Keyword(kind), "spawn": h.Of, "run": h.Spawn, "role": bind.Keyword(h.Role),
		"backend": bind.Keyword(h.Backend), "at": h.Time}
	if h.Dropped > 0 {
		m["dropped"] = h.Dropped
	}
	switch h.Kind {
	case spawn.Line, spawn.Advised:
		m["text"] = h.Text
	case spawn.Call:
		m["tool"], m["code"] = h.Tool, h.Text
	case spawn.Used:
		m["tokens-in"], m["tokens-out"], m["usd"] = h.Usage.TokensIn, h.Usage.TokensOut, h.Usage.USD
	case spawn.Ended:
		if r := h.Result; r != nil {
			m["status"], m["answer"], m["evals"] = bind.Keyword(r.Status), r.Answer, r.Evals
			if r.Error != "" {
				m["error"] = r.Error
			}
		}
	}
	return bind.Encode(t, m)
}
