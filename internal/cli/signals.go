package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/reflection-dev/zeno/core/spawn"
)

// signals ends what runs when the process is told to: the first signal cancels ctx, the second exits at once (the guards
// of running agents see that and end them). While onInterrupt is set, SIGINT calls it instead.
type signals struct {
	ctx         context.Context
	cancel      context.CancelCauseFunc
	onInterrupt atomic.Pointer[func()]
	onEnd       atomic.Pointer[func(why string)] // what the first signal calls in place of cancelling ctx
	ending      atomic.Bool                      // it has

	ch   chan os.Signal
	quit chan struct{}
	done sync.WaitGroup
}

// ended is why ctx was cancelled.
type ended struct {
	code int
	why  string
}

func (e *ended) Error() string { return e.why }

// Unwrap lets a spawn under way see that zeno itself ends.
func (e *ended) Unwrap() error { return spawn.ErrInterrupted }

func watchSignals() *signals {
	s := &signals{ch: make(chan os.Signal, 4), quit: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	signal.Notify(s.ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	s.done.Add(1)
	go s.watch()
	return s
}

func (s *signals) watch() {
	defer s.done.Done()
	for {
		select {
		case sig := <-s.ch:
			s.got(sig)
		case <-s.quit:
			return
		}
	}
}

func (s *signals) got(sig os.Signal) {
	code, why := ExitTerminated, "terminated"
	if sig == syscall.SIGINT {
		if f := s.onInterrupt.Load(); f != nil && s.ctx.Err() == nil {
			(*f)()
			return
		}
		code, why = ExitInterrupted, "interrupted"
	}
	if f := s.onEnd.Load(); f != nil && s.ctx.Err() == nil && s.ending.CompareAndSwap(false, true) {
		(*f)(why)
		return
	}
	if s.ctx.Err() != nil || s.ending.Load() { // the second one
		fmt.Fprintln(os.Stderr, "zeno: "+why+" again: not waiting")
		os.Exit(code)
	}
	s.cancel(&ended{code, why})
}

// exit ends everything with code, as a signal does.
func (s *signals) exit(code int) { s.cancel(&ended{code, "the program asked to exit"}) }

// code tells whether the process was told to end, and with which code.
func (s *signals) code() (int, bool) {
	if e, ok := context.Cause(s.ctx).(*ended); ok {
		return e.code, true
	}
	return 0, false
}

func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.quit)
	s.done.Wait()
	s.cancel(nil)
}
