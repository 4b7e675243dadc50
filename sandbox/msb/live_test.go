package msb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

// begin runs a box that waits to be ended.
func begin(t *testing.T, b *Backend, change ...func(*sandbox.Spec)) <-chan sandbox.Result {
	t.Helper()
	s := box("sh", "-c", "echo up; exec sleep 60")
	for _, c := range change {
		c(&s)
	}
	done := make(chan sandbox.Result, 1)
	go func() {
		res, err := b.Run(context.Background(), s)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	until(t, "the box", func() bool {
		b.mu.Lock()
		y := b.bodies[s.Name]
		b.mu.Unlock()
		if y == nil {
			return false
		}
		y.mu.Lock()
		defer y.mu.Unlock()
		return y.up
	})
	return done
}

func TestExecStopAndPS(t *testing.T) {
	f := newFake(t)
	b, other := f.backend(), f.backend()
	ctx := context.Background()
	done := begin(t, b, func(s *sandbox.Spec) { s.Volume, s.Holder = "agent-a1", "spawn 7" })

	res, err := b.Exec(ctx, "a1", sandbox.ExecSpec{Argv: []string{"sh", "-c", "cat; echo $K"}, In: "in ", Env: map[string]string{"K": "v"}})
	if err != nil || res.Out != "in v\n" || res.Status != "ok" {
		t.Errorf("got %+v %v", res, err)
	}
	res, err = b.Exec(ctx, "a1", sandbox.ExecSpec{Argv: []string{"sleep", "60"}, Timeout: 300 * time.Millisecond})
	if err != nil || res.KilledBy != sandbox.KilledTimeout {
		t.Errorf("got %+v %v, want killed by timeout", res, err)
	}
	for _, each := range []*Backend{b, other} {
		ps, err := each.PS(ctx)
		if err != nil || len(ps) != 1 || ps[0].Name != "a1" || ps[0].Volume != "agent-a1" || ps[0].Owner != os.Getpid() || ps[0].Backend != Name {
			t.Errorf("got %+v %v, want the box", ps, err)
		}
	}
	// One body has a name and a volume, whoever asks.
	var busy *sandbox.Busy
	if _, err := other.Run(ctx, box("true")); !errors.As(err, &busy) || busy.What != "name" {
		t.Errorf("got %v, want that the name is in use", err)
	}
	s := box("true")
	s.Name, s.Volume = "a2", "agent-a1"
	if _, err := other.Run(ctx, s); !errors.As(err, &busy) || busy.Holder != "spawn 7" {
		t.Errorf("got %v, want that spawn 7 has the volume", err)
	}
	if n := len(f.calls("create")); n != 1 {
		t.Errorf("%d boxes were made, want 1: --replace would have ended the first", n)
	}
	if found, err := other.Reap(ctx); err != nil || len(found) > 0 {
		t.Errorf("reaped %v %v, want nothing: it lives", found, err)
	}
	if _, err := other.Exec(ctx, "a1", sandbox.ExecSpec{Argv: []string{"true"}}); err == nil {
		t.Error("a program was run in another zeno's box")
	}
	if err := b.Stop(ctx, "a1"); err != nil {
		t.Error(err)
	}
	if res := <-done; res.KilledBy != sandbox.KilledStop {
		t.Errorf("got %+v, want killed by stop", res)
	}
	if err := b.Stop(ctx, "a1"); !errors.As(err, new(*sandbox.NoBody)) {
		t.Errorf("got %v, want a NoBody", err)
	}
}

func TestStopOfAnothersBox(t *testing.T) {
	f := newFake(t)
	b, other := f.backend(), f.backend()
	done := begin(t, b)
	if err := other.Stop(context.Background(), "a1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.home, "fake", "up.zeno-a1")); err == nil {
		t.Error("the box is still up")
	}
	b.Close() // the fake's program does not end with its machine
	<-done
}

func TestCloseEndsBoxes(t *testing.T) {
	f := newFake(t)
	b := f.backend()
	done := begin(t, b)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if res := <-done; res.KilledBy != sandbox.KilledCancel {
		t.Errorf("got %+v, want killed by cancel", res)
	}
	if _, err := b.Run(context.Background(), box("true")); err == nil {
		t.Error("got a run after Close")
	}
}

// What a zeno that was killed left is found by its record, whose lock nobody holds, and removed.
func TestReap(t *testing.T) {
	f := newFake(t)
	f.will("noremove", "")
	left := ""
	b := f.backend(func(c *Config) {
		c.Events = func(e sandbox.Event) {
			if e.Kind == "leftover" {
				left = e.Text
			}
		}
	})
	run(t, b, box("true"))
	if left == "" {
		t.Error("a box that could not be removed was not reported")
	}
	next := f.backend()
	if ps, err := next.PS(context.Background()); err != nil || len(ps) > 0 {
		t.Errorf("got %v %v, want no live body", ps, err)
	}
	if _, err := next.Reap(context.Background()); err == nil {
		t.Error("got no error while msb cannot remove")
	}
	os.Remove(filepath.Join(f.home, "fake", "noremove"))
	found, err := next.Reap(context.Background())
	if err != nil || len(found) != 1 || found[0] != "a1" {
		t.Errorf("got %v %v, want a1", found, err)
	}
	if _, err := os.Stat(filepath.Join(f.home, "fake", "up.zeno-a1")); err == nil {
		t.Error("the box is still up")
	}
	if found, err := next.Reap(context.Background()); err != nil || len(found) > 0 {
		t.Errorf("got %v %v, want nothing left", found, err)
	}
}
