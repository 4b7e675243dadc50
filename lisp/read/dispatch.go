package read

import (
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

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
		if r.opts.EDN {
			return value.Nil, found, r.errorf(from, "EDN: got #!, want data; that belongs to programs")
		}
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
		return value.Float(math.Inf(1)), nil
	case "-Inf":
		return value.Float(math.Inf(-1)), nil
	case "NaN":
		return value.Float(math.NaN()), nil
	default:
		return value.Nil, r.errorf(from, "##: got ##%s, want ##Inf, ##-Inf or ##NaN", shown(tok))
	}
}

// regex reads #"…": the text between the quotes, backslashes and all.
func (r *Reader) regex() (value.Value, *Error) {
	from := r.off
	end, ok := closingQuote(r.src, from+2)
	if !ok {
		return value.Nil, r.unended(from, "regex")
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
