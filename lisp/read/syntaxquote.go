package read

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// quoter turns one syntax-quoted form into code that builds it.
type quoter struct {
	r     *Reader
	from  int
	pos   *value.Pos
	fresh map[string]value.Value // x# in this form: its symbol
}

// syntaxQuote reads `form.
func (r *Reader) syntaxQuote() (value.Value, *Error) {
	q := quoter{r: r, from: r.off, pos: r.posAt(r.off)}
	r.off++
	v, err := r.form(q.from, "`")
	if err != nil {
		return v, err
	}
	return q.quote(v)
}

// unquote reads ~form or ~@form.
func (r *Reader) unquote() (value.Value, *Error) {
	if r.off+1 < len(r.src) && r.src[r.off+1] == '@' {
		return r.wrap(2, r.coreSymbol("unquote-splicing"))
	}
	return r.wrap(1, r.coreSymbol("unquote"))
}

// quote gives the code that builds form.
func (q *quoter) quote(form value.Value) (value.Value, *Error) {
	r := q.r
	r.t.Step()
	switch k := form.Kind(); {
	case k == value.KindSymbol:
		return q.withMeta(form, q.symbol(form))
	case k.IsSeq():
		if x, ok := q.unquoted(form, "unquote"); ok {
			return x, nil
		}
		if _, ok := q.unquoted(form, "unquote-splicing"); ok {
			return form, r.errorf(q.from, "syntax-quote: got ~@ outside a collection, want it inside one")
		}
		if value.Seq(r.t, form).IsNil() {
			return q.withMeta(form, q.list(r.coreSymbol("list")))
		}
		return q.built(form, "")
	case k.IsVector():
		return q.built(form, "vector")
	case k == value.KindRecord:
		return form, nil
	case k.IsMap():
		return q.built(form, "hash-map")
	case k.IsSet():
		return q.built(form, "hash-set")
	case k == value.KindKeyword, k.IsNumber(), k == value.KindChar, k == value.KindString, k <= value.KindBool, k == value.KindRegex:
		return form, nil
	}
	return q.quoted(form), nil
}

func (q *quoter) list(xs ...value.Value) value.Value { return q.r.listOf(q.pos, xs...) }

func (q *quoter) quoted(v value.Value) value.Value { return q.list(q.r.symbol("quote"), v) }

// unquoted gives the x of (unquote x) or of (unquote-splicing x).
func (q *quoter) unquoted(form value.Value, name string) (value.Value, bool) {
	if !form.Kind().IsSeq() || form.Kind() == value.KindEmptyList {
		return form, false
	}
	head := value.First(q.r.t, form)
	if head.Kind() != value.KindSymbol {
		return form, false
	}
	if s := value.As[value.Symbol](head); s.Name != name || s.NS != q.r.opts.CoreNS {
		return form, false
	}
	return value.First(q.r.t, value.Rest(q.r.t, form)), true
}

// built gives the code for a collection: (seq (concat …)), handed to the function that makes its kind.
func (q *quoter) built(form value.Value, maker string) (value.Value, *Error) {
	r := q.r
	r.t.Enter()
	base := len(r.stack)
	r.push(r.coreSymbol("concat"))
	var err *Error
	each := func(x value.Value) bool {
		var part value.Value
		part, err = q.part(x)
		r.push(part)
		return err == nil
	}
	if form.Kind().IsMap() {
		value.EachKV(r.t, form, func(k, v value.Value) bool { return each(k) && each(v) })
	} else {
		value.Each(r.t, form, each)
	}
	if err != nil {
		return form, err
	}
	v := q.list(r.coreSymbol("seq"), q.list(r.stack[base:]...))
	r.drop(base)
	r.t.Leave()
	if maker != "" {
		v = q.list(r.coreSymbol("apply"), r.coreSymbol(maker), v)
	}
	return q.withMeta(form, v)
}

