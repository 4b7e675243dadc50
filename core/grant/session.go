package grant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Invoke runs the function of the capability of that name with full power, under ctx.
type Invoke func(ctx context.Context, name string, f value.Value, args []value.Value) (value.Value, error)

// Called tells of a capability call that has ended, or that was refused.
type Called struct {
	Name    string
	Refused string        // why it was not made: Revoked, MaxCalls or Approval; "" where it was
	Args    []value.Value // plain data; nil when the audit policy keeps none
	Err     error
	Elapsed time.Duration
	Intent  uint64 // what Recorder.Intend gave, where the capability writes; 0: it was not asked
}

// Recorder hears of capability calls. It must be safe for concurrent use.
type Recorder interface {
	// Intend is told of a call that writes before it is made, and gives a number for it. Where it fails, the call is not
	// made: no effect is without a record.
	Intend(Called) (uint64, error)
	// Called is told of every call when it has ended. Where it fails for one that writes, the agent is told so.
	Called(Called) error
}

// Why a call is refused.
const (
	Revoked    = "revoked"     // it was granted once, and is not any more
	MaxCalls   = "max-calls"   // the spawn has made as many as it may
	OverBudget = "over-budget" // the spawn, its role or the instance has nothing left to use
	Approval   = "approval"    // a person must approve it, and there is nobody to ask
)

// errNotRecorded is what an agent hears of a record that cannot be written; the operator hears why.
var errNotRecorded = errors.New("nothing was done: what has an effect is recorded first, and the record cannot be written; end your turn and say so: only the operator can mend it")

// Session is the isolate of one spawn and what it is granted. Its evaluations run one at a time.
type Session struct {
	rt     *lisp.Runtime
	invoke Invoke
	record Recorder
	asker  Asker // nil: nobody can be asked

	isolate *lisp.Isolate
	grant   atomic.Pointer[Grant]
	granted map[string]bool // names now in the isolate
	asking  bool            // ask-user is in the isolate
	ended   atomic.Bool

	warden Warden
	turns  *Turns

	mu    sync.Mutex
	calls map[string]int // by capability, over the spawn
}

// NewSession makes the session of a spawn. record hears of every capability call.
func NewSession(rt *lisp.Runtime, invoke Invoke, record Recorder) *Session {
	return &Session{rt: rt, invoke: invoke, record: record, calls: map[string]int{}, warden: free{}, turns: &Turns{}}
}

// Eval evaluates code under g, the grant of this moment.
func (s *Session) Eval(ctx context.Context, g *Grant, code string) lisp.Result {
	if s.ended.Load() {
		return lisp.Result{Err: &lisp.Error{Kind: "cancelled", Message: "eval: this spawn has ended"}}
	}
	if s.isolate == nil || g.Fresh {
		s.isolate, s.granted = s.rt.NewIsolate(g.Limits), map[string]bool{}
		s.asking = false
		s.addOwn()
	}
	s.isolate.SetLimits(g.Limits)
	s.apply(g)
	return s.isolate.Eval(ctx, code)
}

// End makes every later evaluation and capability call fail.
func (s *Session) End() { s.ended.Store(true) }

// apply makes the isolate hold just what g grants. A capability of a name that stays is looked up when it is called.
func (s *Session) apply(g *Grant) {
	s.grant.Store(g)
	switch asking := g.Asking != nil && s.asker != nil; {
	case asking && !s.asking:
		s.isolate.Grant(AskUser, s.askUser())
		s.asking = true
	case !asking && s.asking:
		s.isolate.Revoke(AskUser)
		s.asking = false
	}
	for name := range s.granted {
		if g.Find(name) == nil {
			s.isolate.Revoke(name)
			delete(s.granted, name)
		}
	}
	for _, c := range g.Caps {
		if !s.granted[c.Name] {
			s.isolate.Grant(c.Name, s.function(c.Name))
			s.granted[c.Name] = true
		}
	}
}

