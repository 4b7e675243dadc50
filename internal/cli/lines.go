package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/peterh/liner"
)

// lines is where the REPL's lines come from. line gives one without its end; io.EOF after the last, errAborted where
// ctrl-C dropped it, the cause where the process ends. abort is ctrl-C at the prompt, from any goroutine.
type lines interface {
	line(prompt string) (string, error)
	remember(input string)
	abort()
	close()
}

var errAborted = errors.New("input: dropped")

// reading is a line on its way: reading cannot be stopped, so whoever waits for it may stop waiting and come back.
type reading struct {
	text string
	err  error
}

// plain reads lines from a pipe, or from a terminal that cannot be edited on.
type plain struct {
	app     *app
	prompts bool
	reader  *bufio.Reader
	pending chan reading // of the read under way; nil: none
	aborts  chan struct{}
}

func newPlain(a *app, prompts bool) *plain {
	return &plain{app: a, prompts: prompts, reader: a.stdin, aborts: make(chan struct{}, 1)}
}

func (p *plain) line(prompt string) (string, error) {
	if p.prompts {
		fmt.Fprint(p.app.std.Out, prompt)
	}
	if p.pending == nil {
		ch := make(chan reading, 1)
		p.pending = ch
		go func() {
			text, err := p.reader.ReadString('\n')
			if err == io.EOF && text != "" {
				err = nil
			}
			ch <- reading{strings.TrimRight(text, "\r\n"), err}
		}()
	}
	select {
	case got := <-p.pending:
		p.pending = nil
		if errors.Is(got.err, io.EOF) && p.prompts {
			fmt.Fprintln(p.app.std.Out)
		}
		return got.text, got.err
	case <-p.aborts:
		fmt.Fprintln(p.app.std.Out)
		return "", errAborted
	case <-p.app.signals.ctx.Done():
		return "", p.app.signals.ctx.Err()
	}
}

func (p *plain) remember(string) {}

func (p *plain) abort() {
	select {
	case p.aborts <- struct{}{}:
	default:
	}
}

func (p *plain) close() {}

// editable tells whether lines can be edited on the terminal.
func editable(std Std) bool { return terminal(std.Out) && liner.TerminalSupported() }

// editor reads lines from a terminal, with a history and completion. The terminal is in its own mode while a line is
// read, and in the one zeno found it in at all other times.
type editor struct {
	app     *app
	liner   *liner.State
	history *history
	normal  liner.ModeApplier
	raw     liner.ModeApplier
	once    sync.Once
}

func newEditor(a *app, historyFile string, complete liner.WordCompleter) (*editor, error) {
	normal, err := liner.TerminalMode()
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	e := &editor{app: a, liner: liner.NewLiner(), normal: normal, history: openHistory(historyFile)}
	if e.raw, err = liner.TerminalMode(); err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	e.liner.SetCtrlCAborts(true)
	e.liner.SetWordCompleter(complete)
	e.liner.SetTabCompletionStyle(liner.TabPrints)
	for _, entry := range e.history.entries {
		e.liner.AppendHistory(entry)
	}
	_ = e.normal.ApplyMode()
	return e, nil
}

func (e *editor) line(prompt string) (string, error) {
	_ = e.raw.ApplyMode() // a terminal that has gone shows in the read
	got := make(chan reading, 1)
	go func() {
		text, err := e.liner.Prompt(prompt)
		got <- reading{text, err}
	}()
	select {
	case l := <-got:
		_ = e.normal.ApplyMode()
		switch {
		case errors.Is(l.err, liner.ErrPromptAborted):
			fmt.Fprintln(e.app.std.Out)
			return "", errAborted
		case errors.Is(l.err, io.EOF):
			fmt.Fprintln(e.app.std.Out)
		}
		return l.text, l.err
	case <-e.app.signals.ctx.Done():
		_ = e.normal.ApplyMode()
		fmt.Fprintln(e.app.std.Out)
		return "", e.app.signals.ctx.Err()
	}
}

func (e *editor) remember(input string) {
	for _, entry := range entriesOf(input) {
		e.liner.AppendHistory(entry)
		e.history.add(entry)
	}
}

// abort does nothing: while a line is edited ctrl-C is a key and no signal.
func (e *editor) abort() {}

func (e *editor) close() {
	e.once.Do(func() {
		_ = e.liner.Close()
		_ = e.normal.ApplyMode()
	})
}
