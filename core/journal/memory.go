package journal

import (
	"context"
	"sync"
	"time"
)

// Memory keeps the newest events in memory. The zero Memory keeps 10,000. What is Durable in it lives as long as the
// process.
type Memory struct {
	Keep int              // events kept; 0: 10,000
	Now  func() time.Time // nil: time.Now

	mu     sync.Mutex
	seq    uint64
	events []Event // a ring once full
	start  int
	marks  map[string]Mark
	hub    hub
}

// DefaultKeep is how many events a zero Memory keeps.
const DefaultKeep = 10_000

// Append implements Store. Watchers run before it returns, in the order of events.
func (m *Memory) Append(_ context.Context, e Event) (Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.append(e), nil
}

func (m *Memory) append(e Event) Event {
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
	m.hub.publish(e)
	return e
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

// Watch implements Watcher.
func (m *Memory) Watch(f func(Event)) (stop func()) { return m.hub.watch(f) }

// LookMark implements Marker.
func (m *Memory) LookMark(_ context.Context, key string) (Mark, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mark, ok := m.marks[key]
	return mark, ok, nil
}

// StartMark implements Marker.
func (m *Memory) StartMark(_ context.Context, key string, again bool) (Mark, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mark, ok := m.marks[key]; ok && (!again || mark.State != MarkStarted) {
		return mark, false, nil
	}
	if m.marks == nil {
		m.marks = map[string]Mark{}
	}
	mark := Mark{Key: key, State: MarkStarted, Started: m.now()}
	m.marks[key] = mark
	m.append(onceEvent(OnceStarted, key, ""))
	return mark, true, nil
}

// EndMark implements Marker.
func (m *Memory) EndMark(_ context.Context, key, state, result string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	mark, ok := m.marks[key]
	if !ok || mark.State != MarkStarted {
		return errNotStarted(key)
	}
	mark.State, mark.Result, mark.Ended = state, result, m.now()
	m.marks[key] = mark
	m.append(onceEvent(OnceEnded, key, state))
	return nil
}

// ForgetMark implements Marker.
func (m *Memory) ForgetMark(_ context.Context, key string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.marks[key]
	if ok {
		delete(m.marks, key)
		m.append(onceEvent(OnceForgotten, key, ""))
	}
	return ok, nil
}
