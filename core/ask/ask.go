// Package ask keeps the questions that only a person can answer, from the moment one is asked until its answer has had its
// effect: a question of an agent, a capability call that a person must approve, a question of the program.
//
// Questions lie in a SQLite file of their own beside the journal, since the file is worked on by several processes: `zeno
// answer` writes to it whether or not a zeno serves the home, and the one that serves it sees that within half a second.
//
// The invariant: every step of a question is durable before what it stands for is done, and is made by one writer only,
// from the state before it. So a second answer, a second resume and a second call cannot be, whoever is killed when:
//
//	asked ──> answered ──> [calling ──> called] ──> resuming(n) ──> resumed
//	  │                        └────────> unknown <─────┘ what nobody can decide waits for the operator
//	  └──> expired, withdrawn
//
// A question of the program ends with answered; of an agent, with resumed. Every step is also an event for the journal
// (Desk.Forward); it is kept here until the journal has it.
//
// Start with Desk; text.go holds what an agent and a person read.
package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind says who asks and what an answer does.
type Kind string

// The kinds of question.
const (
	Question Kind = "question" // of an agent: its spawn is interrupted, and resumed with the answer
	Approval Kind = "approval" // of a capability call: yes runs it, once; the spawn is resumed with the outcome
	Program  Kind = "program"  // of the orchestrator's program, which waits or comes back with the same key
)

// State is how far a question is.
type State string

// The states of a question.
const (
	Asked     State = "asked"
	Answered  State = "answered"
	Calling   State = "calling"   // an approved call runs
	Called    State = "called"    // its outcome is kept
	Resuming  State = "resuming"  // attempt n to resume the spawn may have begun
	Resumed   State = "resumed"   // the agent has the answer
	Unknown   State = "unknown"   // whether the call was made, or the answer arrived, cannot be told: for the operator
	Expired   State = "expired"   // nobody answered in time, and there is no default
	Withdrawn State = "withdrawn" // nobody waits for the answer any more
)

// Final tells whether nothing more happens to a question of kind k in state s.
func (s State) Final(k Kind) bool {
	return s == Resumed || s == Expired || s == Withdrawn || s == Answered && k == Program
}

// Bounds of what is asked and answered.
const (
	MaxText     = 64 << 10           // bytes of a question, of an answer, of the arguments of a held call
	MaxChoices  = 64                 // choices of a question
	MaxChoice   = 1 << 10            // bytes of one choice
	MaxKey      = 1 << 10            // bytes of a key
	DefaultTime = 7 * 24 * time.Hour // to answer in
	MaxTime     = 366 * 24 * time.Hour
)

// Ask is one question and what became of it.
type Ask struct {
	ID       string    `json:"id"`
	Kind     Kind      `json:"kind"`
	State    State     `json:"state"`
	Spawn    string    `json:"spawn,omitempty"`
	Role     string    `json:"role,omitempty"`
	Text     string    `json:"question"`
	Choices  []string  `json:"choices,omitempty"`
	Default  *string   `json:"default,omitempty"` // what counts as the answer when time is up; nil: the question fails then
	Call     *Call     `json:"call,omitempty"`    // of an Approval
	Asked    time.Time `json:"asked"`
	Deadline time.Time `json:"deadline"`
	Answer   string    `json:"answer,omitempty"`
	By       string    `json:"by,omitempty"` // who answered
	Answered time.Time `json:"answered,omitzero"`
	Outcome  string    `json:"outcome,omitempty"` // what the held call gave, for the agent to read
	Attempt  int       `json:"attempt,omitempty"` // to resume: n of the marker [zeno Q-17/n]
	Begun    bool      `json:"begun,omitempty"`   // that attempt may have started the agent
	Note     string    `json:"note,omitempty"`    // why it is Unknown, Expired or Withdrawn
	Key      string    `json:"key,omitempty"`     // of a Program's question
	Owner    string    `json:"owner,omitempty"`   // the process that waits, of a question without a key
	Waited   bool      `json:"waited,omitempty"`  // somebody in Owner waits for it now
	Sent     bool      `json:"sent,omitempty"`    // the channel has had it
	Refused  int       `json:"refused,omitempty"` // times that the agent could not be resumed
}

// Call is a capability call that waits for approval.
type Call struct {
	Name string `json:"name"`
	Args string `json:"args"` // a list, printed: it is shown and run as it stands here
}

// Form is the call as a person reads it.
func (c Call) Form() string {
	args := strings.TrimSuffix(strings.TrimPrefix(c.Args, "("), ")")
	return "(" + strings.TrimSpace(c.Name+" "+args) + ")"
}

// Errors of an answer; the text of each says more.
var (
	ErrNotFound = errors.New("no such question")
	ErrClosed   = errors.New("not open any more") // answered, expired or withdrawn before
	ErrInvalid  = errors.New("not acceptable")
	ErrFull     = errors.New("too many open questions")
)

// problem words an error for a person; errors.Is finds its kind.
type problem struct {
	kind error
	text string
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.kind }

func wrong(kind error, format string, args ...any) error {
	return &problem{kind, fmt.Sprintf(format, args...)}
}

// number reads an id: Q-17, q-17 or 17.
func number(id string) (int64, error) {
	s := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(id)), "Q-")
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, wrong(ErrNotFound, "question: got %s as its id, want one such as Q-17; the inbox lists them", quoted(id))
	}
	return n, nil
}

func name(n int64) string { return "Q-" + strconv.FormatInt(n, 10) }

// quoted is a short piece of a text for a message.
func quoted(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return strconv.Quote(s)
}

func (a Ask) clone() Ask {
	b, err := json.Marshal(a)
	if err != nil {
		return a
	}
	var out Ask
	_ = json.Unmarshal(b, &out)
	return out
}
