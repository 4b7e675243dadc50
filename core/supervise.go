package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// SpawnOptions are what a spawn may have beside its Request.
type SpawnOptions struct {
	Budget  budget.Limits // of all its attempts together
	Late    bool          // its tokens and money may be known only at its end
	Retries Retries
	// OnEvent hears of the spawn's events in order, on a goroutine of its own; nothing waits for it but the spawn's end,
	// and that for 5 seconds. An error is reported once.
	OnEvent func(context.Context, Heard) error

	asking   askOption // what it takes to ask a person, and to go on with the answer
	standsIn bool      // a stand-in plays a CLI: its model has its price
}

// Retries say whether a spawn that failed is tried again. The zero value: it is not.
type Retries struct {
	Max        int            // further attempts, at most MaxRetries
	Backoff    time.Duration  // before the first; doubled for each further one. Default 1 s
	MaxBackoff time.Duration  // default 5 min
	On         []spawn.Status // default failed, timeout, stalled
}

// MaxRetries is the greatest Retries.Max.
const MaxRetries = 100

// retryable are the statuses after which another attempt may go better.
func retryable() []spawn.Status { return []spawn.Status{spawn.Failed, spawn.Timeout, spawn.Stalled} }

func (r Retries) check() error {
	if r.Max < 0 || r.Max > MaxRetries {
		return fmt.Errorf("retries: max: got %d, want 0 to %d", r.Max, MaxRetries)
	}
	if r.Backoff < 0 || r.MaxBackoff < 0 {
		return errors.New("retries: backoff: got a negative time, want none or more")
	}
	for _, s := range r.On {
		if !slices.Contains(retryable(), s) {
			return fmt.Errorf("retries: on: got %s, want some of failed, timeout, stalled: the others do not go away by themselves", s)
		}
	}
	return nil
}

// wait is the pause before attempt n+1.
func (r Retries) wait(n int) time.Duration {
	d, most := r.Backoff, r.MaxBackoff
	if d == 0 {
		d = time.Second
	}
	if most == 0 {
		most = 5 * time.Minute
	}
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	return min(d, max(most, r.Backoff))
}

func (r Retries) again(s spawn.Status, attempts int) bool {
	on := r.On
	if len(on) == 0 {
		on = retryable()
	}
	return attempts <= r.Max && slices.Contains(on, s)
}

// newSpawnID makes an id.
func newSpawnID() string { return "s" + strings.ToLower(rand.Text()[:16]) }

// supervise runs a spawn: its attempts, each admitted by the budgets, until one need not be tried again.
func (c *Core) supervise(ctx context.Context, j *job, req spawn.Request, o SpawnOptions) spawn.Result {
	if err := o.Retries.check(); err != nil {
		return c.neverRan(j, req, refusedSpawn(err))
	}
	for n := 1; ; n++ {
		attempt := req
		if n > 1 {
			attempt.ID = fmt.Sprintf("%s.%d", req.ID, n)
		}
		begun := time.Now()
		res := c.attempt(ctx, j, attempt)
		j.mu.Lock()
		j.attempts = append(j.attempts, Attempt{ID: attempt.ID, Status: res.Status, Error: res.Error, Elapsed: time.Since(begun)})
		j.mu.Unlock()
		if !o.Retries.again(res.Status, n) || ctx.Err() != nil {
			if o.Retries.Max > 0 && n > o.Retries.Max && slices.Contains(retryable(), res.Status) {
				res.Error = fmt.Sprintf("got no success in %d attempts; the last ended as %s: %s", n, res.Status, res.Error)
				res.Status = spawn.Failed
			}
			return res
		}
		wait := o.Retries.wait(n)
		j.become(jobBackoff)
		_, _ = c.record(journal.Event{Kind: spawnRetry, Role: req.Role, Spawn: req.ID, Outcome: string(res.Status),
			Data: map[string]any{"attempt": n, "of": o.Retries.Max + 1, "wait": wait.String(), "error": clip(res.Error)}}) // reported
		if err := c.loop.Clock().Sleep(ctx, wait); err != nil {
			ended := spawn.EndedBy(ctx)
			ended.ID, ended.Usage, ended.Session = res.ID, res.Usage, res.Session
			ended.Error = fmt.Sprintf("%s, while it waited for attempt %d; the last ended as %s: %s", ended.Error, n+1, res.Status, res.Error)
			return ended
		}
	}
}

