package value

// A hierarchy is a map of three maps, :parents, :ancestors and :descendants, each from a tag to a set of tags. Tags are
// keywords, symbols or types. It is plain Lisp data; the functions here read and extend it.

var (
	kwParents     = Of(NewKeyword("", "parents"))
	kwAncestors   = Of(NewKeyword("", "ancestors"))
	kwDescendants = Of(NewKeyword("", "descendants"))
)

// NewHierarchy makes an empty hierarchy.
func NewHierarchy(t *Thread) Value {
	return NewMap(t, kwParents, EmptyMap, kwDescendants, EmptyMap, kwAncestors, EmptyMap)
}

// Hierarchy gives the cell of the environment's own hierarchy, which derive without one extends.
func (e *Env) Hierarchy(t *Thread) *Atom {
	if a, ok := e.State.Load("hierarchy"); ok {
		return a.(*Atom)
	}
	a, _ := e.State.LoadOrStore("hierarchy", NewAtom(t, NewHierarchy(t)))
	return a.(*Atom)
}

func related(t *Thread, h, rel, tag Value) Value {
	m, _ := Get(t, h, rel)
	s, _ := Get(t, m, tag)
	return s
}

// IsA tells whether child is parent, or below it in h or among the built-in types. Vectors are compared item by item.
func IsA(t *Thread, h, child, parent Value) bool {
	t.Step()
	if Equal(t, child, parent) {
		return true
	}
	ck, pk := child.Kind(), parent.Kind()
	if ck == KindType {
		if pk == KindType && As[Type](child).Below(As[Type](parent)) {
			return true
		}
		if pk == KindProtocol && As[Type](child).methods.Load().of(As[Protocol](parent)) != nil {
			return true
		}
		for _, s := range As[Type](child).Supers {
			if a := related(t, h, kwAncestors, Of(s)); !a.IsNil() && Contains(t, a, parent) {
				return true
			}
		}
	}
	if a := related(t, h, kwAncestors, child); !a.IsNil() && Contains(t, a, parent) {
		return true
	}
	return ck.IsVector() && pk.IsVector() && isaVector(t, h, child, parent)
}

func isaVector(t *Thread, h, child, parent Value) bool {
	n := Count(t, child)
	if n != Count(t, parent) {
		return false
	}
	t.Enter()
	ok := true
	for i := 0; ok && i < n; i++ {
		c, _ := Nth(t, child, i)
		p, _ := Nth(t, parent, i)
		ok = IsA(t, h, c, p)
	}
	t.Leave()
	return ok
}

// Parents gives the set of the tags directly above tag, or nil.
func Parents(t *Thread, h, tag Value) Value { return withTypes(t, related(t, h, kwParents, tag), tag) }

// Ancestors gives the set of the tags above tag, or nil.
func Ancestors(t *Thread, h, tag Value) Value {
	return withTypes(t, related(t, h, kwAncestors, tag), tag)
}

// Descendants gives the set of the tags below tag, or nil. No list is kept of the types below a type.
func Descendants(t *Thread, h, tag Value) Value {
	if tag.Kind() == KindType {
		panic(Errorf("UnsupportedOperationException", "descendants: got the type %s, want a keyword or symbol: what is below a type is not known", Brief(t, tag)))
	}
	return related(t, h, kwDescendants, tag)
}

// withTypes adds the types above a type, and the protocols that are part of it.
func withTypes(t *Thread, set, tag Value) Value {
	if tag.Kind() != KindType {
		return set
	}
	for _, s := range As[Type](tag).Supers {
		if set.IsNil() {
			set = EmptySet
		}
		set = Conj(t, set, Of(s))
	}
	if m := As[Type](tag).methods.Load(); m != nil {
		for i := range m.impls {
			set = Conj(t, orElse(set, EmptySet), Of(m.impls[i].p))
		}
	}
	return set
}

// checkHierarchy throws unless h has the three maps of a hierarchy.
func checkHierarchy(t *Thread, who string, h Value) {
	for _, k := range []Value{kwParents, kwAncestors, kwDescendants} {
		if !h.Kind().IsMap() {
			panic(TypeError(t, who, h, "a hierarchy, such as make-hierarchy gives"))
		}
		if m, _ := Get(t, h, k); !m.Kind().IsMap() {
			panic(ArgError("%s: got a map whose %s is %s, want a hierarchy, such as make-hierarchy gives", who, Brief(t, k), Brief(t, m)))
		}
	}
}

// Derive puts tag below parent in h.
func Derive(t *Thread, h, tag, parent Value) Value {
	checkHierarchy(t, "derive", h)
	if Contains(t, orElse(related(t, h, kwParents, tag), EmptySet), parent) {
		return h
	}
	if a := related(t, h, kwAncestors, tag); !a.IsNil() && Contains(t, a, parent) {
		panic(Errorf("Exception", "derive: got %s and %s, which is above it already", Brief(t, tag), Brief(t, parent)))
	}
	if a := related(t, h, kwAncestors, parent); Equal(t, tag, parent) || !a.IsNil() && Contains(t, a, tag) {
		panic(Errorf("Exception", "derive: got %s and %s, which would make a cycle", Brief(t, tag), Brief(t, parent)))
	}
	parents, _ := Get(t, h, kwParents)
	anc, _ := Get(t, h, kwAncestors)
	desc, _ := Get(t, h, kwDescendants)
	above, below := allOf(t, anc, parent), allOf(t, desc, tag)
	parents = Assoc(t, parents, tag, Conj(t, orElse(related(t, h, kwParents, tag), EmptySet), parent))
	return NewMap(t, kwParents, parents, kwAncestors, spread(t, anc, below, above), kwDescendants, spread(t, desc, above, below))
}

func orElse(v, empty Value) Value {
	if v.IsNil() {
		return empty
	}
	return v
}

// allOf gives tag and everything that m has for it.
func allOf(t *Thread, m, tag Value) []Value {
	s, _ := Get(t, m, tag)
	out := []Value{tag}
	Each(t, s, func(x Value) bool {
		t.Charge(valueBytes)
		out = append(out, x)
		return true
	})
	return out
}

// spread adds each of what to the sets of each of tags.
func spread(t *Thread, m Value, tags, what []Value) Value {
	for _, k := range tags {
		s, _ := Get(t, m, k)
		s = orElse(s, EmptySet)
		for _, x := range what {
			s = Conj(t, s, x)
		}
		m = Assoc(t, m, k, s)
	}
	return m
}

// Underive undoes Derive: the hierarchy is made again of the parents that are left.
func Underive(t *Thread, h, tag, parent Value) Value {
	checkHierarchy(t, "underive", h)
	parents, _ := Get(t, h, kwParents)
	old, _ := Get(t, parents, tag)
	if old.IsNil() || !Contains(t, old, parent) {
		return h
	}
	left := Assoc(t, parents, tag, Disj(t, old, parent))
	out := NewHierarchy(t)
	EachKV(t, left, func(k, ps Value) bool {
		Each(t, ps, func(p Value) bool {
			out = Derive(t, out, k, p)
			return true
		})
		return true
	})
	return out
}
