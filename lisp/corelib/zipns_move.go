package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// zipMoves go from a location to another.
func zipMoves() []Def {
	return []Def{
		{Name: "down", Arglists: "([loc])", Doc: "The location of the leftmost child, or nil.", F1: zipDown},
		{Name: "up", Arglists: "([loc])", Doc: "The location of the parent, rebuilt if something changed below, or nil.", F1: zipUp},
		{Name: "root", Arglists: "([loc])", Doc: "The root node, with all changes.", F1: zipRoot},
		{Name: "right", Arglists: "([loc])", Doc: "The location of the right sibling, or nil.", F1: zipRight},
		{Name: "rightmost", Arglists: "([loc])", Doc: "The location of the rightmost sibling, or itself.", F1: zipRightmost},
		{Name: "left", Arglists: "([loc])", Doc: "The location of the left sibling, or nil.", F1: zipLeft},
		{Name: "leftmost", Arglists: "([loc])", Doc: "The location of the leftmost sibling, or itself.", F1: zipLeftmost},
		{Name: "next", Arglists: "([loc])", Doc: "The next location of a walk, depth first; end? knows the last.", F1: zipNext},
		{Name: "prev", Arglists: "([loc])", Doc: "The location before this one in a walk, or nil.", F1: zipPrev},
	}
}

func zipDown(t *Thread, v Value) Value {
	l := locAt(t, v)
	if !l.branch() {
		return value.Nil
	}
	kids := value.Seq(t, l.children())
	if kids.IsNil() {
		return kids
	}
	nodes := value.NewVector(t, []Value{l.node})
	if !l.path.IsNil() {
		nodes = value.Conj(t, l.way(zipPNodes), l.node)
	}
	return l.at(value.First(t, kids), value.NewMap(t, zipL, value.EmptyVector, zipPNodes, nodes, zipPPath, l.path, zipR, value.Next(t, kids)))
}

func zipUp(t *Thread, v Value) Value {
	l := locAt(t, v)
	nodes := l.way(zipPNodes)
	if nodes.IsNil() {
		return nodes
	}
	parent, up := value.Peek(t, nodes), l.way(zipPPath)
	if !l.way(zipChanged).Truthy() {
		return l.at(parent, up)
	}
	kids := lazyConcatOf(t, []Value{l.way(zipL), value.Cons(t, l.node, l.way(zipR))})
	if !up.IsNil() {
		up = value.Assoc(t, up, zipChanged, value.True)
	}
	return l.at(l.make(parent, kids), up)
}

func zipEnded(t *Thread, v Value) bool { return value.Identical(locAt(t, v).path, zipEndKey) }

func zipRoot(t *Thread, v Value) Value {
	for !zipEnded(t, v) {
		t.Step()
		up := zipUp(t, v)
		if up.IsNil() {
			break
		}
		v = up
	}
	return locAt(t, v).node
}

func zipRight(t *Thread, v Value) Value {
	l := locAt(t, v)
	rs := value.Seq(t, l.way(zipR))
	if l.path.IsNil() || rs.IsNil() {
		return value.Nil
	}
	path := value.Assoc(t, l.path, zipL, value.Conj(t, l.way(zipL), l.node))
	return l.at(value.First(t, rs), value.Assoc(t, path, zipR, value.Next(t, rs)))
}

func zipRightmost(t *Thread, v Value) Value {
	l := locAt(t, v)
	rs := value.ToSlice(t, l.way(zipR))
	if l.path.IsNil() || len(rs) == 0 {
		return v
	}
	left := value.Conj(t, l.way(zipL), l.node)
	for _, x := range rs[:len(rs)-1] {
		left = value.Conj(t, left, x)
	}
	path := value.Assoc(t, l.path, zipL, left)
	return l.at(rs[len(rs)-1], value.Assoc(t, path, zipR, value.Nil))
}

func zipLeft(t *Thread, v Value) Value {
	l := locAt(t, v)
	ls := l.way(zipL)
	if l.path.IsNil() || isEmpty(t, ls) {
		return value.Nil
	}
	path := value.Assoc(t, l.path, zipL, value.Pop(t, ls))
	return l.at(value.Peek(t, ls), value.Assoc(t, path, zipR, value.Cons(t, l.node, l.way(zipR))))
}

func zipLeftmost(t *Thread, v Value) Value {
	l := locAt(t, v)
	ls := value.ToSlice(t, l.way(zipL))
	if l.path.IsNil() || len(ls) == 0 {
		return v
	}
	right := lazyConcatOf(t, []Value{value.NewArraySeq(ls[1:]), value.NewList(t, l.node), l.way(zipR)})
	path := value.Assoc(t, l.path, zipL, value.EmptyVector)
	return l.at(ls[0], value.Assoc(t, path, zipR, value.Seq(t, right)))
}

func zipNext(t *Thread, v Value) Value {
	if zipEnded(t, v) {
		return v
	}
	if l := locAt(t, v); l.branch() {
		if d := zipDown(t, v); !d.IsNil() {
			return d
		}
	}
	if r := zipRight(t, v); !r.IsNil() {
		return r
	}
	for {
		t.Step()
		up := zipUp(t, v)
		if up.IsNil() {
			return locAt(t, v).at(locAt(t, v).node, zipEndKey)
		}
		if r := zipRight(t, up); !r.IsNil() {
			return r
		}
		v = up
	}
}

func zipPrev(t *Thread, v Value) Value {
	l := zipLeft(t, v)
	if l.IsNil() {
		return zipUp(t, v)
	}
	return zipDeepest(t, l)
}

// zipDeepest goes down to the rightmost leaf.
func zipDeepest(t *Thread, v Value) Value {
	for locAt(t, v).branch() {
		t.Step()
		d := zipDown(t, v)
		if d.IsNil() {
			break
		}
		v = zipRightmost(t, d)
	}
	return v
}
