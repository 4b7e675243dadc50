package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/gateway"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// asker hands the questions of one spawn to a person. It implements grant.Asker.
type asker struct {
	core   *Core
	caller gateway.Caller
	calls  func() map[string]int
}

// askOptions are those of ask-user and of zeno.ask/ask.
type askOptions struct {
	Choices value.Value   `lisp:"choices"`
	Timeout bind.Duration `lisp:"timeout"`
	Default value.Value   `lisp:"default"`
	Key     value.Value   `lisp:"key"`
}

// errAsks is what an agent hears of a file that cannot be written; the operator hears why.
var errAsks = errors.New("the question could not be kept, so nobody was asked; end your turn and say so: only the operator can mend it")

// Ask implements grant.Asker.
func (k asker) Ask(ctx context.Context, by *grant.Asking, args []value.Value) error {
	var q ask.Ask
	var o askOptions
	_, err := k.core.env.Do(ctx, func(t *value.Thread) value.Value {
		if args[0].Kind() != value.KindString {
			panic(value.ArgError("the question: got %s, want a string", value.Brief(t, args[0])))
		}
		if len(args) > 1 && !args[1].IsNil() {
			if err := bind.Decode(t, args[1], &o); err != nil {
				panic(value.ArgError("options: %s", err))
			}
		}
		if !o.Key.IsNil() {
			panic(value.ArgError("options: got :key, want :choices, :timeout, :default"))
		}
		q = k.core.question(t, args[0].Text(), o)
		return value.Nil
	})
	if err != nil {
		return err
	}
	timeout := time.Duration(o.Timeout)
	if most := by.Timeout; most > 0 {
		if timeout > most {
			return fmt.Errorf(":timeout: got %v, want at most %v: the role allows no more", timeout, most)
		}
		if timeout == 0 {
			timeout = min(most, ask.DefaultTime)
		}
	}
	q.Kind = ask.Question
	return k.put(ctx, q, timeout, by.Max)
}

// Hold implements grant.Asker.
func (k asker) Hold(ctx context.Context, c *grant.Capability, args []value.Value) error {
	text, err := k.core.heldArgs(ctx, c.Name, args)
	if err != nil {
		return err
	}
	q := ask.Ask{Kind: ask.Approval, Text: "May this call be made?", Call: &ask.Call{Name: c.Name, Args: text}}
	return k.put(ctx, q, 0, 0)
}

// heldArgs prints the arguments of a held call, which are run as they are printed: they must read back as they were.
func (c *Core) heldArgs(ctx context.Context, name string, args []value.Value) (text string, err error) {
	_, err = c.env.Do(ctx, func(t *value.Thread) value.Value {
		p := value.NewPrinter(true)
		p.MaxBytes = ask.MaxText + 1
		list := value.NewList(t, args...)
		p.Print(t, list)
		text = string(p.Buf)
		if len(text) > ask.MaxText {
			panic(value.ArgError("%s: got arguments of more than %d bytes, want less: a person must be able to read what is approved", name, ask.MaxText))
		}
		if c.secrets.Text(text) != text {
			panic(value.ArgError("%s: got arguments that hold a secret, want none: they are shown to a person and recorded", name))
		}
		if !value.Equal(t, readEDN(t, text), list) {
			panic(value.ArgError("%s: got arguments that do not read back as they print, such as ##NaN, want plain data: a person approves what is printed", name))
		}
		return value.Nil
	})
	return text, err
}

// question decodes what was asked; secrets in it are hidden.
func (c *Core) question(t *value.Thread, text string, o askOptions) ask.Ask {
	q := ask.Ask{Text: c.secrets.Text(text)}
	if !o.Choices.IsNil() {
		if !o.Choices.Kind().IsSequential() && !o.Choices.Kind().IsSet() {
			panic(value.ArgError(":choices: got %s, want a vector of texts", value.Brief(t, o.Choices)))
		}
		value.Each(t, o.Choices, func(v value.Value) bool {
			q.Choices = append(q.Choices, c.secrets.Text(choiceText(t, v)))
			return len(q.Choices) <= ask.MaxChoices
		})
	}
	if !o.Default.IsNil() {
		d := c.secrets.Text(choiceText(t, o.Default))
		q.Default = &d
	}
	return q
}

// choiceText is a choice as a person reads and types it.
func choiceText(t *value.Thread, v value.Value) string {
	switch v.Kind() {
	case value.KindString:
		return v.Text()
	case value.KindKeyword:
		return value.As[value.Keyword](v).FullName()
	}
	return value.PrStr(t, v)
}

// put puts a question down, durably. Where the spawn has one already, that stands: its evaluation ends just the same.
func (k asker) put(ctx context.Context, q ask.Ask, timeout time.Duration, most int) error {
	a := k.core.asks
	a.asking.Lock()
	defer a.asking.Unlock()
	a.mu.Lock()
	r := a.runs[k.caller.Spawn]
	ready := r != nil && r.running
	if ready && r.asked != nil {
		a.mu.Unlock()
		return nil
	}
	a.mu.Unlock()
	switch {
	case !ready:
		return errors.New("a person must answer, and nobody could be told the answer here, want a spawn that zeno runs; go on without it, and say so")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	d, err := a.open()
	if err != nil {
		a.warned(err)
		return errAsks
	}
	sp := a.saved(r, k.calls())
	if old, ok, err := d.Spawn(ctx, sp.ID); err == nil && ok {
		sp.Asks = old.Asks
	}
	if q.Kind == ask.Question {
		if sp.Asks >= most {
			return fmt.Errorf("got question %d of this run, want at most %d; decide yourself, or end your turn and say what is open", sp.Asks+1, most)
		}
		sp.Asks++
	}
	q.Spawn, q.Role = k.caller.Spawn, k.caller.Role
	q, err = d.Ask(ctx, q, timeout, &sp)
	if err != nil {
		if errors.Is(err, ask.ErrInvalid) || errors.Is(err, ask.ErrFull) {
			return err
		}
		a.warned(err)
		return errAsks
	}
	a.at("asked")
	a.mu.Lock()
	r.asked = &q
	a.mu.Unlock()
	a.forward(d)
	a.send(d, q)
	return nil
}

// happened lists the capability calls of the evaluation that runs, for an agent that is interrupted in it.
type happened struct {
	mu    sync.Mutex
	calls []string
	more  int
}

// maxHappened bounds how many calls are kept, and maxCall the bytes of each.
const (
	maxHappened = 50
	maxCall     = 200
)

func (h *happened) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls, h.more = nil, 0
}

func (h *happened) add(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.calls) >= maxHappened {
		h.more++
		return
	}
	if r := []rune(call); len(r) > maxCall {
		call = string(r[:maxCall]) + "…"
	}
	h.calls = append(h.calls, call)
}

// notice is what the agent is told that has asked q.
func (h *happened) notice(q ask.Ask) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return q.Notice(h.calls, h.more)
}

// callText is a call that was made, from what is recorded of it.
func callText(data map[string]any, err error) string {
	args, _ := data["args"].(string)
	text := ask.Call{Name: fmt.Sprint(data["name"]), Args: args}.Form()
	if err != nil {
		text += " (it failed)"
	}
	return text
}

// askCapability is ask-user as the description of the eval tool shows it.
func askCapability() gateway.Capability {
	return gateway.Capability{Name: grant.AskUser, Arglists: []string{"[question]", "[question {:keys [choices timeout default]}]"}, Doc: grant.AskDoc}
}
