package loop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/loop"
)

// While the loop is held nothing starts; a pause and its end meanwhile count afterwards.
func TestHold(t *testing.T) {
	clock := loop.NewVirtual(time.Unix(0, 0).UTC())
	l := loop.New(loop.Config{Clock: clock})
	runs := map[string]int{}
	for _, name := range []string{"a", "b"} {
		s, err := loop.Parse("1m", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Every(loop.Process{Name: name, Schedule: s, Do: func(context.Context) error { runs[name]++; return nil }}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	move := func(d time.Duration) {
		t.Helper()
		if err := clock.Advance(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	move(2 * time.Minute)
	if runs["a"] != 2 {
		t.Fatalf("got %v, want two runs of each: without Hold they run", runs)
	}
	l.Hold()
	if _, err := l.RunNow("a"); !errors.Is(err, loop.ErrHeld) {
		t.Errorf("run-now: got %v, want ErrHeld", err)
	}
	if err := l.Pause("b"); err != nil {
		t.Fatal(err)
	}
	if err := l.Resume("a"); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.Process("a"); s.State != loop.Held {
		t.Errorf("got the state %s, want held", s.State)
	}
	move(time.Hour)
	if runs["a"] != 2 || runs["b"] != 2 {
		t.Errorf("got %v, want no run while held", runs)
	}
	l.Release()
	move(time.Minute)
	if runs["a"] != 3 || runs["b"] != 2 {
		t.Errorf("got %v, want one more of a, and b paused as it was told", runs)
	}
	if err := l.Quiet(ctx); err != nil {
		t.Error(err)
	}
	if err := l.Stop(ctx); err != nil {
		t.Error(err)
	}
}