// function is what the isolate calls: it finds the capability as it is granted at that moment.
func (s *Session) function(name string) value.Value {
	b := &value.Builtin{Name: name}
	b.N = func(t *value.Thread, args []value.Value) value.Value {
		c := s.grant.Load().Find(name)
		if c == nil || s.ended.Load() {
			s.refuse(t, name, Revoked, value.StateError("%s: got a call, but it is no longer granted; see (tools)", name))
		}
		s.mayCall(t, name)
		return s.call(t, c, args)
	}
	return value.Of(value.NewBuiltin(name, b))
}

func (s *Session) call(t *value.Thread, c *Capability, args []value.Value) value.Value {
	if err := s.count(c); err != nil {
		s.refuse(t, c.Name, MaxCalls, err)
	}
	if err := s.warden.Call(); err != nil {
		s.interrupt(t, c.Name, err)
	}
	if c.Approve {
		return s.hold(t, c, args)
	}
	if c.Serial != "" {
		turn := s.turns.of(c.Serial)
		t.Await(turn, -1)
		defer func() { turn <- struct{}{} }()
		s.mayCall(t, c.Name) // it may have waited
	}
	start := time.Now()
	done := Called{Name: c.Name}
	bridge := lisp.Capability{Name: c.Name, AcceptsFns: c.AcceptsFns, Timeout: c.Timeout,
		Call: func(ctx context.Context, args []value.Value) (value.Value, error) {
			if c.Audit != "none" {
				done.Args = append([]value.Value{}, args...) // not nil, also where there are none
			}
			if c.Writes() {
				var err error
				if done.Intent, err = s.record.Intend(done); err != nil {
					return value.Nil, errNotRecorded
				}
			}
			return s.invoke(ctx, c.Name, c.Fn, args)
		}}
	defer func() {
		r := recover()
		done.Elapsed = time.Since(start)
		switch r := r.(type) {
		case nil:
		case error:
			done.Err = r
		default:
			done.Err = fmt.Errorf("%v", r)
		}
		err := s.record.Called(done)
		if r != nil {
			panic(r)
		}
		if err != nil && done.Intent > 0 {
			panic(value.StateError("%s: the call was made, but the record of how it ended cannot be written; do not repeat it: end your turn and say so", c.Name))
		}
	}()
	return bridge.Invoke(t, args)
}

// refuse tells of a call that is not made, and ends it. It counts as a call: what is told is recorded, and an evaluation
// must not record without end.
func (s *Session) refuse(t *value.Thread, name, why string, err *value.Exception) {
	t.HostCall()
	_ = s.record.Called(Called{Name: name, Refused: why, Err: err}) // who records reports what fails
	panic(err)
}

// count takes one of the calls that c has left in this spawn.
func (s *Session) count(c *Capability) *value.Exception {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.MaxCalls > 0 && s.calls[c.Name] >= c.MaxCalls {
		return value.StateError("%s: got call %d, want at most %d in one run", c.Name, s.calls[c.Name]+1, c.MaxCalls)
	}
	s.calls[c.Name]++
	return nil
}

// interrupt ends the evaluation, since the spawn has nothing left to use: no code of the agent's can catch that.
func (s *Session) interrupt(t *value.Thread, name string, err error) {
	t.HostCall()
	_ = s.record.Called(Called{Name: name, Refused: OverBudget, Err: err}) // who records reports what fails
	t.Interrupt()
}

// mayCall refuses what the operator has taken away meanwhile.
func (s *Session) mayCall(t *value.Thread, name string) {
	if held := s.warden.Held(name); held != nil {
		s.refuse(t, name, held.Kind, held.exception(t))
	}
}

// left tells how many calls of c the spawn has left; -1: no bound of its own.
func (s *Session) left(c *Capability) int {
	if c.MaxCalls == 0 {
		return -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(c.MaxCalls-s.calls[c.Name], 0)
}

// Left words what an evaluation that used u leaves of the limits, for the agent to see.
func Left(l limit.Limits, u lisp.Usage) string {
	return fmt.Sprintf("steps %d of %d, bytes built %d of %d, output %d of %d, calls %d of %d",
		max(l.Steps-u.Steps, 0), l.Steps, max(l.Alloc-u.Alloc, 0), l.Alloc, max(l.Output-u.Output, 0), l.Output, max(l.Calls-u.Calls, 0), l.Calls)
}
