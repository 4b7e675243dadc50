package read

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

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
	v := r.shown(value.PlaceNew(r.t, value.NewList(r.t, r.stack[base:]...), pos))
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
	case ns == "" || !validName(ns) || strings.Contains(ns, "/") || strings.ContainsRune("#':%0123456789", rune(ns[0])):
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
