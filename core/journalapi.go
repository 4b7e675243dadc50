package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// journalFunctions are zeno.journal.
func (c *Core) journalFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("events", "([] [{:keys [since max]}])", "Gives recorded events, oldest first: those after the number :since, at most :max (default 1000).", c.events),
		bind.Func("watch!", "([f])", "Calls f with every event from now on, in order, on a thread of its own. Gives a function that stops it and waits until f has seen all events so far.", c.watch),
		bind.Func("once", "([key f] [key f {:keys [on-unknown]}])", "Calls f, a function of no arguments, unless that has been done for key (plain data), ever; gives its value, as plain data. Callers with the same key wait. Where f threw, later calls throw {:zeno/once :failed}. Where it began and nobody knows how it ended, they throw {:zeno/once :unknown}, or :on-unknown, a function of {:key … :started …}, decides: its value counts as that of f.", c.onceDo),
		bind.Func("mark", "([key])", "Gives what (once key …) has recorded: {:key … :state :started|:done|:failed :value … :started … :ended …}, or nil.", c.onceMark),
		bind.Func("forget!", "([key])", "Takes away what (once key …) has recorded, so that it is done again. Tells whether there was anything.", c.onceForget),
		bind.Func("anchor", "([])", "Gives the end of the journal as text, for keeping where nobody who can change the journal can change it.", c.anchor),
		bind.Func("verify", "([] [anchor])", "Checks the chain of the journal's file, from an anchor on or all of it: {:events … :anchor … :broken nil, or {:event … :why …}}.", c.verify),
		bind.Func("retention!", "([{:keys [keep max-size events payloads]}])",
			`Sets what the journal lets go, whole segments at a time: events older than :keep ("90d"), more than :max-size ("1G") or :events (5,000,000 unless set) of them, and the data of events older than :payloads. Each call replaces the rule.`, c.retention),
		bind.Func("redact!", "([seqs why])", "Removes the data of the events of these numbers for good, and records why. The chain still verifies.", c.redact),
	}
}

type eventsForm struct {
	Since int64 `lisp:"since"`
	Max   int   `lisp:"max"`
}

func (c *Core) events(ctx context.Context, t *value.Thread, f *eventsForm) (value.Value, error) {
	if f == nil {
		f = &eventsForm{}
	}
	if f.Max <= 0 {
		f.Max = 1000
	}
	es, err := c.journal.Since(ctx, uint64(max(f.Since, 0)), f.Max)
	if err != nil {
		return value.Nil, err
	}
	out := make([]value.Value, len(es))
	for i, e := range es {
		out[i] = eventMap(t, e)
	}
	return value.NewVector(t, out), nil
}

// eventMap is an event as the program sees it: {:seq … :at … :kind :eval …} with its data beside.
func eventMap(t *value.Thread, e journal.Event) value.Value {
	m := bind.Encode(t, map[string]any{"seq": e.Seq, "at": e.At, "kind": bind.Keyword(e.Kind), "role": keywordOrNil(e.Role),
		"spawn": e.Spawn, "outcome": keywordOrNil(e.Outcome), "ms": float64(e.Elapsed.Microseconds()) / 1000})
	return value.Assoc(t, m, value.Kw("data"), bind.Encode(t, e.Data))
}

// keywordOrNil is the keyword of a name, nil without one: a keyword without a name could be printed and not read again.
func keywordOrNil(name string) any {
	if name == "" {
		return nil
	}
	return bind.Keyword(name)
}

func (c *Core) anchor(ctx context.Context) (string, error) {
	s, err := c.journalFile()
	if err != nil {
		return "", err
	}
	a, err := s.Anchor(ctx)
	return a.String(), err
}

// reportForm is a check as the program sees it.
type reportForm struct {
	Events   int64  `lisp:"events"`
	Segments int64  `lisp:"segments"`
	Dropped  int64  `lisp:"dropped"`
	Expired  int64  `lisp:"expired"`
	Redacted int64  `lisp:"redacted"`
	Anchor   string `lisp:"anchor"`
	Broken   any    `lisp:"broken"` // nil, or {:event … :why …}
}

func (c *Core) verify(ctx context.Context, anchor *string) (any, error) {
	s, err := c.journalFile()
	if err != nil {
		return nil, err
	}
	from := journal.Anchor{}
	if anchor != nil {
		if from, err = journal.ParseAnchor(*anchor); err != nil {
			return nil, err
		}
	}
	r, err := s.Verify(ctx, from)
	if err != nil {
		return nil, err
	}
	out := reportForm{r.Events, r.Segments, r.Dropped, r.Expired, r.Redacted, r.To.String(), nil}
	switch b := r.Broken; {
	case b == nil:
	case b.Seq > 0:
		out.Broken = map[string]any{"event": b.Seq, "why": b.Why}
	default:
		out.Broken = map[string]any{"segment": b.Segment, "why": b.Why}
	}
	return out, nil
}

func (c *Core) redact(ctx context.Context, seqs []int64, why string) error {
	s, err := c.journalFile()
	if err != nil {
		return err
	}
	list := make([]uint64, len(seqs))
	for i, n := range seqs {
		if n < 1 {
			return fmt.Errorf("redact!: got event %d, want a number from 1 on", n)
		}
		list[i] = uint64(n)
	}
	return s.Redact(ctx, list, why)
}

var errNoMarks = errors.New("once: this journal keeps no marks; use the home's, or one that implements journal.Marker")

func timeOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}
