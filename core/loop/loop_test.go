package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/loop"
)

func TestIntervalsAndCron(t *testing.T) {
	w := newWorld(t)
	w.every("a", "20m", nil)
	w.every("b", "15 * * * *", nil)
	w.every("now", "1h", nil, func(p *loop.Process) { p.Immediate = true })
	w.advance(time.Hour)
	w.want() // not started
	w.must(w.Start())
	w.must(w.Start())
	w.advance(time.Hour)
	w.want("now@1h0m0s", "b@1h15m0s", "a@1h20m0s", "a@1h40m0s", "now@2h0m0s", "a@2h0m0s")
}

// The same day passes the same way every time, with jitter, failures and sleeps in it.
func TestAVirtualDayIsDeterministic(t *testing.T) {
	day := func(seed uint64) []string {
		w := newWorld(t, func(c *loop.Config) { c.Seed = seed })
		for i, when := range []string{"7m", "11m", "13m", "*/10 * * * *", "5 */2 * * *"} {
			w.every(fmt.Sprint("p", i), when, func(ctx context.Context) error {
				if err := w.clock.Sleep(ctx, time.Duration(i)*time.Minute); err != nil {
					return err
				}
				w.note(fmt.Sprint("end", i))
				if i == 2 {
					return errors.New("no luck")
				}
				return nil
			}, func(p *loop.Process) { p.Jitter, p.Timeout = 3*time.Minute, 3*time.Minute+time.Second })
		}
		w.must(w.Start())
		w.advance(24 * time.Hour)
		return w.log
	}
	first := day(1)
	if len(first) < 800 {
		t.Fatalf("got %d lines in a day, want at least 800", len(first))
	}
	for range 3 {
		if again := day(1); !slices.Equal(again, first) {
			t.Fatal("the same day passed in another way")
		}
	}
	if other := day(2); slices.Equal(other, first) {
		t.Error("another seed gave the same day: jitter does nothing")
	}
}

func TestJitterStaysInItsBounds(t *testing.T) {
	w := newWorld(t)
	w.every("a", "10m", nil, func(p *loop.Process) { p.Jitter = 5 * time.Minute })
	w.must(w.Start())
	w.advance(100*time.Hour + 5*time.Minute)
	seen := map[time.Duration]bool{}
	for i, r := range w.runs {
		if tick := begin.Add(time.Duration(i+1) * 10 * time.Minute); !r.Tick.Equal(tick) {
			t.Fatalf("run %d: got the tick %s, want %s: jitter must not move the ticks", i, r.Tick, tick)
		}
		late := r.Started.Sub(r.Tick)
		if late < 0 || late >= 5*time.Minute {
			t.Errorf("run %d: got %s after its tick, want less than 5m", i, late)
		}
		seen[late.Truncate(time.Minute)] = true
	}
	if len(w.runs) != 600 || len(seen) != 5 {
		t.Errorf("got %d runs in %d of 5 minutes, want 600 in all of them", len(w.runs), len(seen))
	}
}

// A run that takes longer than the interval: no second one beside it, and the ticks it missed are gone.
func TestNoOverlapAndNothingPilesUp(t *testing.T) {
	w := newWorld(t)
	w.every("slow", "1m", func(ctx context.Context) error {
		err := w.clock.Sleep(ctx, 150*time.Second)
		w.note("end")
		return err
	})
	w.must(w.Start())
	w.advance(8 * time.Minute)
	w.want("slow@1m0s", "end@3m30s", "slow@4m0s", "end@6m30s", "slow@7m0s")
	if started, err := w.RunNow("slow"); started || err != nil {
		t.Errorf("run-now of a process that runs: got %v %v, want it refused", started, err)
	}
}

