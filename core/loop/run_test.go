package loop_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/loop"
)

var errNoLuck = errors.New("no luck")

// Waits double after the second failure in a row, up to the cap, and one success ends them. Ticks stay on their grid.
func TestBackoff(t *testing.T) {
	w := newWorld(t, func(c *loop.Config) { c.Backoff = 10 * time.Minute })
	failing := true
	w.every("p", "1m", func(context.Context) error {
		if failing {
			return errNoLuck
		}
		return nil
	})
	w.must(w.Start())
	w.advance(26 * time.Minute) // waits of 1, 2, 4, 8, 10
	w.want("p@1m0s", "p@2m0s", "p@4m0s", "p@8m0s", "p@16m0s", "p@26m0s")
	s := w.status("p")
	if s.State != loop.BackOff || s.Failing != 6 || s.Failures != 6 || s.Runs != 6 || !errors.Is(s.Err, errNoLuck) || s.Next != begin.Add(36*time.Minute) {
		t.Errorf("got %+v", s)
	}
	failing = false
	w.advance(12 * time.Minute)
	w.want("p@36m0s", "p@37m0s", "p@38m0s")
	if s := w.status("p"); s.State != loop.Waiting || s.Failing != 0 || s.Failures != 6 || s.Err == nil {
		t.Errorf("after a success: got %+v", s)
	}
}

// Cron waits too, by minutes; a process that is rare anyway keeps its ticks; a new definition gets a new chance.
func TestBackoffOfCronAndOfAReplacement(t *testing.T) {
	w := newWorld(t)
	fail := func(context.Context) error { return errNoLuck }
	w.every("cron", "* * * * *", fail)
	w.every("rare", "1h", fail)
	w.must(w.Start())
	w.advance(10 * time.Minute)
	w.want("cron@1m0s", "cron@2m0s", "cron@4m0s", "cron@8m0s")
	w.every("cron", "* * * * *", fail)
	w.advance(3 * time.Minute)
	w.want("cron@11m0s", "cron@12m0s")
	w.must(w.Remove("cron"))
	w.advance(3 * time.Hour)
	w.want("rare@1h0m0s", "rare@2h0m0s", "rare@3h0m0s")
}

func TestTimeout(t *testing.T) {
	var overdue []loop.Run
	w := newWorld(t, func(c *loop.Config) {
		c.Timeout = 2 * time.Minute
		c.OnOverdue = func(r loop.Run) { overdue = append(overdue, r) }
	})
	var why error
	w.every("obeys", "10m", func(ctx context.Context) error {
		err := w.clock.Sleep(ctx, time.Hour)
		why = context.Cause(ctx)
		return err
	}, func(p *loop.Process) { p.Timeout = time.Minute })
	w.every("deaf", "10m", func(ctx context.Context) error {
		return w.clock.Sleep(context.WithoutCancel(ctx), 5*time.Minute)
	})
	w.every("quick", "10m", nil)
	w.must(w.Start())
	w.advance(13 * time.Minute)
	if s := w.status("deaf"); s.State != loop.Running || !s.Overdue || s.Since != begin.Add(10*time.Minute) {
		t.Errorf("a run that does not end: got %+v", s)
	}
	w.advance(3 * time.Minute)
	if !errors.Is(why, loop.ErrTimeout) {
		t.Errorf("cause: got %v, want %v", why, loop.ErrTimeout)
	}
	for name, want := range map[string]string{
		"obeys": "the run exceeded its timeout: got 1m0s, want at most 1m0s: the run exceeded its timeout",
		"deaf":  "the run exceeded its timeout: got 5m0s, want at most 2m0s",
	} {
		s := w.status(name)
		if s.Last.Outcome != loop.TimedOut || s.Failures != 1 || !errors.Is(s.Err, loop.ErrTimeout) || s.Err.Error() != want || s.Overdue {
			t.Errorf("%s: got %s, %d failures: %v", name, s.Last.Outcome, s.Failures, s.Err)
		}
	}
	if s := w.status("quick"); s.Last.Outcome != loop.OK || s.Failures != 0 {
		t.Errorf("quick: got %s", s.Last.Outcome)
	}
	if len(overdue) != 2 || overdue[0].Process != "obeys" || overdue[1].Process != "deaf" || overdue[1].Elapsed != 2*time.Minute || overdue[1].Outcome != "" {
		t.Errorf("overdue: got %+v", overdue)
	}
}

