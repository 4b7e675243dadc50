// Package cli is zeno's command line: it reads arguments, makes a core.Core with no more than the command needs, and
// turns how that ended into what is printed and an exit code (exit.go).
//
// Two rules hold everywhere. Values go to stdout, everything about them (reports, warnings, hints) to stderr, so that a
// pipe sees values only. And whatever happens, a signal ends the process soon with its children gone: the first one
// cancels what runs and closes the core, the second does not wait (signals.go).
//
// Where the home is loaded: the REPL, `spawn` and `eval --role` load the one that --home, $ZENO_HOME or ~/.zeno names,
// since they are about it. FILE and -e load it only where --home is given: a script must not depend on whose machine it
// runs on.
//
// Start reading at Main, then grammar.go for the commands. The REPL is repl.go, with lines.go (where its lines come
// from), complete.go and history.go.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// Std is what the command line gets from its process.
type Std struct {
	In       *os.File
	Out, Err *os.File
	Getenv   func(string) string
}

// Process is the Std of this process.
func Process() Std { return Std{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv} }

// Main runs the command line args, without the program's name, and gives the exit code.
func Main(args []string, std Std) int {
	a := newApp(std)
	defer a.signals.stop()
	err := a.run(args)
	if code, ended := a.signals.code(); ended { // whatever it says, it was told to end
		return code
	}
	var e *exitError
	if err != nil && (!errors.As(err, &e) || e.err != nil) {
		fmt.Fprintf(std.Err, "zeno: %s\n", err)
	}
	return codeOf(err)
}

// helped is how the help printer ends parsing: kong calls its exit function.
type helped struct{ code int }

func (a *app) run(args []string) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case helped:
			err = nil
			if r.code != 0 {
				err = reported(r.code)
			}
		default:
			panic(r)
		}
	}()
	var g grammar
	parser, err := kong.New(&g, kong.Name("zeno"), kong.Writers(a.std.Out, a.std.Err), kong.Help(help),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Exit(func(code int) { panic(helped{code}) }))
	if err != nil {
		return fmt.Errorf("command line: %w", err)
	}
	parsed, err := parser.Parse(prepare(asked(args)))
	if err != nil {
		return usage(fmt.Errorf("%w; see %s --help", err, commandOf(err)))
	}
	a.home = g.Home
	if a.log, err = g.logger(a); err != nil {
		return err
	}
	a.logJSON = g.LogFormat == "json"
	return parsed.Run(a)
}

// discard drops the close errors of what was only read.
func discard(c io.Closer) { _ = c.Close() }
