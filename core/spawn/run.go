package spawn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
)

// run is one spawn under way.
type run struct {
	*Runner
	req      Request
	token    string
	endpoint string
	red      *redactor
	begun    time.Time
	cancel   context.CancelCauseFunc

	heard heard // of questions, in the stream

	stopping atomic.Bool // what a CLI says from now on is about its being stopped
	used     tally

	events sync.Mutex // keeps the events of the spawn in order
	ended  bool       // no event follows Ended, whatever a left-behind agent does
}

// Run runs one spawn to its end and returns how it ended. It returns within Grace and about a second after ctx ends; the
// cause of ctx decides the status then (see ErrInterrupted, ErrOverBudget). All errors are in the Result.
func (r *Runner) Run(ctx context.Context, req Request) Result {
	s := &run{Runner: r, req: req.complete(), begun: time.Now()}
	s.used.hear = req.OnUsage
	secrets := []string{req.APIKey}
	for _, name := range req.Secrets {
		secrets = append(secrets, req.Env[name])
	}
	s.red = newRedactor(secrets...)
	res := s.admit(ctx, secrets)
	res.ID, res.Elapsed = s.req.ID, time.Since(s.begun)
	s.red.result(&res)
	s.emit(Event{Kind: Ended, Text: res.Error, Result: &res})
	s.conf.Log.Info("spawn ended", "spawn", res.ID, "role", s.req.Role, "status", string(res.Status), "evals", res.Evals,
		"ms", res.Elapsed.Milliseconds(), "error", res.Error)
	return res
}

// admit checks the request, waits for a slot and issues the token.
func (s *run) admit(ctx context.Context, secrets []string) Result {
	if err := s.req.check(s.conf); err != nil {
		return refused(err)
	}
	if err := s.claim(); err != nil {
		return refused(err)
	}
	defer s.disclaim()
	if res, ok := s.wait(ctx); !ok {
		return res
	}
	defer func() { <-s.slots }()

	if s.endpoint = s.conf.Gateway.Endpoint(s.req.Role); s.endpoint == "" {
		return refused(unknownRole(s.req.Role))
	}
	token, err := s.conf.Gateway.Issue(s.req.Role, s.req.ID, s.req.Timeout+s.req.Grace+time.Minute)
	if err != nil {
		return failed("failed to issue a token: %v", err)
	}
	defer s.conf.Gateway.Revoke(s.req.ID)
	s.token, s.red = token, newRedactor(append(secrets, token)...)
	return s.limited(ctx)
}

func unknownRole(role string) error {
	return fmt.Errorf("role: got %q, want a registered role, and a gateway that listens: (zeno.gateway/start! {:roles …}) sees to both", role)
}

// limited runs the agent under the request's timeout.
func (s *run) limited(ctx context.Context) Result {
	ctx, s.cancel = context.WithCancelCause(ctx)
	defer s.cancel(nil)
	timer := time.AfterFunc(s.req.Timeout, func() {
		s.stop(Timeout, "got no end within %v; give the spawn a longer timeout or a smaller task", s.req.Timeout)
	})
	defer timer.Stop()

	evals := s.cutEvals(ctx)
	asked := s.watchAsk(ctx)
	var res Result
	if s.req.scripted() {
		if err := s.announce(); err != nil {
			return refused(err)
		}
		res = s.runScripted(ctx)
	} else {
		res = s.runCLI(ctx)
	}
	asked()
	res.Evals = evals()
	return s.afterAsk(res)
}

// cutEvals ends the agent's evals with ctx: a CLI that does not heed its TERM keeps its connection, and would keep an eval
// running for as long as the grace lasts. The returned function gives the number of evals.
func (s *run) cutEvals(ctx context.Context) (evals func() int) {
	count := func() int { return s.conf.Gateway.Activity(s.req.ID).Evals }
	before, done := 0, make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		before = count()
		s.conf.Gateway.Revoke(s.req.ID)
	})
	return func() int {
		if stop() {
			return count()
		}
		<-done
		return before
	}
}

