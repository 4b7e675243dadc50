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

// tagged reads #tag form.
func (r *Reader) tagged() (value.Value, *Error) {
	from := r.off
	r.off++
	tag, err := r.name()
	if err != nil {
		return tag, err
	}
	if tag.Kind() != value.KindSymbol {
		return tag, r.errorf(from, "tag: got #%s, want a symbol", value.Brief(r.t, tag))
	}
	name := value.As[value.Symbol](tag).FullName()
	form, err := r.form(from, "#"+shown(name))
	if err != nil {
		return form, err
	}
	return r.applyTag(from, tag, name, form)
}

func (r *Reader) applyTag(from int, tag value.Value, name string, form value.Value) (value.Value, *Error) {
	switch {
	case r.skip > 0:
		return value.Nil, nil
	case r.keep > 0:
		r.hold(64)
		return value.NewTaggedLiteral(tag, form), nil
	}
	if r.opts.Tags != nil {
		if f := r.opts.Tags(name); f != nil {
			return f(r.t, form), nil
		}
	}
	switch name {
	case "inst":
		return r.literal(from, form, value.ParseInst, `an RFC 3339 time such as #inst "2020-01-31T12:00:00.000-00:00"`)
	case "uuid":
		return r.literal(from, form, value.ParseUUID, `a UUID such as #uuid "00000000-0000-0000-0000-000000000001"`)
	}
	if r.opts.Default != nil {
		return r.opts.Default(r.t, tag, form), nil
	}
	e := r.errorf(from, "tag: got #%s, want a tag with a reader function: inst and uuid have one", shown(name))
	return value.Nil, e
}

// literal reads the text of a built-in tag.
func (r *Reader) literal(from int, form value.Value, parse func(string) (value.Value, bool), want string) (value.Value, *Error) {
	if form.Kind() == value.KindString {
		r.hold(64)
		if v, ok := parse(form.Text()); ok {
			return v, nil
		}
	}
	return value.Nil, r.errorf(from, "literal: got %s, want %s", value.Brief(r.t, form), want)
}