// spawnRetry is the kind of event of an attempt that failed and is to be followed by another.
const spawnRetry = "spawn/retry"

// attempt runs a spawn once, under the budgets.
func (c *Core) attempt(ctx context.Context, j *job, req spawn.Request) spawn.Result {
	r, err := c.runner()
	if err != nil {
		return c.neverRan(j, req, refusedSpawn(err))
	}
	if c.role(req.Role).IsNil() { // the runner says what to do about it
		c.jobs.begin(j, req.ID)
		defer c.jobs.end(req.ID)
		return c.runTraced(ctx, r, req)
	}
	g, err := c.grant(ctx, req.Role)
	if err != nil {
		c.report("role "+req.Role, err)
		return c.neverRan(j, req, refusedSpawn(fmt.Errorf("role %s: its grant is broken, so nobody knows its budget: %w", req.Role, err)))
	}
	if err := trusted(req, g); err != nil {
		return c.neverRan(j, req, refusedSpawn(err))
	}
	if err := j.meter.Start(ctx, g.Budget); err != nil {
		return c.neverRan(j, req, notAdmitted(ctx, err))
	}
	defer j.meter.Stop()
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, jobKey{}, j))
	defer cancel(nil)
	j.run.Store(&cancel)
	defer j.run.Store(nil)
	c.jobs.begin(j, req.ID)
	defer c.jobs.end(req.ID)
	hear, scripted := req.OnUsage, req.Backend == spawn.Scripted && req.Entry == nil
	var used backend.Usage
	req.OnUsage = func(u backend.Usage) {
		used = u
		j.meter.Report(budget.Usage{TokensIn: u.TokensIn, TokensOut: u.TokensOut, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, USD: u.USD})
		if hear != nil {
			hear(u)
		}
		if scripted { // a CLI's comes from its stream
			j.hear.tell(spawn.Event{Time: time.Now(), Spawn: req.ID, Role: req.Role, Backend: j.backend, Kind: spawn.Used, Usage: u})
		}
	}
	j.usage = req.OnUsage
	res := c.runAsking(ctx, r, req)
	if scripted {
		res.Usage = used
	}
	if over := j.meter.Over(); over != nil && (res.Status == spawn.OK || res.Status == spawn.Failed) { // it ended before it was killed
		res.Status, res.Error = spawn.OverBudget, (&overCause{over}).Error()
	}
	if res.Usage.USD == 0 { // what the table says, where the CLI did not
		res.Usage.USD = j.meter.Used().USD.Float()
	}
	return res
}

// jobKey marks the context of a spawn's run with its job.
type jobKey struct{}

func refusedSpawn(err error) spawn.Result {
	return spawn.Result{Status: spawn.Refused, Exit: -1, Error: err.Error()}
}

// notAdmitted words why the budgets did not let a spawn start.
func notAdmitted(ctx context.Context, err error) spawn.Result {
	var over *budget.OverError
	if errors.As(err, &over) {
		return spawn.Result{Status: spawn.OverBudget, Exit: -1, Error: over.Error() + "; " + over.Hint()}
	}
	if ctx.Err() != nil {
		return spawn.EndedBy(ctx)
	}
	return refusedSpawn(err)
}

// neverRan records the end of a spawn that its runner has not seen.
func (c *Core) neverRan(j *job, req spawn.Request, res spawn.Result) spawn.Result {
	res.ID = req.ID
	e := spawn.Event{Time: time.Now(), Spawn: req.ID, Role: req.Role, Backend: j.backend, Kind: spawn.Ended, Text: res.Error, Result: &res}
	j.hear.tell(e)
	c.spawnEvent(e)
	return res
}

// farewell is how long a spawn that made one eval or call too many lives on, so that the answer reaches it. Every eval of
// it fails meanwhile.
const farewell = 200 * time.Millisecond

// overBudget ends the run of a spawn that has crossed a budget.
func (c *Core) overBudget(j *job, over *budget.OverError) {
	end := func() {
		if cancel := j.run.Load(); cancel != nil {
			(*cancel)(&overCause{over})
		}
	}
	if over.What == budget.Evals || over.What == budget.Calls {
		time.AfterFunc(farewell, end)
		return
	}
	end()
}

