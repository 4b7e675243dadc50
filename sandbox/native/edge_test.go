//go:build linux

package native_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

// slow takes one piece and then nothing until it is let go on.
type slow struct {
	first, goOn chan struct{}
	n           atomic.Int64
}

func (s *slow) Write(b []byte) (int, error) {
	if s.n.Add(int64(len(b))) == int64(len(b)) {
		close(s.first)
		<-s.goOn
	}
	return len(b), nil
}

// Whoever listens slowly hears all of it, also what the program left in the pipe when it ended.
func TestASlowListenerLosesNothing(t *testing.T) {
	b := backend(t)
	const size = 60000 // less than a pipe: the program ends long before
	s := &slow{first: make(chan struct{}), goOn: make(chan struct{})}
	go func() {
		<-s.first
		time.Sleep(3 * time.Second) // longer than what is waited for output that others could still make
		close(s.goOn)
	}()
	res := sh(t, b, `head -c 60000 /dev/zero`, func(spec *sandbox.Spec) { spec.Stdout = s })
	if s.n.Load() != size || len(res.Out) != size {
		t.Errorf("got %d heard and %d kept, want %d", s.n.Load(), len(res.Out), size)
	}
}

// What keeps the pipe open after the end of a program, and writes to it for ever, is not waited for.
func TestOutputOfOthersIsNotWaitedFor(t *testing.T) {
	b := backend(t)
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(context.Background(), sandbox.Spec{Name: "x", Stdout: signal(started), Argv: []string{"sh", "-c", "echo go; sleep 300"}})
	}()
	<-started
	res, err := b.Exec(context.Background(), "x", sandbox.ExecSpec{Argv: []string{"sh", "-c", "setsid yes & echo mine"}, Timeout: time.Minute})
	if err != nil || res.Exit != 0 || res.KilledBy != "" {
		t.Errorf("got exit %d, killed by %q, %v, want it over", res.Exit, res.KilledBy, err)
	}
	if err := b.Stop(context.Background(), "x"); err != nil {
		t.Error(err)
	}
	<-ended
}

// A program of the box that stops every other one, also those that are about to begin, holds nobody up for longer than
// the timeout says.
func TestExecEndsWhereItsBeginningIsStopped(t *testing.T) {
	b := backend(t)
	const stopAll = `python3 -c '
import os, signal
print("go", flush=True)
while True:
    try: os.kill(-1, signal.SIGSTOP)
    except ProcessLookupError: pass'`
	started, ended := make(chan struct{}), make(chan sandbox.Result, 1)
	go func() {
		res, _ := b.Run(context.Background(), sandbox.Spec{Name: "x", Stdout: signal(started), Argv: []string{"sh", "-c", "exec " + stopAll}, Timeout: 5 * time.Minute})
		ended <- res
	}()
	<-started
	for range 20 {
		over := make(chan error, 1)
		go func() {
			_, err := b.Exec(context.Background(), "x", sandbox.ExecSpec{Argv: []string{"true"}, Timeout: time.Second})
			over <- err
		}()
		select {
		case err := <-over:
			if errors.As(err, new(*sandbox.NoBody)) {
				return // it was ended, as nothing else helped
			}
		case <-time.After(60 * time.Second):
			t.Fatal("a timeout of a second: got no end after 60, want one")
		}
	}
	if err := b.Stop(context.Background(), "x"); err != nil {
		t.Error(err)
	}
	<-ended
}
