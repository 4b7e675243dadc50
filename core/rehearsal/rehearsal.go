// Package rehearsal keeps what happens while a home is run dry: on a virtual clock, with stand-ins for agents and for
// everything that has an effect.
//
// A day of a busy home is a great many of the same few things, so what is kept is one line for each kind of thing with
// how often it came, and the first moments one by one: the memory that a rehearsal takes does not grow with its length.
//
// Start with Recorder.Add; core wires it to an instance.
package rehearsal

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Kind is what sort of thing happened.
type Kind string

// The kinds, in the order they are reported in.
const (
	Process Kind = "process" // a run of a process
	Spawn   Kind = "spawn"   // an agent, played by a stand-in
	Call    Kind = "call"    // a capability that only reads, or has a stand-in of the home's: called
	Write   Kind = "write"   // a capability that writes: recorded, not called
	Ask     Kind = "ask"     // a question for a person: answered by the rehearsal
	Effect  Kind = "effect"  // what the program itself would do to the world: refused
)

var order = []Kind{Process, Spawn, Call, Write, Ask, Effect}

// Thing is one happening.
type Thing struct {
	At      time.Time `json:"at"`
	Kind    Kind      `json:"kind"`
	What    string    `json:"what"`             // its name: of the process, role/capability, function
	Outcome string    `json:"outcome"`          // ok, error, recorded, refused, or how a spawn ended
	Detail  string    `json:"detail,omitempty"` // arguments, answer, error
}

// Line is all happenings of one kind, name and outcome.
type Line struct {
	Kind    Kind      `json:"kind"`
	What    string    `json:"what"`
	Outcome string    `json:"outcome"`
	Count   int       `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Detail  string    `json:"detail,omitempty"` // of the first
}

// Report is what a rehearsal has seen.
type Report struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Lines    []Line    `json:"lines"`             // by kind, then in the order of the first
	Others   int       `json:"others,omitempty"`  // happenings of which no line is kept: there were more than MaxLines
	Timeline []Thing   `json:"timeline"`          // the first moments; runs of processes only where they failed
	More     int       `json:"more,omitempty"`    // moments after those
	Budgets  []Budget  `json:"budgets"`           // of roles that had spawns, in the period that was under way at the end
	Stopped  string    `json:"stopped,omitempty"` // why it ended before its time
}

// Budget is what the spawns of a role used. Stand-ins use tokens and money where they say so, with usage!.
type Budget struct {
	Role   string        `json:"role"`
	Per    string        `json:"per"` // the period: day, hour …
	Spawns int64         `json:"spawns"`
	Evals  int64         `json:"evals"`
	Calls  int64         `json:"calls"`
	Wall   time.Duration `json:"wall-ns"`
	Tokens int64         `json:"tokens"`
	USD    float64       `json:"usd"`

	MaxEvals int64         `json:"max-evals,omitempty"` // 0: no bound for the role as a whole
	MaxCalls int64         `json:"max-calls,omitempty"`
	MaxWall  time.Duration `json:"max-wall-ns,omitempty"`

	MaxTokens int64   `json:"max-tokens,omitempty"`
	MaxUSD    float64 `json:"max-usd,omitempty"`
}

// Bounds of a report.
const (
	MaxLines  = 2000
	MaxMoment = 500 // moments of the timeline
	MaxDetail = 500 // bytes of a detail
)

// Recorder takes what happens. It is safe for concurrent use.
type Recorder struct {
	now func() time.Time

	mu     sync.Mutex
	from   time.Time
	lines  map[key]*Line
	others int
	time   []Thing
	more   int
}

type key struct {
	kind          Kind
	what, outcome string
}

// New makes a recorder whose time is now's.
func New(now func() time.Time) *Recorder {
	return &Recorder{now: now, from: now(), lines: map[key]*Line{}}
}

// Add takes one happening.
func (r *Recorder) Add(kind Kind, what, outcome, detail string) {
	at := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(detail) > MaxDetail {
		cut := MaxDetail
		for cut > 0 && detail[cut]&0xc0 == 0x80 {
			cut--
		}
		detail = detail[:cut] + "…"
	}
	k := key{kind, what, outcome}
	l := r.lines[k]
	switch {
	case l == nil && len(r.lines) >= MaxLines:
		r.others++
	case l == nil:
		r.lines[k] = &Line{Kind: kind, What: what, Outcome: outcome, Count: 1, First: at, Last: at, Detail: detail}
	default:
		l.Count++
		l.Last = at
	}
	if kind == Process && outcome == "ok" {
		return
	}
	if len(r.time) >= MaxMoment {
		r.more++
		return
	}
	r.time = append(r.time, Thing{At: at, Kind: kind, What: what, Outcome: outcome, Detail: detail})
}

// Report gives what happened until now.
func (r *Recorder) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	rep := Report{From: r.from, To: r.now(), Others: r.others, Timeline: slices.Clone(r.time), More: r.more, Lines: []Line{}}
	if rep.Timeline == nil {
		rep.Timeline = []Thing{}
	}
	for _, l := range r.lines {
		rep.Lines = append(rep.Lines, *l)
	}
	slices.SortFunc(rep.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), a.First.Compare(b.First),
			cmp.Compare(a.What, b.What), cmp.Compare(a.Outcome, b.Outcome))
	})
	return rep
}