// overCause is a crossing as the cause of a run's end.
type overCause struct{ over *budget.OverError }

func (e *overCause) Error() string   { return e.over.Error() + "; " + e.over.Hint() }
func (e *overCause) Unwrap() []error { return []error{spawn.ErrOverBudget, e.over} }

// newJob makes the job of a request, with its meter. req is complete then.
func (c *Core) newJob(req *spawn.Request, o SpawnOptions, cancel context.CancelCauseFunc) (*job, error) {
	if req.ID == "" {
		req.ID = newSpawnID()
	}
	name := req.Backend
	if req.Entry != nil {
		name = req.Entry.Name
	} else if name == "" {
		name = backend.Default
	}
	j := &job{id: req.ID, role: req.Role, backend: name, model: req.Model, since: time.Now(), state: jobStarting,
		done: make(chan struct{}), cancel: cancel}
	l, err := c.ledger()
	if err != nil {
		return j, err
	}
	scripted := name == spawn.Scripted && req.Entry == nil && !o.standsIn
	reports, live := c.reportsUsage(*req, name)
	j.meter = l.NewMeter(budget.Spawn{ID: req.ID, Role: req.Role, Budget: o.Budget, Model: req.Model, Backend: name,
		Modelless: scripted, Unmetered: !reports, AtEnd: !live, Late: o.Late, Prices: c.prices.now(),
		OnOver:  func(over *budget.OverError) { c.overBudget(j, over) },
		OnQueue: func() { j.become(jobQueued) }})
	return j, nil
}

// reportsUsage tells whether a spawn's usage is reported, and whether while it runs. A scripted agent says what it uses.
// What an advisor of a CLI's own uses is in no stream.
func (c *Core) reportsUsage(req spawn.Request, name string) (reports, live bool) {
	b, ok := c.entry(req)
	if !ok { // scripted, or one that the runner refuses
		return true, true
	}
	reports, live = b.ReportsUsage()
	if req.Sandbox != spawn.SandboxNone { // its proxy counts what the models' answers say
		return true, true
	}
	return reports && req.Advisor == "", live
}

// warden is the grant.Warden of a spawn's session.
type warden struct {
	core *Core
	role string
	id   string
}

// Call implements grant.Warden.
func (w warden) Call() error {
	if j := w.core.jobs.attempt(w.id); j != nil {
		return j.meter.Call()
	}
	return nil
}

// Left implements grant.Warden.
func (w warden) Left() []budget.Left {
	if j := w.core.jobs.attempt(w.id); j != nil {
		return j.meter.Left()
	}
	return nil
}

var _ grant.Warden = warden{}

// usedForm is what a scripted agent used elsewhere since it last said so.
type usedForm struct {
	TokensIn   int64   `lisp:"tokens-in"`
	TokensOut  int64   `lisp:"tokens-out"`
	CacheRead  int64   `lisp:"cache-read"`
	CacheWrite int64   `lisp:"cache-write"`
	USD        float64 `lisp:"usd"`
}

// usageOf makes the function by which a scripted agent that pays for something itself says so.
func (c *Core) usageOf(ctx context.Context) value.Builtin {
	j, _ := ctx.Value(jobKey{}).(*job)
	var mu sync.Mutex
	var sum backend.Usage
	return bind.Func("usage!", "([{:keys [tokens-in tokens-out cache-read cache-write usd]}])", "Counts what was used since the last call.",
		func(f usedForm) error {
			if f.TokensIn < 0 || f.TokensOut < 0 || f.CacheRead < 0 || f.CacheWrite < 0 || !(f.USD >= 0) {
				return errors.New("got a negative amount, want 0 or more")
			}
			if j == nil || j.usage == nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			sum = backend.Usage{TokensIn: addTokens(sum.TokensIn, f.TokensIn), TokensOut: addTokens(sum.TokensOut, f.TokensOut),
				CacheRead: addTokens(sum.CacheRead, f.CacheRead), CacheWrite: addTokens(sum.CacheWrite, f.CacheWrite), USD: sum.USD + f.USD}
			j.usage(sum)
			return nil
		})
}

// addTokens does not overflow.
func addTokens(a, b int64) int64 { return min(a, math.MaxInt64/2) + min(b, math.MaxInt64/2) }
