package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// zipNS is clojure.zip. A location is a vector of a node and a path, a map with :l, :r, :pnodes, :ppath and :changed?, as
// in Clojure; its metadata hold the functions of the tree.
func zipNS() []Def {
	return append(zipMoves(), append(zipEdits(), []Def{
		{Name: "zipper", Arglists: "([branch? children make-node root])", Doc: "A location at the root of a tree of which three functions tell: what has children, what they are, and how a node with other children is made.", F4: zipper},
		{Name: "seq-zip", Arglists: "([root])", Doc: "A location at the root of nested seqs.", F1: seqZip},
		{Name: "vector-zip", Arglists: "([root])", Doc: "A location at the root of nested vectors.", F1: vectorZip},
		{Name: "xml-zip", Arglists: "([root])", Doc: "A location at the root of elements, which are maps with :content.", F1: xmlZip},
		{Name: "node", Arglists: "([loc])", Doc: "The node at loc.", F1: func(t *Thread, loc Value) Value { return locAt(t, loc).node }},
		{Name: "branch?", Arglists: "([loc])", Doc: "Tells whether the node can have children.", F1: func(t *Thread, loc Value) Value { return value.Bool(locAt(t, loc).branch()) }},
		{Name: "children", Arglists: "([loc])", Doc: "A seq of the children of the node, which must be a branch.", F1: func(t *Thread, loc Value) Value { return locAt(t, loc).children() }},
		{Name: "make-node", Arglists: "([loc node children])", Doc: "A node like node with other children.", F3: func(t *Thread, loc, n, kids Value) Value { return locAt(t, loc).make(n, kids) }},
		{Name: "path", Arglists: "([loc])", Doc: "A vector of the nodes from the root down to loc.", F1: func(t *Thread, loc Value) Value { return get2(t, locAt(t, loc).path, zipPNodes) }},
		{Name: "lefts", Arglists: "([loc])", Doc: "A seq of the siblings to the left.", F1: func(t *Thread, loc Value) Value { return value.Seq(t, get2(t, locAt(t, loc).path, zipL)) }},
		{Name: "rights", Arglists: "([loc])", Doc: "A seq of the siblings to the right.", F1: func(t *Thread, loc Value) Value { return get2(t, locAt(t, loc).path, zipR) }},
		{Name: "end?", Arglists: "([loc])", Doc: "Tells whether a walk by next has come to its end.", F1: func(t *Thread, loc Value) Value { return value.Bool(zipEnded(t, loc)) }},
	}...)...)
}

var (
	zipL, zipR, zipPNodes  = value.Kw("l"), value.Kw("r"), value.Kw("pnodes")
	zipPPath, zipChanged   = value.Kw("ppath"), value.Kw("changed?")
	zipBranch, zipChildren = value.Kw("zip/branch?"), value.Kw("zip/children")
	zipMake, zipEndKey     = value.Kw("zip/make-node"), value.Kw("end")
	zipContent             = value.Kw("content")
)

// loc is a location taken apart.
type loc struct {
	t          *Thread
	node, path Value
	meta       Value
}

func locAt(t *Thread, v Value) loc {
	if !v.Kind().IsVector() {
		panic(value.TypeError(t, "zip", v, "a location"))
	}
	node, _ := value.Nth(t, v, 0)
	path, _ := value.Nth(t, v, 1)
	return loc{t, node, path, value.Meta(v)}
}

// at makes the location of another node and path in the same tree.
func (l loc) at(node, path Value) Value { return value.WithMeta(l.t, pair(l.t, node, path), l.meta) }

func (l loc) branch() bool { return l.t.Call1(get2(l.t, l.meta, zipBranch), l.node).Truthy() }

func (l loc) children() Value {
	if !l.branch() {
		panic(value.Errorf("Exception", "children: got a leaf, want a branch"))
	}
	return l.t.Call1(get2(l.t, l.meta, zipChildren), l.node)
}

func (l loc) make(node, kids Value) Value { return l.t.Call2(get2(l.t, l.meta, zipMake), node, kids) }

// way gives a part of the path, nil at the root.
func (l loc) way(k Value) Value { return get2(l.t, l.path, k) }

func zipper(t *Thread, branch, children, make, root Value) Value {
	m := value.NewMap(t, zipBranch, branch, zipChildren, children, zipMake, make)
	return value.WithMeta(t, pair(t, root, value.Nil), m)
}

// native makes a function of the zippers that are ready made.
func native1(t *Thread, f func(t *Thread, x Value) Value) Value {
	return (&closure{name: "zip", f1: f}).make(t)
}

func seqZip(t *Thread, root Value) Value {
	make := &closure{name: "zip", f2: func(t *Thread, node, kids Value) Value { return withMetaOf(t, orElse(kids, value.EmptyList), node) }}
	branch := native1(t, func(_ *Thread, x Value) Value { return value.Bool(x.Kind().IsSeq()) })
	return zipper(t, branch, native1(t, func(_ *Thread, x Value) Value { return x }), make.make(t), root)
}

func vectorZip(t *Thread, root Value) Value {
	make := &closure{name: "zip", f2: func(t *Thread, node, kids Value) Value { return withMetaOf(t, vec(t, kids), node) }}
	branch := native1(t, func(_ *Thread, x Value) Value { return value.Bool(x.Kind().IsVector()) })
	return zipper(t, branch, native1(t, value.Seq), make.make(t), root)
}

func xmlZip(t *Thread, root Value) Value {
	make := &closure{name: "zip", f2: func(t *Thread, node, kids Value) Value {
		if !kids.IsNil() {
			kids = into2(t, value.EmptyVector, kids)
		}
		return value.Assoc(t, node, zipContent, kids)
	}}
	branch := native1(t, func(_ *Thread, x Value) Value { return value.Bool(x.Kind() != value.KindString) })
	return zipper(t, branch, native1(t, func(t *Thread, x Value) Value { return value.Seq(t, get2(t, x, zipContent)) }), make.make(t), root)
}
