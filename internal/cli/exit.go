package cli

import (
	"errors"
	"strings"

	"github.com/reflection-dev/zeno/lisp"
)

// The exit codes of zeno. `zeno --help` and the README list the same.
//
//	0    it worked
//	1    the program failed: a Lisp error, a spawn or a demo that did not end :ok, a home that does not load
//	2    the command line is wrong, or names a file or a home that is not there
//	3    zeno eval: a limit ended the evaluation
//	4    zeno eval: a name did not resolve (it is neither in the core nor granted), or the role's grant is not to be had
//	5    no zeno serves the home, and the command needs one
//	130  interrupted (ctrl-C, SIGINT)
//	143  terminated (SIGTERM, SIGHUP); a daemon that was told to stop and did ends with 0, at a second signal with these
//	n    a program that calls (joker.os/exit n)
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitLimit       = 3
	ExitRefused     = 4
	ExitNotRunning  = 5
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// exitError is an end with a code of its own. A nil err has been reported already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return "failed"
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage is an error of the command line.
func usage(err error) error { return &exitError{ExitUsage, err} }

// reported ends with code after the reason has been printed.
func reported(code int) error { return &exitError{code, nil} }

// codeOf gives the exit code of what a command returned.
func codeOf(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &e):
		return e.code
	}
	return ExitFailed
}

// evalCode gives the exit code of an evaluation as an agent.
func evalCode(e *lisp.Error) int {
	switch {
	case e == nil:
		return ExitOK
	case strings.HasPrefix(e.Kind, "limit/"):
		return ExitLimit
	case e.Kind == "unresolved" || e.Kind == "grant":
		return ExitRefused
	case e.Kind == "cancelled":
		return ExitInterrupted
	}
	return ExitFailed
}
