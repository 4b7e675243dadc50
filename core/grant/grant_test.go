package grant

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

func TestMain(m *testing.M) { noleak.Main(m) }

// house is an environment whose functions a grant may name.
type house struct {
	t   testing.TB
	rt  *lisp.Runtime
	env *lisp.Env
}

func newHouse(t testing.TB) *house {
	rt := lisp.New()
	h := &house{t, rt, rt.NewEnv(lisp.EnvConfig{})}
	t.Cleanup(h.env.Close)
	return h
}

func (h *house) decode(src string) (g *Grant, err error) {
	h.t.Helper()
	v, e := h.env.Eval(context.Background(), src, "test")
	if e != nil {
		h.t.Fatal(e)
	}
	_, e = h.env.Do(context.Background(), func(t *value.Thread) value.Value {
		g, err = Decode(t, v)
		return value.Nil
	})
	return g, errors.Join(e, err)
}

func (h *house) must(src string) *Grant {
	h.t.Helper()
	g, err := h.decode(src)
	if err != nil {
		h.t.Fatal(err)
	}
	return g
}

// record is a Recorder that remembers.
type record struct {
	mu       sync.Mutex
	calls    []Called
	intends  []string
	noIntent error
}

func (r *record) Intend(c Called) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.intends = append(r.intends, c.Name)
	return uint64(len(r.intends)), r.noIntent
}

func (r *record) Called(c Called) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	return nil
}

func (h *house) session(r *record) *Session {
	return NewSession(h.rt, func(ctx context.Context, _ string, f value.Value, args []value.Value) (value.Value, error) {
		return h.env.Call(ctx, f, args...)
	}, r)
}

// say evaluates code and gives the value, or the kind and the text of the error.
func say(s *Session, g *Grant, code string) string {
	res := s.Eval(context.Background(), g, code)
	if res.Err != nil {
		return res.Err.Kind + ": " + res.Err.Message + " " + res.Err.Hint
	}
	return res.Value
}

