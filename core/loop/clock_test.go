package loop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/loop"
)

func TestRealAt(t *testing.T) {
	var c loop.Real
	start, rang := c.Now(), make(chan time.Time, 2)
	var came atomic.Bool
	c.At(start.Add(300*time.Millisecond), func() { rang <- c.Now() })
	stop := c.At(start.Add(200*time.Millisecond), func() { came.Store(true) })
	stop()
	inTime := c.Now().Before(start.Add(200 * time.Millisecond))
	if at := <-rang; at.Before(start.Add(300 * time.Millisecond)) {
		t.Errorf("got %s after the start, want at least 300ms", at.Sub(start))
	}
	if came.Load() && inTime {
		t.Error("a wait that was taken back came")
	}
	c.At(start.Add(-time.Hour), func() { rang <- c.Now() }) // what is past comes at once
	<-rang
}

func TestRealSleep(t *testing.T) {
	var c loop.Real
	if err := c.Sleep(context.Background(), time.Millisecond); err != nil {
		t.Error(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if err := c.Sleep(ctx, time.Hour); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

func TestVirtualRunsWhatIsDueInOrder(t *testing.T) {
	c := loop.NewVirtual(begin)
	var got []string
	note := func(s string) func() {
		return func() { got = append(got, s+"@"+c.Now().Sub(begin).String()) }
	}
	c.At(begin.Add(2*time.Second), note("b"))
	c.At(begin.Add(time.Second), note("a"))
	c.At(begin.Add(2*time.Second), func() {
		note("c")()
		c.At(begin.Add(time.Second), note("past"))
		c.At(begin.Add(3*time.Second), note("nested"))
	})
	c.At(begin.Add(2*time.Second), note("taken back"))()
	c.At(begin.Add(time.Hour), note("later"))
	if err := c.Advance(context.Background(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a@1s", "b@2s", "c@2s", "past@2s", "nested@3s"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if now := c.Now().Sub(begin); now != time.Minute {
		t.Errorf("now: got %s after the start, want 1m", now)
	}
}

// The clock waits for work, and work may sleep on it.
func TestVirtualWaitsForWork(t *testing.T) {
	c := loop.NewVirtual(begin)
	var woke, late atomic.Int64
	c.Go(context.Background(), func(ctx context.Context) {
		for range 3 {
			if err := c.Sleep(ctx, time.Minute); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Millisecond) // work that takes real time
			woke.Store(int64(c.Now().Sub(begin)))
		}
	})
	c.At(begin.Add(2*time.Minute+1), func() { late.Store(woke.Load()) })
	if err := c.Advance(context.Background(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(late.Load()); got != 2*time.Minute {
		t.Errorf("right after two minutes the work was at %s, want 2m", got)
	}
	if got := time.Duration(woke.Load()); got != 3*time.Minute {
		t.Errorf("the work ended at %s, want 3m", got)
	}
}

// Work whose sleep is cancelled runs on before the clock moves.
func TestVirtualCancelsASleep(t *testing.T) {
	c := loop.NewVirtual(begin)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	var woke atomic.Int64
	c.Go(ctx, func(ctx context.Context) {
		if err := c.Sleep(ctx, time.Hour); !errors.Is(err, why) {
			t.Errorf("sleep: got %v, want %v", err, why)
		}
		time.Sleep(5 * time.Millisecond)
		woke.Store(int64(c.Now().Sub(begin)))
	})
	c.At(begin.Add(time.Minute), func() { cancel(why) })
	if err := c.Advance(context.Background(), 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(woke.Load()); got != time.Minute {
		t.Errorf("woke at %s, want 1m", got)
	}
}

func TestAdvanceGivesUpWithItsContext(t *testing.T) {
	c := loop.NewVirtual(begin)
	release := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.At(begin.Add(time.Second), func() {
		c.Go(context.Background(), func(context.Context) { cancel(); <-release })
	})
	err := c.Advance(ctx, time.Minute)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "did not come to rest") {
		t.Errorf("got %v, want the end of the context, and why", err)
	}
	if now := c.Now().Sub(begin); now != time.Second {
		t.Errorf("now: got %s after the start, want 1s: no further than what was waited for", now)
	}
	close(release)
	if err := c.Advance(context.Background(), time.Minute); err != nil {
		t.Error(err)
	}
}

func TestAdvanceFromInsideWorkIsRefused(t *testing.T) {
	c := loop.NewVirtual(begin)
	var err error
	c.Go(context.Background(), func(ctx context.Context) { err = c.Advance(ctx, time.Second) })
	if e := c.Advance(context.Background(), 0); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(err, loop.ErrBusy) {
		t.Errorf("got %v, want %v", err, loop.ErrBusy)
	}
}
