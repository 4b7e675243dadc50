package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/noleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("BUDGET_TO_SPEND_FROM"); path != "" {
		spendUntilKilled(path)
	}
	noleak.Main(m)
}

// clock is a time that a test sets.
type clock struct{ at atomic.Pointer[time.Time] }

func newClock(t time.Time) *clock { c := &clock{}; c.set(t); return c }

func (c *clock) set(t time.Time)     { c.at.Store(&t) }
func (c *clock) now() time.Time      { return *c.at.Load() }
func (c *clock) add(d time.Duration) { c.set(c.now().Add(d)) }

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, path string, c *clock) *Ledger {
	t.Helper()
	l, err := Open(context.Background(), Config{Path: path, Now: c.now, Every: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l.SetDaily(Daily{}, time.UTC)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// begin starts a spawn that must start.
func begin(t testing.TB, l *Ledger, s Spawn, r Role) *Meter {
	t.Helper()
	if s.Role == "" {
		s.Role = "worker"
	}
	m := l.NewMeter(s)
	if err := m.Start(context.Background(), r); err != nil {
		t.Fatalf("start of %s: %v", s.ID, err)
	}
	return m
}

func over(err error) *OverError {
	var o *OverError
	if errors.As(err, &o) {
		return o
	}
	return &OverError{}
}

func TestEveryLimitEndsASpawn(t *testing.T) {
	prices := Prices{"m": {In: 3 * Dollar, Out: 15 * Dollar}}
	for _, c := range []struct {
		name   string
		limits Limits
		use    func(*Meter)
		what   What
	}{
		{"tokens", Limits{Tokens: 100}, func(m *Meter) { m.Report(Usage{TokensIn: 60, TokensOut: 41}) }, Tokens},
		{"money by the table", Limits{USD: Dollar}, func(m *Meter) { m.Report(Usage{TokensIn: 100_000, TokensOut: 47_000}) }, USD},
		{"money as reported", Limits{USD: Dollar}, func(m *Meter) { m.Report(Usage{TokensIn: 1, USD: 1.01}) }, USD},
		{"evals", Limits{Evals: 2}, func(m *Meter) { _ = m.Eval(); _ = m.Eval(); _ = m.Eval() }, Evals},
		{"calls", Limits{Calls: 1}, func(m *Meter) { _ = m.Call(); _ = m.Call() }, Calls},
		{"wall", Limits{Wall: 20 * time.Millisecond}, func(*Meter) { time.Sleep(100 * time.Millisecond) }, Wall},
	} {
		for _, scope := range []Scope{OfSpawn, OfRole, OfInstance} {
			t.Run(c.name+" of the "+string(scope), func(t *testing.T) {
				t.Parallel()
				l := open(t, "", newClock(noon))
				told := make(chan *OverError, 9)
				s := Spawn{ID: "a", Role: "worker", Model: "m", Prices: prices, OnOver: func(o *OverError) { told <- o }}
				var r Role
				switch scope {
				case OfSpawn:
					s.Budget = c.limits
				case OfRole:
					r.Limits = c.limits
				case OfInstance:
					l.SetDaily(Daily{Limits: c.limits}, nil)
				}
				m := begin(t, l, s, r)
				defer m.Stop()
				c.use(m)
				select {
				case o := <-told:
					if o.What != c.what || o.Scope != scope || o.Used <= o.Limit {
						t.Errorf("got %+v, want %s of the %s", o, c.what, scope)
					}
				case <-time.After(time.Minute):
					t.Fatal("got no crossing")
				}
				if over(m.Eval()).What != c.what || over(m.Call()).What != c.what {
					t.Errorf("after it: got %v and %v, want the same error", m.Eval(), m.Call())
				}
				if n := len(told); n != 0 {
					t.Errorf("told %d times more, want once", n)
				}
			})
		}
	}
}

// Within the limits nothing trips: without this the test above would hold of a ledger that refuses everything.
func TestWithinTheLimits(t *testing.T) {
	l := open(t, "", newClock(noon))
	m := begin(t, l, Spawn{ID: "a", Model: "m", Prices: Prices{"m": {In: Dollar, Out: Dollar}},
		Budget: Limits{Tokens: 100, USD: Dollar, Evals: 2, Calls: 2, Wall: time.Hour}}, Role{})
	defer m.Stop()
	m.Report(Usage{TokensIn: 50, TokensOut: 50})
	for range 2 {
		if err := errors.Join(m.Eval(), m.Call()); err != nil {
			t.Errorf("got %v, want none", err)
		}
	}
	left := map[What]int64{}
	for _, x := range m.Left() {
		left[x.What] = x.Left
	}
	if left[Tokens] != 0 || left[USD] != int64(Dollar-100*1000) || left[Evals] != 0 || left[Calls] != 0 || left[Wall] <= 0 {
		t.Errorf("left: got %v", left)
	}
}

func TestHostileUsage(t *testing.T) {
	l := open(t, "", newClock(noon))
	m := begin(t, l, Spawn{ID: "a", Model: "m", Prices: Prices{"m": {In: Dollar, Out: Dollar}}}, Role{})
	defer m.Stop()
	m.Report(Usage{TokensIn: 1000, TokensOut: 10, USD: 0.5})
	for _, u := range []Usage{{}, {TokensIn: -1 << 62, TokensOut: -1}, {TokensIn: 999, USD: math.Inf(-1)}, {USD: math.NaN()}, {CacheRead: 1 << 62, CacheWrite: -5}} {
		m.Report(u)
		if got := m.Used(); got.Tokens != 1010 || got.USD != Dollar/2 {
			t.Errorf("after %+v: got %+v, want what was used before", u, got)
		}
	}
	for range 3 {
		m.Report(Usage{TokensIn: math.MaxInt64, TokensOut: math.MaxInt64, CacheRead: math.MaxInt64, USD: math.Inf(1)})
	}
	if got := m.Used(); got.Tokens != most || got.USD != most {
		t.Errorf("absurd: got %+v, want the most there is", got)
	}
	l.SetDaily(Daily{Limits: Limits{Tokens: 1 << 50}}, nil)
	if m.Over() == nil {
		t.Error("absurd numbers are within a budget, want them over it")
	}
}

func TestMoneyIsNotRounded(t *testing.T) {
	for f, want := range map[float64]Money{0.1: Dollar / 10, 0.2: Dollar / 5, 0.3: 3 * Dollar / 10, 1e-9: 1, 1e-10: 1, 0.07: 70_000_000,
		5: 5 * Dollar, 19.99: 19_990_000_000, -1: 0, math.NaN(): 0, 1e300: most, math.Inf(1): most, 123456.789: 123_456_789_000_000} {
		if got := Dollars(f); got != want {
			t.Errorf("%v: got %d, want %d", f, got, want)
		}
	}
	sum, naive := Money(0), 0.0
	for range 1_000_000 {
		sum += Dollars(0.1)
		naive += 0.1
	}
	if sum != 100_000*Dollar || naive == 100_000 {
		t.Errorf("a million times 0.1: got %s (floats: %v), want exactly $100000", sum, naive)
	}
	if got := cost(1, 1); got != 1 { // a price too small for one token is not nothing
		t.Errorf("a token at a nanodollar a million: got %d, want 1", got)
	}
	if got := cost(most, most); got != most {
		t.Errorf("overflow: got %d", got)
	}
	for m, want := range map[Money]string{Dollar: "$1.00", Dollar / 2: "$0.50", 1: "$0.000000001", 12*Dollar + 345_000_000: "$12.345"} {
		if m.String() != want {
			t.Errorf("got %s, want %s", m, want)
		}
	}
}

func TestPrices(t *testing.T) {
	p := Prices{"m-1": {In: 1}, "m-*": {In: 2}, "m-1-*": {In: 3}, "x/y": {In: 4}}
	for model, want := range map[string]Money{"m-1": 1, "m-2": 2, "m-1-2026": 3, "anthropic/m-1": 1, "a/b/m-9": 2, "x/y": 4, "y": -1, "": -1} {
		got, ok := p.Find(model)
		if !ok {
			got.In = -1
		}
		if got.In != want {
			t.Errorf("%q: got %d, want %d", model, got.In, want)
		}
	}
	price := Price{In: 10 * Dollar, Out: 20 * Dollar, CacheRead: Dollar}
	if got := price.Cost(Usage{TokensIn: 1_000_000, CacheRead: 900_000, TokensOut: 100_000}); got != Dollar+Dollar*9/10+2*Dollar {
		t.Errorf("cost: got %s, want $3.90", got)
	}
	for _, bad := range []Prices{{"*": {}}, {"a*b": {}}, {"a": {In: -1}}} {
		if bad.Check() == nil {
			t.Errorf("%v: got no error", bad)
		}
	}
	if err := DefaultPrices().Check(); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeCountedIsRefused(t *testing.T) {
	l := open(t, "", newClock(noon))
	for _, c := range []struct {
		spawn Spawn
		role  Role
		want  string
	}{
		{Spawn{Model: "new-model", Budget: Limits{USD: 1}}, Role{}, `(zeno.budget/prices! {"new-model" {:in`},
		{Spawn{Model: "new-model"}, Role{Limits: Limits{USD: 1}}, "no price for model new-model"},
		{Spawn{}, Role{Spawn: Limits{USD: 1}}, "name the :model"},
		{Spawn{Unmetered: true, Backend: "mute", Budget: Limits{Tokens: 1}}, Role{}, "backend mute reports no usage"},
		{Spawn{AtEnd: true, Backend: "tardy", Budget: Limits{Tokens: 1}}, Role{}, ":late true"},
		{Spawn{AtEnd: true, Backend: "tardy"}, Role{Limits: Limits{Tokens: 1}}, "backend tardy reports usage only at its end"},
		{Spawn{Unmetered: true, Model: "gpt-5", Prices: DefaultPrices(), Budget: Limits{USD: 1}}, Role{}, "reports no usage"},
	} {
		c.spawn.ID, c.spawn.Role = "a", "worker"
		var refused *RefusedError
		if err := l.NewMeter(c.spawn).Start(context.Background(), c.role); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want a refusal with %q", err, c.want)
		}
	}
	begin(t, l, Spawn{ID: "d", AtEnd: true, Late: true, Budget: Limits{Tokens: 1}}, Role{}).Stop()
	begin(t, l, Spawn{ID: "e", AtEnd: true}, Role{Late: true, Limits: Limits{Tokens: 1}}).Stop()
	begin(t, l, Spawn{ID: "b", Unmetered: true}, Role{}).Stop() // without such a budget it may run
	begin(t, l, Spawn{ID: "c", Modelless: true, Budget: Limits{USD: 1}}, Role{}).Stop()
}

func TestAtMostSoManyStartsAnHour(t *testing.T) {
	path, c := filepath.Join(t.TempDir(), "budget.db"), newClock(noon)
	l, other := open(t, path, c), open(t, path, c) // two zenos on one home
	r := Role{SpawnsPerHour: 20}
	var started, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			in := []*Ledger{l, other}[i%2]
			m := in.NewMeter(Spawn{ID: fmt.Sprint("s", i), Role: "worker"})
			switch err := m.Start(context.Background(), r); {
			case err == nil:
				started.Add(1)
				m.Stop()
			case over(err).What == Starts:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if started.Load() != 20 || refused.Load() != 180 {
		t.Errorf("got %d started and %d refused, want 20 and 180", started.Load(), refused.Load())
	}
	try := func(l *Ledger) error {
		m := l.NewMeter(Spawn{ID: "x", Role: "worker"})
		err := m.Start(context.Background(), r)
		if err == nil {
			m.Stop()
		}
		return err
	}
	c.add(59 * time.Minute)
	err := try(l)
	if !over(err).Resets.Equal(noon.Add(time.Hour)) {
		t.Errorf("before the hour is over: got %v, want a refusal until 13:00", err)
	}
	restarted := open(t, path, c)
	if over(try(restarted)).What != Starts {
		t.Error("a restart forgot the starts")
	}
	c.add(time.Minute)
	if err := try(restarted); err != nil {
		t.Errorf("after the hour: got %v, want a start", err)
	}
	if err := try(l); err != nil {
		t.Errorf("another role or time: got %v", err)
	}
}

// A clock that is set back neither frees starts nor holds them for longer than an hour.
func TestAClockSetBack(t *testing.T) {
	c := newClock(noon.AddDate(1, 0, 0))
	l := open(t, "", c)
	r := Role{SpawnsPerHour: 1}
	begin(t, l, Spawn{ID: "a"}, r).Stop()
	c.set(noon)
	try := func() error {
		m := l.NewMeter(Spawn{ID: "b", Role: "worker"})
		err := m.Start(context.Background(), r)
		if err == nil {
			m.Stop()
		}
		return err
	}
	if err := try(); over(err).What != Starts || over(err).Resets.After(noon.Add(time.Hour)) {
		t.Errorf("got %v, want a refusal for an hour", err)
	}
	c.add(time.Hour + time.Second)
	if err := try(); err != nil {
		t.Errorf("an hour later: got %v, want a start", err)
	}
}

func TestBudgetsSurviveARestart(t *testing.T) {
	path, c := filepath.Join(t.TempDir(), "budget.db"), newClock(noon)
	r := Role{Limits: Limits{Tokens: 100}}
	l := open(t, path, c)
	m := begin(t, l, Spawn{ID: "a"}, r)
	m.Report(Usage{TokensIn: 100})
	// No Stop and no Close: the process is killed here. Another one reads the file.
	second := open(t, path, c)
	if err := second.NewMeter(Spawn{ID: "b", Role: "worker"}).Start(context.Background(), r); over(err).What != Tokens || over(err).Used != 100 {
		t.Errorf("got %v, want the tokens of before", err)
	}
	c.add(12 * time.Hour)
	again := begin(t, second, Spawn{ID: "c"}, r)
	again.Stop()
	m.Stop()
}

func TestPeriodsAndClocks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) time.Time {
		x, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, c := range []struct {
		per            Period
		now, from, end string
		length         time.Duration
	}{
		{Day, "2026-03-10T23:59:59+01:00", "2026-03-10T00:00:00+01:00", "2026-03-11T00:00:00+01:00", 24 * time.Hour},
		{Day, "2026-03-11T00:00:00+01:00", "2026-03-11T00:00:00+01:00", "2026-03-12T00:00:00+01:00", 24 * time.Hour},
		{Day, "2026-03-29T12:00:00+02:00", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", 23 * time.Hour},
		{Day, "2026-10-25T12:00:00+01:00", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00", 25 * time.Hour},
		{Hour, "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+02:00", time.Hour},
		{Hour, "2026-10-25T02:30:00+01:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00", time.Hour},
		{Week, "2026-03-29T12:00:00+02:00", "2026-03-23T00:00:00+01:00", "2026-03-30T00:00:00+02:00", 167 * time.Hour},
		{Week, "2026-03-30T00:00:00+02:00", "2026-03-30T00:00:00+02:00", "2026-04-06T00:00:00+02:00", 168 * time.Hour},
		{Month, "2026-01-31T23:00:00+01:00", "2026-01-01T00:00:00+01:00", "2026-02-01T00:00:00+01:00", 31 * 24 * time.Hour},
	} {
		// 03:00+02:00 on the day clocks go back is 02:00+01:00.
		w := c.per.at(at(c.now), berlin)
		if !w.from.Equal(at(c.from)) || w.to.Sub(w.from) != c.length || (c.per != Hour && !w.to.Equal(at(c.end))) {
			t.Errorf("%s at %s: got %s to %s, want %s for %s", c.per, c.now, w.from, w.to, c.from, c.length)
		}
	}
	// Clocks that skip, or repeat, midnight itself; and zones off the full hour.
	for _, c := range []struct{ zone, now, from string }{
		{"America/Havana", "2026-03-08T12:00:00-04:00", "2026-03-08T01:00:00-04:00"},
		{"America/Havana", "2026-11-01T12:00:00-05:00", "2026-11-01T00:00:00-04:00"},
		{"Asia/Kathmandu", "2026-03-08T12:00:00+05:45", "2026-03-08T00:00:00+05:45"},
		{"Australia/Lord_Howe", "2026-04-05T12:00:00+10:30", "2026-04-05T00:00:00+11:00"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		if w := Day.at(at(c.now), zone); !w.from.Equal(at(c.from)) {
			t.Errorf("%s: got a day from %s, want %s", c.zone, w.from, at(c.from).In(zone))
		}
	}
	// Every moment belongs to just one day, and days follow each other without a gap.
	for _, name := range []string{"Europe/Berlin", "America/Havana", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"} {
		zone, _ := time.LoadLocation(name)
		last := Day.at(at("2026-01-01T00:00:00Z"), zone)
		for now := at("2026-01-01T00:00:00Z"); now.Year() < 2027; now = now.Add(quarter) {
			w := Day.at(now, zone)
			if now.Before(w.from) || !now.Before(w.to) || !w.from.Equal(last.from) && !w.from.Equal(last.to) {
				t.Fatalf("%s at %s: got %s to %s after %s to %s", name, now, w.from, w.to, last.from, last.to)
			}
			last = w
		}
	}
}

// At midnight a running spawn and its role get a new day; a change of the period at run time counts what was before.
func TestMidnight(t *testing.T) {
	c := newClock(time.Date(2026, 3, 10, 23, 59, 0, 0, time.UTC))
	l := open(t, "", c)
	r := Role{Limits: Limits{Evals: 2}}
	m := begin(t, l, Spawn{ID: "a"}, r)
	defer m.Stop()
	if err := errors.Join(m.Eval(), m.Eval()); err != nil {
		t.Fatal(err)
	}
	if x := m.Left()[0]; x.What != Evals || x.Left != 0 || x.Scope != OfRole {
		t.Errorf("left: got %+v, want no eval", x)
	}
	c.add(2 * time.Minute)
	if err := errors.Join(m.Eval(), m.Eval()); err != nil {
		t.Errorf("after midnight: got %v, want two more", err)
	}
	m.See(Role{Limits: Limits{Evals: 5}, Per: Week})
	if err := m.Eval(); err != nil {
		t.Errorf("a fifth in the week: got %v", err)
	}
	if o := over(m.Eval()); o.What != Evals || o.Used != 6 {
		t.Errorf("a sixth: got %+v, want it refused", o)
	}
}

func TestQueue(t *testing.T) {
	l := open(t, "", newClock(noon))
	two := 2
	r := Role{Concurrent: 1, Queue: &two}
	first := begin(t, l, Spawn{ID: "first"}, r)
	queued := make(chan string, 10)
	got := make(chan *Meter, 10)
	ctx, cancel := context.WithCancel(context.Background())
	start := func(ctx context.Context, id string) {
		m := l.NewMeter(Spawn{ID: id, Role: "worker", OnQueue: func() { queued <- id }})
		if err := m.Start(ctx, r); err == nil {
			got <- m
		} else if !errors.Is(err, context.Canceled) {
			t.Error(err)
		} else {
			got <- nil
		}
	}
	go start(ctx, "gives up")
	<-queued
	go start(context.Background(), "second")
	<-queued
	var refused *RefusedError
	if err := l.NewMeter(Spawn{ID: "third", Role: "worker"}).Start(ctx, r); !errors.As(err, &refused) || !strings.Contains(err.Error(), ":queue") {
		t.Errorf("a full queue: got %v, want a refusal", err)
	}
	begin(t, l, Spawn{ID: "other", Role: "reader"}, r).Stop() // another role's cap is its own
	cancel()
	if m := <-got; m != nil {
		t.Error("a cancelled wait got a place")
	}
	select {
	case <-got:
		t.Fatal("two run, want one")
	case <-time.After(20 * time.Millisecond):
	}
	first.Stop()
	(<-got).Stop()
	begin(t, l, Spawn{ID: "last"}, r).Stop()
	zero := 0
	m := begin(t, l, Spawn{ID: "a"}, Role{Concurrent: 1, Queue: &zero})
	if err := l.NewMeter(Spawn{ID: "b", Role: "worker"}).Start(context.Background(), Role{Concurrent: 1, Queue: &zero}); !errors.As(err, &refused) {
		t.Errorf("no queue: got %v, want a refusal", err)
	}
	m.Stop()
}

// Under many at once there are never more than the cap, and none is lost.
func TestConcurrent(t *testing.T) {
	l := open(t, "", newClock(noon))
	many := 1000
	r := Role{Concurrent: 5, Queue: &many}
	var now, most, done atomic.Int64
	var all sync.WaitGroup
	for i := range 150 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%3 == 0 {
				time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
			}
			m := l.NewMeter(Spawn{ID: fmt.Sprint(i), Role: "worker"})
			if err := m.Start(ctx, r); err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			_ = m.Eval()
			time.Sleep(time.Millisecond)
			now.Add(-1)
			done.Add(1)
			m.Stop()
		})
	}
	all.Wait()
	if most.Load() > 5 || done.Load() < 100 {
		t.Errorf("got at most %d at once and %d done, want 5 and 100 or more", most.Load(), done.Load())
	}
	rep, err := l.Report(context.Background(), nil)
	if err != nil || len(rep.Roles) != 1 || rep.Roles[0].Running != 0 || rep.Roles[0].Waiting != 0 || rep.Used.Spawns != done.Load() || rep.Used.Evals != done.Load() {
		t.Errorf("report: got %+v %v", rep, err)
	}
}

func TestAttemptsShareABudget(t *testing.T) {
	l := open(t, "", newClock(noon))
	m := l.NewMeter(Spawn{ID: "a", Role: "worker", Budget: Limits{Tokens: 100}})
	for range 2 {
		if err := m.Start(context.Background(), Role{}); err != nil {
			t.Fatal(err)
		}
		m.Report(Usage{TokensIn: 50})
		m.Stop()
	}
	if err := m.Start(context.Background(), Role{}); over(err).What != Tokens {
		t.Errorf("a third attempt: got %v, want the budget used up", err)
	}
}

// A file that cannot be written admits nothing, keeps counting what runs, and catches up.
func TestAFileThatCannotBeWritten(t *testing.T) {
	c := newClock(noon)
	var mu sync.Mutex
	var said []string
	path := filepath.Join(t.TempDir(), "budget.db")
	l, err := Open(context.Background(), Config{Path: path, Now: c.now, Every: 5 * time.Millisecond, OnError: func(err error) {
		mu.Lock()
		said = append(said, fmt.Sprint(err))
		mu.Unlock()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m := begin(t, l, Spawn{ID: "a"}, Role{Limits: Limits{Evals: 3}})
	if _, err := l.store.db.Exec("PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Eval(), m.Eval(), m.Eval()); err != nil {
		t.Errorf("got %v, want three evals", err)
	}
	if over(m.Eval()).What != Evals {
		t.Error("a fourth eval was not refused")
	}
	if err := l.NewMeter(Spawn{ID: "b", Role: "worker"}).Start(context.Background(), Role{}); err == nil || !strings.Contains(err.Error(), "not started") {
		t.Errorf("a start: got %v, want a refusal", err)
	}
	wait := func(n int) bool {
		for range 12_000 {
			mu.Lock()
			have := len(said)
			mu.Unlock()
			if have >= n {
				return true
			}
			time.Sleep(5 * time.Millisecond)
		}
		return false
	}
	if !wait(1) {
		t.Error("nobody was told")
	}
	if _, err := l.store.db.Exec("PRAGMA query_only = 0"); err != nil {
		t.Fatal(err)
	}
	if !wait(2) || said[1] != "<nil>" {
		t.Errorf("got %q, want one error and its end", said)
	}
	m.Stop()
	second := open(t, path, c)
	if err := second.NewMeter(Spawn{ID: "c", Role: "worker"}).Start(context.Background(), Role{Limits: Limits{Evals: 3}}); over(err).Used != 3 {
		t.Errorf("got %v, want the three evals in the file", err)
	}
}

func TestOpenRefusesAFileOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget.db")
	l := open(t, path, newClock(noon))
	if _, err := l.store.db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), Config{Path: path}); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("got %v, want an error about the version", err)
	}
}

func TestOldSumsAreFolded(t *testing.T) {
	path, c := filepath.Join(t.TempDir(), "budget.db"), newClock(noon)
	l := open(t, path, c)
	for i := range 5 {
		m := begin(t, l, Spawn{ID: fmt.Sprint(i)}, Role{})
		_ = m.Eval()
		m.Stop()
		c.add(quarter)
	}
	c.add(keep + 24*time.Hour)
	later := open(t, path, c)
	if used, err := later.store.load(context.Background(), "worker"); err != nil || len(used) != 1 || used[0].Evals != 5 || used[0].Spawns != 5 {
		t.Errorf("got %v %v, want one sum", used, err)
	}
	if err := later.NewMeter(Spawn{ID: "x", Role: "worker"}).Start(context.Background(), Role{Per: Ever, Limits: Limits{Evals: 5}}); over(err).What != Evals || !over(err).Resets.IsZero() {
		t.Errorf("got %v, want a budget for ever that is used up", err)
	}
}

func TestHolds(t *testing.T) {
	path, c := filepath.Join(t.TempDir(), "budget.db"), newClock(noon)
	l := open(t, path, c)
	ctx := context.Background()
	for _, h := range []Hold{{Who: Who{Role: "worker"}, Name: "deploy!", Why: "freeze", At: noon}, {Who: Who{Spawn: "s1"}, Name: "deploy!", Until: noon.Add(time.Hour), At: noon}} {
		if err := l.SetHold(ctx, h); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range []*Ledger{l, open(t, path, c)} {
		if h, ok := in.HoldOn("worker", "s2", "deploy!"); !ok || !h.Until.IsZero() || h.Why != "freeze" {
			t.Errorf("of the role: got %+v %v", h, ok)
		}
		if h, ok := in.HoldOn("worker", "s1", "deploy!"); !ok || !h.Until.Equal(noon.Add(time.Hour)) {
			t.Errorf("of the spawn: got %+v %v, want its lease", h, ok)
		}
		if _, ok := in.HoldOn("reader", "s3", "deploy!"); ok {
			t.Error("another role is held, want it free")
		}
	}
	if err := l.EndSpawn(ctx, "s1"); err != nil {
		t.Fatal(err)
	}
	if had, err := l.DropHold(ctx, Who{Role: "worker"}, "deploy!"); err != nil || !had {
		t.Errorf("drop: got %v %v", had, err)
	}
	if n := len(open(t, path, c).Holds()); n != 0 {
		t.Errorf("got %d holds in the file, want none", n)
	}
}

func BenchmarkEval(b *testing.B) {
	l := open(b, "", newClock(noon))
	m := begin(b, l, Spawn{ID: "a", Budget: Limits{Evals: 1 << 50}}, Role{Limits: Limits{Evals: 1 << 50}})
	defer m.Stop()
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Eval(); err != nil {
			b.Fatal(err)
		}
	}
}
