package grant

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Warden stands beside a grant: what the operator took away while the agent runs, and what the spawn may still use. Its
// methods are called from many goroutines.
type Warden interface {
	// Held tells why a capability may not be called now; nil where it may.
	Held(name string) *HeldError
	// Call counts a call that is about to be made. Where it fails the evaluation ends.
	Call() error
	// Left is what the spawn may still use.
	Left() []budget.Left
}

// HeldError is why a capability that is granted may not be called.
type HeldError struct {
	Name  string
	Kind  string // Revoked or Expired
	Since time.Time
	Why   string // the operator's words; may be empty
}

// Expired: the capability was leased, and the lease is over.
const Expired = "expired"

func (e *HeldError) Error() string {
	what := "the operator has revoked it"
	if e.Kind == Expired {
		what = "its lease has ended"
	}
	s := fmt.Sprintf("%s: got a call, but %s at %s", e.Name, what, e.Since.Format("2006-01-02 15:04:05 MST"))
	if e.Why != "" {
		s += " (" + e.Why + ")"
	}
	return s
}

func (e *HeldError) exception(t *value.Thread) *value.Exception {
	ex := value.StateError("%s", e.Error())
	ex.Hint = "go on without it, or end your turn and say that you need it"
	ex.Data = value.NewMap(t, value.Kw("zeno/refused"), value.Kw(e.Kind), value.Kw("name"), value.Str(e.Name))
	return ex
}

// free is the Warden of a session that has none.
type free struct{}

func (free) Held(string) *HeldError { return nil }
func (free) Call() error            { return nil }
func (free) Left() []budget.Left    { return nil }

// Turns are the locks of serial capabilities, shared by the sessions whose calls must not overlap. The zero one is ready.
type Turns struct {
	mu    sync.Mutex
	turns map[string]chan struct{}
}

// of gives the channel that holds the turn of a name. A mutex would not do: it holds up a cancellation.
func (x *Turns) of(name string) chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	turn := x.turns[name]
	if turn == nil {
		if x.turns == nil {
			x.turns = map[string]chan struct{}{}
		}
		turn = make(chan struct{}, 1)
		turn <- struct{}{}
		x.turns[name] = turn
	}
	return turn
}

// Take waits for c's turn where it is serial, as long as ctx lasts.
func (x *Turns) Take(ctx context.Context, c *Capability) (release func(), err error) {
	if c.Serial == "" {
		return func() {}, nil
	}
	turn := x.of(c.Serial)
	select {
	case <-turn:
		return func() { turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Under puts the session under a warden, and lets it share turns. It must be called before the first Eval.
func (s *Session) Under(w Warden, turns *Turns) { s.warden, s.turns = w, turns }

// serialName reads :serial: true is a lock that all capabilities of the name share, a keyword or string one of its own.
func serialName(t *value.Thread, cap string, v value.Value) (string, error) {
	switch v.Kind() {
	case value.KindNil:
		return "", nil
	case value.KindBool:
		if v.Truthy() {
			return "capability " + cap, nil
		}
		return "", nil
	case value.KindKeyword:
		return "lock " + value.As[value.Keyword](v).FullName(), nil
	case value.KindString:
		if strings.TrimSpace(v.Text()) != "" {
			return "lock " + v.Text(), nil
		}
	}
	return "", fmt.Errorf("grant: :vocab %q :serial: got %s (%s), want true, or a keyword that names what its calls take turns at", cap, value.Brief(t, v), v.Kind())
}

// leftMap is what (budget) tells of the spawn: {:tokens {:left 10 :of 100 :by :role} …}, money in dollars, time in
// milliseconds.
func leftMap(t *value.Thread, all []budget.Left) value.Value {
	var kvs []value.Value
	for _, x := range all {
		m := []value.Value{value.Kw("left"), amount(x.What, x.Left), value.Kw("of"), amount(x.What, x.Limit), value.Kw("by"), value.Kw(string(x.Scope))}
		if !x.Resets.IsZero() {
			m = append(m, value.Kw("resets"), value.Str(x.Resets.Format(time.RFC3339)))
		}
		t.Charge(256)
		name := string(x.What)
		if x.What == budget.Wall {
			name = "wall-ms"
		}
		kvs = append(kvs, value.Kw(name), value.NewMap(t, m...))
	}
	return value.NewMap(t, kvs...)
}

func amount(w budget.What, n int64) value.Value {
	switch w {
	case budget.USD:
		return value.Float(budget.Money(n).Float())
	case budget.Wall:
		return value.Int(time.Duration(n).Milliseconds())
	}
	return value.Int(n)
}
