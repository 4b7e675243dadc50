package cli

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// TestAbandon has an evaluation that no cancellation reaches: the second ctrl-C leaves it behind.
func TestAbandon(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer discard(null)
	a := newApp(Std{In: null, Out: null, Err: null, Getenv: func(string) string { return "" }})
	defer a.signals.stop()
	r := &repl{app: a, lines: newPlain(a, true)}
	release := make(chan struct{})
	started := make(chan struct{})
	go func() {
		<-started
		r.interrupt()
		time.Sleep(10 * time.Millisecond)
		r.interrupt()
	}()
	err = r.attend(func(context.Context) error {
		close(started)
		<-release
		return nil
	})
	close(release)
	if !errors.Is(err, errAbandoned) {
		t.Errorf("attend: got %v, want it abandoned", err)
	}
	if a.signals.ctx.Err() != nil {
		t.Error("zeno itself was told to end, want only the evaluation")
	}
}
