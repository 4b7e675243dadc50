package read

import "github.com/reflection-dev/zeno/lisp/value"

// status is what item met.
type status int

const (
	found   status = iota
	skipped        // a comment, a discarded form, a conditional without a match
	closed         // a closing delimiter, still to be taken
	ended          // the end of the text
)

// item meets the next thing in the text, whatever it is.
func (r *Reader) item() (value.Value, status, *Error) {
	if n := len(r.pending); n > 0 {
		v := r.pending[n-1]
		r.pending = r.pending[:n-1]
		return v, found, nil
	}
	r.space()
	if r.off >= len(r.src) {
		return value.Nil, ended, nil
	}
	r.t.Step()
	switch b := r.src[r.off]; b {
	case ')', ']', '}':
		return value.Nil, closed, nil
	case '#':
		return r.dispatch()
	default:
		v, err := r.plain(b)
		return v, found, err
	}
}

// plain reads a form that begins with b, which is not #.
func (r *Reader) plain(b byte) (value.Value, *Error) {
	if r.opts.EDN {
		switch b {
		case '@', '`', '~':
			return value.Nil, r.errorf(r.off, "EDN: got %c, want data; that belongs to programs", b)
		case '\'', '%':
			return r.name()
		}
	}
	switch b {
	case '(':
		return r.list()
	case '[':
		return r.vector()
	case '{':
		return r.mapForm()
	case '"':
		return r.stringForm()
	case '\\':
		return r.char()
	case '^':
		return r.meta(1)
	case '\'':
		return r.wrap(1, r.symbol("quote"))
	case '@':
		return r.wrap(1, r.coreSymbol("deref"))
	case '`':
		return r.syntaxQuote()
	case '~':
		return r.unquote()
	case '%':
		if r.fn != nil {
			return r.arg()
		}
	case '+', '-':
		if r.off+1 < len(r.src) && classes[r.src[r.off+1]]&isDigit != 0 {
			return r.number()
		}
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return r.number()
	}
	return r.name()
}

// form reads one form that what, at from, must have.
func (r *Reader) form(from int, what string) (value.Value, *Error) {
	r.t.Enter()
	for {
		v, st, err := r.item()
		switch {
		case err != nil:
			return v, err
		case st == found:
			r.t.Leave()
			return v, nil
		case st == closed:
			return v, r.errorf(r.off, "%s: got %c, want a form after it", what, r.src[r.off])
		case st == ended && len(r.open) > 0:
			return v, r.unclosed()
		case st == ended:
			return v, r.incomplete(len(r.src), "end of text: the %s at %s wants a form", what, r.named(r.place(from)))
		}
	}
}

// wrap reads a form behind a prefix of n bytes and makes (sym form) of it.
func (r *Reader) wrap(n int, sym value.Value) (value.Value, *Error) {
	from := r.off
	pos := r.place(from)
	r.off += n
	v, err := r.form(from, r.src[from:from+n])
	if err != nil {
		return v, err
	}
	r.pin(2*48 + value.PlaceBytes)
	return r.shown(value.PlaceNew(r.t, value.NewList(r.t, sym, v), pos)), nil
}

// listOf makes a list that stands at pos.
func (r *Reader) listOf(pos *value.Pos, xs ...value.Value) value.Value {
	r.pin(48 * (len(xs) + 1))
	return r.shown(value.WithPos(value.NewList(r.t, xs...), pos))
}

// shown hides the place of a list where Options say so.
func (r *Reader) shown(v value.Value) value.Value {
	if r.opts.Unplaced {
		return value.HidePlace(v)
	}
	return v
}

// symbol gives an interned symbol.
func (r *Reader) symbol(name string) value.Value {
	return value.Of(r.opts.Intern.Symbol(r.t, name))
}

// coreSymbol gives the full name of something in the core.
func (r *Reader) coreSymbol(name string) value.Value {
	if s := r.core[name]; s != nil {
		return value.Of(s)
	}
	if r.core == nil {
		r.core = map[string]*value.Symbol{}
	}
	s := r.opts.Intern.Symbol(r.t, r.opts.CoreNS+"/"+name)
	r.core[name] = s
	return value.Of(s)
}
