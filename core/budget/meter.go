package budget

import (
	"time"
)

// Meter is what one spawn uses. Its methods are safe for concurrent use.
type Meter struct {
	ledger *Ledger
	spawn  Spawn
	price  Price
	priced bool
	onOver func(*OverError)

	// All below is guarded by the ledger's mu.
	limits     Limits // the spawn's own and its role's :spawn together
	used       Amount
	over       *OverError // the first crossing
	attempts   int
	last       Usage     // the most the attempt has reported
	claimed    int64     // tokens of the attempt that are counted
	claimedUSD Money     // money of the attempt that is counted
	since      time.Time // until when wall time is counted
	scratch    []bound
}

// bound is a limit that the spawn is under.
type bound struct {
	scope  Scope
	what   What
	used   int64
	limit  int64
	resets time.Time
}

func (b bound) err(role string) *OverError {
	return &OverError{Scope: b.scope, Role: role, What: b.what, Used: b.used, Limit: b.limit, Resets: b.resets}
}

// see takes in the role's budget as it is now. It is called with mu held.
func (m *Meter) see(role Role) {
	m.limits = m.spawn.Budget.Tighter(role.Spawn)
	if m.limits.Evals == 0 {
		m.limits.Evals = DefaultEvals
	}
	if m.limits.Calls == 0 {
		m.limits.Calls = DefaultCalls
	}
	s := m.ledger.scopes[m.spawn.Role]
	s.budget = role
	m.ledger.letIn(s)
}

// bounds are all limits the spawn is under now. It is called with mu held.
func (m *Meter) bounds() []bound {
	l, now := m.ledger, m.ledger.conf.Now()
	out := m.scratch[:0]
	add := func(s Scope, limits Limits, used Amount, resets time.Time) {
		for _, w := range counted() {
			if n := limits.of(w); n > 0 {
				out = append(out, bound{s, w, used.Of(w), n, resets})
			}
		}
	}
	add(OfSpawn, m.limits, m.used, time.Time{})
	if s := l.scopes[m.spawn.Role]; s != nil && s.budget.Limits != (Limits{}) {
		used, end := l.total(s, s.budget.period(), now)
		add(OfRole, s.budget.Limits, used, end)
	}
	if l.daily.Limits != (Limits{}) {
		used, end := l.total(l.scopes[""], Day, now)
		add(OfInstance, l.daily.Limits, used, end)
	}
	m.scratch = out
	return out
}

// check finds the first budget that is crossed, with one more of next counted as well. It tells whether that is news. It is called
// with mu held.
func (m *Meter) check(next What) bool {
	if m.over != nil {
		return false
	}
	for _, b := range m.bounds() {
		if b.what == next {
			b.used++
		}
		if b.used > b.limit {
			m.over = b.err(m.spawn.Role)
			return true
		}
	}
	return false
}

// take counts one more of something, unless that is too many.
func (m *Meter) take(w What, d Amount) error {
	l := m.ledger
	l.mu.Lock()
	news := m.check(w)
	err := m.over
	if err == nil {
		m.spend(d)
	}
	l.mu.Unlock()
	if news {
		m.onOver(err)
	}
	if err != nil { // not a typed nil
		return err
	}
	return nil
}

// spend is called with mu held.
func (m *Meter) spend(d Amount) {
	m.used = m.used.plus(d)
	m.ledger.spend(m.spawn.Role, d, m.ledger.conf.Now())
}

// See takes in the role's budget as it is now.
func (m *Meter) See(role Role) {
	m.ledger.mu.Lock()
	m.see(role)
	m.ledger.mu.Unlock()
}

