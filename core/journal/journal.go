// Package journal is the record of what happened: every evaluation, capability call, spawn and process run is an Event,
// appended in order through one interface.
//
// There are two stores. SQLite keeps events in a file that survives kill -9 at any moment; Memory is for an instance
// without a home, or one whose file cannot be had. Both can be watched, and both keep marks: what became of work that is
// to be done once (once.go).
//
// The invariant: an event that was accepted is in the record, in the place it was given, and stays as it was. In the file
// every event carries the hash of the one before it, so that a change anywhere is found by Verify. What an event is about
// (its payload) is hashed too, but lies in a table of its own: it may expire or be redacted, and the chain still holds.
//
// Start with Event and Store, then hash.go for what is hashed, sqlite.go for the file and writer.go for the one goroutine
// that writes it. DESIGN.md says why it is as it is; docs/guide/journal.md has the formats.
package journal

import (
	"context"
	"time"
)

// The kinds of event.
const (
	SpawnStarted  = "spawn/started"
	SpawnEnded    = "spawn/ended"
	SpawnProgress = "spawn/progress" // a line of the agent's stream
	Eval          = "eval"           // an evaluation by an agent, when it has ended
	Intent        = "call/intent"    // a capability call that has an effect, before the effect
	Call          = "call"           // a capability call, when it has ended
	Refused       = "refused"        // something an agent asked for and was not granted
	OnceStarted   = "once/started"   // work to be done once, before it begins
	OnceEnded     = "once/ended"     // its end: done or failed
	OnceForgotten = "once/forgotten" // its mark was taken away by hand
	Dropped       = "journal/dropped"
	Expired       = "journal/expired"
	Redacted      = "journal/redacted"
)

// Event is one thing that happened. It holds no secret: see Redacting.
type Event struct {
	Seq     uint64         `json:"seq"` // from 1, given by the store
	At      time.Time      `json:"at"`  // given by the store when zero
	Kind    string         `json:"kind"`
	Role    string         `json:"role,omitempty"`
	Spawn   string         `json:"spawn,omitempty"`
	Outcome string         `json:"outcome,omitempty"` // "ok", or the kind of the error
	Elapsed time.Duration  `json:"elapsed,omitempty"` // nanoseconds
	Data    map[string]any `json:"data,omitempty"`    // plain data; what it holds depends on Kind

	// Durable asks that Append return only once the event would survive a crash of the machine. Others may be lost by a
	// crash within the 50 ms that a batch waits.
	Durable bool `json:"-"`
}

// Store keeps events. It is safe for concurrent use. An event is accepted once Append returns without error.
type Store interface {
	// Append records e. The event it returns has its Seq if e is Durable; others may be given theirs later, and a Since
	// that follows has them.
	Append(ctx context.Context, e Event) (Event, error)
	// Since gives at most max events with a greater Seq than after, oldest first.
	Since(ctx context.Context, after uint64, max int) ([]Event, error)
}

// Watcher is a Store that tells of events as they are recorded.
type Watcher interface {
	// Watch calls f with every event from now on, one at a time and in order, until stop is called; by then f has seen
	// all that were accepted before. f must be quick and must not append.
	Watch(f func(Event)) (stop func())
}

// As finds a T behind s, which may be wrapped as Redacting wraps.
func As[T any](s Store) (T, bool) {
	for {
		if t, ok := s.(T); ok {
			return t, true
		}
		w, ok := s.(interface{ Unwrap() Store })
		if !ok {
			var zero T
			return zero, false
		}
		s = w.Unwrap()
	}
}