// announce says that the spawn starts, and where a CLI starts unboxed: a scripted agent is the program's own function, and
// needs no box. Where it fails the spawn must not start.
func (s *run) announce() error {
	if s.conf.OnStart != nil {
		if err := s.conf.OnStart(s.stamp(Event{Kind: Started, Boxed: s.req.boxed()})); err != nil {
			return &requestError{fmt.Errorf("start: nothing was started: %w", err)}
		}
	}
	if !s.req.boxed() && !s.req.scripted() {
		line := fmt.Sprintf("spawn %s (%s, %s) runs unboxed: no sandbox limits what it can reach", s.req.ID, s.req.Role, s.req.Backend)
		if s.conf.Warn != nil { // it may be the log's, too
			s.conf.Warn(line)
		} else {
			s.conf.Log.Warn(line)
		}
	}
	s.emit(Event{Kind: Started, Boxed: s.req.boxed()})
	return nil
}

// stop ends the run for a reason of the Runner's own; the first reason stands.
func (s *run) stop(status Status, format string, args ...any) {
	s.stopping.Store(true)
	s.cancel(&stopError{status: status, reason: s.red.text(fmt.Sprintf(format, args...))})
}

// emit redacts and hands an event out.
func (s *run) emit(e Event) {
	if s.conf.OnEvent == nil {
		return
	}
	e = s.stamp(e)
	s.events.Lock()
	defer s.events.Unlock()
	if s.ended {
		return
	}
	s.ended = e.Kind == Ended
	s.conf.OnEvent(e)
}

// stamp names the spawn in an event and redacts it.
func (s *run) stamp(e Event) Event {
	e.Time, e.Spawn, e.Role, e.Backend = time.Now(), s.req.ID, s.req.Role, s.req.Backend
	e.Type, e.Tool = s.red.text(e.Type), s.red.text(e.Tool)
	e.Text = s.red.short(e.Text, maxSummary)
	return e
}

// maxSummary bounds an event's text.
const maxSummary = 2000

func refused(err error) Result {
	return Result{Status: Refused, Exit: -1, Error: err.Error()}
}

// claim makes the id ours for as long as the spawn runs.
func (s *run) claim() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[s.req.ID] {
		return fmt.Errorf("id: got %q, which runs already; want a fresh one", s.req.ID)
	}
	s.active[s.req.ID] = true
	return nil
}

func (s *run) disclaim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, s.req.ID)
}

// wait takes a slot, queueing where none is free. ok is false when the spawn must not run.
func (s *run) wait(ctx context.Context) (res Result, ok bool) {
	if ctx.Err() != nil {
		return endedBy(ctx), false
	}
	select {
	case s.slots <- struct{}{}:
		return res, true
	default:
	}
	s.mu.Lock()
	if s.waiting >= s.conf.MaxQueue {
		s.mu.Unlock()
		return refused(fmt.Errorf("queue: got %d spawns waiting for one of %d slots, want fewer; try again later",
			s.conf.MaxQueue, s.conf.MaxSpawns)), false
	}
	s.waiting++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.waiting--
		s.mu.Unlock()
	}()
	s.emit(Event{Kind: Queued})
	select {
	case s.slots <- struct{}{}:
		return res, true
	case <-ctx.Done():
		return endedBy(ctx), false
	}
}

func backendNames(conf Config) []string {
	return append(slices.Sorted(maps.Keys(conf.Backends)), Scripted)
}

// values are what the request puts into the backend's templates.
func (s *run) values(d dirs) backend.Values {
	return backend.Values{
		Prompt: s.req.Prompt, System: s.req.System, Model: s.req.Model, Role: s.req.Role, Spawn: s.req.ID,
		Endpoint: s.endpoint, BaseURL: s.req.BaseURL, Session: s.req.Resume,
		Home: d.home, Work: d.work, SessionDir: d.session,
		Token: s.token, APIKey: s.req.APIKey, Tools: s.req.Tools, Vars: s.req.Vars,
		Advisor: s.req.Advisor, AdvisorTools: s.req.AdvisorTools,
	}
}

// failure turns an error of the preparation into a Result: what the request got wrong is refused, the rest failed.
func failure(err error) Result {
	var field *backend.FieldError
	var asked *requestError
	if errors.As(err, &field) || errors.As(err, &asked) {
		return refused(err)
	}
	return failed("%v", err)
}

// requestError is a fault of the request that shows only while the spawn is prepared.
type requestError struct{ error }

func (e *requestError) Unwrap() error { return e.error }