// Change says what the next attempts are: of the fields of s, Model, Backend, Modelless, Unmetered, AtEnd and Prices count.
// It is called between a Stop and the next Start.
func (m *Meter) Change(s Spawn) {
	m.ledger.mu.Lock()
	defer m.ledger.mu.Unlock()
	m.spawn.Model, m.spawn.Backend, m.spawn.Prices = s.Model, s.Backend, s.Prices
	m.spawn.Modelless, m.spawn.Unmetered, m.spawn.AtEnd = s.Modelless, s.Unmetered, s.AtEnd
	m.price, m.priced = s.Prices.Find(s.Model)
}

// Eval counts an evaluation that is about to begin. It fails where a budget is crossed, this one included.
func (m *Meter) Eval() error { return m.take(Evals, Amount{Evals: 1}) }

// Call counts a capability call that is about to be made.
func (m *Meter) Call() error { return m.take(Calls, Amount{Calls: 1}) }

// Over gives the crossing, nil where there is none.
func (m *Meter) Over() *OverError {
	m.ledger.mu.Lock()
	defer m.ledger.mu.Unlock()
	return m.over
}

// Report takes in what the attempt has used so far by its stream. A number that is less than before changes nothing: what
// was used does not come back.
func (m *Meter) Report(u Usage) {
	l := m.ledger
	l.mu.Lock()
	m.last = Usage{TokensIn: max(m.last.TokensIn, min(u.TokensIn, most)), TokensOut: max(m.last.TokensOut, min(u.TokensOut, most)),
		CacheRead: max(m.last.CacheRead, u.CacheRead), CacheWrite: max(m.last.CacheWrite, u.CacheWrite), USD: m.last.USD}
	if u.USD > m.last.USD { // false for what is no number
		m.last.USD = u.USD
	}
	tokens := max(m.claimed, add(m.last.TokensIn, m.last.TokensOut))
	usd := Dollars(m.last.USD)
	if m.priced {
		usd = max(usd, m.price.Cost(m.last))
	}
	usd = max(usd, m.claimedUSD)
	d := Amount{Tokens: tokens - m.claimed, USD: usd - m.claimedUSD}
	m.claimed, m.claimedUSD = tokens, usd
	news := false
	if d != (Amount{}) {
		m.spend(d)
		news = m.check("")
	}
	err := m.over
	l.mu.Unlock()
	if news {
		m.onOver(err)
	}
	if d != (Amount{}) {
		l.write()
	}
}

// passed counts the wall time up to now. It is called with mu held.
func (m *Meter) passed(now time.Time) {
	if d := now.Sub(m.since); d > 0 {
		m.since = now
		m.spend(Amount{Wall: d})
	}
}

// Stop ends the attempt: its place is free, and what it used is written.
func (m *Meter) Stop() {
	l := m.ledger
	l.mu.Lock()
	m.passed(time.Now())
	delete(l.meters, m.spawn.ID)
	s := l.scopes[m.spawn.Role]
	s.running--
	l.letIn(s)
	l.mu.Unlock()
	l.write()
}

// Used is what the spawn has used so far, in all its attempts.
func (m *Meter) Used() Amount {
	m.ledger.mu.Lock()
	defer m.ledger.mu.Unlock()
	return m.used
}

// Left is what is left of one thing, by the scope that leaves least.
type Left struct {
	What   What
	Scope  Scope
	Left   int64 // in the unit of What; never negative
	Limit  int64
	Resets time.Time // zero: it does not
}

// Left gives what the spawn may still use, the least of each.
func (m *Meter) Left() []Left {
	m.ledger.mu.Lock()
	defer m.ledger.mu.Unlock()
	if !m.since.IsZero() && m.ledger.meters[m.spawn.ID] == m {
		m.passed(time.Now())
	}
	return least(m.bounds())
}

func least(all []bound) []Left {
	var out []Left
	for _, w := range counted() {
		var best *Left
		for _, b := range all {
			if b.what != w {
				continue
			}
			if left := max(b.limit-b.used, 0); best == nil || left < best.Left {
				best = &Left{w, b.scope, left, b.limit, b.resets}
			}
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	return out
}
