package read

import "github.com/reflection-dev/zeno/lisp/value"

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
			return r.call(func() value.Value { return f(r.t, form) }), nil
		}
	}
	switch name {
	case "inst":
		return r.literal(from, form, value.ParseInst, `an RFC 3339 time such as #inst "2020-01-31T12:00:00.000-00:00"`)
	case "uuid":
		return r.literal(from, form, value.ParseUUID, `a UUID such as #uuid "00000000-0000-0000-0000-000000000001"`)
	}
	if r.opts.Default != nil {
		return r.call(func() value.Value { return r.opts.Default(r.t, tag, form) }), nil
	}
	e := r.errorf(from, "tag: got #%s, want a tag with a reader function: inst and uuid have one", shown(name))
	return value.Nil, e
}

// call runs a reader function of the program's. What such functions gave before it counts as alive meanwhile: it may be
// larger than its text.
func (r *Reader) call(f func() value.Value) value.Value {
	r.t.Watch(r.stack)
	v := f()
	r.t.Unwatch()
	return v
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
