package budget

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Config is how a Ledger keeps its books. Zero values stand for the defaults given.
type Config struct {
	// Path is the file that keeps what was used; "" keeps it in memory.
	Path string
	// Now is the clock of periods and of starts an hour (default time.Now). Wall time passes on the clock of the machine.
	Now func() time.Time
	// Every is how often wall time is counted and sums are written (default 100 ms): what a kill of zeno can lose of
	// evals, calls and wall time. Tokens, money and starts are written at once.
	Every time.Duration
	// OnError hears of sums that cannot be written, and of nil when they can be again. They are kept, and count, meanwhile.
	OnError func(error)
}

// Ledger keeps what was used and admits spawns. Its methods are safe for concurrent use.
type Ledger struct {
	conf  Config
	store *store

	writing sync.Mutex // one transaction at a time; taken before mu
	seen    int64      // the store's version when sums were read
	failing bool

	mu      sync.Mutex
	daily   Daily
	zone    *time.Location
	scopes  map[string]*scope // "" is the instance, else a role
	pending map[spot]Amount
	meters  map[string]*Meter // running, by spawn
	holds   map[holdKey]Hold
	ticking bool
	closed  bool
	ticker  sync.WaitGroup
	stop    chan struct{}
}

// scope is what a role, or the instance, has used.
type scope struct {
	used    map[int64]Amount // by quarter
	period  Period           // of the cached sum
	window  window
	sum     Amount
	budget  Role // the latest that was seen
	running int
	waiting []*waiter // first come, first served
}

// waiter is a spawn that waits at its role's cap.
type waiter struct {
	ready chan struct{} // closed when it has its place
	went  bool
}

// Open opens the books, or begins them.
func Open(ctx context.Context, conf Config) (*Ledger, error) {
	if conf.Now == nil {
		conf.Now = time.Now
	}
	conf.Every = cmp.Or(conf.Every, 100*time.Millisecond)
	if conf.OnError == nil {
		conf.OnError = func(error) {}
	}
	s, err := openStore(ctx, conf.Path)
	if err != nil {
		return nil, err
	}
	l := &Ledger{conf: conf, store: s, zone: time.Local, scopes: map[string]*scope{}, pending: map[spot]Amount{},
		meters: map[string]*Meter{}, holds: map[holdKey]Hold{}, stop: make(chan struct{})}
	err = s.prune(ctx, conf.Now())
	if err == nil {
		err = l.loadHolds(ctx)
	}
	if err == nil {
		l.seen, err = s.version(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("budget: %w", err), s.close())
	}
	return l, nil
}

// Close writes what waits. Meters must have ended; one that has not goes on in memory.
func (l *Ledger) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.stop)
	l.mu.Unlock()
	l.ticker.Wait()
	err := l.flush(context.Background(), nil)
	return errors.Join(err, l.store.close())
}

// SetDaily sets the instance's budget for a day. zone is where a day, and the periods of roles, begin and end; nil leaves
// it (at first the machine's).
func (l *Ledger) SetDaily(d Daily, zone *time.Location) {
	l.mu.Lock()
	l.daily = d
	if zone != nil && zone.String() != l.zone.String() {
		l.zone = zone
		for _, s := range l.scopes {
			s.period = "" // sums of another zone's days
		}
	}
	over := l.checkAll()
	l.mu.Unlock()
	tell(over)
}

// Daily gives the instance's budget, and the zone of its days.
func (l *Ledger) Daily() (Daily, *time.Location) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.daily, l.zone
}

// of gives a scope, reading it at first. It is called with writing held and mu not.
func (l *Ledger) of(ctx context.Context, name string) (*scope, error) {
	l.mu.Lock()
	s := l.scopes[name]
	l.mu.Unlock()
	if s != nil {
		return s, nil
	}
	used, err := l.store.load(ctx, name)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s = &scope{used: used}
	l.scopes[name] = s
	return s, nil
}

