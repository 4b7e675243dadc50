package gateway

import (
	"context"
	"time"
)

// Caller is who presented a valid token.
type Caller struct{ Role, Spawn string }

// Host is what the gateway serves. Every method is asked anew at every request,
// so a redefined grant is seen by the next call. Methods are called from many
// goroutines at once; Eval only once at a time for any one spawn. A panic in
// either becomes an internal error for that one caller.
type Host interface {
	// Surface returns what the caller may use right now. ok=false: the role
	// does not exist, and the caller is answered as if the path did not. It
	// stands before every answer, so it should be quick.
	Surface(ctx context.Context, c Caller) (s Surface, ok bool)
	// Eval runs code for the caller, and ends when ctx does. now is what Surface
	// answered to this request where that is newer than Fresh, and nil where the
	// body or the turn was waited for: what is granted is then asked anew.
	Eval(ctx context.Context, c Caller, code string, now *Surface) Reply
}

// Fresh is how old a Surface may be when an eval begins under it.
const Fresh = 10 * time.Millisecond

// Surface is what a caller may use, and within which bounds.
type Surface struct {
	// Capabilities are listed in the description of the eval tool.
	Capabilities []Capability
	// EvalTimeout bounds one eval, waiting for its turn included.
	// 0: DefaultEvalTimeout.
	EvalTimeout time.Duration
	// MaxResult is the number of bytes of text in one tool result.
	// 0: DefaultMaxResult; less than MinResult is raised to it.
	MaxResult int
	// Notes is extra text for the description of the eval tool.
	Notes string
	// Grant is the Host's own, for its Eval.
	Grant any
}

// Capability is one granted function, as the description shows it.
type Capability struct {
	Name     string
	Arglists []string // "[pr]", "[pr text]"
	Doc      string
	// Effect says what a call touches: "pure" nothing outside, "read" it only
	// looks; anything else, the empty string too, may change something.
	Effect string
	// Approve: a person is asked before a call takes effect.
	Approve bool
}

// Reply is the outcome of one eval.
type Reply struct {
	Value string     // printed form of the value
	Out   string     // what was printed to *out*
	Err   *EvalError // nil: success
	Stats Stats
	// Notice, where not empty, is shown in place of a value: what the host has to tell the agent. Value and Err count for
	// nothing then.
	Notice string
}

// EvalError is an error a model can act on.
type EvalError struct {
	// Kind is a short word: "limit/steps", "unresolved", "arity", "type",
	// "user", "read", "busy", "reentrant", "internal", …
	Kind    string
	Message string
	// Line and Column count from 1; Line 0: no position is known.
	Line, Column int
	Caret        string   // the source line with a caret line below, may be empty
	Hint         string   // "did you mean `diff`?"
	Data         string   // printed ex-data, may be empty
	Stack        []string // Lisp frames, innermost first
}

// Stats is what one eval used.
type Stats struct {
	Steps, Bytes, Calls int64
	Elapsed             time.Duration
	Left                string // a "budget left" line, may be empty
}

// Kinds of the errors the gateway itself makes. The others are the Host's.
const (
	KindArguments = "arguments"  // the tool was called with wrong arguments
	KindBusy      = "busy"       // too many evals of this spawn wait already
	KindTime      = "limit/time" // the eval timeout passed
	KindCancelled = "cancelled"  // the client gave up
	KindRevoked   = "revoked"    // the spawn has ended
	KindInternal  = "internal"   // the Host panicked; the log has it
)
