package nrepl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// failures reports the errors of one evaluation to its client.
type failures struct {
	j        *job
	file     string // where an error is that does not know
	line     int
	printing bool // of a value
}

// report sends the text of an error, for people, and then what it is, for programs. One that the client asked for by
// interrupting is none.
func (f *failures) report(err *lisp.Error) {
	if err.Kind == "cancelled" {
		return
	}
	var crash *lisp.Crash
	if errors.As(err, &crash) {
		f.j.x.s.conf.Log.Error("nrepl: defect in the language", "reason", crash.Reason, "stack", string(crash.Stack))
	}
	text := f.headline(err) + "\n" + explain(err)
	_, _ = stream{f.j.out, "err"}.Write([]byte(text)) // never fails
	f.j.out.flush()
	f.printing = false
	root := err
	for root.Cause != nil {
		root = root.Cause
	}
	f.j.send(bencode.Dict{"ex": className(err), "root-ex": className(root), "status": []string{"eval-error"}})
}

// headline is the line in which editors find the place of an error.
func (f *failures) headline(err *lisp.Error) string {
	at := place(err.Pos, f.file, f.line)
	switch {
	case err.Kind == "read":
		return fmt.Sprintf("Syntax error reading source at (%s).", at)
	case err.Kind == "unresolved" || err.Kind == "compile":
		return fmt.Sprintf("Syntax error compiling at (%s).", at)
	case f.printing:
		return fmt.Sprintf("Error printing return value (%s) at %s (%s).", className(err), f.function(err), at)
	}
	return fmt.Sprintf("Execution error (%s) at %s (%s).", className(err), f.function(err), at)
}

func place(p *value.Pos, file string, line int) string {
	if p == nil || p.File == "" {
		return fmt.Sprintf("%s:%d:1", file, line)
	}
	return p.String()
}

// function names the function that failed.
func (f *failures) function(err *lisp.Error) string {
	if len(err.Stack) > 0 {
		if name, _, _ := strings.Cut(err.Stack[0], " ("); name != "top level" {
			return name
		}
	}
	return f.j.x.lisp().Namespace().Name + "/eval"
}

func className(err *lisp.Error) string {
	if err.Class != "" {
		return err.Class
	}
	return err.Kind
}

// explain words an error below its headline.
func explain(err *lisp.Error) string {
	var b strings.Builder
	b.WriteString(err.Message)
	if err.Hint != "" {
		b.WriteString("; " + err.Hint)
	}
	b.WriteByte('\n')
	if caret := err.Caret(); caret != "" && err.Class != "ExceptionInfo" {
		b.WriteString(caret + "\n")
	}
	if err.Data != "" {
		b.WriteString(err.Data + "\n")
	}
	for c := err.Cause; c != nil; c = c.Cause {
		fmt.Fprintf(&b, "Caused by: %s: %s\n", className(c), c.Message)
	}
	return b.String()
}
