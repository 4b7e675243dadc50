package read

import (
	"math"
	"strconv"

	"github.com/reflection-dev/zeno/lisp/value"
)

func inf(sign int) float64 { return math.Inf(sign) }
func nan() float64         { return math.NaN() }

// elements reads forms up to the closing delimiter and leaves them on the stack, from base on. text is the opening
// delimiter, which r.off is behind of, and stands at from.
func (r *Reader) elements(text string, want byte, from int, pos value.Pos) (base int, err *Error) {
	r.open = append(r.open, opening{text, want, from, pos})
	r.t.Enter()
	base = len(r.stack)
	for {
		v, st, err := r.item()
		switch {
		case err != nil:
			return base, err
		case st == found:
			r.push(v)
		case st == ended:
			return base, r.unclosed()
		case st == closed:
			return base, r.close()
		}
	}
}

// close takes the closing delimiter of the innermost collection.
func (r *Reader) close() *Error {
	last := len(r.open) - 1
	if r.src[r.off] != r.open[last].want {
		return r.unmatched()
	}
	r.off++
	r.open = r.open[:last]
	r.t.Leave()
	return nil
}

// drop takes the elements from base on off the stack.
func (r *Reader) drop(base int) {
	r.pin(value.PlaceBytes + 48*(len(r.stack)-base)) // what the collection made of them takes, about
	clear(r.stack[base:])
	r.stack = r.stack[:base]
}

func (r *Reader) list() (value.Value, *Error) {
	from := r.off
	pos := r.place(from)
	r.off++
	base, err := r.elements("(", ')', from, pos)
	if err != nil {
		return value.Nil, err
	}
	v := value.PlaceNew(r.t, value.NewList(r.t, r.stack[base:]...), pos)
	r.drop(base)
	return v, nil
}

func (r *Reader) vector() (value.Value, *Error) {
	from := r.off
	pos := r.place(from)
	r.off++
	base, err := r.elements("[", ']', from, pos)
	if err != nil {
		return value.Nil, err
	}
	v := value.PlaceNew(r.t, value.NewVector(r.t, r.stack[base:]), pos)
	r.drop(base)
	return v, nil
}

func (r *Reader) mapForm() (value.Value, *Error) {
	from := r.off
	return r.mapAt(from, "")
}

// mapAt reads the map that opens at r.off. It stands at from; its bare keys get the namespace ns, if that is not empty.
func (r *Reader) mapAt(from int, ns string) (value.Value, *Error) {
	pos, at := r.place(from), r.off
	r.off++
	base, err := r.elements("{", '}', at, pos)
	if err != nil {
		return value.Nil, err
	}
	xs := r.stack[base:]
	if len(xs)%2 != 0 {
		return value.Nil, r.errorf(from, "map: got %d forms, want a value for each key: %s has none", len(xs), value.Brief(r.t, xs[len(xs)-1]))
	}
	for i := 0; ns != "" && i < len(xs); i += 2 {
		xs[i] = r.qualify(xs[i], ns)
	}
	v, err := r.guard(from, func() value.Value { return value.PlaceNew(r.t, value.NewMapLiteral(r.t, xs), pos) })
	if err == nil {
		r.drop(base)
	}
	return v, err
}

func (r *Reader) set() (value.Value, *Error) {
	from := r.off
	pos := r.place(from)
	r.off += 2
	base, err := r.elements("#{", '}', from, pos)
	if err != nil {
		return value.Nil, err
	}
	v, err := r.guard(from, func() value.Value { return value.PlaceNew(r.t, value.NewSetLiteral(r.t, r.stack[base:]), pos) })
	if err == nil {
		r.drop(base)
	}
	return v, err
}

// namespacedMap reads #:ns{…}, #::{…} and #::alias{…}.
func (r *Reader) namespacedMap() (value.Value, *Error) {
	from := r.off
	r.off += 2
	auto := r.off < len(r.src) && r.src[r.off] == ':'
	if auto {
		r.off++
	}
	ns := r.token(endsToken)
	var err *Error
	switch {
	case auto && r.opts.EDN:
		err = r.errorf(from, "map: got #::, want #:ns with the namespace in full")
	case auto:
		ns, err = r.autoNS(from, ns)
	case ns == "" || !validName(ns) || ns == "/":
		err = r.errorf(from, "map: got #:%s, want a namespace such as #:ns{…}", shown(ns))
	}
	if err != nil {
		return value.Nil, err
	}
	r.space()
	if r.off == len(r.src) {
		return value.Nil, r.incomplete(r.off, "end of text: the #: at %s wants a map", r.named(r.place(from)))
	}
	if r.src[r.off] != '{' {
		return value.Nil, r.errorf(r.off, "map: got %c after #:%s, want {", mustRune(r.src[r.off:]), shown(ns))
	}
	return r.mapAt(from, ns)
}

// qualify puts a bare keyword or symbol into namespace ns, and one of namespace _ into none.
func (r *Reader) qualify(k value.Value, ns string) value.Value {
	switch k.Kind() {
	case value.KindKeyword:
		kw := value.As[value.Keyword](k)
		if full, ok := r.qualified(kw.NS, kw.Name, ns); ok {
			return value.Of(r.opts.Intern.Keyword(r.t, full))
		}
	case value.KindSymbol:
		s := value.As[value.Symbol](k)
		if full, ok := r.qualified(s.NS, s.Name, ns); ok {
			return value.WithPos(value.Of(r.opts.Intern.Symbol(r.t, full)), s.Pos())
		}
	}
	return k
}

func (r *Reader) qualified(own, name, ns string) (string, bool) {
	switch own {
	case "":
		r.t.Charge(len(ns) + 1 + len(name))
		return ns + "/" + name, true
	case "_":
		return name, true
	}
	return "", false
}

// meta reads metadata behind a prefix of n bytes, and the form that carries it.
func (r *Reader) meta(n int) (value.Value, *Error) {
	from := r.off
	r.off += n
	m, err := r.form(from, "^")
	if err != nil {
		return m, err
	}
	switch m.Kind() {
	case value.KindKeyword:
		m = value.NewMap(r.t, m, value.True)
	case value.KindSymbol, value.KindString:
		m = value.NewMap(r.t, value.Of(r.opts.Intern.Keyword(r.t, "tag")), m)
	default:
		if !m.Kind().IsMap() {
			return m, r.errorf(from, "^: got %s (%s), want a keyword, symbol, string or map as metadata", value.Brief(r.t, m), m.Kind())
		}
	}
	v, err := r.form(from, "^")
	if err != nil {
		return v, err
	}
	if k := v.Kind(); k != value.KindSymbol && !k.IsColl() {
		return v, r.errorf(from, "^: got metadata on %s (%s), want it on a symbol or collection", value.Brief(r.t, v), k)
	}
	return r.withMeta(v, m), nil
}

// withMeta adds the entries of m to the metadata of v, which keeps its position.
func (r *Reader) withMeta(v, m value.Value) value.Value {
	pos := value.PosOf(v)
	all := value.Meta(v)
	if all.IsNil() {
		all = m
	} else {
		value.EachKV(r.t, m, func(k, x value.Value) bool {
			all = value.Assoc(r.t, all, k, x)
			return true
		})
	}
	v = value.WithMeta(r.t, v, all)
	if pos != nil && value.PosOf(v) == nil {
		v = value.WithPos(v, pos)
	}
	return v
}

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
