package journal

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// The states of a mark.
const (
	MarkStarted = "started" // the work began; if nobody is at it now, whether it was done is unknown
	MarkDone    = "done"
	MarkFailed  = "failed"
)

// MaxKey and MaxResult bound a mark, in bytes.
const (
	MaxKey    = 1024
	MaxResult = 1 << 20
)

// Mark is what became of work that is to be done once.
type Mark struct {
	Key            string
	State          string
	Result         string    // of done and failed: EDN
	Started, Ended time.Time // Ended is zero while started
}

// Marker keeps marks, outside retention. Each change is durable when its method returns, and is an event of the chain.
type Marker interface {
	LookMark(ctx context.Context, key string) (Mark, bool, error)
	// StartMark makes the mark of key, or gives the one that is there and false. With again, one that is started is
	// started anew.
	StartMark(ctx context.Context, key string, again bool) (Mark, bool, error)
	EndMark(ctx context.Context, key, state, result string) error
	// ForgetMark takes the mark away: the work may be done again. It tells whether there was one.
	ForgetMark(ctx context.Context, key string) (bool, error)
}

func onceEvent(kind, key, state string) Event {
	return Event{Kind: kind, Outcome: state, Data: map[string]any{"key": key}, Durable: true}
}

func errNotStarted(key string) error {
	return fmt.Errorf("once %s: got an end, want a start before it; its mark was taken away or ended meanwhile", key)
}

// Work is what Once.Do is asked for.
type Work struct {
	Key string
	// Body does the work and gives MarkDone or MarkFailed with the result to keep. Any other state leaves the mark
	// started, so that the work counts as unknown.
	Body func() (state, result string)
	// OnUnknown, if not nil, decides about work that was started and has no end, as Body does. By then the mark has been
	// started anew.
	OnUnknown func(Mark) (state, result string)
}

// Once does work at most once, by its key: across restarts, and among concurrent callers.
type Once struct {
	Marks Marker

	mu      sync.Mutex
	running map[string]chan struct{} // closed when the work of a key ends
}

// Do does the work unless that has been done, and gives its mark. ran tells whether it was this call that ran a function
// of the work. A mark that is still started means: unknown. Callers with a key that is being worked on wait, as long as
// ctx lasts.
func (o *Once) Do(ctx context.Context, w Work) (m Mark, ran bool, err error) {
	if w.Key == "" || len(w.Key) > MaxKey {
		return Mark{}, false, fmt.Errorf("once: got a key of %d bytes, want 1 to %d", len(w.Key), MaxKey)
	}
	release, err := o.acquire(ctx, w.Key)
	if err != nil {
		return Mark{}, false, err
	}
	defer release()
	m, fresh, err := o.Marks.StartMark(ctx, w.Key, false)
	switch {
	case err != nil:
		return m, false, fmt.Errorf("once %s: nothing was done: %w", w.Key, err)
	case fresh:
		return o.run(ctx, m, w.Body)
	case m.State != MarkStarted || w.OnUnknown == nil:
		return m, false, nil
	}
	before := m
	if m, fresh, err = o.Marks.StartMark(ctx, w.Key, true); err != nil || !fresh {
		return m, false, err
	}
	return o.run(ctx, m, func() (string, string) { return w.OnUnknown(before) })
}

func (o *Once) run(ctx context.Context, m Mark, f func() (state, result string)) (Mark, bool, error) {
	state, result := f()
	if state != MarkDone && state != MarkFailed {
		return m, true, nil
	}
	if len(result) > MaxResult {
		return m, true, fmt.Errorf("once %s: got a result of %d bytes, want at most %d; the work has run, and counts as unknown", m.Key, len(result), MaxResult)
	}
	if err := o.Marks.EndMark(context.WithoutCancel(ctx), m.Key, state, result); err != nil {
		return m, true, fmt.Errorf("once %s: the work has run, but that could not be recorded, so it counts as unknown: %w", m.Key, err)
	}
	m.State, m.Result = state, result
	return m, true, nil
}

// acquire waits until nobody in this process works on key, and takes it.
func (o *Once) acquire(ctx context.Context, key string) (release func(), err error) {
	for {
		o.mu.Lock()
		busy, ok := o.running[key]
		if !ok {
			if o.running == nil {
				o.running = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			o.running[key] = mine
			o.mu.Unlock()
			return func() {
				o.mu.Lock()
				delete(o.running, key)
				o.mu.Unlock()
				close(mine)
			}, nil
		}
		o.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, fmt.Errorf("once %s: stopped waiting for another caller with the same key: %w", key, context.Cause(ctx))
		}
	}
}
