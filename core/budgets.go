package core

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/gateway"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// BudgetFile is the name of the record of what was used, in the state directory of a home.
const BudgetFile = "budget.db"

// prices are the instance's: the built-in table and what the program has put over it.
type prices struct {
	mu    sync.Mutex
	table budget.Prices
}

func (p *prices) now() budget.Prices {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.table == nil {
		p.table = budget.DefaultPrices()
	}
	return maps.Clone(p.table)
}

// budgets are what the Core needs for the budgets of spawns.
type budgets struct {
	jobs   jobs
	prices prices
	turns  grant.Turns
	leased leased

	openLedger sync.Mutex
	opened     *budget.Ledger // once it is there
	ledgerGone bool           // Close was called
	daily      *dailyRule     // to be set
}

// ledger opens the record of what was used, at the first need of it. Where that fails the next need tries again.
func (c *Core) ledger() (*budget.Ledger, error) {
	c.openLedger.Lock()
	defer c.openLedger.Unlock()
	if c.opened == nil {
		l, err := c.newLedger()
		if err != nil {
			return nil, err
		}
		c.opened = l
	}
	if r := c.daily; r != nil {
		c.daily = nil
		c.opened.SetDaily(r.Daily, r.zone)
	}
	return c.opened, nil
}

func (c *Core) newLedger() (*budget.Ledger, error) {
	if c.ledgerGone {
		return nil, budget.ErrClosed
	}
	state, err := c.state()
	if err != nil {
		return nil, err
	}
	return budget.Open(context.WithoutCancel(c.ctx), budget.Config{Path: filepath.Join(state, BudgetFile),
		Now: c.loop.Clock().Now, OnError: c.budgetState})
}

// dailyRule is what daily! sets.
type dailyRule struct {
	budget.Daily
	zone *time.Location
}

// rule sets the budget of a day. Where the record of what was used cannot be had no spawn starts; the rule counts once it
// can, and the program goes on meanwhile.
func (c *Core) rule(r dailyRule) {
	c.openLedger.Lock()
	c.daily = &r
	c.openLedger.Unlock()
	if _, err := c.ledger(); err != nil {
		c.warn(fmt.Sprintf("daily!: it counts once the record of what was used can be had, and no spawn starts before: %v", err))
	}
}

func (c *Core) budgetState(err error) {
	if err == nil {
		c.warn("budget: what is used can be written again")
		return
	}
	c.warn(err.Error())
}

func (c *Core) closeLedger() error {
	c.openLedger.Lock()
	defer c.openLedger.Unlock()
	c.ledgerGone = true
	if c.opened == nil {
		return nil
	}
	return c.opened.Close()
}

// countEval counts an evaluation of a spawn, under its role's budget of now. ok is false where it must not be made.
func (c *Core) countEval(caller gateway.Caller, g *grant.Grant) (gateway.Reply, bool) {
	j := c.jobs.attempt(caller.Spawn)
	if j == nil {
		return gateway.Reply{}, true
	}
	j.meter.See(g.Budget)
	if err := j.meter.Eval(); err != nil {
		return overReply(j.meter.Over()), false
	}
	return gateway.Reply{}, true
}

// overReply tells an agent that there is nothing left.
func overReply(over *budget.OverError) gateway.Reply {
	return gateway.Reply{Err: &gateway.EvalError{Kind: "over-budget", Message: over.Error() + "; nothing more is evaluated for this run",
		Hint: "end your turn now: no further eval will be answered"}}
}

// afterEval makes an evaluation that ended because a budget was crossed meanwhile say so.
func (c *Core) afterEval(caller gateway.Caller, res *lisp.Result) {
	j := c.jobs.attempt(caller.Spawn)
	if j == nil || res.Err == nil || res.Err.Kind != "interrupted" && res.Err.Kind != "cancelled" {
		return
	}
	if over := j.meter.Over(); over != nil {
		res.Err = &lisp.Error{Kind: "over-budget", Message: over.Error() + "; the evaluation was ended",
			Hint: "end your turn now: no further eval will be answered", Pos: res.Err.Pos, Source: res.Err.Source, Stack: res.Err.Stack}
	}
}

