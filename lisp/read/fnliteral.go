package read

import (
	"strconv"

	"github.com/reflection-dev/zeno/lisp/value"
)

// fnArgs are the arguments that a #(…) has named so far.
type fnArgs struct {
	names []*value.Symbol // by number, from 1; nil where not named
	rest  *value.Symbol
}

// maxFnArgs is the highest %n.
const maxFnArgs = 20

// fnLiteral reads #(…) as (fn* [args] (…)).
func (r *Reader) fnLiteral() (value.Value, *Error) {
	from := r.off
	if r.fn != nil {
		e := r.errorf(from, "#(): got a #() inside a #(), want (fn [x] …) for one of them")
		return value.Nil, e
	}
	args := &fnArgs{}
	r.fn = args
	pos := r.posAt(from)
	r.off += 2
	base, err := r.elements("#(", ')', from, *pos)
	r.fn = nil
	if err != nil {
		return value.Nil, err
	}
	body := r.listOf(pos, r.stack[base:]...)
	r.drop(base)
	var params []value.Value
	for i, s := range args.names {
		if s == nil {
			s = r.param("p" + strconv.Itoa(i+1))
		}
		params = append(params, value.Of(s.At(pos)))
	}
	if args.rest != nil {
		params = append(params, r.symbol("&"), value.Of(args.rest.At(pos)))
	}
	return r.listOf(pos, r.symbol("fn*"), value.WithPos(value.NewVector(r.t, params), pos), body), nil
}

// arg reads %, %n or %& inside a #(…).
func (r *Reader) arg() (value.Value, *Error) {
	from := r.off
	tok := r.token(endsToken)
	if tok == "%&" {
		if r.fn.rest == nil {
			r.fn.rest = r.param("rest")
		}
		return value.Of(r.fn.rest.At(r.posAt(from))), nil
	}
	n := 1
	if tok != "%" {
		var err error
		n, err = strconv.Atoi(tok[1:])
		if err != nil || n < 1 || n > maxFnArgs || tok[1] == '+' {
			return value.Nil, r.errorf(from, "#(): got %s, want %%, %%1 to %%%d or %%&", shown(tok), maxFnArgs)
		}
	}
	for len(r.fn.names) < n {
		r.fn.names = append(r.fn.names, nil)
	}
	if r.fn.names[n-1] == nil {
		r.fn.names[n-1] = r.param("p" + strconv.Itoa(n))
	}
	return value.Of(r.fn.names[n-1].At(r.posAt(from))), nil
}

// param names an argument. The name ends in #, so that a syntax-quote around it makes it fresh again.
func (r *Reader) param(prefix string) *value.Symbol {
	r.hold(128)
	return value.NewSymbol("", r.gensym(prefix+"__")+"#")
}

// gensym makes a name that was not used before.
func (r *Reader) gensym(prefix string) string {
	if r.opts.Gensym != nil {
		return r.opts.Gensym(prefix)
	}
	if r.t.Env != nil {
		return prefix + strconv.FormatInt(r.t.Env.Gensym(), 10)
	}
	r.gensyms++
	return prefix + strconv.Itoa(r.gensyms)
}
