package grant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// AskUser is what an agent calls to ask a person, where its grant has :ask.
const AskUser = "ask-user"

// Asking says how a role may ask a person.
type Asking struct {
	Timeout time.Duration // the longest that a question may stay open; 0: no bound but that of all questions
	Max     int           // questions of one spawn
}

// DefaultMaxAsks is how many questions one spawn may ask whose grant says nothing else.
const DefaultMaxAsks = 20

// decodeAsking reads :ask: true, or a map.
func decodeAsking(t *value.Thread, v value.Value) (*Asking, error) {
	if v.Kind().IsMap() {
		var f struct {
			Timeout bind.Duration `lisp:"timeout"`
			Max     int           `lisp:"max"`
		}
		if err := bind.Decode(t, v, &f); err != nil {
			return nil, fmt.Errorf("grant: :ask: %w", err)
		}
		if f.Max < 0 || f.Timeout < 0 {
			return nil, errors.New("grant: :ask: got a negative number, want :max and :timeout of more than 0")
		}
		a := &Asking{Timeout: time.Duration(f.Timeout), Max: f.Max}
		if a.Max == 0 {
			a.Max = DefaultMaxAsks
		}
		return a, nil
	}
	switch {
	case !v.Truthy():
		return nil, nil
	case v.Kind() == value.KindBool:
		return &Asking{Max: DefaultMaxAsks}, nil
	}
	return nil, fmt.Errorf("grant: :ask: got %s, want true or a map such as {:timeout \"24h\" :max 5}", value.Brief(t, v))
}

// Asker hands to a person what an agent may not decide alone. When a method returns without error the question is kept,
// and the evaluation ends.
type Asker interface {
	// Ask is told the arguments of ask-user.
	Ask(ctx context.Context, by *Asking, args []value.Value) error
	// Hold is told of a call that a person must approve first.
	Hold(ctx context.Context, c *Capability, args []value.Value) error
}

// SetAsker names who hands questions to a person. It must be called before the first Eval.
func (s *Session) SetAsker(a Asker) { s.asker = a }

// AskDoc is what an agent reads of ask-user.
const AskDoc = "Asks a human and ends this evaluation: the answer comes as your next message, maybe days later. Options: :choices, a vector of texts the human picks from; :timeout such as \"24h\"; :default, the answer when that time is up, without which the run fails then."

// askUser is what the isolate calls.
func (s *Session) askUser() value.Value {
	b := &value.Builtin{Name: AskUser, Arglists: "([question] [question {:keys [choices timeout default]}])", Doc: AskDoc}
	b.N = func(t *value.Thread, args []value.Value) value.Value {
		g := s.grant.Load()
		if g.Asking == nil || s.ended.Load() || s.asker == nil {
			s.refuse(t, AskUser, Revoked, value.StateError("ask-user: got a call, but it is no longer granted; see (tools)"))
		}
		if len(args) < 1 || len(args) > 2 {
			panic(value.ArgError("ask-user: got %d arguments, want the question and maybe a map of options", len(args)))
		}
		lisp.Capability{Name: AskUser, Call: func(ctx context.Context, args []value.Value) (value.Value, error) {
			return value.Nil, s.asker.Ask(ctx, g.Asking, args)
		}}.Invoke(t, args)
		t.Interrupt()
		return value.Nil
	}
	return value.Of(value.NewBuiltin(AskUser, b))
}

// hold hands a call to a person and ends the evaluation.
func (s *Session) hold(t *value.Thread, c *Capability, args []value.Value) value.Value {
	if s.asker == nil {
		s.refuse(t, c.Name, Approval, value.StateError("%s: a person must approve each call, and nobody can be asked here; go on without it, and say so", c.Name))
	}
	lisp.Capability{Name: c.Name, Call: func(ctx context.Context, args []value.Value) (value.Value, error) {
		err := s.asker.Hold(ctx, c, args)
		if err != nil {
			_ = s.record.Called(Called{Name: c.Name, Refused: Approval, Err: err}) // who records reports what fails
		}
		return value.Nil, err
	}}.Invoke(t, args)
	t.Interrupt()
	return value.Nil
}

// Calls tells how many calls of each capability the spawn has made.
func (s *Session) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// SetCalls makes the session go on counting where an earlier one of the spawn ended.
func (s *Session) SetCalls(calls map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.calls, calls)
}