// budgetFunctions are zeno.budget.
func (c *Core) budgetFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("prices!", "([prices])",
			`Puts prices over the built-in table: {"model" {:in 3.0 :out 15.0 :cache-read 0.3 :cache-write 3.75}}, US dollars for a million tokens; a name may end in *, nil takes one out. Counts for spawns that start from now on. Gives the whole table.`, c.setPrices),
		bind.Func("prices", "([])", "Gives the table of prices.", c.priceMap),
		bind.Func("daily!", "([{:keys [usd tokens wall evals calls spawns zone]}])",
			`Sets what the whole instance may use in a calendar day, counted across restarts; {} or nil lifts it. :zone, such as "Europe/Berlin", is where days, and the periods of roles, begin; the machine's otherwise.`, c.setDaily),
		bind.Func("report", "([])",
			"Gives what was used and what is left: {:day … :resets … :used {…} :daily {…} :roles {role {:used … :budget … :last-hour … :running … :waiting …}} :running [{:id … :used … :left …}]}.", c.budgetReport),
	}
}

type priceForm struct {
	In         *float64 `lisp:"in"`
	Out        *float64 `lisp:"out"`
	CacheRead  float64  `lisp:"cache-read"`
	CacheWrite float64  `lisp:"cache-write"`
}

func (c *Core) setPrices(t *value.Thread, forms map[string]*priceForm) (value.Value, error) {
	table := c.prices.now()
	for _, model := range slices.Sorted(maps.Keys(forms)) {
		f := forms[model]
		if f == nil {
			delete(table, model)
			continue
		}
		if f.In == nil || f.Out == nil {
			return value.Nil, fmt.Errorf("%q: got no :in or no :out, want both: US dollars for a million tokens", model)
		}
		for _, x := range []float64{*f.In, *f.Out, f.CacheRead, f.CacheWrite} {
			if !(x >= 0) || math.IsInf(x, 0) || x > 1e6 {
				return value.Nil, fmt.Errorf("%q: got %v, want US dollars for a million tokens, 0 to 1000000", model, x)
			}
		}
		table[model] = budget.Price{In: budget.Dollars(*f.In), Out: budget.Dollars(*f.Out),
			CacheRead: budget.Dollars(f.CacheRead), CacheWrite: budget.Dollars(f.CacheWrite)}
	}
	if err := table.Check(); err != nil {
		return value.Nil, err
	}
	c.prices.mu.Lock()
	c.prices.table = table
	c.prices.mu.Unlock()
	return c.priceMap(t), nil
}

// priceMap has strings as keys: many models have names that no keyword has.
func (c *Core) priceMap(t *value.Thread) value.Value {
	var kvs []value.Value
	for model, p := range c.prices.now() {
		m := map[string]any{"in": p.In.Float(), "out": p.Out.Float()}
		if p.CacheRead > 0 {
			m["cache-read"] = p.CacheRead.Float()
		}
		if p.CacheWrite > 0 {
			m["cache-write"] = p.CacheWrite.Float()
		}
		kvs = append(kvs, value.Str(model), bind.Encode(t, m))
	}
	return value.NewMap(t, kvs...)
}

type dailyForm struct {
	Tokens *int64         `lisp:"tokens"`
	USD    *float64       `lisp:"usd"`
	Wall   *bind.Duration `lisp:"wall"`
	Evals  *int64         `lisp:"evals"`
	Calls  *int64         `lisp:"calls"`
	Spawns *int64         `lisp:"spawns"`
	Zone   string         `lisp:"zone"`
}