// reload reads again what another process may have changed. It is called with writing held and mu not.
func (l *Ledger) reload(ctx context.Context) error {
	v, err := l.store.version(ctx)
	if err != nil || v == l.seen {
		return err
	}
	l.mu.Lock()
	names := make([]string, 0, len(l.scopes))
	for name := range l.scopes {
		names = append(names, name)
	}
	l.mu.Unlock()
	for _, name := range names {
		used, err := l.store.load(ctx, name)
		if err != nil {
			return err
		}
		l.mu.Lock()
		for at, d := range l.pending { // not in the file yet
			if at.scope == name {
				used[at.bucket] = used[at.bucket].plus(d)
			}
		}
		l.scopes[name].used, l.scopes[name].period = used, ""
		l.mu.Unlock()
	}
	if err := l.loadHolds(ctx); err != nil {
		return err
	}
	l.seen = v
	return nil
}

// total is what s has used in the current window of p, and when that ends. It is called with mu held.
func (l *Ledger) total(s *scope, p Period, now time.Time) (Amount, time.Time) {
	if w := s.window; s.period == p && (p == Ever || !now.Before(w.from) && now.Before(w.to)) {
		return s.sum, w.to
	}
	w := p.at(now, l.zone)
	if s.period != p || !s.window.from.Equal(w.from) || !s.window.to.Equal(w.to) {
		s.period, s.window, s.sum = p, w, Amount{}
		for n, a := range s.used {
			if w.holds(n) {
				s.sum = s.sum.plus(a)
			}
		}
	}
	return s.sum, w.to
}

// spend counts d for a role and for the instance. It is called with mu held.
func (l *Ledger) spend(role string, d Amount, now time.Time) {
	n := bucket(now)
	for _, name := range []string{"", role} {
		s := l.scopes[name]
		s.used[n] = s.used[n].plus(d)
		if s.period != "" && s.window.holds(n) {
			s.sum = s.sum.plus(d)
		}
		l.pending[spot{name, n}] = l.pending[spot{name, n}].plus(d)
	}
}

// flush writes what waits, and with it what more does in the same transaction.
func (l *Ledger) flush(ctx context.Context, more func(*sql.Tx) error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.flushHeld(ctx, more)
}

func (l *Ledger) flushHeld(ctx context.Context, more func(*sql.Tx) error) error {
	l.mu.Lock()
	todo := l.pending
	l.pending = map[spot]Amount{}
	l.mu.Unlock()
	if len(todo) == 0 && more == nil {
		return nil
	}
	err := l.store.tx(ctx, func(tx *sql.Tx) error {
		if err := l.store.add(ctx, tx, todo); err != nil || more == nil {
			return err
		}
		return more(tx)
	})
	if err != nil {
		l.mu.Lock()
		for at, d := range todo {
			l.pending[at] = l.pending[at].plus(d)
		}
		l.mu.Unlock()
	}
	return err
}

// write is flush for those who can do nothing about an error: it is reported once, and when it is over.
func (l *Ledger) write() {
	l.writing.Lock()
	defer l.writing.Unlock()
	err := l.flushHeld(context.Background(), nil)
	if failed := err != nil; failed != l.failing {
		l.failing = failed
		if failed {
			err = fmt.Errorf("budget: failed to write what was used: %w; it is kept in memory and counts, and no spawn starts meanwhile", err)
		}
		l.conf.OnError(err)
	}
}

// tick counts wall time and writes sums while spawns run.
func (l *Ledger) tick() {
	defer l.ticker.Done()
	every := time.NewTicker(l.conf.Every)
	defer every.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-every.C:
		}
		l.mu.Lock()
		now := time.Now()
		for _, m := range l.meters {
			m.passed(now)
		}
		over := l.checkAll()
		idle := len(l.meters) == 0
		l.ticking = !idle
		l.mu.Unlock()
		tell(over)
		l.write()
		if idle {
			return
		}
	}
}

// checkAll finds the meters that have crossed a budget. It is called with mu held.
func (l *Ledger) checkAll() (over []*Meter) {
	for _, m := range l.meters {
		if m.check("") {
			over = append(over, m)
		}
	}
	return over
}

// tell ends the spawns that have crossed.
func tell(over []*Meter) {
	for _, m := range over {
		m.onOver(m.over)
	}
}
