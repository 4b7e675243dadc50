package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/gateway"
	"github.com/reflection-dev/zeno/sandbox"
)

// A spawn with a Review has rounds. Its agent answers; an adviser, a second agent on the same endpoint with an empty grant,
// judges the answer; where it does not approve, the agent's session goes on with the objection. All runs are one spawn: one
// id, one budget, one cancel. The runs of the adviser are ID.advice1 and so on, those of the agent ID, ID.r2 and so on.
//
// The invariant: :ok says that an adviser approved. One that fails, that answers without a verdict, or that never approves
// makes the spawn something else.

// spawnAdvice is the kind of event of what an adviser said.
const spawnAdvice = "spawn/advice"

// maxReviewedID is the longest id of a spawn with rounds: those of its runs are longer.
const maxReviewedID = 48

// runRounds runs an open spawn: its attempts, and where somebody must approve its answer the rounds of that.
func (c *Core) runRounds(ctx context.Context, j *job, req spawn.Request, o SpawnOptions) spawn.Result {
	if req.Review == nil {
		return c.supervise(o.withAsking(ctx), j, req, o)
	}
	v := *req.Review
	req.Review = &v
	err := v.Check()
	if err == nil && len(req.ID) > maxReviewedID {
		err = fmt.Errorf("id: got %d letters, want at most %d where there is an advisor", len(req.ID), maxReviewedID)
	}
	if err == nil {
		_, err = c.adviser(req, "", nil)
	}
	if err != nil {
		return c.neverRan(j, req, refusedSpawn(err))
	}
	if v.Task == "" {
		v.Task = req.Prompt
	}
	r := &rounds{core: c, job: j, req: req, opts: o, id: req.ID}
	return r.run(ctx)
}

// rounds are those of one spawn.
type rounds struct {
	core   *Core
	job    *job
	req    spawn.Request // of the agent's next run
	opts   SpawnOptions
	id     string
	evals  int
	used   backend.Usage
	took   time.Duration
	advice []spawn.Advice
}

func (r *rounds) run(ctx context.Context) spawn.Result {
	work := r.opts.withAsking(ctx)
	for n := 1; ; n++ {
		res := r.agent(work)
		if res.Status != spawn.OK {
			return r.whole(res)
		}
		said, failed := r.advise(ctx, n, res.Answer)
		r.advice = append(r.advice, said)
		r.core.recordAdvice(r.req.Role, r.id, said)
		switch {
		case failed != nil:
			res.Status, res.Error = failed.Status, "advisor: "+failed.Error
			return r.whole(res)
		case said.Verdict == spawn.Approve:
			return r.whole(res)
		case r.req.Review.Rounds <= 1:
			res.Status = spawn.Rejected
			res.Error = fmt.Sprintf("advisor: got no approval in %d rounds; the last objection: %s", n, clipTo(said.Text, 500))
			return r.whole(res)
		}
		work = r.next(ctx, n, res, said)
	}
}

// agent runs the agent once more and adds up what it used.
func (r *rounds) agent(ctx context.Context) spawn.Result {
	r.core.modelOf(r.job, r.req)
	res := r.core.supervise(ctx, r.job, r.req, r.opts)
	r.add(res)
	r.evals += res.Evals
	return res
}

func (r *rounds) add(res spawn.Result) {
	u := res.Usage
	r.used = backend.Usage{TokensIn: addTokens(r.used.TokensIn, u.TokensIn), TokensOut: addTokens(r.used.TokensOut, u.TokensOut),
		CacheRead: addTokens(r.used.CacheRead, u.CacheRead), CacheWrite: addTokens(r.used.CacheWrite, u.CacheWrite)}
	r.took += res.Elapsed
}

// whole makes of the last run's result that of all.
func (r *rounds) whole(res spawn.Result) spawn.Result {
	res.Usage, res.Evals, res.Elapsed = r.used, r.evals, r.took
	res.Usage.USD = r.job.meter.Used().USD.Float() // of all runs, by what the CLIs said or by the table of prices
	res.Advice = append(r.advice, res.Advice...)
	return res
}

// next makes the agent's next run: its session goes on with the objection, or where it has none, all is told again. The
// request says how many rounds are left, so that one that waits for a person meanwhile has no more afterwards.
func (r *rounds) next(ctx context.Context, n int, res spawn.Result, said spawn.Advice) context.Context {
	v := *r.req.Review
	r.req.Prompt = v.RevisionPrompt(said, res.Answer, res.Session != "")
	r.req.ID, r.req.Resume, r.req.Continue = fmt.Sprintf("%s.r%d", r.id, n+1), res.Session, false
	v.Rounds--
	r.req.Review = &v
	s := &askStart{agent: r.opts.asking.agent, hear: r.opts.OnEvent, budget: r.opts.Budget, calls: r.job.callsMade()}
	if begun := r.opts.asking.start; begun != nil { // with an answer, which is not told twice
		if s.agent = begun.agent; !s.agent.IsNil() {
			r.req.Agent = r.core.scripted(spawnForm{Agent: s.agent})
		}
	}
	return context.WithValue(ctx, askStartKey{}, s)
}