// part gives the code for one element: a list of it, or what is spliced.
func (q *quoter) part(x value.Value) (value.Value, *Error) {
	if y, ok := q.unquoted(x, "unquote"); ok {
		return q.list(q.r.coreSymbol("list"), y), nil
	}
	if y, ok := q.unquoted(x, "unquote-splicing"); ok {
		return y, nil
	}
	y, err := q.quote(x)
	if err != nil {
		return y, err
	}
	return q.list(q.r.coreSymbol("list"), y), nil
}

// withMeta keeps the metadata of form, but for its position, on what code builds.
func (q *quoter) withMeta(form, code value.Value) (value.Value, *Error) {
	r := q.r
	m := value.Meta(form)
	if m.IsNil() {
		return code, nil
	}
	if form.Kind().IsSeq() {
		m = value.Dissoc(r.t, m, value.Of(r.opts.Intern.Keyword(r.t, "line")))
		m = value.Dissoc(r.t, m, value.Of(r.opts.Intern.Keyword(r.t, "column")))
	}
	if value.Count(r.t, m) == 0 {
		return code, nil
	}
	r.t.Enter()
	mcode, err := q.quote(m)
	r.t.Leave()
	return q.list(r.coreSymbol("with-meta"), code, mcode), err
}

// symbol gives the code for a symbol: quoted, by its full name.
func (q *quoter) symbol(v value.Value) value.Value {
	s := value.As[value.Symbol](v)
	switch {
	case s.NS == "" && special(s.Name):
		return q.quoted(v)
	case s.NS == "" && len(s.Name) > 1 && strings.HasSuffix(s.Name, "#"):
		return q.quoted(q.auto(s))
	case s.NS == "" && strings.HasPrefix(s.Name, "."):
		return q.quoted(v)
	case s.NS == "" && len(s.Name) > 1 && strings.HasSuffix(s.Name, "."):
		if typ := q.resolve(s); typ.NS == "" && typ != s { // a type of the program's own, by its full name
			return q.quoted(value.WithPos(value.Of(typ), s.Pos()))
		}
		class := q.resolve(value.NewSymbol("", strings.TrimSuffix(s.Name, ".")))
		q.r.hold(128 + len(s.Name))
		if class.NS != "" { // no class of that name: the constructor stays as it is
			return q.quoted(v)
		}
		return q.quoted(value.WithPos(value.Of(value.NewSymbol("", class.Name+".")), s.Pos()))
	}
	if strings.IndexByte(s.Name, '.') > 0 { // as the name of a class is, whether there is one or not
		return q.quoted(v)
	}
	full := q.resolve(s)
	if full == s {
		return q.quoted(v)
	}
	return q.quoted(value.WithPos(value.Of(full), s.Pos()))
}

func (q *quoter) resolve(s *value.Symbol) *value.Symbol {
	q.r.hold(128)
	if q.r.opts.Resolve == nil {
		return s
	}
	return q.r.opts.Resolve(q.r.t, s)
}

// auto gives the fresh symbol that x# stands for all over the form.
func (q *quoter) auto(s *value.Symbol) value.Value {
	if v, ok := q.fresh[s.Name]; ok {
		return v
	}
	if q.fresh == nil {
		q.fresh = map[string]value.Value{}
	}
	q.r.hold(256 + 2*len(s.Name))
	name := q.r.gensym(strings.TrimSuffix(s.Name, "#")+"__") + "__auto__"
	v := value.Of(value.NewSymbol("", name).At(s.Pos()))
	q.fresh[s.Name] = v
	return v
}

// special tells whether a name is a special form, which no namespace qualifies.
func special(name string) bool {
	switch name {
	case "def", "if", "do", "let*", "loop*", "recur", "fn*", "quote", "var", "try", "catch", "finally", "throw", "set!",
		"letfn*", "case*", "new", ".", "&", "monitor-enter", "monitor-exit", "deftype*", "reify*", "import*",
		"lazy-seq*", "delay*", "binding*":
		return true
	}
	return false
}
