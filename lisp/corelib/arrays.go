package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// maxArray bounds the length of an array.
const maxArray = 1 << 28

// elems names the sorts of arrays.
var elems = []struct {
	name string
	elem value.Elem
}{
	{"object", value.ElemObject}, {"boolean", value.ElemBoolean}, {"byte", value.ElemByte}, {"short", value.ElemShort},
	{"char", value.ElemChar}, {"int", value.ElemInt}, {"long", value.ElemLong}, {"float", value.ElemFloat}, {"double", value.ElemDouble},
}

// arrays are the functions of arrays.
func arrays() []Def {
	out := []Def{
		{Name: "make-array", Arglists: "([type len] [type dim & more-dims])", Doc: "An array of nils, or of zeros of a primitive type; with more dimensions, of arrays.", N: makeArray, Min: 2},
		{Name: "to-array", Arglists: "([coll])", Doc: "An array of the elements of coll.", F1: toArray},
		{Name: "to-array-2d", Arglists: "([coll])", Doc: "An array of arrays of the elements of each element.", F1: toArray2D},
		{Name: "into-array", Arglists: "([aseq] [type aseq])", Doc: "An array of the elements of a seq.", F1: toArray, F2: intoArray},
		{Name: "aget", Arglists: "([array idx] [array idx & idxs])", Doc: "The element of an array at an index, or of nested arrays at a path.", F2: aget, N: agetIn, Min: 3},
		{Name: "aset", Arglists: "([array idx val] [array idx idx2 & idxv])", Doc: "Puts val into an array at an index, or into nested arrays at a path, and gives it.", F3: aset, N: asetIn, Min: 4},
		{Name: "alength", Arglists: "([array])", Doc: "The length of an array.", F1: func(t *Thread, a Value) Value { return value.Int(int64(array(t, "alength", a).Len())) }},
		{Name: "aclone", Arglists: "([array])", Doc: "A copy of an array.", F1: func(t *Thread, a Value) Value {
			x := array(t, "aclone", a)
			return value.NewArrayOwned(x.Elem(), x.Copy(t))
		}},
		{Name: "vector-of", Arglists: "([t] [t & elements])", Doc: "A vector of elements made to fit a primitive type, such as :int.", N: vectorOf, Min: 1},
		{Name: "bytes?", Arglists: "([x])", Doc: "Tells whether x is a byte array.", F1: func(_ *Thread, x Value) Value {
			return value.Bool(x.Kind() == value.KindArray && value.As[value.Array](x).Elem() == value.ElemByte)
		}},
	}
	for _, e := range elems {
		out = append(out, arraysOf(e.name, e.elem)...)
	}
	return out
}

// arraysOf are the functions of one sort of arrays.
func arraysOf(name string, elem value.Elem) []Def {
	who := name + "-array"
	if elem == value.ElemObject {
		return []Def{{Name: who, Arglists: "([size-or-seq])", Doc: "An array of nils, or of the elements of a seq.",
			F1: func(t *Thread, x Value) Value { return newArray(t, who, elem, x) }}}
	}
	return []Def{
		{Name: who, Arglists: "([size-or-seq] [size init-val-or-seq])", Doc: "An array of " + name + " values: zeros, the elements of a seq, or a given value.",
			F1: func(t *Thread, x Value) Value { return newArray(t, who, elem, x) },
			F2: func(t *Thread, n, init Value) Value { return filledArray(t, who, elem, n, init) }},
		{Name: "aset-" + name, Arglists: "([array idx val] [array idx idx2 & idxv])", Doc: "aset of a " + name + " value.",
			F3: func(t *Thread, a, i, v Value) Value { return aset(t, a, i, fitting(t, "aset-"+name, elem, v)) }, N: asetIn, Min: 4},
		{Name: plural(name), Arglists: "([xs])", Doc: "Gives xs, which must be a " + who + ".", F1: func(t *Thread, a Value) Value {
			if array(t, plural(name), a).Elem() != elem {
				panic(value.TypeError(t, plural(name), a, "a "+who))
			}
			return a
		}},
	}
}

func plural(name string) string { return name + "s" }

func array(t *Thread, who string, a Value) *value.Array {
	if a.Kind() != value.KindArray {
		panic(value.TypeError(t, who, a, "an array"))
	}
	return value.As[value.Array](a)
}

func arrayLen(t *Thread, who string, n Value) int {
	k := value.ToInt(t, who, n, -1<<63, 1<<63-1)
	if k < 0 || k > maxArray {
		panic(value.ArgError("%s: got length %d, want 0 to %d", who, k, maxArray))
	}
	return int(k)
}

func newArray(t *Thread, who string, elem value.Elem, x Value) Value {
	if x.Kind().IsNumber() {
		return value.NewArray(t, elem, arrayLen(t, who, x))
	}
	xs := value.ToSlice(t, x)
	for i, v := range xs {
		xs[i] = fitting(t, who, elem, v)
	}
	return value.NewArrayOwned(elem, xs)
}

