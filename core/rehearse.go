package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/core/rehearsal"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// RehearsalFile is loaded after init.joke where a home is rehearsed: it names the home's own stand-ins.
const RehearsalFile = "dry_run.joke"

// Rehearsal runs a home dry. Agents are played by stand-ins over the real endpoint; capabilities that write are recorded
// and not called; questions are answered at once; what the program itself would do to the world (requests, mails,
// commands, servers) is refused. Files are not held back here: who runs the instance keeps it from writing where it must
// not. It wants a Virtual clock.
type Rehearsal struct {
	AllowNet  bool // GET and HEAD requests of the program are made
	AllowExec bool // commands of the program are run
}

// rehearsing is a rehearsal under way. A nil one is none.
type rehearsing struct {
	core *Core
	conf Rehearsal
	rec  *rehearsal.Recorder

	mu     sync.Mutex
	agents map[string]value.Value // by role
	caps   map[string]value.Value // by name
	answer value.Value
}

func (c *Core) newRehearsal() *rehearsing {
	if c.conf.Rehearsal == nil {
		return nil
	}
	return &rehearsing{core: c, conf: *c.conf.Rehearsal, rec: rehearsal.New(c.loop.Clock().Now),
		agents: map[string]value.Value{}, caps: map[string]value.Value{}}
}

// Rehearse boots the home, passes so much virtual time, and tells what happened: all of it also where the error says that
// it ended before.
func (c *Core) Rehearse(ctx context.Context, d time.Duration) (rehearsal.Report, error) {
	clock, ok := c.loop.Clock().(*loop.Virtual)
	if !ok || c.rehearsal == nil {
		return rehearsal.Report{}, fmt.Errorf("rehearse: got the real clock or no Rehearsal, want both in core.Config")
	}
	err := errors.Join(c.Boot(ctx), c.checkRoles(ctx))
	if err == nil {
		err = clock.Advance(ctx, d)
	}
	rep := c.rehearsal.rec.Report()
	if err != nil {
		rep.Stopped = err.Error()
	}
	rep.Budgets = c.rehearsedBudgets(context.WithoutCancel(ctx))
	return rep, err
}

