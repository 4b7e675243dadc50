package budget

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Spawn is a spawn that wants to start.
type Spawn struct {
	ID, Role string
	Budget   Limits // the spawn's own; the role's :spawn is minded as well
	Model    string
	Backend  string // for messages
	// Unmetered tells that nothing reports tokens: a budget for tokens or money cannot be kept then.
	Unmetered bool
	// AtEnd tells that tokens are reported only when the spawn ends: it can exceed a budget without bound. Late says that
	// this is accepted; the role's budget can say so, too.
	AtEnd, Late bool
	// Modelless tells that no model is used, so that none needs a price. What is reported all the same counts.
	Modelless bool
	Prices    Prices
	// OnOver is called once, when a budget is crossed while the spawn runs. It must not wait for the spawn.
	OnOver func(*OverError)
	// OnQueue is called when the spawn has to wait.
	OnQueue func()
}

// NewMeter makes the meter of a spawn. It counts nothing until Start.
func (l *Ledger) NewMeter(s Spawn) *Meter {
	m := &Meter{ledger: l, spawn: s, limits: s.Budget, onOver: func(*OverError) {}}
	if s.OnOver != nil {
		m.onOver = s.OnOver
	}
	m.price, m.priced = s.Prices.Find(s.Model)
	return m
}

// Start takes the spawn's place among those that run, and one of its role's starts in an hour. It waits where the role
// says so. An error is an *OverError, a *RefusedError, that of ctx, or that of a file that cannot be written. A Start that
// succeeded is followed by one Stop; then there may be another Start, for another attempt under the same budget.
func (m *Meter) Start(ctx context.Context, role Role) error {
	l := m.ledger
	if err := l.prepare(ctx, m.spawn.Role); err != nil {
		return err
	}
	if err := m.place(ctx, role); err != nil {
		return err
	}
	if err := m.begin(ctx, role); err != nil {
		l.leave(m.spawn.Role)
		return err
	}
	return nil
}

// prepare has the sums of a role and of the instance in memory, as they are now.
func (l *Ledger) prepare(ctx context.Context, role string) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	for _, name := range []string{"", role} {
		if _, err := l.of(ctx, name); err != nil {
			return fmt.Errorf("budget: failed to read what was used: %w", err)
		}
	}
	if err := l.reload(ctx); err != nil {
		return fmt.Errorf("budget: failed to read what was used: %w", err)
	}
	return nil
}

// place waits for the spawn's turn at the role's cap. What has nothing left does not wait.
func (m *Meter) place(ctx context.Context, role Role) error {
	l := m.ledger
	l.mu.Lock()
	m.see(role)
	if err := m.refusal(); err != nil {
		l.mu.Unlock()
		return err
	}
	s := l.scopes[m.spawn.Role]
	if role.Concurrent <= 0 || s.running < role.Concurrent && len(s.waiting) == 0 {
		s.running++
		l.mu.Unlock()
		return nil
	}
	if len(s.waiting) >= role.queue() {
		n := len(s.waiting)
		l.mu.Unlock()
		return &RefusedError{fmt.Sprintf("concurrent: got %d spawns of role %s running and %d waiting, want at most %d and %d (:concurrent and :queue of the role's :budget); try again later",
			s.running, m.spawn.Role, n, role.Concurrent, role.queue())}
	}
	w := &waiter{ready: make(chan struct{})}
	s.waiting = append(s.waiting, w)
	l.mu.Unlock()
	if m.spawn.OnQueue != nil {
		m.spawn.OnQueue()
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		l.giveUp(m.spawn.Role, w)
		return context.Cause(ctx)
	}
}

// giveUp takes a waiter out, and passes its place on if it has just got one.
func (l *Ledger) giveUp(role string, w *waiter) {
	l.mu.Lock()
	s := l.scopes[role]
	for i, x := range s.waiting {
		if x == w {
			s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
			break
		}
	}
	went := w.went
	l.mu.Unlock()
	if went {
		l.leave(role)
	}
}

// leave frees a place and lets the next in.
func (l *Ledger) leave(role string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.scopes[role]
	s.running--
	l.letIn(s)
}

