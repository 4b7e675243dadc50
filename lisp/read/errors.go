package read

import (
	"fmt"

	"github.com/reflection-dev/zeno/lisp/value"
)

// Error is a fault in a text.
type Error struct {
	Pos        *value.Pos
	Message    string // noun: got X, want Y
	Hint       string // what to do about it; may be empty
	Incomplete bool   // the text ended inside a form: more of it may mend that

	Opened *value.Pos // where that form begins; nil if Incomplete is false or it is not known
}

func (e *Error) Error() string {
	s := e.Message
	if e.Pos != nil {
		if e.Pos.File == "" {
			s = fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Column, s)
		} else {
			s = e.Pos.String() + ": " + s
		}
	}
	return s
}

// Exception gives the error as Lisp sees it.
func (e *Error) Exception() *value.Exception {
	ex := value.Errorf("ParseError", "%s", e.Message)
	ex.Pos, ex.Hint, ex.Err = e.Pos, e.Hint, e
	return ex
}

func (r *Reader) errorf(off int, format string, args ...any) *Error {
	return &Error{Pos: r.posAt(off), Message: fmt.Sprintf(format, args...)}
}

// incomplete says that the text ended while something was being read.
func (r *Reader) incomplete(off int, format string, args ...any) *Error {
	e := r.errorf(off, format, args...)
	e.Incomplete = true
	return e
}

// unended says that the text ended inside the string or regex that began at from.
func (r *Reader) unended(from int, what string) *Error {
	p := r.place(from)
	e := r.incomplete(len(r.src), `end of text: the %s opened at %s wants "`, what, r.named(p))
	e.Opened = &p
	return e
}

// named words a position inside a message.
func (r *Reader) named(p value.Pos) string {
	if p.File == "" {
		return fmt.Sprintf("%d:%d", p.Line, p.Column)
	}
	return p.String()
}

// unmatched says that the delimiter at r.off closes nothing, or the wrong thing.
func (r *Reader) unmatched() *Error {
	got := r.src[r.off]
	if len(r.open) == 0 {
		e := r.errorf(r.off, "unmatched %c at %s: nothing is open", got, r.named(r.place(r.off)))
		e.Hint = "remove it, or add the opening delimiter before it"
		return e
	}
	o := r.open[len(r.open)-1]
	e := r.errorf(r.off, "unmatched %c at %s: the %s opened at %s wants %c", got, r.named(r.place(r.off)), o.text, r.named(o.pos), o.want)
	e.Hint = fmt.Sprintf("close the %s of line %d first", o.text, o.pos.Line)
	return e
}

// unclosed says that the text ended inside the innermost open collection.
func (r *Reader) unclosed() *Error {
	o := r.open[len(r.open)-1]
	e := r.incomplete(len(r.src), "end of text: the %s opened at %s wants %c", o.text, r.named(o.pos), o.want)
	e.Hint, e.Opened = fmt.Sprintf("close the %s of line %d", o.text, o.pos.Line), &o.pos
	return e
}

// guard runs f, whose Lisp errors become errors of the text at off. Limits and deep nesting pass.
func (r *Reader) guard(off int, f func() value.Value) (v value.Value, err *Error) {
	mark := r.t.Mark()
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		ex, ok := x.(*value.Exception)
		if !ok || ex.Class == "StackOverflowError" {
			panic(x)
		}
		r.t.Unwind(mark)
		err = r.errorf(off, "%s", ex.Error())
		err.Hint = ex.Hint
	}()
	return f(), nil
}