// checkRoles asks every role for its grant. What is wrong with one is told, and returned.
func (c *Core) checkRoles(ctx context.Context) error {
	var errs []error
	for _, name := range c.roleNames() {
		if _, err := c.grant(ctx, string(name)); err != nil {
			c.report("role "+string(name), err)
			errs = append(errs, fmt.Errorf("role %s: its grant does not do: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// rehearsedBudgets tells what the roles used. Where that is not known none is told: their spawns were refused then.
func (c *Core) rehearsedBudgets(ctx context.Context) []rehearsal.Budget {
	out := []rehearsal.Budget{}
	all, err := c.Budgets(ctx)
	if err != nil {
		return out
	}
	for _, r := range all.Roles {
		if r.Used.Spawns == 0 {
			continue
		}
		out = append(out, rehearsal.Budget{Role: r.Role, Per: string(cmp.Or(r.Budget.Per, budget.Day)), Spawns: r.Used.Spawns, Evals: r.Used.Evals,
			Calls: r.Used.Calls, Wall: r.Used.Wall, Tokens: r.Used.Tokens, USD: r.Used.USD.Float(), MaxEvals: r.Budget.Evals,
			MaxCalls: r.Budget.Calls, MaxWall: r.Budget.Wall, MaxTokens: r.Budget.Tokens, MaxUSD: r.Budget.USD.Float()})
	}
	return out
}

// functions are the namespace zeno.dry-run, which exists in a rehearsal only.
func (r *rehearsing) functions() []value.Builtin {
	keep := func(m map[string]value.Value) func(string, value.Value) error {
		return func(name string, f value.Value) error {
			if !isFunction(f) {
				return fmt.Errorf("%s: got a %s, want a function or a var", name, f.Kind())
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			m[name] = f
			return nil
		}
	}
	return []value.Builtin{
		bind.Func("agent!", "([role f])", "Plays the agents of a role in a dry run: f is what :agent of a :scripted spawn is, a function of {:keys [eval tools prompt system]} that gives the answer.", keep(r.agents)),
		bind.Func("capability!", "([name f])", "Stands in for a capability in a dry run, one that writes or one that reads: f gets its arguments.", keep(r.caps)),
		bind.Func("answer!", "([f])", "Answers the questions of a dry run: f gets {:question … :choices … :default …} and gives a string, or nil for the default.", func(f value.Value) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.answer = f
			return nil
		}),
	}
}

// load takes in the home's stand-ins.
func (r *rehearsing) load(ctx context.Context, h *home.Home) error {
	if r == nil {
		return nil
	}
	src, file, ok, err := h.File(RehearsalFile)
	if err != nil || !ok {
		return err
	}
	_, err = r.core.env.Eval(ctx, src, file)
	return err
}

// spawn puts a stand-in in the place of an agent CLI, and tells whether there was one. A scripted agent of the home's plays
// itself.
func (r *rehearsing) spawn(req *spawn.Request) (standsIn bool) {
	if r == nil {
		return false
	}
	standsIn = req.Backend != spawn.Scripted || req.Entry != nil
	if _, known := r.core.entry(*req); standsIn && !known {
		return false // it is refused, as it would be in earnest
	}
	r.mu.Lock()
	f, ok := r.agents[req.Role]
	r.mu.Unlock()
	switch {
	case ok:
		req.Agent = r.core.scripted(spawnForm{Role: req.Role, Prompt: req.Prompt, System: req.System, Agent: f})
	case req.Agent == nil:
		req.Agent = standIn
	}
	req.Backend, req.Entry, req.Sandbox, req.Resume = spawn.Scripted, nil, "", ""
	req.Advisor, req.AdvisorTools, req.Review = "", nil, approving(req.Review)
	req.BaseURL, req.APIKey, req.Env, req.Secrets, req.Tools = "", "", nil, nil, nil
	return standsIn
}

// approving puts in the place of an advisor one that approves. One that is a function of the home's plays itself.
func approving(v *spawn.Review) *spawn.Review {
	if v == nil {
		return nil
	}
	dry := *v
	dry.Backend, dry.Entry, dry.Model, dry.BaseURL, dry.APIKeyEnv = spawn.Scripted, nil, "", "", ""
	if dry.Agent == nil {
		dry.Agent = func(context.Context, spawn.Client) (string, error) { return "VERDICT: approve", nil }
	}
	return &dry
}

// standIn looks at what it is granted, as every agent does first, and does nothing.
func standIn(ctx context.Context, c spawn.Client) (string, error) {
	text, failed, err := c.Eval(ctx, "(count (tools))")
	if err == nil && failed {
		err = fmt.Errorf("the grant does not work: %s", text)
	}
	return "", err
}

// spawned takes the end of a spawn.
func (r *rehearsing) spawned(role string, res spawn.Result) {
	if r != nil {
		r.add(rehearsal.Spawn, role, string(res.Status), strings.TrimSpace(res.Error+" "+oneLine(res.Answer)))
	}
}

// ran takes a run of a process.
func (r *rehearsing) ran(run loop.Run) {
	if r == nil {
		return
	}
	detail := ""
	if run.Err != nil {
		detail = oneLine(run.Err.Error())
	}
	r.add(rehearsal.Process, run.Process, outcome(run), detail)
}

// grant puts a stand-in before each capability.
func (r *rehearsing) grant(role string, g *grant.Grant) {
	if r == nil || g == nil {
		return
	}
	for i, c := range g.Caps {
		mine := *c
		if c.Approve {
			mine.Approve = false
			mine.Effect = "write" // whatever it says: a person was to see it first
		}
		mine.Fn = r.capability(role, &mine, c.Approve)
		g.Caps[i] = &mine
	}
}

func (r *rehearsing) capability(role string, c *grant.Capability, approve bool) value.Value {
	real, what := c.Fn, role+"/"+c.Name
	b := &value.Builtin{Name: c.Name}
	b.N = func(t *value.Thread, args []value.Value) value.Value {
		r.mu.Lock()
		stand, ok := r.caps[c.Name]
		r.mu.Unlock()
		shown := strings.TrimPrefix(r.core.printed(args), "nil")
		if approve {
			r.add(rehearsal.Ask, what, "approved", shown)
		}
		if c.Writes() && !ok {
			r.add(rehearsal.Write, what, "recorded", shown)
			return value.Nil
		}
		f, kind := real, rehearsal.Call
		if ok {
			f = stand
		}
		if c.Writes() {
			kind = rehearsal.Write
		}
		v, ex := t.Try(func() value.Value { return t.Call(f, args...) })
		if ex != nil {
			r.add(kind, what, "error", shown)
			panic(ex)
		}
		outcome := "ok"
		if ok {
			outcome = "stand-in"
		}
		r.add(kind, what, outcome, shown)
		return v
	}
	return value.Of(value.NewBuiltin(c.Name, b))
}

// question is what a stand-in for a person sees.
type question struct {
	Question string   `lisp:"question"`
	Choices  []string `lisp:"choices,omitempty"`
	Default  string   `lisp:"default,omitempty"`
	Role     string   `lisp:"role,omitempty"`
}

// reply answers a question: as the home's function says, else its default, else its first choice, else yes.
func (r *rehearsing) reply(ctx context.Context, q question) string {
	r.mu.Lock()
	f := r.answer
	r.mu.Unlock()
	text := ""
	if isFunction(f) {
		v, err := r.core.env.Do(ctx, func(t *value.Thread) value.Value { return t.Call(f, bind.Encode(t, q)) })
		switch {
		case err != nil:
			r.core.report("zeno.dry-run/answer!", err)
		case !v.IsNil():
			text = r.core.text(ctx, v)
		}
	}
	if text == "" {
		text = q.Default
	}
	if text == "" && len(q.Choices) > 0 {
		text = q.Choices[0]
	}
	if text == "" {
		text = "yes"
	}
	r.add(rehearsal.Ask, oneLine(q.Question), "answered", "with: "+oneLine(text))
	return text
}

// add takes one happening. Places in the copy of a home are told as those of the home.
func (r *rehearsing) add(kind rehearsal.Kind, what, outcome, detail string) {
	if h := r.core.conf.Home; h != nil && h.Origin != "" {
		detail = strings.ReplaceAll(detail, h.Dir, h.Origin)
	}
	r.rec.Add(kind, what, outcome, detail)
}

// warned gives who hears the warnings of spawns: nobody where all are played by stand-ins.
func (r *rehearsing) warned(warn func(string)) func(string) {
	if r == nil {
		return warn
	}
	return func(string) {}
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 400 {
		s = string(r[:400]) + "…"
	}
	return s
}