func (c *Core) setDaily(f *dailyForm) error {
	if f == nil {
		f = &dailyForm{}
	}
	limits, err := grant.LimitsForm{Tokens: f.Tokens, USD: f.USD, Wall: f.Wall, Evals: f.Evals, Calls: f.Calls}.Limits()
	if err != nil {
		return err
	}
	d := budget.Daily{Limits: limits}
	if f.Spawns != nil {
		if d.Spawns = *f.Spawns; d.Spawns <= 0 {
			return fmt.Errorf(":spawns: got %d, want more than 0", d.Spawns)
		}
	}
	var zone *time.Location
	if f.Zone != "" {
		if zone, err = time.LoadLocation(f.Zone); err != nil {
			return fmt.Errorf(`:zone: got %q, want a name such as "Europe/Berlin" or "UTC" that this machine's zone files know: %w`, f.Zone, err)
		}
	}
	c.rule(dailyRule{d, zone})
	_, err = c.record(journal.Event{Kind: "budget/daily", Outcome: "ok", Data: limitMap(d.Limits, d.Spawns)})
	return err
}

// Budgets reports what was used and what is left.
func (c *Core) Budgets(ctx context.Context) (budget.Report, error) {
	l, err := c.ledger()
	if err != nil {
		return budget.Report{}, err
	}
	roles := map[string]budget.Role{}
	for _, name := range c.roleNames() {
		if g, err := c.grant(ctx, string(name)); err == nil {
			roles[string(name)] = g.Budget
		}
	}
	return l.Report(ctx, roles)
}

func (c *Core) budgetReport(ctx context.Context) (map[string]any, error) {
	r, err := c.Budgets(ctx)
	if err != nil {
		return nil, err
	}
	roles := map[string]any{}
	for _, x := range r.Roles {
		m := map[string]any{"used": amountMap(x.Used), "per": bind.Keyword(orDay(x.Budget.Per)), "budget": limitMap(x.Budget.Limits, 0),
			"last-hour": x.LastHour, "running": x.Running, "waiting": x.Waiting}
		if !x.Resets.IsZero() {
			m["resets"] = x.Resets.Format(time.RFC3339)
		}
		roles[x.Role] = m
	}
	running := []any{}
	for _, x := range r.Running {
		running = append(running, map[string]any{"id": x.ID, "role": bind.Keyword(x.Role), "used": amountMap(x.Used), "left": leftMaps(x.Left)})
	}
	return map[string]any{"day": r.Day.Format(time.RFC3339), "resets": r.Resets.Format(time.RFC3339), "used": amountMap(r.Used),
		"daily": limitMap(r.Daily.Limits, r.Daily.Spawns), "roles": roles, "running": running}, nil
}

func orDay(p budget.Period) budget.Period {
	if p == "" {
		return budget.Day
	}
	return p
}

func amountMap(a budget.Amount) map[string]any {
	return map[string]any{"tokens": a.Tokens, "usd": a.USD.Float(), "wall-ms": a.Wall.Milliseconds(), "evals": a.Evals, "calls": a.Calls, "spawns": a.Spawns}
}

func limitMap(l budget.Limits, spawns int64) map[string]any {
	m := map[string]any{}
	for name, n := range map[string]int64{"tokens": l.Tokens, "evals": l.Evals, "calls": l.Calls, "wall-ms": l.Wall.Milliseconds(), "spawns": spawns} {
		if n > 0 {
			m[name] = n
		}
	}
	if l.USD > 0 {
		m["usd"] = l.USD.Float()
	}
	return m
}

func leftMaps(all []budget.Left) map[string]any {
	out := map[string]any{}
	for _, x := range all {
		name, show := string(x.What), func(n int64) any { return n }
		switch x.What {
		case budget.USD:
			show = func(n int64) any { return budget.Money(n).Float() }
		case budget.Wall:
			name, show = "wall-ms", func(n int64) any { return time.Duration(n).Milliseconds() }
		}
		out[name] = map[string]any{"left": show(x.Left), "of": show(x.Limit), "by": bind.Keyword(x.Scope)}
	}
	return out
}