// A panic, and a function that ends its goroutine, are failures of that run and nothing else.
func TestPanicsAndGoexit(t *testing.T) {
	w := newWorld(t)
	w.every("error", "1m", func(context.Context) error { panic(errNoLuck) })
	w.every("value", "1m", func(context.Context) error { panic("boom") })
	w.every("gone", "1m", func(context.Context) error { runtime.Goexit(); return nil })
	w.every("well", "1m", nil)
	w.must(w.Start())
	w.advance(2 * time.Minute)
	for name, want := range map[string]string{"error": "panic: no luck", "value": "panic: boom", "gone": "the function ended its goroutine"} {
		if s := w.status(name); s.Failures != 2 || s.Err.Error() != want {
			t.Errorf("%s: got %d failures, %v, want 2 with %q", name, s.Failures, s.Err, want)
		}
	}
	var p *loop.Panic
	if err := w.status("error").Err; !errors.Is(err, errNoLuck) || !errors.As(err, &p) || !strings.Contains(string(p.Stack), "TestPanicsAndGoexit") {
		t.Errorf("the panic's error and stack: got %v", err)
	}
	if s := w.status("well"); s.Runs != 2 || s.Failures != 0 {
		t.Errorf("the neighbour: got %+v", s)
	}
}

// Stop cancels what runs, waits for it, and says who does not end. Such a run still keeps its process to one run.
func TestStopWaits(t *testing.T) {
	release := make(chan struct{})
	var why error
	told := make(chan loop.Run, 2)
	ctx, cancel := context.WithCancel(context.Background())
	l := loop.New(loop.Config{Grace: time.Hour, OnRun: func(r loop.Run) { told <- r }})
	every := func(name string, do func(context.Context) error) {
		t.Helper()
		if err := l.Every(loop.Process{Name: name, Schedule: parse(t, "1ms", "UTC"), Do: do}); err != nil {
			t.Fatal(err)
		}
	}
	var runs atomic.Int64
	both := make(chan struct{}, 2)
	every("obeys", func(ctx context.Context) error {
		both <- struct{}{}
		<-ctx.Done()
		why = context.Cause(ctx)
		return ctx.Err()
	})
	every("deaf", func(context.Context) error {
		if runs.Add(1) == 1 {
			both <- struct{}{}
		}
		<-release
		return nil
	})
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	<-both
	<-both
	ended := make(chan loop.Run, 1)
	go func() {
		ended <- <-told
		for s, err := l.Process("obeys"); err == nil && s.State == loop.Running; s, err = l.Process("obeys") {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	err := l.Stop(ctx) // it waits until one of them has ended
	if err == nil || !strings.HasSuffix(err.Error(), "still running: deaf") {
		t.Errorf("got %v, want deaf named", err)
	}
	if r := <-ended; r.Process != "obeys" || !errors.Is(why, loop.ErrStopped) || r.Outcome != loop.Cancelled || r.Failing != 0 {
		t.Errorf("the other: got %v, %+v", why, r)
	}
	if err := l.Remove("obeys"); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if n := runs.Load(); n != 1 {
		t.Errorf("started again: got %d runs of deaf, want the first alone", n)
	}
	if err := l.Stop(ctx); err == nil {
		t.Error("stop under an ended context: got no error, want deaf named")
	}
	close(release)
	if err := l.Stop(context.Background()); err != nil {
		t.Errorf("stop once all has ended: got %v", err)
	}
}

// Stop waits for the grace and no longer.
func TestStopGivesUp(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	l := loop.New(loop.Config{Grace: 20 * time.Millisecond})
	if err := l.Every(loop.Process{Name: "deaf", Schedule: parse(t, "1h", "UTC"), Do: func(context.Context) error {
		close(begun)
		<-release
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.RunNow("deaf"); err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := l.Stop(context.Background()); err == nil || !strings.HasSuffix(err.Error(), "still running: deaf") {
		t.Errorf("got %v, want deaf named", err)
	}
	close(release) // and TestMain sees that it ends
}

// A process may stop the loop it runs in: that does not wait for itself.
func TestStopFromInside(t *testing.T) {
	w := newWorld(t)
	var err error
	w.every("p", "1m", func(ctx context.Context) error {
		if err = w.Stop(ctx); err == nil {
			return ctx.Err()
		}
		return nil
	})
	w.must(w.Start())
	w.advance(5 * time.Minute)
	if err != nil {
		t.Errorf("got %v", err)
	}
	w.want("p@1m0s")
}

// The end of the loop's life cancels runs, and nothing begins after it.
func TestTheContextEndsTheLoop(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	w := newWorld(t, func(c *loop.Config) { c.Context = ctx })
	w.every("long", "1m", func(ctx context.Context) error { return w.clock.Sleep(ctx, time.Hour) })
	w.must(w.Start())
	w.advance(time.Minute)
	cancel(errNoLuck)
	w.advance(time.Hour)
	w.want("long@1m0s")
	if s := w.status("long"); s.Last.Outcome != loop.Cancelled || !errors.Is(s.Last.Err, errNoLuck) || s.Failures != 0 {
		t.Errorf("got %s: %v", s.Last.Outcome, s.Last.Err)
	}
	w.must(w.Stop(context.Background()))
	if err := w.Start(); !errors.Is(err, errNoLuck) {
		t.Errorf("start: got %v, want %v", err, errNoLuck)
	}
}

func TestCurrent(t *testing.T) {
	w := newWorld(t)
	var got string
	w.every("p", "1m", func(ctx context.Context) error { got, _ = loop.Current(ctx); return nil })
	w.must(w.Start())
	w.advance(time.Minute)
	if got != "p" {
		t.Errorf("inside: got %q, want p", got)
	}
	if name, ok := loop.Current(context.Background()); ok {
		t.Errorf("outside: got %q", name)
	}
}

// OnRun is told of a run before the next one begins, in order, with what the status then shows.
func TestOnRun(t *testing.T) {
	w := newWorld(t)
	n := 0
	w.every("p", "10m", func(ctx context.Context) error {
		if n++; n == 2 {
			return errNoLuck
		}
		return w.clock.Sleep(ctx, 3*time.Second)
	})
	w.must(w.Start())
	w.advance(21 * time.Minute)
	if _, err := w.RunNow("p"); err != nil {
		t.Fatal(err)
	}
	w.advance(9 * time.Minute)
	var got []string
	for _, r := range w.runs {
		got = append(got, fmt.Sprint(r.Process, " ", r.Trigger, " ", r.Started.Sub(begin), " ", r.Elapsed, " ", r.Outcome, " ", r.Err, " ", r.Failing, " ", r.Timeout))
	}
	want := []string{"p schedule 10m0s 3s ok <nil> 0 1h0m0s", "p schedule 20m0s 0s error no luck 1 1h0m0s", "p run-now 21m0s 3s ok <nil> 0 1h0m0s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// On the real clock, everything at once from everywhere: never two runs of one name, nothing left behind (TestMain).
func TestRealClockUnderLoad(t *testing.T) {
	const names = 20
	var inside [names]atomic.Int64
	var runs atomic.Int64
	l := loop.New(loop.Config{OnRun: func(loop.Run) { runs.Add(1) }})
	register := func(i int) error {
		return l.Every(loop.Process{Name: fmt.Sprint("p", i), Schedule: parse(t, fmt.Sprint(1+i%3, "ms"), "UTC"), Jitter: time.Millisecond, Timeout: 3 * time.Millisecond,
			Do: func(ctx context.Context) error {
				if inside[i].Add(1) != 1 {
					t.Errorf("process %d: two runs at once", i)
				}
				defer inside[i].Add(-1)
				if i%4 == 0 {
					panic("boom")
				}
				return loop.Real{}.Sleep(ctx, time.Duration(i%5)*time.Millisecond)
			}})
	}
	for i := range names {
		if err := register(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	end, late := time.Now().Add(300*time.Millisecond), time.Now().Add(time.Minute)
	for g := range 4 {
		wg.Go(func() {
			for n := 0; time.Now().Before(end) || runs.Load() < 20 && time.Now().Before(late); n++ {
				i := (n*7 + g) % names
				name := fmt.Sprint("p", i)
				switch (n + g) % 7 {
				case 0:
					_ = l.Pause(name)
				case 1:
					_ = l.Remove(name)
				case 2:
					_, _ = l.RunNow(name)
				case 3:
					_ = l.Processes()
				case 4:
					_ = l.Stop(context.Background())
				default:
					_ = l.Start()
					_ = l.Resume()
					if err := register(i); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	wg.Wait()
	if err := l.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if n := runs.Load(); n < 20 {
		t.Errorf("got %d runs, want at least 20: the test tests nothing", n)
	}
}

// lateClock is a clock whose waits cannot be taken back any more: they are on their way.
type lateClock struct{ *loop.Virtual }

func (c lateClock) At(t time.Time, f func()) func() {
	c.Virtual.At(t, f)
	return func() {}
}

// A wait that was taken back too late starts nothing.
func TestAStaleWaitStartsNothing(t *testing.T) {
	w := newWorld(t, func(c *loop.Config) { c.Clock = lateClock{c.Clock.(*loop.Virtual)} })
	w.every("p", "10m", nil)
	w.must(w.Start())
	w.every("p", "25m", nil)
	w.must(w.Pause())
	w.must(w.Resume())
	w.must(w.Stop(context.Background()))
	w.must(w.Start())
	w.advance(50 * time.Minute)
	w.want("p@25m0s", "p@50m0s")
}

// One failure, by hand, moves no tick; and nothing is planned while a process runs.
func TestOneFailureMovesNoTick(t *testing.T) {
	w := newWorld(t)
	w.every("p", "10m", func(ctx context.Context) error {
		_ = w.clock.Sleep(ctx, time.Minute)
		return errNoLuck
	})
	w.must(w.Start())
	w.advance(5 * time.Minute)
	if _, err := w.RunNow("p"); err != nil {
		t.Fatal(err)
	}
	w.every("p", "10m", nil)
	if s := w.status("p"); s.State != loop.Running || !s.Next.IsZero() {
		t.Errorf("while it runs: got %s, next %s", s.State, s.Next)
	}
	w.advance(5 * time.Minute)
	w.want("p@5m0s", "p@10m0s")
}
