package value

// EmptySeq is the empty list. There may be several, each with metadata of its own.
type EmptySeq struct {
	Header
	meta *MetaBox
}

// List is a cell of a persistent list, which knows its length.
type List struct {
	Header
	meta  *MetaBox
	first Value
	rest  *List // nil at the end
	count int
}

// ConsCell puts one element before any seq.
type ConsCell struct {
	Header
	meta  *MetaBox
	first Value
	rest  Value // nil or a seq, perhaps a lazy one; never another collection
}

// EmptyList is the list of nothing.
var EmptyList = Of(&EmptySeq{Header: Head(KindEmptyList)})

// NewList makes a list of xs.
func NewList(t *Thread, xs ...Value) Value {
	if len(xs) == 0 {
		return EmptyList
	}
	t.Steps(len(xs))
	t.Charge(cellBytes * len(xs))
	return Of(listOf(xs))
}

func listOf(xs []Value) *List {
	var l *List
	for i := len(xs) - 1; i >= 0; i-- {
		l = prepend(xs[i], l)
	}
	return l
}

func prepend(x Value, rest *List) *List {
	n := 1
	if rest != nil {
		n = rest.count + 1
	}
	return &List{Header: Head(KindList), first: x, rest: rest, count: n}
}

// tail gives what follows the first element, or nil.
func (l *List) tail() Value {
	if l.rest == nil {
		return Nil
	}
	return Of(l.rest)
}

// Cons puts x before rest, which may be anything seqable.
func Cons(t *Thread, x, rest Value) Value {
	t.Charge(cellBytes)
	if rest.IsNil() {
		return Of(prepend(x, nil))
	}
	if !rest.Kind().IsSeq() {
		rest = Seq(t, rest)
		if rest.IsNil() {
			rest = EmptyList
		}
	}
	return Of(&ConsCell{Header: Head(KindCons), first: x, rest: rest})
}

// conjList puts x before a list.
func conjList(t *Thread, l, x Value) Value {
	t.Charge(cellBytes)
	var rest *List
	if l.Kind() == KindList {
		rest = As[List](l)
	}
	n := prepend(x, rest)
	if b := metaBox(l); b != nil && !b.M.IsNil() {
		n.meta = &MetaBox{M: b.M}
	}
	return Of(n)
}
