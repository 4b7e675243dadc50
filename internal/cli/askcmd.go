package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/home"
)

// inboxCmd is `zeno inbox`. It and `zeno answer` work on the file of questions, whether or not a zeno serves the home: one
// that does sees a change within half a second, else the next one that is started goes on from it.
type inboxCmd struct {
	ID   string `arg:"" optional:"" placeholder:"ID" help:"Show this question whole, also one that is answered."`
	JSON bool   `name:"json" help:"Print as JSON, a question a line."`
}

// answerCmd is `zeno answer`.
type answerCmd struct {
	ID       string   `arg:"" help:"The question, such as Q-17."`
	Text     []string `arg:"" optional:"" help:"The answer; several words are joined. An approval takes yes, no, or \"no: the reason\". - reads it from stdin."`
	By       string   `placeholder:"NAME" help:"Who answers, for the record. Default: the user."`
	Resume   bool     `help:"Decide about a question in the state unknown: send its answer once more; for a call that may have been made, TEXT says what became of it."`
	Withdraw bool     `help:"Take the question back; TEXT says why. The spawn that waits for it ends as cancelled."`
}

// withDesk opens the home's questions for f.
func (a *app) withDesk(f func(context.Context, *ask.Desk) error) error {
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		return usage(err)
	}
	path := filepath.Join(h.Dir, "state", core.AsksFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return f(a.signals.ctx, nil)
	}
	d, err := ask.Open(a.signals.ctx, ask.Config{Path: path})
	if err != nil {
		return err
	}
	defer discard(d)
	return a.attend(func(ctx context.Context) error { return f(ctx, d) })
}

// Run implements `zeno inbox`.
func (c *inboxCmd) Run(a *app) error {
	return a.withDesk(func(ctx context.Context, d *ask.Desk) error {
		if d == nil {
			if c.ID != "" {
				return usage(ask.NotFound(c.ID))
			}
			if !c.JSON {
				fmt.Fprintln(a.std.Err, "nothing waits for an answer")
			}
			return nil
		}
		if c.ID != "" {
			q, err := d.Get(ctx, c.ID)
			if errors.Is(err, ask.ErrNotFound) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			return c.print(a, q, true)
		}
		list, err := d.Inbox(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 && !c.JSON {
			fmt.Fprintln(a.std.Err, "nothing waits for an answer")
		}
		for _, q := range list {
			if err := c.print(a, q, false); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *inboxCmd) print(a *app, q ask.Ask, whole bool) error {
	if c.JSON {
		enc := json.NewEncoder(a.std.Out) // a line, for who reads lines
		enc.SetEscapeHTML(false)
		return enc.Encode(q)
	}
	if !whole {
		_, err := io.WriteString(a.std.Out, askLine(q))
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s  asked %s, until %s\n%s\n", q.ID, q.State, askedBy(q), q.Asked.Local().Format(askTime), q.Deadline.Local().Format(askTime), printable(q.Text))
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", label, printable(text))
		}
	}
	if q.Call != nil {
		line("call", q.Call.Form())
	}
	line("choices", strings.Join(q.Choices, " | "))
	if q.Default != nil {
		line("default", *q.Default)
	}
	if q.Answer != "" {
		line("answer by "+q.By, q.Answer)
	}
	line("outcome", q.Outcome)
	line("note", q.Note)
	_, err := io.WriteString(a.std.Out, b.String())
	return err
}

const askTime = "2006-01-02 15:04"

func askedBy(q ask.Ask) string {
	if q.Role == "" {
		return "the program"
	}
	return q.Role + " " + q.Spawn
}

// askLine is a question in a list.
func askLine(q ask.Ask) string {
	s := fmt.Sprintf("%s  %s  until %s  %s\n", q.ID, askedBy(q), q.Deadline.Local().Format(askTime), printable(q.Line()))
	if q.State == ask.Unknown {
		s += fmt.Sprintf("      unknown: %s\n      zeno answer --resume %s\n", printable(q.Note), q.ID)
	}
	return s
}

// printable is text without what a terminal would act on: an agent has written it.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '�'
		}
		return r
	}, s)
}

// Run implements `zeno answer`.
func (c *answerCmd) Run(a *app) error {
	text := strings.Join(c.Text, " ")
	if text == "-" {
		var err error
		if text, err = a.source("-"); err != nil {
			return err
		}
	}
	if c.Resume && c.Withdraw {
		return usage(errors.New("answer: got --resume and --withdraw, want one of them"))
	}
	by := c.By
	if by == "" {
		by = "cli"
		if u, err := user.Current(); err == nil && u.Username != "" {
			by = "cli:" + u.Username
		}
	}
	return a.withDesk(func(ctx context.Context, d *ask.Desk) error {
		if d == nil {
			return usage(ask.NotFound(c.ID))
		}
		q, err := c.do(ctx, d, text, by)
		switch {
		case errors.Is(err, ask.ErrNotFound), errors.Is(err, ask.ErrInvalid), errors.Is(err, ask.ErrClosed):
			return usage(err)
		case err != nil:
			return err
		}
		fmt.Fprintln(a.std.Err, c.said(q))
		return nil
	})
}

func (c *answerCmd) do(ctx context.Context, d *ask.Desk, text, by string) (ask.Ask, error) {
	switch {
	case c.Resume:
		return d.Decide(ctx, c.ID, text, by)
	case c.Withdraw:
		return d.Withdraw(ctx, c.ID, text, by)
	}
	return d.Answer(ctx, c.ID, text, by)
}

func (c *answerCmd) said(q ask.Ask) string {
	if c.Withdraw {
		return q.ID + " is withdrawn"
	}
	return fmt.Sprintf("%s is answered: %s. The zeno that serves the home goes on with it; where none runs, the next one does", q.ID, printable(q.Answer))
}
