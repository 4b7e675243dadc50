package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
)

// journalCmd is `zeno journal …`: it reads the file of the home's journal, also while a zeno writes it, and loads no
// program.
type journalCmd struct {
	Verify journalVerify `cmd:"" help:"Check that nothing recorded was changed or is missing. Exits 1 at the first thing that does not hold."`
	Tail   journalTail   `cmd:"" help:"Print the newest events."`
	Show   journalShow   `cmd:"" help:"Print the events of one spawn."`
	Export journalExport `cmd:"" help:"Write all events as JSON Lines, with what is needed to verify them."`
	Anchor journalAnchor `cmd:"" help:"Print the end of the journal, for keeping elsewhere: verify --anchor finds a journal that was rewritten as a whole."`
}

type journalVerify struct {
	Anchor string `placeholder:"TEXT|FILE" help:"What zeno journal anchor printed, or a file that holds it. Only what came after is checked, and that the event it names is there."`
	Export string `placeholder:"FILE" help:"Check what zeno journal export wrote, instead of the home's journal; - is stdin."`
	JSON   bool   `name:"json" help:"Print the outcome as JSON."`
}

type journalTail struct {
	Lines  int  `short:"n" default:"20" help:"How many."`
	Follow bool `short:"f" help:"Go on with what is recorded from now on, until ctrl-C."`
	JSON   bool `name:"json" help:"Print each event as JSON."`
}

type journalShow struct {
	Spawn string `arg:"" help:"The spawn's id, as zeno spawn and the journal give it."`
	JSON  bool   `name:"json" help:"Print each event as JSON."`
}

type journalExport struct {
	After uint64 `placeholder:"N" help:"Only the events after this number."`
}

type journalAnchor struct{}

// followEvery is how often tail --follow looks for events.
const followEvery = 250 * time.Millisecond

// page is how many events are read at a time.
const page = 1000

// withJournal opens the home's journal for f.
func (a *app) withJournal(f func(context.Context, *journal.Reader) error) error {
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		return usage(err)
	}
	r, err := journal.OpenReader(a.signals.ctx, filepath.Join(h.Dir, "state", core.JournalFile))
	if errors.Is(err, journal.ErrMissing) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	defer discard(r)
	return a.attend(func(ctx context.Context) error { return f(ctx, r) })
}

// Run implements `zeno journal verify`.
func (v *journalVerify) Run(a *app) error {
	if v.Export != "" {
		in := a.std.In
		if v.Export != "-" {
			f, err := os.Open(v.Export)
			if err != nil {
				return usage(err)
			}
			defer discard(f)
			in = f
		}
		rep, err := journal.VerifyExport(in)
		return v.print(a, rep, err)
	}
	from, err := v.anchor()
	if err != nil {
		return usage(err)
	}
	return a.withJournal(func(ctx context.Context, r *journal.Reader) error {
		rep, err := r.Verify(ctx, from)
		return v.print(a, rep, err)
	})
}

func (v *journalVerify) anchor() (journal.Anchor, error) {
	if v.Anchor == "" {
		return journal.Anchor{}, nil
	}
	b, unread := os.ReadFile(v.Anchor)
	if unread == nil {
		return journal.ParseAnchor(string(b))
	}
	at, err := journal.ParseAnchor(v.Anchor)
	if err != nil {
		err = fmt.Errorf("%w; as a file: %w", err, unread)
	}
	return at, err
}

// verified is a check as `zeno journal verify --json` prints it.
type verified struct {
	OK       bool   `json:"ok"`
	Events   int64  `json:"events"`
	Segments int64  `json:"segments"`
	Dropped  int64  `json:"dropped"`
	Expired  int64  `json:"expired"`
	Redacted int64  `json:"redacted"`
	Anchor   string `json:"anchor"` // of the last event that holds
	Event    uint64 `json:"event,omitempty"`
	Segment  uint64 `json:"segment,omitempty"`
	Why      string `json:"why,omitempty"`
}

func (v *journalVerify) print(a *app, r journal.Report, err error) error {
	if err != nil {
		return err
	}
	out := verified{r.Broken == nil, r.Events, r.Segments, r.Dropped, r.Expired, r.Redacted, r.To.String(), 0, 0, ""}
	if b := r.Broken; b != nil {
		out.Event, out.Segment, out.Why = b.Seq, b.Segment, b.Why
	}
	switch {
	case v.JSON:
		if err := printJSON(a.std.Out, out); err != nil {
			return err
		}
	case out.OK:
		fmt.Fprintf(a.std.Out, "%s\n%s\n", summaryOf(r), out.Anchor)
	}
	if !out.OK {
		fmt.Fprintf(a.std.Err, "zeno: journal: %v; %d events before it hold\n", r.Broken, r.Events)
		return reported(ExitFailed)
	}
	return nil
}

// summaryOf says what holds and what is gone by rule.
func summaryOf(r journal.Report) string {
	s := fmt.Sprintf("%d events hold", r.Events)
	for _, part := range []struct {
		n    int64
		text string
	}{{r.Segments, "%d seals"}, {r.Dropped, "the events of %d segments dropped by retention"},
		{r.Expired, "the data of %d events expired"}, {r.Redacted, "the data of %d events redacted"}} {
		if part.n > 0 {
			s += ", " + fmt.Sprintf(part.text, part.n)
		}
	}
	return s
}

// Run implements `zeno journal tail`.
func (c *journalTail) Run(a *app) error {
	return a.withJournal(func(ctx context.Context, r *journal.Reader) error {
		p := eventPrinter{a.std.Out, c.JSON, tailWidth}
		es, err := r.Tail(ctx, c.Lines)
		seen := uint64(0)
		if err == nil && len(es) == 0 { // none was asked for, or there is none
			at, aerr := r.Anchor(ctx)
			seen, err = at.Seq, aerr
		}
		for err == nil {
			last, perr := p.all(es)
			if perr != nil || !c.Follow {
				return perr
			}
			seen = max(seen, last)
			if len(es) < page && !sleep(ctx, followEvery) {
				return nil
			}
			es, err = r.Since(ctx, seen, page)
		}
		return err
	})
}

// sleep tells whether ctx lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Run implements `zeno journal show`.
func (c *journalShow) Run(a *app) error {
	return a.withJournal(func(ctx context.Context, r *journal.Reader) error {
		p := eventPrinter{a.std.Out, c.JSON, 0}
		for after := uint64(0); ; {
			es, err := r.Show(ctx, c.Spawn, after, page)
			if err != nil {
				return err
			}
			if len(es) == 0 && after == 0 {
				return usage(fmt.Errorf("journal: got the spawn %q, of which nothing is recorded; `zeno journal tail` shows ids", c.Spawn))
			}
			last, err := p.all(es)
			if err != nil || len(es) < page {
				return err
			}
			after = last
		}
	})
}

// Run implements `zeno journal export`.
func (c *journalExport) Run(a *app) error {
	return a.withJournal(func(ctx context.Context, r *journal.Reader) error { return r.Export(ctx, a.std.Out, c.After) })
}

// Run implements `zeno journal anchor`.
func (c *journalAnchor) Run(a *app) error {
	return a.withJournal(func(ctx context.Context, r *journal.Reader) error {
		at, err := r.Anchor(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.std.Out, at)
		return err
	})
}
