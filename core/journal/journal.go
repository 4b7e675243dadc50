// Package journal is the record of what happened: every evaluation, capability call, spawn and process run is an Event,
// appended in order through one interface.
//
// Start with Event and Store; Memory is the store of an instance that keeps no record across restarts.
package journal

import (
	"context"
	"sync"
	"time"
)

// The kinds of event.
const (
	SpawnStarted  = "spawn/started"
	SpawnEnded    = "spawn/ended"
	SpawnProgress = "spawn/progress" // a line of the agent's stream
	Eval          = "eval"           // an evaluation by an agent, when it has ended
	Call          = "call"           // a capability call, when it has ended
	Refused       = "refused"        // something an agent asked for and was not granted
)

// Event is one thing that happened. It holds no secret: whoever appends it redacts.
type Event struct {
	Seq     uint64         `json:"seq"` // from 1, given by the store
	At      time.Time      `json:"at"`  // given by the store when zero
	Kind    string         `json:"kind"`
	Role    string         `json:"role,omitempty"`
	Spawn   string         `json:"spawn,omitempty"`
	Outcome string         `json:"outcome,omitempty"` // "ok", or the kind of the error
	Elapsed time.Duration  `json:"elapsed,omitempty"` // nanoseconds
	Data    map[string]any `json:"data,omitempty"`    // plain data; what it holds depends on Kind
}

// Store keeps events. It is safe for concurrent use. An event is accepted once Append returns without error.
type Store interface {
	Append(ctx context.Context, e Event) (Event, error)
	// Since gives at most max events with a greater Seq than after, oldest first.
	Since(ctx context.Context, after uint64, max int) ([]Event, error)
}

// Memory keeps the newest events in memory. The zero Memory keeps 10,000.
type Memory struct {
	Keep int              // events kept; 0: 10,000
	Now  func() time.Time // nil: time.Now

	mu     sync.Mutex
	seq    uint64
	events []Event // a ring once full
	start  int
	subs   map[int]func(Event)
	nextID int
}

// DefaultKeep is how many events a zero Memory keeps.
const DefaultKeep = 10_000

// Append implements Store. Watchers run before it returns, in the order of events.
func (m *Memory) Append(_ context.Context, e Event) (Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq++
	e.Seq = m.seq
	if e.At.IsZero() {
		e.At = m.now()
	}
	keep := m.Keep
	if keep <= 0 {
		keep = DefaultKeep
	}
	if len(m.events) < keep {
		m.events = append(m.events, e)
	} else {
		m.events[m.start] = e
		m.start = (m.start + 1) % keep
	}
	for _, f := range m.subs {
		f(e)
	}
	return e, nil
}

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

// Since implements Store.
func (m *Memory) Since(_ context.Context, after uint64, max int) ([]Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Event
	for i := range m.events {
		e := m.events[(m.start+i)%len(m.events)]
		if e.Seq > after && len(out) < max {
			out = append(out, e)
		}
	}
	return out, nil
}

// Watch calls f with every event from now on, one at a time and in order, until stop is called. f must be quick and must
// not append.
func (m *Memory) Watch(f func(Event)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.subs == nil {
		m.subs = map[int]func(Event){}
	}
	id := m.nextID
	m.nextID++
	m.subs[id] = f
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.subs, id)
	}
}
