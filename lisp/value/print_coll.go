package value

import "strings"

// coll prints a collection, one level deeper.
func (p *Printer) coll(t *Thread, v Value) {
	if p.Level >= 0 && p.level >= p.Level {
		p.Text(t, "#")
		return
	}
	t.Enter()
	p.level++
	switch k := v.Kind(); {
	case k.IsSeq() || k == KindEduction:
		p.seq(t, v)
	case k.IsVector():
		p.items(t, "[", v, "]")
	case k.IsSet():
		p.items(t, "#{", v, "}")
	default:
		p.mapping(t, v)
	}
	p.level--
	t.Leave()
}

// seq prints a list or seq.
func (p *Printer) seq(t *Thread, v Value) {
	if p.safe {
		p.realized(t, v)
		return
	}
	if mark, x, ok := Shorthand(v); p.Shorthands && ok {
		p.Text(t, mark)
		p.Print(t, x)
		return
	}
	p.items(t, "(", v, ")")
}

// Shorthand gives 'x for the list (quote x), and likewise @x #'x ~x: the mark and the x.
func Shorthand(v Value) (mark string, x Value, ok bool) {
	if v.Kind() != KindList {
		return "", Nil, false
	}
	l := As[List](v)
	if l.count != 2 || l.first.Kind() != KindSymbol {
		return "", Nil, false
	}
	switch As[Symbol](l.first).FullName() {
	case "quote":
		mark = "'"
	case "var":
		mark = "#'"
	case "clojure.core/deref":
		mark = "@"
	case "clojure.core/unquote":
		mark = "~"
	default:
		return "", Nil, false
	}
	return mark, l.rest.first, true
}

// realized prints what is there of a seq without running anything; … stands for the rest.
func (p *Printer) realized(t *Thread, v Value) {
	p.Text(t, "(")
	for n := 0; !v.IsNil() && !p.full; n++ {
		if n > 0 && v.Kind() != KindEmptyList {
			p.Text(t, " ")
		}
		chunk, rest, ok := peekSeq(t, v)
		if !ok || n == p.Length {
			p.Text(t, "…")
			break
		}
		for i, x := range chunk {
			if i > 0 {
				p.Text(t, " ")
			}
			p.Print(t, x)
		}
		v = rest
	}
	p.Text(t, ")")
}

// peekSeq gives the first elements of a seq and what follows them, unless code would have to run for that.
func peekSeq(t *Thread, v Value) (chunk []Value, rest Value, ok bool) {
	switch v.Kind() {
	case KindLazySeq:
		l := As[LazySeq](v)
		if l.state.Load() != lazyDone {
			return nil, Nil, false
		}
		if l.val.IsNil() {
			return nil, Nil, true
		}
		return peekSeq(t, l.val)
	case KindCons:
		c := As[ConsCell](v)
		return []Value{c.first}, c.rest, true
	case KindChunkedCons:
		c := As[ChunkedCons](v)
		return c.xs, c.rest, true
	case KindGenSeq:
		return nil, Nil, false
	case KindEmptyList:
		return nil, Nil, true
	}
	return []Value{First(t, v)}, Next(t, v), true
}

func (p *Printer) items(t *Thread, open string, coll Value, closing string) {
	p.Text(t, open)
	n := 0
	Each(t, coll, func(x Value) bool {
		if n > 0 {
			p.Text(t, " ")
		}
		if n == p.Length {
			p.Text(t, "...")
			return false
		}
		n++
		p.Print(t, x)
		return !p.full
	})
	p.Text(t, closing)
}

// mapping prints a map or a record.
func (p *Printer) mapping(t *Thread, m Value) {
	ns := ""
	if m.Kind() == KindRecord {
		p.Text(t, "#"+recordName(m))
	} else if p.NamespaceMaps {
		if ns = sharedNS(t, m); ns != "" {
			p.Text(t, "#:")
			p.Text(t, ns)
		}
	}
	p.Text(t, "{")
	n := 0
	EachKV(t, m, func(k, v Value) bool {
		if n > 0 {
			p.Text(t, ", ")
		}
		if n == p.Length {
			p.Text(t, "...")
			return false
		}
		n++
		p.key(t, k, ns)
		p.Text(t, " ")
		p.Print(t, v)
		return !p.full
	})
	p.Text(t, "}")
}

// key prints a key, without its namespace when the map shows that.
func (p *Printer) key(t *Thread, k Value, ns string) {
	if ns == "" {
		p.Print(t, k)
		return
	}
	if k.Kind() == KindKeyword {
		p.Text(t, ":")
		p.Text(t, As[Keyword](k).Name)
		return
	}
	p.Text(t, As[Symbol](k).Name)
}

// sharedNS gives the namespace that all keys of m have, or nothing.
func sharedNS(t *Thread, m Value) string {
	shared := ""
	EachKV(t, m, func(k, _ Value) bool {
		ns, alone := "", true
		switch k.Kind() {
		case KindKeyword:
			kw := As[Keyword](k)
			ns, alone = kw.NS, kw.Name != "" && kw.Name[0] != ':' && !strings.Contains(kw.Name, "/")
		case KindSymbol:
			ns, alone = As[Symbol](k).NS, readsAlone(As[Symbol](k).Name)
		}
		if !alone || !readsAlone(ns) || ns == "_" || shared != "" && ns != shared {
			shared = ""
			return false
		}
		shared = ns
		return true
	})
	return shared
}

// readsAlone tells whether the name of a symbol that was read after a namespace is a symbol without it too: the nil of a/nil
// and the #b of a/#b are not.
func readsAlone(name string) bool {
	digit := func(i int) bool { return i < len(name) && name[i] >= '0' && name[i] <= '9' }
	switch {
	case name == "" || name == "nil" || name == "true" || name == "false" || digit(0):
		return false
	case name[0] == '+' || name[0] == '-':
		return !digit(1)
	}
	return !strings.ContainsRune("#':%", rune(name[0])) && !strings.Contains(name, "/")
}

// meta prints the metadata of v, if it has any, as the reader takes it.
func (p *Printer) meta(t *Thread, v Value) {
	k := v.Kind()
	if k != KindSymbol && !k.IsColl() {
		return
	}
	m := Meta(v)
	if m.IsNil() || Count(t, m) == 0 {
		return
	}
	p.Text(t, "^")
	if tag, ok := Get(t, m, Kw("tag")); ok && Count(t, m) == 1 {
		p.Print(t, tag)
	} else {
		p.Print(t, m)
	}
	p.Text(t, " ")
}