// letIn gives free places to those who wait. It is called with mu held.
func (l *Ledger) letIn(s *scope) {
	for len(s.waiting) > 0 && (s.budget.Concurrent <= 0 || s.running < s.budget.Concurrent) {
		w := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.running++
		w.went = true
		close(w.ready)
	}
}

// begin counts the start, durably, and makes the spawn one of those that run.
func (m *Meter) begin(ctx context.Context, role Role) error {
	l := m.ledger
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.reload(ctx); err != nil {
		return fmt.Errorf("budget: failed to read what was used: %w", err)
	}
	l.mu.Lock()
	if err := m.refusal(); err != nil { // it may have waited
		l.mu.Unlock()
		return err
	}
	now := l.conf.Now()
	if err := l.dailySpawns(now); err != nil {
		l.mu.Unlock()
		return err
	}
	l.mu.Unlock()
	var full int
	var next time.Time
	one := map[spot]Amount{{"", bucket(now)}: {Spawns: 1}, {m.spawn.Role, bucket(now)}: {Spawns: 1}}
	err := l.flushHeld(ctx, func(tx *sql.Tx) (err error) {
		if full, next, err = l.store.start(ctx, tx, m.spawn.Role, m.spawn.ID, now, role.starts()); err != nil || full > 0 {
			return err
		}
		return l.store.add(ctx, tx, one)
	})
	if err == nil && full > 0 {
		return &OverError{Scope: OfRole, Role: m.spawn.Role, What: Starts, Used: int64(full), Limit: int64(role.starts()), Resets: next.In(l.zone)}
	}
	if err != nil {
		return fmt.Errorf("budget: failed to record the start, so the spawn is not started: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	for at, d := range one {
		s := l.scopes[at.scope]
		s.used[at.bucket] = s.used[at.bucket].plus(d)
		if s.period != "" && s.window.holds(at.bucket) {
			s.sum = s.sum.plus(d)
		}
	}
	m.attempts++
	m.last, m.since = Usage{}, time.Now()
	m.claimed, m.claimedUSD = 0, 0
	l.meters[m.spawn.ID] = m
	if !l.ticking {
		l.ticking = true
		l.ticker.Add(1)
		go l.tick()
	}
	return nil
}

// dailySpawns is called with mu held.
func (l *Ledger) dailySpawns(now time.Time) error {
	if l.daily.Spawns <= 0 {
		return nil
	}
	used, end := l.total(l.scopes[""], Day, now)
	if used.Spawns < l.daily.Spawns {
		return nil
	}
	return &OverError{Scope: OfInstance, What: Spawns, Used: used.Spawns, Limit: l.daily.Spawns, Resets: end}
}

// refusal tells why the spawn may not start. It is called with mu held.
func (m *Meter) refusal() error {
	if m.over != nil {
		return m.over
	}
	for _, x := range m.bounds() {
		if m.spawn.Unmetered && (x.what == Tokens || x.what == USD) {
			return &RefusedError{fmt.Sprintf("%s: got a budget of the %s, but backend %s reports no usage, so it could not be kept; drop the budget, or use a backend whose stream rules take tokens-in and tokens-out",
				x.what, x.scope, m.spawn.Backend)}
		}
		if m.spawn.AtEnd && !m.spawn.Late && !m.ledger.scopes[m.spawn.Role].budget.Late && (x.what == Tokens || x.what == USD) {
			return &RefusedError{fmt.Sprintf("%s: got a budget of the %s, but backend %s reports usage only at its end, so a spawn could exceed it by any amount; accept that with :late true in the :budget of the spawn or the role, or use another backend",
				x.what, x.scope, m.spawn.Backend)}
		}
		if x.what == USD && !m.priced && !m.spawn.Modelless {
			return m.unpriced(x.scope)
		}
		if x.used >= x.limit {
			return x.err(m.spawn.Role)
		}
	}
	return nil
}

func (m *Meter) unpriced(s Scope) error {
	if m.spawn.Model == "" {
		return &RefusedError{fmt.Sprintf("usd: got a budget of the %s and a spawn without a :model, so its price is not known; name the :model", s)}
	}
	return &RefusedError{fmt.Sprintf("usd: got a budget of the %s, but no price for model %s; add it: (zeno.budget/prices! {%q {:in 3.0 :out 15.0}}), US dollars for a million tokens",
		s, m.spawn.Model, m.spawn.Model)}
}
