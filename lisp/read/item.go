package read

import (
	"unicode"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

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
	return value.PlaceNew(r.t, value.NewList(r.t, sym, v), pos), nil
}

// listOf makes a list that stands at pos.
func (r *Reader) listOf(pos *value.Pos, xs ...value.Value) value.Value {
	r.pin(48 * (len(xs) + 1))
	return value.WithPos(value.NewList(r.t, xs...), pos)
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

// dispatch reads what begins with #.
func (r *Reader) dispatch() (value.Value, status, *Error) {
	from := r.off
	if from+1 == len(r.src) {
		return value.Nil, found, r.incomplete(from, "end of text: # wants what it introduces")
	}
	b := r.src[from+1]
	switch b {
	case '_':
		return r.discard()
	case '!':
		r.off = lineEnd(r.src, from)
		r.t.Steps((r.off - from) >> 6)
		return value.Nil, skipped, nil
	case '?':
		if !r.opts.EDN {
			return r.conditional()
		}
	}
	v, err := r.dispatched(from, b)
	return v, found, err
}

// discard reads a form and drops it.
func (r *Reader) discard() (value.Value, status, *Error) {
	from := r.off
	r.off += 2
	r.skip++
	_, err := r.form(from, "#_")
	r.skip--
	return value.Nil, skipped, err
}

// dispatched reads a form that begins with # and b.
func (r *Reader) dispatched(from int, b byte) (value.Value, *Error) {
	switch b {
	case '{':
		return r.set()
	case '^':
		return r.meta(2)
	case ':':
		return r.namespacedMap()
	case '#':
		return r.symbolic()
	case '<':
		return value.Nil, r.errorf(from, "#<: got the text of an object, want something that can be read back")
	}
	if c := mustRune(r.src[from+1:]); unicode.IsLetter(c) {
		return r.tagged()
	}
	if !r.opts.EDN {
		switch b {
		case '(':
			return r.fnLiteral()
		case '"':
			return r.regex()
		case '\'':
			return r.wrap(2, r.symbol("var"))
		case '=':
			return r.evalRefused()
		}
	}
	c, _ := utf8.DecodeRuneInString(r.src[from+1:])
	return value.Nil, r.errorf(from, "#: got #%c, want one of %s or a tag", c, r.dispatches())
}

func (r *Reader) dispatches() string {
	if r.opts.EDN {
		return "#{ #_ #^ #: ##"
	}
	return `#( #{ #" #' #_ #^ #: ## #? #!`
}

// evalRefused refuses #=, except where the form is dropped anyway.
func (r *Reader) evalRefused() (value.Value, *Error) {
	from := r.off
	if r.skip > 0 {
		r.off += 2
		_, err := r.form(from, "#=")
		return value.Nil, err
	}
	e := r.errorf(from, "#=: got a form to evaluate while reading, want data; reading never evaluates")
	e.Hint = "write the value itself, or evaluate the form after reading it"
	return value.Nil, e
}

// symbolic reads ##Inf, ##-Inf and ##NaN.
func (r *Reader) symbolic() (value.Value, *Error) {
	from := r.off
	r.off += 2
	switch tok := r.token(endsToken); tok {
	case "Inf":
		return value.Float(inf(1)), nil
	case "-Inf":
		return value.Float(inf(-1)), nil
	case "NaN":
		return value.Float(nan()), nil
	default:
		return value.Nil, r.errorf(from, "##: got ##%s, want ##Inf, ##-Inf or ##NaN", shown(tok))
	}
}

// regex reads #"…": the text between the quotes, backslashes and all.
func (r *Reader) regex() (value.Value, *Error) {
	from := r.off
	end, ok := closingQuote(r.src, from+2)
	if !ok {
		return value.Nil, r.incomplete(len(r.src), `end of text: the regex opened at %s wants "`, r.named(r.place(from)))
	}
	r.off = end + 1
	r.t.Steps((end - from) >> 4)
	if r.skip > 0 {
		return value.Nil, nil
	}
	if r.opts.Regex == nil {
		return value.Nil, r.errorf(from, `regex: got #"…", want a text without regexes: this reader has none`)
	}
	r.hold(end - from)
	pattern := string([]byte(r.src[from+2 : end]))
	return r.guard(from, func() value.Value { return r.opts.Regex(r.t, pattern) })
}
