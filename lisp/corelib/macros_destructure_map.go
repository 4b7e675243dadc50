package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// mapping takes apart {a :a, :keys [b], :or {b 1}, :as whole}. A seq of keys and values, such as the rest of the
// arguments, becomes a map first.
func (b *binder) mapping(pattern, whole value.Value) {
	b.t.Enter()
	m := freshName(b.t, "map")
	b.add(m, formOf(b.t, fnKwargs, whole))
	p := b.parts(pattern)
	if !p.as.IsNil() {
		b.as(p.as, m)
	}
	for i := 0; i < len(p.entries); i += 2 {
		b.entry(p, m, p.entries[i], p.entries[i+1])
	}
	for i := 0; i < len(p.groups); i += 2 {
		b.group(p, m, value.As[value.Keyword](p.groups[i]), p.groups[i+1])
	}
	b.t.Leave()
}

// mapParts is a map pattern sorted by what its entries mean.
type mapParts struct {
	as, or  value.Value
	entries []value.Value // pattern, key, …
	groups  []value.Value // :keys, names, …
}

func (b *binder) parts(pattern value.Value) mapParts {
	var p mapParts
	value.EachKV(b.t, pattern, func(k, v value.Value) bool {
		b.t.Step()
		b.t.Charge(32)
		switch {
		case isKeyed(k, "as"):
			p.as = v
		case isKeyed(k, "or"):
			p.or = v
		case isGroup(k):
			p.groups = append(p.groups, k, v)
		case k.Kind() == value.KindKeyword:
			panic(b.fail("got %s on the left of a map pattern, want a name or pattern there, its key on the right",
				value.Brief(b.t, k)))
		default:
			p.entries = append(p.entries, k, v)
		}
		return true
	})
	if !p.or.IsNil() && !p.or.Kind().IsMap() {
		panic(b.fail("got :or %s, want a map from name to default", value.Brief(b.t, p.or)))
	}
	return p
}

func isGroup(k value.Value) bool {
	if k.Kind() != value.KindKeyword {
		return false
	}
	switch value.As[value.Keyword](k).Name {
	case "keys", "syms", "strs":
		return true
	}
	return false
}

// entry binds pattern to what m holds under key.
func (b *binder) entry(p mapParts, m, pattern, key value.Value) {
	if pattern.Kind() == value.KindSymbol {
		pattern = unqualified(pattern)
	}
	b.bind(pattern, b.lookup(p, m, pattern, key))
}

func (b *binder) lookup(p mapParts, m, local, key value.Value) value.Value {
	if !p.or.IsNil() {
		if d, ok := value.Get(b.t, p.or, local); ok {
			return formOf(b.t, fnGet, m, key, d)
		}
	}
	return formOf(b.t, fnGet, m, key)
}

// group binds the names of :keys, :syms or :strs.
func (b *binder) group(p mapParts, m value.Value, group *value.Keyword, names value.Value) {
	if names.Kind() != value.KindVector {
		panic(b.fail("got :%s %s, want a vector of names", group.FullName(), value.Brief(b.t, names)))
	}
	for _, x := range value.ToSlice(b.t, names) {
		ns, name := b.splitName(group, x)
		local := x
		if !isPlain(x) {
			b.t.Charge(112)
			local = value.Of(value.NewSymbol("", name).At(value.PosOf(x)))
		}
		if group.NS != "" {
			ns = group.NS
		}
		b.name(local, b.lookup(p, m, local, groupKey(b.t, group.Name, ns, name)))
	}
}

func (b *binder) splitName(group *value.Keyword, x value.Value) (ns, name string) {
	switch x.Kind() {
	case value.KindSymbol:
		s := value.As[value.Symbol](x)
		return s.NS, s.Name
	case value.KindKeyword:
		k := value.As[value.Keyword](x)
		return k.NS, k.Name
	}
	panic(b.fail("got %s in :%s, want a name", value.Brief(b.t, x), group.FullName()))
}

// groupKey is the form of the key that a name of a group stands for.
func groupKey(t *value.Thread, group, ns, name string) value.Value {
	t.Charge(112)
	switch group {
	case "keys":
		return value.Of(value.NewKeyword(ns, name))
	case "syms":
		return formQuote(t, value.Of(value.NewSymbol(ns, name)))
	}
	if ns != "" {
		t.Charge(len(ns) + len(name) + 1)
		name = ns + "/" + name
	}
	return value.Str(name)
}

func unqualified(sym value.Value) value.Value {
	if isPlain(sym) {
		return sym
	}
	return value.Of(value.NewSymbol("", value.As[value.Symbol](sym).Name).At(value.PosOf(sym)))
}

// kwargs makes a map of the seq that a map pattern takes apart: keys and values in turn, perhaps a map at the end, or
// just a map. Anything else is taken as it is.
func kwargsMap(t *value.Thread, v value.Value) value.Value {
	if !v.Kind().IsSeq() {
		return v
	}
	xs := value.ToSlice(t, v)
	switch len(xs) {
	case 0:
		return value.EmptyMap
	case 1:
		return xs[0]
	}
	even := len(xs) &^ 1
	m := value.NewMap(t, xs[:even]...)
	if even == len(xs) {
		return m
	}
	last := xs[even]
	if last.IsNil() {
		return m
	}
	if !last.Kind().IsMap() {
		panic(value.ArgError("arguments: got the key %s without a value, want a value or a map of more after it",
			value.Brief(t, last)))
	}
	value.EachKV(t, last, func(k, x value.Value) bool {
		m = value.Assoc(t, m, k, x)
		return true
	})
	return m
}