// advise runs the adviser on an answer. failed is its Result where it did not get to a reply.
func (r *rounds) advise(ctx context.Context, n int, answer string) (said spawn.Advice, failed *spawn.Result) {
	q, err := r.core.adviser(r.req, answer, r.advice)
	if err != nil {
		res := refusedSpawn(err)
		res.Status = spawn.Failed
		return spawn.Advice{Round: n, Verdict: spawn.Broken, Text: res.Error}, &res
	}
	q.ID = fmt.Sprintf("%s.advice%d", r.id, n)
	r.core.modelOf(r.job, q)
	made := r.job.callsMade()
	r.job.adviser.Store(&q.ID)
	res := r.core.supervise(context.WithValue(ctx, askStartKey{}, &askStart{}), r.job, q, SpawnOptions{Retries: r.opts.Retries})
	r.job.adviser.Store(nil)
	r.job.keepCalls(made)
	r.add(res)
	if res.Status != spawn.OK {
		if res.Status == spawn.Refused || res.Status == spawn.Stalled {
			res.Status = spawn.Failed
		}
		return spawn.Advice{Round: n, Verdict: spawn.Broken, Text: res.Error}, &res
	}
	verdict, text := spawn.VerdictOf(res.Answer)
	return spawn.Advice{Round: n, Verdict: verdict, Text: text}, nil
}

// adviser is the adviser's request. What it inherits of the spawn's goes to the same CLI and the same server only.
func (c *Core) adviser(of spawn.Request, answer string, before []spawn.Advice) (spawn.Request, error) {
	v := of.Review
	q := spawn.Request{Role: of.Role, Model: v.Model, Timeout: of.Timeout, Stall: of.Stall, Grace: of.Grace,
		Sandbox: of.Sandbox, Box: of.Box, Trust: of.Trust, MaxTokens: of.MaxTokens, MaxUSD: of.MaxUSD}
	q.Box.Volume, q.Box.Read = "", nil // it judges what it is told, and works nowhere
	if v.Timeout > 0 {
		q.Timeout = v.Timeout
	}
	q.System, q.Prompt = v.AdviserTexts(strings.ToLower(rand.Text()[:12]), answer, before)
	other := v.Backend != "" || v.Entry != nil || v.Agent != nil
	if other {
		q.Box.Env, q.Box.Secrets, q.Box.Egress = nil, nil, sandbox.Egress{}
		q.Backend, q.Entry, q.Agent = v.Backend, v.Entry, v.Agent
		if v.Agent != nil && q.Backend == "" {
			q.Backend = spawn.Scripted
		}
	} else {
		q.Backend, q.Entry, q.Agent = of.Backend, of.Entry, nil
		q.Vars, q.Env, q.Secrets = of.Vars, of.Env, of.Secrets
	}
	if q.Backend == spawn.Scripted && q.Entry == nil && q.Agent == nil {
		return q, errors.New("advisor: agent: got none, want a function: a scripted agent cannot advise itself, and a function is not kept over a restart")
	}
	if q.Model == "" && !other {
		q.Model = of.Model
	}
	q.BaseURL, q.APIKeyEnv = v.BaseURL, v.APIKeyEnv
	if !other && v.BaseURL == "" {
		q.BaseURL = of.BaseURL
		if v.APIKeyEnv == "" {
			q.APIKey, q.APIKeyEnv = of.APIKey, of.APIKeyEnv
		}
	}
	if v.APIKeyEnv != "" {
		if q.APIKey = os.Getenv(v.APIKeyEnv); q.APIKey == "" {
			return q, fmt.Errorf("advisor: api-key-env: got %s, which is not set in zeno's environment", v.APIKeyEnv)
		}
		c.secrets.Hide(q.APIKey)
	}
	return q, nil
}

// modelOf tells the meter what the next run is paid for: an adviser may be of another model, or another CLI.
func (c *Core) modelOf(j *job, req spawn.Request) {
	name := req.Backend
	if req.Entry != nil {
		name = req.Entry.Name
	} else if name == "" {
		name = backend.Default
	}
	reports, live := c.reportsUsage(req, name)
	j.meter.Change(budget.Spawn{Model: req.Model, Backend: name, Modelless: name == spawn.Scripted && req.Entry == nil,
		Unmetered: !reports, AtEnd: !live, Prices: c.prices.now()})
}

// recordAdvice records what an adviser said. A failure is reported; the spawn goes on.
func (c *Core) recordAdvice(role, id string, a spawn.Advice) {
	_, _ = c.record(journal.Event{Kind: spawnAdvice, Role: role, Spawn: id, Outcome: string(a.Verdict),
		Data: map[string]any{"round": a.Round, "text": clip(a.Text)}})
}

// grantOf is what an agent may do: an adviser nothing, whatever its role has.
func (c *Core) grantOf(ctx context.Context, caller gateway.Caller) (*grant.Grant, error) {
	g, err := c.grant(ctx, caller.Role)
	if err == nil && c.advises(caller.Spawn) {
		g = g.Bare()
	}
	return g, err
}

// advises tells whether the run of an id is that of an adviser.
func (c *Core) advises(id string) bool {
	j := c.jobs.attempt(id)
	if j == nil {
		return false
	}
	adviser := j.adviser.Load()
	return adviser != nil && (id == *adviser || strings.HasPrefix(id, *adviser+"."))
}

// callsMade are the capability calls of the spawn's latest run, by name: the next round of it goes on counting.
func (j *job) callsMade() map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.calls
}

func (j *job) keepCalls(calls map[string]int) {
	j.mu.Lock()
	j.calls = calls
	j.mu.Unlock()
}

func clipTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
