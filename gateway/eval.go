package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// errTimeout is the cause of a context that ended with the eval timeout.
var errTimeout = errors.New("the eval timeout passed")

// eval waits for the spawn's turn, runs code and returns the outcome, within
// the eval timeout plus the grace. ctx is the request's.
func (s *Server) eval(ctx context.Context, c *call, code string) Reply {
	timeout := or(c.surface.EvalTimeout, DefaultEvalTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	if err := c.spawn.lane.enter(ctx, c.cfg.Queue); err != nil {
		return Reply{Err: notRun(err, c.cfg.Queue, timeout)}
	}
	done := s.run(ctx, c, code)
	select {
	case reply := <-done:
		return reply
	case <-ctx.Done():
	}
	// The Host knows best what it was doing when its time ran out, so it gets a
	// moment to say so.
	grace := time.NewTimer(c.cfg.Grace)
	defer grace.Stop()
	select {
	case reply := <-done:
		return reply
	case <-grace.C:
		c.cfg.Log.Warn("gateway: an eval does not end", "spawn", c.spawn.caller.Spawn, "role", c.spawn.caller.Role)
		return Reply{Err: notEnded(context.Cause(ctx), c.cfg.Grace, timeout)}
	}
}

// run evaluates in a goroutine of its own, so that a Host that does not return
// cannot hold the answer up. The goroutine owns the lane until the Host is
// done; Stop waits for it.
func (s *Server) run(ctx context.Context, c *call, code string) <-chan Reply {
	done := make(chan Reply, 1)
	c.spawn.evals.Add(1)
	s.running.add()
	go func() {
		defer s.running.sub()
		reply := s.guarded(ctx, c, code)
		c.spawn.lane.leave()
		done <- reply
	}()
	return done
}

// guarded calls the Host. What a panic said goes to the log only: it may hold
// what the agent must not see.
func (s *Server) guarded(ctx context.Context, c *call, code string) (reply Reply) {
	defer func() {
		if p := recover(); p != nil {
			c.cfg.Log.Error("gateway: the host panicked in an eval", "spawn", c.spawn.caller.Spawn,
				"role", c.spawn.caller.Role, "panic", p, "stack", string(debug.Stack()))
			reply = Reply{Err: &EvalError{Kind: KindInternal,
				Message: "the evaluator failed on this code; the fault is not yours and has been logged",
				Hint:    "try it another way, in smaller steps"}}
		}
	}()
	now := &c.surface
	if c.cfg.Now().Sub(c.arrived) > Fresh {
		now = nil
	}
	return c.cfg.Host.Eval(ctx, c.spawn.caller, code, now)
}

// notRun explains why an eval never began.
func notRun(cause error, queue int, timeout time.Duration) *EvalError {
	switch {
	case errors.Is(cause, errBusy):
		return &EvalError{Kind: KindBusy,
			Message: fmt.Sprintf("%d evals of this spawn are waiting already; this one was not run", queue),
			Hint:    "evals run one at a time: wait for an answer before you send the next, or put several forms into one"}
	case errors.Is(cause, errTimeout):
		return &EvalError{Kind: KindTime,
			Message: fmt.Sprintf("waited %v behind other evals of this spawn; this one was not run", timeout),
			Hint:    "wait for an answer before you send the next eval"}
	}
	return ended(cause, "this one was not run")
}

// notEnded explains an answer that could not wait for the Host.
func notEnded(cause error, grace, timeout time.Duration) *EvalError {
	if errors.Is(cause, errTimeout) {
		return &EvalError{Kind: KindTime,
			Message: fmt.Sprintf("no result within %v, and it did not stop %v after it was told to", timeout, grace),
			Hint:    "do less in one eval; the next one waits until this one has stopped"}
	}
	return ended(cause, "it was told to stop and has not yet")
}

func ended(cause error, then string) *EvalError {
	if errors.Is(cause, errRevoked) || errors.Is(cause, errStopped) {
		return &EvalError{Kind: KindRevoked, Message: fmt.Sprintf("%v; %s", cause, then)}
	}
	return &EvalError{Kind: KindCancelled, Message: "the request was cancelled; " + then}
}

// keepalive sends progress until the returned function is called, which waits
// for the last one to be on its way.
func keepalive(ctx context.Context, every time.Duration, token mcp.ProgressToken) (stop func()) {
	srv := server.ServerFromContext(ctx)
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-tick.C:
				// A full channel means a client that does not read; what it
				// loses is a keepalive.
				_ = srv.SendNotificationToClient(ctx, "notifications/progress",
					map[string]any{"progressToken": token, "progress": n, "message": "evaluating"})
			case <-quit:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}
