package lisp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Error is how an evaluation fails, for Go: a Lisp exception, a limit or a defect of ours. errors.As finds the *LimitError
// or the Go error behind it.
type Error struct {
	Kind    string // "read", "unresolved", "compile", "arity", "type", "value", "user", "limit/<kind>", "cancelled", "interrupted", "reentrant", "internal"
	Class   string // of the Lisp exception; "" for others
	Message string
	Hint    string     // what to do about it; may be empty
	Pos     *value.Pos // where; may be nil
	Opened  *value.Pos // where a form begins whose end is missing, at Pos; nil for other errors
	Source  string     // the line at Opened or else at Pos, when the text is known
	Data    string     // the map of an ex-info, printed; may be empty
	Stack   []string   // innermost first: "ns/name (file:line:column)"
	Cause   *Error     // may be nil

	Value value.Value // the exception, for Lisp
	err   error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Pos != nil {
		fmt.Fprintf(&b, "%s: ", e.Pos)
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap gives the limit or the Go error behind e.
func (e *Error) Unwrap() error { return e.err }

// Marked is where Caret points: at the fault, or at the beginning of what has no end. It may be nil.
func (e *Error) Marked() *value.Pos {
	if e.Opened != nil {
		return e.Opened
	}
	return e.Pos
}

// Caret is the source line with a mark under the place, or "".
func (e *Error) Caret() string {
	at := e.Marked()
	if at == nil || e.Source == "" || at.Column < 1 {
		return ""
	}
	pad := []rune(e.Source)
	n := min(int(at.Column)-1, len(pad))
	for i := range pad[:n] {
		if pad[i] != '\t' {
			pad[i] = ' '
		}
	}
	return e.Source + "\n" + string(pad[:n]) + "^"
}

// kinds maps classes of exception to what a caller tells apart.
var kinds = map[string]string{
	"UnresolvedSymbolException": "unresolved", "CompilerException": "compile", "ParseError": "read",
	"ArityException": "arity", "ClassCastException": "type", "NullPointerException": "type", "ExceptionInfo": "user",
	"StackOverflowError": "depth", "InternalError": "internal",
}

// describe turns what a panic carried into an Error. It never panics itself.
func describe(t *value.Thread, r any, sources texts) *Error {
	switch r := r.(type) {
	case *value.Exception:
		return describeException(t, r.At(t), sources, 0)
	case *limit.Error:
		return describeLimit(t, r, sources)
	case *compile.Crash:
		return &Error{Kind: "internal", Message: "evaluation: failed inside the language; this is a defect of zeno, the log has more",
			err: &Crash{r.Reason, r.Stack}}
	}
	return &Error{Kind: "internal", Message: fmt.Sprintf("evaluation: failed inside the language: %v", r)}
}

// Crash is a Go panic inside the language: a defect to report. The stack is for the log, never for an agent.
type Crash struct {
	Reason any
	Stack  []byte
}

func (c *Crash) Error() string { return fmt.Sprintf("panic: %v", c.Reason) }

func describeLimit(t *value.Thread, l *limit.Error, sources texts) *Error {
	e := &Error{Kind: "limit/" + string(l.Kind), Message: l.Error(), err: l, Stack: stack(t.Trace(16)), Pos: t.Pos}
	switch l.Kind {
	case limit.Cancel:
		e.Kind, e.err = "cancelled", errors.Join(l, context.Canceled)
	case limit.Interrupt:
		e.Kind = "interrupted"
	}
	e.Source = sourceLine(sources, e.Pos)
	return e
}

func describeException(t *value.Thread, ex *value.Exception, sources texts, depth int) *Error {
	e := &Error{Kind: kinds[ex.Class], Class: ex.Class, Message: ex.Error(), Hint: ex.Hint, Pos: ex.Pos,
		Stack: stack(ex.Trace), Value: value.Of(ex), err: ex.Err}
	if e.Kind == "" {
		e.Kind = "value"
	}
	if ex.Data.Kind().IsMap() && value.Count(t, ex.Data) > 0 {
		e.Data = value.Brief(t, ex.Data)
	}
	if ex.Cause.Kind() == value.KindException && depth < 8 {
		e.Cause = describeException(t, value.As[value.Exception](ex.Cause), sources, depth+1)
	}
	if bad, ok := ex.Err.(*read.Error); ok { // the text is at fault, not the form before it
		e.Stack = slices.DeleteFunc(e.Stack, func(f string) bool { return strings.HasPrefix(f, topLevel) })
		e.Opened = bad.Opened
	}
	e.Source = sourceLine(sources, e.Marked())
	return e
}

// topLevel is what a stack calls the code outside of functions.
const topLevel = "top level"

func stack(frames []value.Frame) []string {
	var out []string
	for _, f := range frames {
		name := topLevel
		if f.Code != nil {
			name = f.Code.Name
		}
		if f.Pos != nil {
			name += " (" + f.Pos.String() + ")"
		}
		if n := len(out); n > 0 && out[n-1] == name {
			continue
		}
		out = append(out, name)
	}
	return out
}

// texts are the sources of an evaluation by the name that positions have for them.
type texts map[string]text

type text struct {
	src  string
	line int // the number of its first line; 0 is 1

	earlier []text // what was said before it under the same name, oldest first, by rising lines
}

func sourceLine(sources texts, p *value.Pos) string {
	if p == nil {
		return ""
	}
	x, ok := sources[p.File]
	if !ok {
		return ""
	}
	for i := len(x.earlier) - 1; i >= 0 && int(p.Line) < x.line; i-- {
		x.src, x.line = x.earlier[i].src, x.earlier[i].line
	}
	if int(p.Line) < x.line {
		return ""
	}
	src := x.src
	for i := max(x.line, 1); i < int(p.Line); i++ {
		j := strings.IndexByte(src, '\n')
		if j < 0 {
			return ""
		}
		src = src[j+1:]
	}
	line, _, _ := strings.Cut(src, "\n")
	if len(line) > 400 {
		return ""
	}
	return strings.TrimRight(line, "\r")
}
