package sandbox

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Backend runs programs in boxes. All methods may be called from many goroutines.
type Backend interface {
	Name() string
	// Probe says what this host can enforce. It tries each thing; it does not read about it.
	Probe(ctx context.Context) Report
	// Run runs a program and waits for its end. The error is that of a run that did not take place: a *FieldError, an
	// *Unenforceable, a *Busy, or a failure to start. How a program ended is in the Result, also where ctx ended it.
	Run(ctx context.Context, spec Spec) (Result, error)
	// Exec runs one more program in a live body, under the same constraints.
	Exec(ctx context.Context, name string, spec ExecSpec) (Result, error)
	// PS lists the live bodies, the oldest first.
	PS(ctx context.Context) ([]Body, error)
	// Stop ends a body and everything in it; Run returns with killed-by stop. A *NoBody where there is none.
	Stop(ctx context.Context, name string) error
	// Reap ends what a crashed zeno left behind and says what it found.
	Reap(ctx context.Context) ([]string, error)
	// Close ends every body and waits for that.
	Close() error
}

// ExecSpec is a program to run in a live body. Env is put over the body's own.
type ExecSpec struct {
	Argv           []string          `json:"argv" lisp:"argv,required"`
	In             string            `json:"in,omitempty" lisp:"in"`
	Env            map[string]string `json:"env,omitempty" lisp:"env"`
	Workdir        string            `json:"workdir,omitempty" lisp:"workdir"`
	Timeout        time.Duration     `json:"timeout,omitempty" lisp:"timeout"` // default 20 minutes
	MaxOut         int               `json:"max-out,omitempty" lisp:"max-out"`
	Stdin          io.Reader         `json:"-" lisp:"-"`
	Stdout, Stderr io.Writer         `json:"-" lisp:"-"`
}

// Reasons for which a body is ended from outside.
const (
	KilledTimeout = "timeout"
	KilledOOM     = "oom"
	KilledTTL     = "ttl"
	KilledIdle    = "idle"
	KilledDisk    = "disk"
	KilledCancel  = "cancel"
	KilledStop    = "stop"
	KilledEgress  = "egress" // the proxy ended: a box is not left with a network that no one watches
)

// Result is how a program ended.
type Result struct {
	Name string `json:"name" lisp:"name"`
	// Exit is the exit code, or 128 and the number of the signal that ended it.
	Exit   int    `json:"exit" lisp:"exit"`
	Signal string `json:"signal,omitempty" lisp:"signal"`
	Out    string `json:"out" lisp:"out"`
	Err    string `json:"err" lisp:"err"`
	// OutDropped and ErrDropped count bytes that MaxOut cut off.
	OutDropped int64 `json:"out-dropped,omitempty" lisp:"out-dropped"`
	ErrDropped int64 `json:"err-dropped,omitempty" lisp:"err-dropped"`
	// Status is :ok, :failed or :killed.
	Status   string  `json:"status" lisp:"status"`
	KilledBy string  `json:"killed-by,omitempty" lisp:"killed-by"`
	Ms       float64 `json:"ms" lisp:"ms"`
	PeakRSS  int64   `json:"peak-rss" lisp:"peak-rss"` // bytes
	CPUMs    float64 `json:"cpu-ms" lisp:"cpu-ms"`
}

// Body is a live box.
type Body struct {
	Name    string    `json:"name" lisp:"name"`
	Backend string    `json:"backend" lisp:"backend"`
	Pid     int       `json:"pid" lisp:"pid"` // of its first process, on the host
	Volume  string    `json:"volume,omitempty" lisp:"volume"`
	Argv    []string  `json:"argv" lisp:"argv"`
	Started time.Time `json:"started" lisp:"started"`
	Owner   int       `json:"owner" lisp:"owner"` // pid of the zeno that runs it
}

// Event is something that happened to a box. Kind is started, exec, exited, killed, refused, reaped, or egress.
type Event struct {
	Time time.Time
	Kind string
	Box  string
	Text string
	Data any
}

// Report is what a host can enforce.
type Report struct {
	Backend string `json:"backend" lisp:"backend"`
	Usable  bool   `json:"usable" lisp:"usable"`
	Checks  []Check
}

// Check is one thing that was tried.
type Check struct {
	What string `json:"what" lisp:"what"`
	OK   bool   `json:"ok" lisp:"ok"`
	// How it is enforced, or why it cannot be.
	How string `json:"how" lisp:"how"`
	// Fix is what to do where it is not OK.
	Fix string `json:"fix,omitempty" lisp:"fix"`
}

// Find gives the check of that name.
func (r Report) Find(what string) (Check, bool) {
	for _, c := range r.Checks {
		if c.What == what {
			return c, true
		}
	}
	return Check{}, false
}

func (r Report) String() string {
	var b strings.Builder
	for _, c := range r.Checks {
		mark := "ok"
		if !c.OK {
			mark = "no"
		}
		fmt.Fprintf(&b, "%-3s %-14s %s", mark, c.What, c.How)
		if c.Fix != "" {
			fmt.Fprintf(&b, "; %s", c.Fix)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Unenforceable refuses a run: the host cannot hold a constraint that the spec declares.
type Unenforceable struct {
	Backend string
	What    string // the constraint
	Why     string
	Fix     string // how to get it
}

func (e *Unenforceable) Error() string {
	s := fmt.Sprintf("sandbox: %s: cannot enforce %s: %s", e.Backend, e.What, e.Why)
	if e.Fix != "" {
		s += ": " + e.Fix
	}
	return s
}

// Busy refuses a second body on a volume, or of a name.
type Busy struct {
	What   string // "volume" or "name"
	Name   string
	Holder string
}

func (e *Busy) Error() string {
	return fmt.Sprintf("sandbox: %s %q: is in use by %s: wait for it, stop it, or take another %s", e.What, e.Name, e.Holder, e.What)
}

// NoBody says that nothing of that name lives.
type NoBody struct{ Name string }

func (e *NoBody) Error() string {
	return fmt.Sprintf("sandbox: body %q: not running: (zeno.sandbox/ps) lists those that are", e.Name)
}
