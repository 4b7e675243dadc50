package read

import "github.com/reflection-dev/zeno/lisp/value"

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