func TestReplace(t *testing.T) {
	w := newWorld(t)
	w.every("p", "10m", nil)
	w.must(w.Start())
	w.advance(15 * time.Minute)
	w.every("p", "10m", func(context.Context) error { w.note("new"); return nil }) // the same schedule keeps its ticks
	w.advance(5 * time.Minute)
	w.every("p", "7m", nil) // another begins its own
	w.advance(8 * time.Minute)
	w.want("p@10m0s", "p@20m0s", "new@20m0s", "p@27m0s")
	if s := w.status("p"); s.Runs != 3 {
		t.Errorf("runs: got %d, want 3: counts are the name's", s.Runs)
	}
}

// Re-registering one's neighbour at every run does not keep it from its ticks.
func TestReplacingOftenStarvesNobody(t *testing.T) {
	w := newWorld(t)
	w.every("a", "1m", func(context.Context) error { w.every("b", "1m", nil); return nil })
	w.must(w.Start())
	w.advance(3 * time.Minute)
	w.want("a@1m0s", "b@2m0s", "a@2m0s", "b@3m0s", "a@3m0s")
}

// A process replaced, or removed and registered anew, while it runs: the old run ends first.
func TestReplaceWhileRunning(t *testing.T) {
	for _, remove := range []bool{false, true} {
		t.Run(fmt.Sprint("removed ", remove), func(t *testing.T) {
			w := newWorld(t)
			inside := 0
			do := func(ctx context.Context) error {
				if inside++; inside > 1 {
					t.Error("two runs at once")
				}
				_ = w.clock.Sleep(context.WithoutCancel(ctx), 5*time.Minute) // also when it is removed
				inside--
				return nil
			}
			w.every("old", "2m", nil) // keeps the clock honest
			w.every("p", "2m", do)
			w.must(w.Start())
			w.advance(3 * time.Minute)
			if remove {
				w.must(w.Remove("p"))
				if _, err := w.Process("p"); !errors.Is(err, loop.ErrUnknown) {
					t.Errorf("after remove: got %v, want unknown", err)
				}
			}
			w.log = nil
			w.every("p", "1m", func(ctx context.Context) error { w.note("new"); return do(ctx) })
			w.must(w.Remove("old"))
			w.advance(5 * time.Minute)
			w.want("p@8m0s", "new@8m0s") // the old run was from 2m to 7m
			w.advance(6 * time.Minute)
			w.want("p@14m0s", "new@14m0s")
			if runs, want := w.status("p").Runs, map[bool]int{false: 2, true: 1}[remove]; runs != want {
				t.Errorf("runs: got %d, want %d", runs, want)
			}
			w.must(w.Pause("p"))
			w.advance(5 * time.Minute) // the last run is deaf to stop
		})
	}
}

func TestRemoveCancels(t *testing.T) {
	w := newWorld(t)
	var why error
	w.every("p", "1m", func(ctx context.Context) error {
		err := w.clock.Sleep(ctx, time.Hour)
		why = context.Cause(ctx)
		return err
	})
	w.must(w.Start())
	w.advance(90 * time.Second)
	w.must(w.Remove("p"))
	w.advance(time.Hour)
	w.want("p@1m0s")
	if !errors.Is(why, loop.ErrRemoved) {
		t.Errorf("cause: got %v, want %v", why, loop.ErrRemoved)
	}
	if got := w.outcomes(); !slices.Equal(got, []loop.Outcome{loop.Cancelled}) {
		t.Errorf("outcomes: got %v, want cancelled", got)
	}
}

