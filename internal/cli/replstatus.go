package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/lisp"
)

// status shows what the engine does, as `zeno ps` and `zeno inbox` do from outside. It gives false for another word.
func (r *repl) status(word string) bool {
	var b bytes.Buffer
	now := time.Now()
	switch word {
	case ":processes":
		psProcesses(&b, r.core.Status().Processes, now)
		r.told(&b, `no process yet: (zeno.loop/every :tick "5m" #'tick) makes one`)
	case ":spawns":
		psSpawns(&b, r.core.Status().Spawns, now)
		r.told(&b, "no agent runs")
	case ":inbox":
		r.inbox(&b)
	default:
		return false
	}
	return true
}

// told shows what was written, or that there is nothing.
func (r *repl) told(b *bytes.Buffer, nothing string) {
	if b.Len() == 0 {
		fmt.Fprintln(r.out, nothing)
		return
	}
	r.show(strings.TrimPrefix(b.String(), "\n"))
}

func (r *repl) inbox(b *bytes.Buffer) {
	var list []ask.Ask
	err := r.attend(func(ctx context.Context) (err error) {
		list, err = r.core.Inbox(ctx)
		return err
	})
	if err != nil {
		r.complain(err)
		return
	}
	for _, q := range list {
		b.WriteString(askLine(q))
	}
	r.told(b, "nothing waits for an answer")
}

// reload takes in what has changed in the home, or one namespace.
func (r *repl) reload(name string) {
	var done []string
	err := r.attend(func(ctx context.Context) (err error) {
		if name == "" {
			done, err = r.core.Reload(ctx)
			return err
		}
		if r.core.Env().Raw().Namespace(name) == nil {
			return fmt.Errorf("reload: got %s, want a namespace that is loaded; (require '%s) loads it", name, name)
		}
		if _, err = r.core.Env().Eval(ctx, "(require '"+name+" :reload)", replFile); err == nil {
			done = []string{name}
		}
		return err
	})
	if len(done) > 0 {
		r.out.endLine()
		fmt.Fprintln(r.out, "loaded "+strings.Join(done, ", "))
	}
	if err != nil {
		r.complain(err)
	}
}

// complain reports what a command met.
func (r *repl) complain(err error) {
	r.out.endLine()
	var le *lisp.Error
	switch {
	case r.app.signals.ctx.Err() != nil || errors.Is(err, errAbandoned): // attend has said so
	case errors.Is(err, context.Canceled), errors.As(err, &le) && le.Kind == "cancelled":
		fmt.Fprintln(r.app.std.Err, "; interrupted")
	default:
		fmt.Fprintln(r.app.std.Err, r.app.explain(err))
	}
}

func (r *repl) namespaces() {
	var b strings.Builder
	for _, ns := range r.core.Env().Raw().Namespaces() {
		fmt.Fprintln(&b, ns.Name)
	}
	r.show(b.String())
}
