package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// What the REPL shows of one value unless told otherwise: an endless seq ends somewhere.
const (
	shownItems = 1000
	shownBytes = 1 << 20
)

// replFile is the name of the REPL in positions.
const replFile = "REPL"

// repl is one conversation. On a terminal it prompts, completes and keeps a history; on a pipe it reads forms and prints
// values, as -e does.
type repl struct {
	app         *app
	core        *core.Core
	session     *lisp.Session
	interactive bool
	lines       lines
	out         *tail  // stdout
	line        int    // of the next input, counted over the conversation
	failed      bool   // an evaluation has failed
	pager       *pager // nil: nothing is paged

	prompting string                  // the prompt that is shown
	running   atomic.Pointer[running] // what ctrl-C interrupts; nil: the prompt is shown
}

// repl runs the REPL to its end. Whatever is wrong with the home is reported and the prompt is there.
func (a *app) repl() error {
	r := &repl{app: a, interactive: terminal(a.std.In), out: &tail{w: a.std.Out}, line: 1}
	e := engine{home: a.findHome(), out: r.out}
	if r.interactive {
		var err error
		if e.editors, err = a.editors(); err != nil {
			return err
		}
	}
	if r.interactive {
		serve, release := a.serving(e.home)
		defer release()
		e.serve = serve
	}
	c, err := a.start(e)
	if err != nil {
		return err
	}
	defer a.close(c)
	defer a.obey(c)()
	r.core, r.session = c, lisp.NewSession(c.Env())
	if err := r.session.Explore(); err != nil {
		return err
	}
	if r.lines, err = r.open(); err != nil {
		return err
	}
	defer r.lines.close()
	if r.interactive {
		interrupt := r.interrupt
		a.signals.onInterrupt.Store(&interrupt)
		defer a.signals.onInterrupt.Store(nil)
		r.session.Set("*print-length*", value.Int(shownItems))
	}
	_ = r.attend(c.Boot) // it has reported what went wrong
	r.greet()
	err = r.loop()
	if err == nil && r.failed && !r.interactive {
		return reported(ExitFailed)
	}
	return err
}

// findHome is the home to load, or nil, said so.
func (a *app) findHome() *home.Home {
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		fmt.Fprintf(a.std.Err, "zeno: %v; starting without a home\n", err)
		return nil
	}
	return h
}

func (r *repl) open() (lines, error) {
	if !r.interactive || !editable(r.app.std) {
		return newPlain(r.app, r.interactive), nil
	}
	e, err := newEditor(r.app, historyFile(r.core.Home(), r.app.std.Getenv), r.complete)
	if err != nil {
		return nil, err
	}
	r.pager = &pager{app: r.app, out: r.out, raw: e.raw, normal: e.normal}
	return e, nil
}

// show writes a text that ends in a newline, a screen at a time where that is wanted.
func (r *repl) show(text string) {
	if r.pager == nil {
		_, _ = io.WriteString(r.out, text) // a terminal that has gone is no error of the program
		return
	}
	r.pager.show(text, false)
}

// showValue is show for a printed value.
func (r *repl) showValue(text string) {
	if r.pager == nil {
		r.show(text)
		return
	}
	r.pager.show(text, true)
}

func (r *repl) greet() {
	if !r.interactive {
		return
	}
	where := "no home"
	if h := r.core.Home(); h != nil && h.Exists() {
		where = "home " + h.Dir
	}
	fmt.Fprintf(r.out, "zeno %s, %s. :help for help, ctrl-D leaves.\n", version(), where)
	if b := r.core.EditorsBanner(); b != "" {
		fmt.Fprintln(r.out, b)
	}
}

// loop reads, evaluates and prints until the input or the process ends.
func (r *repl) loop() error {
	for r.app.signals.ctx.Err() == nil {
		text, err := r.read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errAborted):
			if text == "" {
				fmt.Fprintln(r.out, "; ctrl-D or :quit leaves")
			}
			continue
		case err != nil:
			return err
		}
		if r.interactive {
			if done, quit := r.command(strings.TrimSpace(text)); quit {
				return nil
			} else if done {
				continue
			}
		}
		r.eval(text)
	}
	return nil
}

