//go:build linux

package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
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

// A name is that of one body, of whatever zeno: else stop would end one of two. It is free once all of the body is gone.
func TestANameIsOfOneBody(t *testing.T) {
	state := t.TempDir()
	one := backend(t, func(c *native.Config) { c.StateDir, c.NoSpare = state, true })
	two := backend(t, func(c *native.Config) { c.StateDir, c.NoSpare = state, true })
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		one.Run(context.Background(), sandbox.Spec{Name: "x", Stdout: signal(started), Argv: []string{"sh", "-c", "echo go; sleep 300"}})
	}()
	<-started
	_, err := two.Run(context.Background(), sandbox.Spec{Name: "x", Argv: []string{"true"}})
	var busy *sandbox.Busy
	if !errors.As(err, &busy) || busy.What != "name" || !strings.Contains(busy.Holder, fmt.Sprint(os.Getpid())) {
		t.Errorf("a second body of the name: got %v, want the zeno that has it", err)
	}
	if err := two.Stop(context.Background(), "x"); err != nil {
		t.Error(err)
	}
	<-ended
	for range 30 { // at once, again and again, and after Stop by whoever
		if _, err := two.Run(context.Background(), sandbox.Spec{Name: "x", Argv: []string{"true"}}); err != nil {
			t.Fatalf("the name of a body that has ended: got %v, want it free", err)
		}
	}
	if left, _ := filepath.Glob(state + "/boxes/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// At any moment of a start another zeno may stop the body: it was stopped then, and did not fail.
func TestAnotherStopsABodyThatStarts(t *testing.T) {
	state := t.TempDir()
	one := backend(t, func(c *native.Config) { c.StateDir = state })
	two := backend(t, func(c *native.Config) { c.StateDir = state })
	for i := range 60 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			res, err := one.Run(context.Background(), sandbox.Spec{Name: "x", Volume: "v", Argv: []string{"sleep", "300"}})
			if err != nil || res.KilledBy != sandbox.KilledStop {
				t.Errorf("got killed by %q, %v, want it stopped", res.KilledBy, err)
			}
		}()
		time.Sleep(time.Duration(i%12) * time.Millisecond)
		for over := false; !over; {
			two.Stop(context.Background(), "x")
			select {
			case <-ended:
				over = true
			default:
			}
		}
	}
}

// What one message to the kernel cannot carry is refused by the name of its field, before anything runs.
func TestTooManyDescriptors(t *testing.T) {
	b := backend(t)
	dir := t.TempDir()
	var read []string
	for i := range 300 {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		read = append(read, name)
	}
	ports := make([]int, 300)
	for i := range ports {
		ports[i] = 2000 + i
	}
	for field, s := range map[string]sandbox.Spec{
		":read":          {Argv: []string{"true"}, Read: read},
		":egress :allow": {Argv: []string{"true"}, Proxy: &echo{extra: ports}, Egress: sandbox.Egress{Default: sandbox.EgressDeny}},
	} {
		_, err := b.Run(context.Background(), s)
		var bad *sandbox.FieldError
		if !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: got %v, want it refused by its name", field, err)
		}
	}
}

// An image's program starts where the image says, and can write there as far as its user may.
func TestAnImageWorksWhereItSays(t *testing.T) {
	for own, want := range map[string]string{"/": "/", "/usr/src/app": "/usr/src/app", "/tmp": "/tmp", "app": "/app"} {
		dir := t.TempDir()
		for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
			os.Chmod(d, 0o755)
		}
		static(t, filepath.Join(dir, "bin"))
		for _, volume := range []string{"", "v"} {
			res := sh(t, backend(t), "pwd; echo x > /tmp/x; cd /work 2>/dev/null || cd "+want+"; echo y > f && echo written", func(s *sandbox.Spec) {
				s.Volume, s.Root = volume, sandbox.Root{Layers: []string{dir}, Workdir: own, Env: map[string]string{"PATH": "/bin"}}
			})
			if res.Out != want+"\nwritten\n" {
				t.Errorf("%s, volume %q: got %+v", own, volume, res)
			}
		}
	}
}

// Whoever runs something in a body that begins or ends just now is told that it is not running, or runs it.
func TestExecAroundTheLifeOfABody(t *testing.T) {
	b := backend(t)
	ran := 0
	for range 40 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if res, err := b.Run(context.Background(), sandbox.Spec{Name: "x", Argv: []string{"sleep", "0.02"}}); err != nil || res.Status != "ok" {
				t.Errorf("the body: got %+v %v", res, err)
			}
		}()
		for over := false; !over; {
			_, err := b.Exec(context.Background(), "x", sandbox.ExecSpec{Argv: []string{"true"}})
			if _, none := err.(*sandbox.NoBody); err != nil && !none {
				t.Errorf("got %v, want it run or no body", err)
			}
			if err == nil {
				ran++
			}
			select {
			case <-ended:
				over = true
			default:
			}
		}
	}
	if ran == 0 {
		t.Error("got nothing run, want some")
	}
}