func TestDecode(t *testing.T) {
	h := newHouse(t)
	g := h.must(`{:vocab {"b" (fn [] 1) :a {:fn inc :doc "one more" :arglists '([x]) :effect :read :timeout "2s" :max-calls 3 :serial true :audit :none}
	                      'c {:fn inc :serial :db}}
	  :docs {"b" "the b"} :ctx-info {:x (map inc [1])} :limits {:steps 5 :bytes "1M" :eval-timeout "9s" :calls 7}
	  :budget {:tokens 10 :usd 0.1 :wall "3m" :evals 4 :calls 5 :per :week :spawn {:usd 0.05} :spawns-per-hour 6 :concurrent 2 :queue 0}}`)
	if len(g.Caps) != 3 || g.Caps[0].Name != "a" || g.Find("b").Doc != "the b" || g.Find("nope") != nil {
		t.Errorf("capabilities: got %+v", g.Caps)
	}
	a := g.Find("a")
	if a.Timeout != 2*time.Second || a.MaxCalls != 3 || a.Serial == "" || a.Serial == g.Find("c").Serial || a.Writes() || !g.Find("b").Writes() || a.Call() != "(a x)" {
		t.Errorf("attributes: got %+v, %s", a, a.Call())
	}
	b := g.Budget
	if b.Tokens != 10 || b.USD != budget.Dollar/10 || b.Wall != 3*time.Minute || b.Evals != 4 || b.Calls != 5 || b.Per != budget.Week ||
		b.Spawn.USD != budget.Dollar/20 || b.SpawnsPerHour != 6 || b.Concurrent != 2 || *b.Queue != 0 {
		t.Errorf("budget: got %+v", b)
	}
	if g.EvalTimeout != 9*time.Second || g.Limits.Calls != 7 || g.Limits.Bytes != 1<<20 {
		t.Errorf("limits: got %+v", g.Limits)
	}
	if g := h.must(`{}`); g.EvalTimeout != DefaultEvalTimeout || g.Limits.Steps <= 0 || g.Limits.Calls <= 0 {
		t.Errorf("an empty grant: got %+v, want finite limits", g)
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	h := newHouse(t)
	for src, want := range map[string]string{
		`42`:                                     "want a map",
		`{:vocabulary {}}`:                       "vocabulary",
		`{:vocab [1]}`:                           ":vocab: got [1]",
		`{:vocab {"x y" inc}}`:                   "one that reads as a symbol",
		`{:vocab {"tools" inc}}`:                 "zeno's own",
		`{:vocab {"ask-user" inc}}`:              "ask-user",
		`{:vocab {"a" 42}}`:                      "want a function",
		`{:vocab {"a" {:doc "x"}}}`:              "fn",
		`{:vocab {"a" {:fn inc :effect :burn}}}`: "want :read or :write",
		`{:vocab {"a" {:fn inc :audit :all}}}`:   "want :args or :none",
		`{:vocab {"a" {:fn inc :serial 7}}}`:     "take turns at",
		`{:docs {"x" "y"}}`:                      "only names of :vocab",
		`{:budget 5}`:                            ":budget",
		`{:budget {:tokens 0}}`:                  ":tokens: got 0, want more than 0",
		`{:budget {:usd -1}}`:                    ":usd: got -1",
		`{:budget {:usd ##NaN}}`:                 ":usd: got NaN",
		`{:budget {:usd ##Inf}}`:                 ":usd: got +Inf",
		`{:budget {:wall "0s"}}`:                 ":wall",
		`{:budget {:per :fortnight}}`:            "want :hour, :day",
		`{:budget {:spawn {:evals -1}}}`:         ":spawn :evals: got -1",
		`{:budget {:queue -1}}`:                  ":queue: got -1",
		`{:budget {:concurrent 0}}`:              ":concurrent: got 0",
		`{:ctx-info {:f inc}}`:                   "want plain data",
		`{:limits {:calls 0}}`:                   ":limits :calls: got 0, want more than 0",
		`{:limits {:threads -1}}`:                ":threads: got -1",
		`{:limits {:depth 10001}}`:               "want at most 10000",
	} {
		_, err := h.decode(src)
		ok := false
		for _, w := range strings.Split(want, "|") {
			ok = ok || err != nil && strings.Contains(err.Error(), w)
		}
		if !ok {
			t.Errorf("%s: got %v, want %q", src, err, want)
		}
	}
}

func TestTheGrantOfTheMomentCounts(t *testing.T) {
	h, r := newHouse(t), &record{}
	s := h.session(r)
	one := h.must(`{:vocab {"f" (fn [] 1) "g" (fn [] :g)}}`)
	for _, c := range []struct {
		grant      *Grant
		code, want string
	}{
		{one, `(def h (fn [] (f)))`, "#'"},
		{one, `[(f) (g) (h)]`, "[1 :g 1]"},
		{h.must(`{:vocab {"f" (fn [] 2)}}`), `[(f) (h)]`, "[2 2]"},
		{h.must(`{:vocab {"f" (fn [] 2)}}`), `(g)`, "unresolved"},
		{h.must(`{}`), `(h)`, "no longer granted"},
		{h.must(`{}`), `(map :name (tools))`, "()"},
		{one, `(h)`, "1"},
		{h.must(`{:fresh true :vocab {"f" (fn [] 1)}}`), `(h)`, "unresolved"},
	} {
		if got := say(s, c.grant, c.code); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.code, got, c.want)
		}
	}
	s.End()
	if got := say(s, one, `1`); !strings.Contains(got, "has ended") {
		t.Errorf("after the end: got %s", got)
	}
}

