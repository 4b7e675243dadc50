package read

import (
	"slices"

	"github.com/reflection-dev/zeno/lisp/value"
)

// conditional reads #?(…) or #?@(…).
func (r *Reader) conditional() (value.Value, status, *Error) {
	from := r.off
	r.off += 2
	splice := r.off < len(r.src) && r.src[r.off] == '@'
	if splice {
		r.off++
	}
	r.space()
	switch {
	case r.opts.ReadCond == CondForbid:
		return value.Nil, found, r.errorf(from, "#?: got a reader conditional, want a text without: they are off here")
	case r.off == len(r.src):
		return value.Nil, found, r.incomplete(r.off, "end of text: the #? at %s wants a list", r.named(r.place(from)))
	case r.src[r.off] != '(':
		return value.Nil, found, r.errorf(r.off, "#?: got %c, want a list of features and forms", mustRune(r.src[r.off:]))
	case splice && len(r.open) == 0:
		return value.Nil, found, r.errorf(from, "#?@: got it at the top level, want it inside a collection")
	}
	if r.opts.ReadCond == CondPreserve && r.skip == 0 {
		r.keep++
		list, err := r.list()
		r.keep--
		if err != nil {
			return value.Nil, found, err
		}
		r.hold(64)
		return value.NewReaderConditional(list, splice), found, nil
	}
	v, matched, err := r.branches()
	switch {
	case err != nil:
		return v, found, err
	case !matched:
		return v, skipped, nil
	case splice:
		return v, skipped, r.splice(from, v)
	}
	return v, found, nil
}

// branches reads the features and forms of a conditional and gives the first form whose feature is on.
func (r *Reader) branches() (chosen value.Value, matched bool, err *Error) {
	at := r.off
	r.open = append(r.open, opening{"(", ')', at, r.place(at)})
	r.off++
	r.t.Enter()
	for {
		r.space()
		from := r.off
		feature, st, err := r.item()
		switch {
		case err != nil:
			return chosen, false, err
		case st == skipped:
			continue
		case st == ended:
			return chosen, false, r.unclosed()
		case st == closed:
			return chosen, matched, r.close()
		}
		on, err := r.featureOn(from, feature)
		if err != nil {
			return chosen, false, err
		}
		take := on && !matched
		if !take {
			r.skip++
		}
		v, err := r.form(from, shown(value.Brief(r.t, feature)))
		if err != nil {
			return chosen, false, err
		}
		if take {
			chosen, matched = v, true
		} else {
			r.skip--
		}
	}
}

// featureOn tells whether a branch of the feature counts.
func (r *Reader) featureOn(from int, feature value.Value) (bool, *Error) {
	if feature.Kind() != value.KindKeyword {
		return false, r.errorf(from, "#?: got %s (%s), want a keyword that names a feature", value.Brief(r.t, feature), feature.Kind())
	}
	name := value.As[value.Keyword](feature).FullName()
	if name == "else" || name == "none" {
		return false, r.errorf(from, "#?: got :%s, which is reserved, want :default", name)
	}
	return name == "default" || slices.Contains(r.opts.Features, name), nil
}

// splice makes the elements of v the forms that come next.
func (r *Reader) splice(from int, v value.Value) *Error {
	if k := v.Kind(); !k.IsSequential() {
		return r.errorf(from, "#?@: got %s (%s), want a list or vector to splice", value.Brief(r.t, v), k)
	}
	xs := value.ToSlice(r.t, v)
	r.hold(16 * len(xs))
	slices.Reverse(xs)
	r.pending = append(r.pending, xs...)
	return nil
}