func TestPauseResumeRunNow(t *testing.T) {
	w := newWorld(t)
	w.every("a", "10m", nil)
	w.every("b", "10m", nil)
	if _, err := w.RunNow("a"); err == nil || !errors.Is(err, loop.ErrStopped) {
		t.Errorf("run-now before start: got %v, want it refused", err)
	}
	w.must(w.Start())
	w.must(w.Pause("a"))
	w.advance(25 * time.Minute)
	w.want("b@10m0s", "b@20m0s")
	if s := w.status("a"); s.State != loop.Paused || !s.Next.IsZero() {
		t.Errorf("paused: got %s, next %s", s.State, s.Next)
	}
	w.every("a", "10m", nil) // an operator's pause outlives a reload
	started, err := w.RunNow("a")
	if !started || err != nil {
		t.Errorf("run-now: got %v %v, want started", started, err)
	}
	w.advance(10 * time.Minute)
	w.want("a@25m0s", "b@30m0s")
	w.must(w.Resume("a"))
	w.advance(5 * time.Minute) // both at once: in the order of their planning
	w.want("b@40m0s", "a@40m0s")
	w.must(w.Pause())
	w.advance(time.Hour)
	w.want()
	w.must(w.Resume())
	w.advance(10 * time.Minute)
	w.want("a@1h50m0s", "b@1h50m0s")
	for _, err := range []error{w.Pause("a", "x"), w.Resume("x"), w.Remove("x")} {
		if !errors.Is(err, loop.ErrUnknown) || !strings.Contains(err.Error(), "process x: not registered; there are a, b") {
			t.Errorf("unknown: got %v", err)
		}
	}
	if w.status("a").Paused {
		t.Error("pause of a and of a name that does not exist: got a paused, want nothing done")
	}
}

// Nothing that comes due while everything is held is made up for.
func TestStopAndStartAgain(t *testing.T) {
	w := newWorld(t)
	w.every("a", "10m", nil)
	w.must(w.Start())
	w.advance(15 * time.Minute)
	w.must(w.Stop(context.Background()))
	w.must(w.Stop(context.Background()))
	if s := w.status("a"); s.State != loop.Inactive {
		t.Errorf("state: got %s, want stopped", s.State)
	}
	w.advance(time.Hour)
	w.must(w.Start())
	w.advance(10 * time.Minute)
	w.want("a@10m0s", "a@1h20m0s")
}

func TestEveryRefuses(t *testing.T) {
	w := newWorld(t, func(c *loop.Config) { c.MaxProcesses = 1 })
	good := func() loop.Process {
		return loop.Process{Name: "p", Schedule: parse(t, "1m", "UTC"), Do: func(context.Context) error { return nil }}
	}
	for _, tt := range []struct {
		want string
		set  func(*loop.Process)
	}{
		{`got the name "", want a word`, func(p *loop.Process) { p.Name = "" }},
		{`got the name "a b", want a word`, func(p *loop.Process) { p.Name = "a b" }},
		{`want a word of 1 to 100 bytes`, func(p *loop.Process) { p.Name = strings.Repeat("x", 101) }},
		{`process p: got no schedule`, func(p *loop.Process) { p.Schedule = loop.Schedule{} }},
		{`process p: got no function`, func(p *loop.Process) { p.Do = nil }},
		{`process p: got the timeout -1s`, func(p *loop.Process) { p.Timeout = -time.Second }},
		{`process p: got the jitter 2m0s, want one from 0 to its interval 1m`, func(p *loop.Process) { p.Jitter = 2 * time.Minute }},
	} {
		p := good()
		tt.set(&p)
		if err := w.Every(p); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want an error with %q", err, tt.want)
		}
	}
	w.must(w.Every(good()))
	p := good()
	p.Name = "q"
	if err := w.Every(p); err == nil || !strings.Contains(err.Error(), "got 1 processes already") {
		t.Errorf("one too many: got %v", err)
	}
}

// A thousand processes, a virtual day: all run, at their times.
func TestAThousandProcesses(t *testing.T) {
	w := newWorld(t)
	counts := make([]int, 1000)
	for i := range counts {
		p := loop.Process{Name: fmt.Sprint("p", i), Schedule: parse(t, fmt.Sprintf("%dm", 30+i%60), "UTC"),
			Do: func(context.Context) error { counts[i]++; return nil }}
		w.must(w.Every(p))
	}
	w.must(w.Start())
	w.advance(24 * time.Hour)
	for i, n := range counts {
		if want := 24 * 60 / (30 + i%60); n != want {
			t.Errorf("process %d: got %d runs, want %d", i, n, want)
		}
	}
}