func TestCallsAreCountedAndRecorded(t *testing.T) {
	h, r := newHouse(t), &record{}
	s := h.session(r)
	g := h.must(`{:vocab {"look" {:effect :read :fn (fn [x] x)} "do!" {:effect :write :max-calls 1 :fn (fn [x] x)} "quiet" {:effect :read :audit :none :fn (fn [x] x)}
	                      "fails" {:effect :read :fn (fn [] (throw (ex-info "no luck" {:n 1})))}}}`)
	for code, want := range map[string]string{
		`(look 1)`: "1", `(do (do! 2) (do! 3))`: "got call 2, want at most 1", `(quiet 3)`: "3",
		`(:n (ex-data (try (fails) (catch Exception e e))))`: "1",
	} {
		if got := say(s, g, code); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	for _, c := range r.calls {
		if wrote := c.Name == "do!" && c.Refused == ""; wrote != (c.Intent > 0) || c.Name == "quiet" && c.Args != nil || c.Name == "look" && len(c.Args) != 1 || (c.Name == "fails") != (c.Err != nil && c.Refused == "") {
			t.Errorf("recorded: got %+v", c)
		}
	}
	if len(r.calls) != 5 || len(r.intends) != 1 {
		t.Errorf("got %d calls and %d intents, want 5 and 1", len(r.calls), len(r.intends))
	}
	r.noIntent = errors.New("disk full")
	if got := say(h.session(r), g, `(do! 1)`); !strings.Contains(got, "nothing was done") || strings.Contains(got, "disk full") {
		t.Errorf("a call that cannot be recorded: got %s", got)
	}
}

// strict is a Warden that a test sets.
type strict struct {
	held  atomic.Pointer[HeldError]
	left  []budget.Left
	calls atomic.Int64
	max   int64
}

func (w *strict) Held(name string) *HeldError { return w.held.Load() }
func (w *strict) Left() []budget.Left         { return w.left }
func (w *strict) Call() error {
	if w.calls.Add(1) > w.max {
		return errors.New("over")
	}
	return nil
}

func TestAWardenStandsBesideTheGrant(t *testing.T) {
	h, r := newHouse(t), &record{}
	made := 0
	g := h.must(`{:vocab {"f" (fn [] 1)}}`)
	s := NewSession(h.rt, func(ctx context.Context, _ string, f value.Value, args []value.Value) (value.Value, error) {
		made++
		return h.env.Call(ctx, f, args...)
	}, r)
	w := &strict{max: 3, left: []budget.Left{{What: budget.USD, Scope: budget.OfRole, Left: int64(budget.Dollar / 4), Limit: int64(budget.Dollar), Resets: time.Unix(0, 0).UTC()},
		{What: budget.Wall, Scope: budget.OfSpawn, Left: int64(time.Second), Limit: int64(time.Minute)}}}
	s.Under(w, &Turns{})
	if got := say(s, g, `(:run (budget))`); got != `{:usd {:left 0.25, :of 1.0, :by :role, :resets "1970-01-01T00:00:00Z"}, :wall-ms {:left 1000, :of 60000, :by :spawn}}` {
		t.Errorf("what is left: got %s", got)
	}
	w.held.Store(&HeldError{Name: "f", Kind: Revoked, Since: time.Unix(0, 0).UTC(), Why: "freeze"})
	if got := say(s, g, `(try (f) (catch Exception e [(ex-message e) (ex-data e)]))`); !strings.Contains(got, "the operator has revoked it at 1970-01-01 00:00:00 UTC (freeze)") || !strings.Contains(got, ":zeno/refused :revoked") {
		t.Errorf("a revoked one: got %s", got)
	}
	w.held.Store(nil)
	if got := say(s, g, `(loop [] (try (f) (catch Exception e nil) (finally (f))) (recur))`); !strings.HasPrefix(got, "interrupted") || made != 3 {
		t.Errorf("more calls than there may be: got %s after %d calls, want an end after 3 that nothing catches", got, made)
	}
	if last := r.calls[len(r.calls)-1]; last.Refused != OverBudget {
		t.Errorf("recorded: got %+v, want the refusal", last)
	}
}

func TestTurns(t *testing.T) {
	h := newHouse(t)
	var now, most atomic.Int64
	invoke := func(ctx context.Context, _ string, f value.Value, args []value.Value) (value.Value, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(2 * time.Millisecond)
		return value.Nil, nil
	}
	run := func(shared bool) int64 {
		most.Store(0)
		turns := &Turns{}
		var all sync.WaitGroup
		for range 8 {
			s := NewSession(h.rt, invoke, &record{})
			if shared {
				s.Under(free{}, turns)
			}
			g := h.must(`{:vocab {"f" {:serial true :fn (fn [] 1)}}}`)
			all.Go(func() { say(s, g, `(dotimes [_ 5] (f))`) })
		}
		all.Wait()
		return most.Load()
	}
	n := run(false)
	for range 50 { // they need not meet at the first try
		if n < 2 {
			n = run(false)
		}
	}
	if n < 2 {
		t.Errorf("sessions that share nothing: got %d at once, want several, or this test shows nothing", n)
	}
	if n := run(true); n != 1 {
		t.Errorf("sessions that share turns: got %d at once, want 1", n)
	}
	turns, c := &Turns{}, &Capability{Serial: "x"}
	release, err := turns.Take(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := turns.Take(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the wait cancelled", err)
	}
	release()
	if release, err = turns.Take(context.Background(), c); err != nil {
		t.Error(err)
	}
	release()
}

func TestWithLeased(t *testing.T) {
	h := newHouse(t)
	g := h.must(`{:vocab {"b" (fn [] 1)}}`)
	n := g.WithLeased(&Capability{Name: "a"})
	if len(g.Caps) != 1 || len(n.Caps) != 2 || n.Caps[0].Name != "a" || g.WithLeased(&Capability{Name: "b"}) != g {
		t.Errorf("got %d and %d capabilities", len(g.Caps), len(n.Caps))
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"a", "a/b", "9", "", ":k", "a b", "ü", "\x00", "a/b/c", "nil"} {
		f.Add(s)
	}
	rt := lisp.New()
	f.Fuzz(func(t *testing.T, name string) {
		if !validName(name) {
			return
		}
		iso := rt.NewIsolate(lisp.Limits{})
		iso.Grant(name, value.Of(value.NewBuiltin(name, &value.Builtin{Name: name, F0: func(*value.Thread) value.Value { return value.Int(7) }})))
		if res := iso.Eval(context.Background(), "("+name+")"); res.Err != nil && res.Err.Kind == "internal" {
			t.Fatalf("%q: %v", name, res.Err)
		}
	})
}