// read takes lines until what they hold is complete. The text comes with errAborted too: what was dropped.
func (r *repl) read() (string, error) {
	var b strings.Builder
	var open nesting
	prompt := r.session.Namespace().Name + "=> "
	for {
		r.out.endLine()
		r.prompting = prompt
		line, err := r.lines.line(prompt)
		switch {
		case errors.Is(err, io.EOF) && strings.TrimSpace(b.String()) != "":
			return b.String(), nil // the evaluation will say what is missing
		case err != nil:
			return b.String(), err
		}
		b.WriteString(line)
		open.line(line)
		text := b.String()
		if strings.TrimSpace(text) == "" {
			r.line++
			b.Reset()
			open = nesting{}
			continue
		}
		if len(text) > maxInput || !open.open() && !r.session.Incomplete(text) {
			r.lines.remember(text)
			return text, nil
		}
		b.WriteByte('\n')
		prompt = continuation(prompt)
	}
}

// maxInput bounds one input, in bytes: beyond it, it is evaluated as it is.
const maxInput = 16 << 20

// continuation is the prompt of the lines after the first, as wide as the first one's.
func continuation(prompt string) string {
	return strings.Repeat(" ", max(len(prompt)-len("... "), 0)) + "... "
}

// eval evaluates text and prints the value of every form in it.
func (r *repl) eval(text string) {
	p := printer{session: r.session, out: r.out, nils: r.interactive}
	if r.interactive {
		p.max, p.show = shownBytes, r.showValue
	}
	in := lisp.Input{Src: text, File: replFile, Line: r.line, Each: func(t *value.Thread, v value.Value) {
		r.out.endLine()
		p.value(t, v)
	}}
	r.line += strings.Count(text, "\n") + 1
	session := r.session
	err := r.attend(func(ctx context.Context) error {
		_, err := session.Eval(ctx, in)
		return err
	})
	var le *lisp.Error
	switch {
	case err == nil || r.app.signals.ctx.Err() != nil:
	case errors.Is(err, errAbandoned):
		r.session = session.Fork() // the old one is busy for as long as the evaluation runs
	case r.interactive && errors.As(err, &le) && le.Kind == "cancelled":
		r.out.endLine()
		fmt.Fprintln(r.app.std.Err, "; interrupted")
	default:
		r.failed = true
		r.out.endLine()
		fmt.Fprintln(r.app.std.Err, r.app.explain(err))
	}
}

// running is an evaluation that ctrl-C can interrupt.
type running struct {
	cancel  context.CancelFunc
	again   chan struct{} // gets the second ctrl-C
	pressed atomic.Bool
}

var errAbandoned = errors.New("the evaluation did not stop; it goes on in the background")

// patience is how long an interrupted evaluation gets before the user is told that it still runs.
const patience = time.Second

// attend runs f so that the first ctrl-C cancels it and the second abandons it.
func (r *repl) attend(f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(r.app.signals.ctx)
	defer cancel()
	run := &running{cancel: cancel, again: make(chan struct{}, 1)}
	r.running.Store(run)
	defer func() {
		r.running.Store(nil)
		r.app.input.ready() // an interrupt that no read has seen is not for the next line
	}()
	done := make(chan error, 1)
	go func() {
		defer close(done)
		done <- f(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-timer.C:
			if r.app.signals.ctx.Err() != nil { // the process ends
				return errAbandoned
			}
			fmt.Fprintln(r.app.std.Err, "; still running; ctrl-C again abandons it")
		case <-run.again:
			fmt.Fprintln(r.app.std.Err, "; abandoned: it goes on in the background")
			return errAbandoned
		}
	}
}

// interrupt is what ctrl-C does. It is called from the goroutine that watches the signals.
func (r *repl) interrupt() {
	run := r.running.Load()
	switch {
	case run == nil:
		r.lines.abort()
	case run.pressed.CompareAndSwap(false, true):
		r.app.input.interrupt()
		run.cancel()
	default:
		select {
		case run.again <- struct{}{}:
		default:
		}
	}
}
