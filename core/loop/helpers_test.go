package loop_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // zones, whatever the machine has

	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/internal/noleak"
)

func TestMain(m *testing.M) { noleak.Main(m) }

// begin is where virtual clocks start: a Monday.
var begin = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a loop on a virtual clock that notes what happens.
type world struct {
	*loop.Loop
	t     testing.TB
	clock *loop.Virtual

	mu   sync.Mutex
	runs []loop.Run
	log  []string
}

func newWorld(t testing.TB, set ...func(*loop.Config)) *world {
	w := &world{t: t, clock: loop.NewVirtual(begin)}
	conf := loop.Config{Clock: w.clock, OnRun: func(r loop.Run) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.runs = append(w.runs, r)
	}}
	for _, f := range set {
		f(&conf)
	}
	w.Loop = loop.New(conf)
	t.Cleanup(func() {
		if err := w.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// every registers a process that notes the minute of each of its runs and then does do.
func (w *world) every(name, when string, do func(context.Context) error, set ...func(*loop.Process)) {
	w.t.Helper()
	p := loop.Process{Name: name, Schedule: parse(w.t, when, "UTC"), Do: func(ctx context.Context) error {
		w.note(name)
		if do == nil {
			return nil
		}
		return do(ctx)
	}}
	for _, f := range set {
		f(&p)
	}
	w.must(w.Every(p))
}

// note writes down what happened and when.
func (w *world) note(what string) {
	at := w.clock.Now().Sub(begin)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%s@%s", what, at))
}

func (w *world) advance(d time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	w.must(w.clock.Advance(ctx, d))
}

// want compares what was noted since the last call.
func (w *world) want(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.log, want) {
		w.t.Errorf("noted: got %q, want %q", w.log, want)
	}
	w.log = nil
}

func (w *world) status(name string) loop.Status {
	w.t.Helper()
	s, err := w.Process(name)
	w.must(err)
	return s
}

func (w *world) outcomes() []loop.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []loop.Outcome
	for _, r := range w.runs {
		out = append(out, r.Outcome)
	}
	return out
}

func parse(t testing.TB, text, zone string) loop.Schedule {
	t.Helper()
	s, err := loop.Parse(text, in(t, zone))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func in(t testing.TB, zone string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