// filledArray fills from a seq as far as it goes, or with one value.
func filledArray(t *Thread, who string, elem value.Elem, n, init Value) Value {
	a := value.NewArray(t, elem, arrayLen(t, who, n))
	xs := value.As[value.Array](a)
	if value.Seqable(init) && !init.IsNil() {
		i := 0
		value.Each(t, init, func(v Value) bool {
			if i < xs.Len() {
				xs.Set(i, fitting(t, who, elem, v))
				i++
			}
			return i < xs.Len()
		})
		return a
	}
	v := fitting(t, who, elem, init)
	t.Steps(xs.Len())
	for i := range xs.Len() {
		xs.Set(i, v)
	}
	return a
}

// fitting makes v fit an array of the sort.
func fitting(t *Thread, who string, elem value.Elem, v Value) Value {
	switch elem {
	case value.ElemObject:
		return v
	case value.ElemBoolean:
		return value.Bool(v.Truthy())
	case value.ElemChar:
		if v.Kind() != value.KindChar {
			panic(value.TypeError(t, who, v, "a char"))
		}
		return v
	case value.ElemFloat, value.ElemDouble:
		x := float(t, who, v)
		if elem == value.ElemFloat {
			x = float64(float32(x))
		}
		return value.Float(x)
	}
	bits := map[value.Elem]uint{value.ElemByte: 8, value.ElemShort: 16, value.ElemInt: 32, value.ElemLong: 64}[elem]
	return value.Int(value.ToInt(t, who, v, -1<<(bits-1), 1<<(bits-1)-1))
}

func makeArray(t *Thread, args []Value) Value { return nested(t, elemOf(args[0]), args[1:]) }

// elemOf tells the sort of array that a type names, in whatever way: int, Integer/TYPE, Long/TYPE …
func elemOf(typ Value) value.Elem {
	name := ""
	switch typ.Kind() {
	case value.KindSymbol:
		name = value.As[value.Symbol](typ).Name
	case value.KindKeyword:
		name = value.As[value.Keyword](typ).Name
	}
	for _, e := range elems {
		if e.name == name {
			return e.elem
		}
	}
	return value.ElemObject
}

func vectorOf(t *Thread, args []Value) Value {
	elem, xs := elemOf(args[0]), copied(t, args[1:])
	if args[0].Kind() != value.KindKeyword || elem == value.ElemObject {
		panic(value.ArgError("vector-of: got %s, want :int, :long, :float, :double, :byte, :short, :char or :boolean", value.Brief(t, args[0])))
	}
	for i, x := range xs {
		xs[i] = fitting(t, "vector-of", elem, x)
	}
	return value.NewVectorOwned(t, xs)
}

func nested(t *Thread, elem value.Elem, dims []Value) Value {
	n := arrayLen(t, "make-array", dims[0])
	if len(dims) == 1 {
		return value.NewArray(t, elem, n)
	}
	t.Enter()
	a := value.NewArray(t, value.ElemObject, n)
	t.Holding(a, func() {
		for i := range n {
			t.Step()
			value.As[value.Array](a).Set(i, nested(t, elem, dims[1:]))
		}
	})
	t.Leave()
	return a
}

func toArray(t *Thread, coll Value) Value {
	return value.NewArrayOwned(value.ElemObject, value.ToSlice(t, coll))
}

func toArray2D(t *Thread, coll Value) Value {
	rows := toArray(t, coll)
	t.Holding(rows, func() {
		a := value.As[value.Array](rows)
		for i := range a.Len() {
			a.Set(i, toArray(t, a.Get(i)))
		}
	})
	return rows
}

func intoArray(t *Thread, typ, coll Value) Value {
	return newArray(t, "into-array", elemOf(typ), vec(t, coll))
}

func arrayIndex(t *Thread, who string, a *value.Array, i Value) int {
	k := value.Wrap(t, who, i)
	if k < 0 || k >= int64(a.Len()) {
		panic(value.Errorf("ArrayIndexOutOfBoundsException", "%s: got index %d, want 0 to %d", who, k, a.Len()-1))
	}
	return int(k)
}

func aget(t *Thread, a, i Value) Value {
	x := array(t, "aget", a)
	return x.Get(arrayIndex(t, "aget", x, i))
}

func agetIn(t *Thread, args []Value) Value { return foldArgs(t, aget, args) }

func aset(t *Thread, a, i, v Value) Value {
	x := array(t, "aset", a)
	k := arrayIndex(t, "aset", x, i)
	v = fitting(t, "aset", x.Elem(), v)
	x.Set(k, v)
	return v
}

func asetIn(t *Thread, args []Value) Value {
	n := len(args)
	return aset(t, foldArgs(t, aget, args[:n-2]), args[n-2], args[n-1])
}

// sortArray sorts an array in place and gives a seq of it, as Clojure does.
func sortArray(t *Thread, cmp, a Value) Value {
	x := value.As[value.Array](a)
	xs := x.Copy(t)
	sortSlice(t, cmp, xs)
	if x.Elem() == value.ElemObject { // one of numbers is copied into objects first, and stays as it is
		x.Replace(xs)
	}
	return orElse(value.NewArraySeq(xs), value.EmptyList)
}
