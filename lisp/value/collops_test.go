package value

import (
	"fmt"
	"math/big"
	"testing"
)

// opCase is one operation and what it must print.
type opCase struct {
	name string
	want string
	f    func(t *Thread) Value
}

func runOps(t *testing.T, cases []opCase) {
	t.Helper()
	for _, c := range cases {
		th := testThread()
		var got string
		if ex := thrown(func() { got = PrStr(th, c.f(th)) }); ex != nil {
			got = ex.Class + ": " + ex.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func found(v Value, ok bool) Value {
	if !ok {
		return Kw("none")
	}
	return v
}

func vec(t *Thread, xs ...int64) Value { return NewVector(t, ints(xs...)) }

func TestReadOps(t *testing.T) {
	runOps(t, []opCase{
		{"seq of nil", "nil", func(t *Thread) Value { return Seq(t, Nil) }},
		{"seq of an empty map", "nil", func(t *Thread) Value { return Seq(t, EmptyMap) }},
		{"seq of an empty string", "nil", func(t *Thread) Value { return Seq(t, Str("")) }},
		{"seq of a string", `(\a \ñ)`, func(t *Thread) Value { return Seq(t, Str("añ")) }},
		{"seq of a number", "IllegalArgumentException: seq: got 1 (integer), want a collection, a string or nil", func(t *Thread) Value { return Seq(t, Int(1)) }},
		{"first of nil", "nil", func(t *Thread) Value { return First(t, Nil) }},
		{"first of a map", "[:a 1]", func(t *Thread) Value { return First(t, NewMap(t, Kw("a"), Int(1))) }},
		{"rest of one", "()", func(t *Thread) Value { return Rest(t, NewList(t, Int(1))) }},
		{"rest of nil", "()", func(t *Thread) Value { return Rest(t, Nil) }},
		{"next of one", "nil", func(t *Thread) Value { return Next(t, vec(t, 1)) }},
		{"nth of a string", `\ñ`, func(t *Thread) Value { return found(Nth(t, Str("añb"), 1)) }},
		{"nth past a string", ":none", func(t *Thread) Value { return found(Nth(t, Str("añb"), 3)) }},
		{"nth of a map", "UnsupportedOperationException: nth: got {} (map), want a vector, a seq or a string", func(t *Thread) Value { return found(Nth(t, EmptyMap, 0)) }},
		{"nth -1 of a list", ":none", func(t *Thread) Value { return found(Nth(t, NewList(t, Int(1)), -1)) }},
		{"count of a string", "3", func(t *Thread) Value { return Int(int64(Count(t, Str("añb")))) }},
		{"count of a number", "UnsupportedOperationException: count: got 1 (integer), want a collection, a string or nil", func(t *Thread) Value { return Int(int64(Count(t, Int(1)))) }},
		{"get of a vector", "2", func(t *Thread) Value { return found(Get(t, vec(t, 1, 2), Int(1))) }},
		{"get of a vector by a float", ":none", func(t *Thread) Value { return found(Get(t, vec(t, 1, 2), Float(1))) }},
		{"get of a number", ":none", func(t *Thread) Value { return found(Get(t, Int(1), Int(1))) }},
		{"get of a set", "1", func(t *Thread) Value { return found(Get(t, NewSet(t, Int(1)), Int(1))) }},
		{"get by a big integer", ":x", func(t *Thread) Value {
			return found(Get(t, NewMap(t, Int(1), Kw("x")), NewBigInt(big.NewInt(1))))
		}},
		{"get by a float", ":none", func(t *Thread) Value { return found(Get(t, NewMap(t, Int(1), Kw("x")), Float(1))) }},
		{"find", "[:a 1]", func(t *Thread) Value { return found(Find(t, NewMap(t, Kw("a"), Int(1)), Kw("a"))) }},
		{"find in a vector", "[0 5]", func(t *Thread) Value { return found(Find(t, vec(t, 5), Int(0))) }},
		{"contains? a list", "IllegalArgumentException: contains?: got (1) (list), want a map, set, vector or string", func(t *Thread) Value {
			return Bool(Contains(t, NewList(t, Int(1)), Int(1)))
		}},
		{"contains? an index", "true", func(t *Thread) Value { return Bool(Contains(t, vec(t, 9), Int(0))) }},
		{"keys", "(:a :b)", func(t *Thread) Value { return Keys(t, NewMap(t, Kw("a"), Int(1), Kw("b"), Int(2))) }},
		{"vals of nothing", "nil", func(t *Thread) Value { return Vals(t, EmptyMap) }},
		{"peek a vector", "2", func(t *Thread) Value { return Peek(t, vec(t, 1, 2)) }},
		{"peek a list", "1", func(t *Thread) Value { return Peek(t, NewList(t, ints(1, 2)...)) }},
		{"reduced ends a reduction", "3", func(t *Thread) Value {
			return Reduce(t, func(a, x Value) Value {
				if x == Int(3) {
					return NewReduced(x)
				}
				return a
			}, Nil, NewRange(0, 1<<60, 1))
		}},
		{"iterate runs no more than asked", "(0 1 2)", func(t *Thread) Value {
			f := goFn(Builtin{Name: "f", F1: func(t *Thread, x Value) Value {
				if x.Int() >= 2 {
					panic(ArgError("too far"))
				}
				return Inc(t, x)
			}})
			it := NewIter(NewIterate(f, Int(0)))
			var xs []Value
			for range 3 {
				x, _ := it.Next(t)
				xs = append(xs, x)
			}
			return NewList(t, xs...)
		}},
	})
}

func TestWriteOps(t *testing.T) {
	runOps(t, []opCase{
		{"conj to nil", "(1)", func(t *Thread) Value { return Conj(t, Nil, Int(1)) }},
		{"conj to a list", "(0 1)", func(t *Thread) Value { return Conj(t, NewList(t, Int(1)), Int(0)) }},
		{"conj to a range", "(9 0 1)", func(t *Thread) Value { return Conj(t, NewRange(0, 2, 1), Int(9)) }},
		{"conj to an entry", "[1 2 3]", func(t *Thread) Value { return Conj(t, NewMapEntry(Int(1), Int(2)), Int(3)) }},
		{"conj a pair to a map", "{:a 1}", func(t *Thread) Value { return Conj(t, EmptyMap, NewVector(t, []Value{Kw("a"), Int(1)})) }},
		{"conj a map to a map", "{1 2, 3 4}", func(t *Thread) Value { return Conj(t, NewMap(t, ints(1, 2)...), NewMap(t, ints(3, 4)...)) }},
		{"conj nil to a map", "{}", func(t *Thread) Value { return Conj(t, EmptyMap, Nil) }},
		{"conj a triple to a map", "IllegalArgumentException: conj: got a vector of 3 for a map, want a key and a value", func(t *Thread) Value { return Conj(t, EmptyMap, vec(t, 1, 2, 3)) }},
		{"conj to a number", "ClassCastException: conj: got 1 (integer), want a collection or nil", func(t *Thread) Value { return Conj(t, Int(1), Int(1)) }},
		{"assoc nil", "{:a 1}", func(t *Thread) Value { return Assoc(t, Nil, Kw("a"), Int(1)) }},
		{"assoc at the end", "[1 2]", func(t *Thread) Value { return Assoc(t, vec(t, 1), Int(1), Int(2)) }},
		{"assoc past the end", "IndexOutOfBoundsException: assoc: got index 2, want 0 to 1", func(t *Thread) Value { return Assoc(t, vec(t, 1), Int(2), Int(2)) }},
		{"assoc a keyword in a vector", "IllegalArgumentException: assoc: got key :a (keyword) of a vector, want an integer", func(t *Thread) Value { return Assoc(t, vec(t, 1), Kw("a"), Int(2)) }},
		{"assoc a list", "ClassCastException: assoc: got (1) (list), want a map, a vector or nil", func(t *Thread) Value { return Assoc(t, NewList(t, Int(1)), Int(0), Int(2)) }},
		{"dissoc nil", "nil", func(t *Thread) Value { return Dissoc(t, Nil, Int(1)) }},
		{"pop an empty list", "IllegalStateException: pop: got an empty list, want an element", func(t *Thread) Value { return Pop(t, EmptyList) }},
		{"pop an empty vector", "IllegalStateException: pop: got an empty vector, want an element", func(t *Thread) Value { return Pop(t, EmptyVector) }},
		{"empty an entry", "nil", func(t *Thread) Value { return Empty(t, NewMapEntry(Nil, Nil)) }},
		{"empty a range", "()", func(t *Thread) Value { return Empty(t, NewRange(0, 3, 1)) }},
		{"last of two keys wins", "{1 3}", func(t *Thread) Value { return NewMap(t, ints(1, 2, 1, 3)...) }},
		{"duplicate key", "IllegalArgumentException: map: duplicate key :a", func(t *Thread) Value {
			return NewMapLiteral(t, []Value{Kw("a"), Int(1), Kw("a"), Int(2)})
		}},
		{"duplicate element", "IllegalArgumentException: set: duplicate element 1", func(t *Thread) Value { return NewSetLiteral(t, ints(1, 1)) }},
		{"odd map", "IllegalArgumentException: map: got no value for key 1, want keys and values in turn", func(t *Thread) Value { return NewMap(t, ints(1)...) }},
		{"sorted map of unlike keys", "ClassCastException: compare: got :a (keyword) and 1 (integer), want two of a kind", func(t *Thread) Value {
			return NewSortedMap(t, Nil, Int(1), Nil, Kw("a"), Nil)
		}},
		{"transient after persistent!", "IllegalStateException: conj!: got a transient after persistent!, want one in use", func(t *Thread) Value {
			tr := Transient(t, EmptyVector)
			Persistent(t, tr)
			return ConjT(t, tr, Int(1))
		}},
		{"a small map keeps its order through a transient", "{:b 1, :a 2, :c 3}", func(t *Thread) Value {
			tr := Transient(t, EmptyMap)
			for i, k := range []string{"b", "a", "c"} {
				AssocT(t, tr, Kw(k), Int(int64(i+1)))
			}
			return Persistent(t, tr)
		}},
		{"transient of a list", "ClassCastException: transient: got () (list), want a vector, hash map or hash set", func(t *Thread) Value { return Transient(t, EmptyList) }},
	})
}

func TestArrayMapKeepsOrder(t *testing.T) {
	th := testThread()
	m := EmptyMap
	want := ""
	for i := range 8 {
		m = Assoc(th, m, Kw(fmt.Sprint("k", 9-i)), Int(int64(i)))
		want += fmt.Sprintf(", :k%d %d", 9-i, i)
	}
	if got := show(m); got != "{"+want[2:]+"}" {
		t.Errorf("got %s", got)
	}
	if m.Kind() != KindArrayMap || Assoc(th, m, Int(0), Int(0)).Kind() != KindHashMap {
		t.Errorf("a map of eight: got %v, want an array map that grows into a hash map", m.Kind())
	}
}

func TestEqualHash(t *testing.T) {
	th := testThread()
	big1 := NewBigInt(big.NewInt(1))
	typ, other := NewRecordType("n", "R", []*Keyword{NewKeyword("", "a")}), NewRecordType("n", "S", []*Keyword{NewKeyword("", "a")})
	rec := NewRecord(th, typ, ints(1))
	nan := Float(0)
	nan = Float((nan.Float() - nan.Float()) / nan.Float())
	hm := NewMap(th, ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)...)
	small := hm
	for i := int64(3); i < 20; i += 2 {
		small = Dissoc(th, small, Int(i))
	}
	cases := []struct {
		a, b Value
		want bool
	}{
		{Int(1), big1, true}, {Int(1), Float(1), false}, {nan, nan, false}, {Nil, EmptyList, false}, {Nil, False, false},
		{vec(th, 1, 2), NewList(th, ints(1, 2)...), true}, {vec(th, 1, 2), NewRange(1, 3, 1), true}, {vec(th), EmptyList, true},
		{vec(th, 1, 2), NewMapEntry(Int(1), Int(2)), true}, {vec(th, 1, 2), vec(th, 1, 2, 3), false},
		{NewLazyGo(func(*Thread) Value { return Nil }), EmptyVector, true},
		{Cons(th, Int(1), NewLazyGo(func(t *Thread) Value { return vec(t, 2) })), vec(th, 1, 2), true},
		{NewVector(th, []Value{nan}), NewVector(th, []Value{nan}), false},
		{small, NewMap(th, ints(1, 2)...), true}, {small, NewSortedMap(th, Nil, ints(1, 2)...), true}, {hm, small, false},
		{NewMap(th, Kw("a"), Int(1)), NewSortedMap(th, Nil, ints(1, 2)...), false},
		{NewSet(th, ints(1, 2)...), NewSortedSet(th, Nil, ints(2, 1)...), true}, {NewSet(th, Int(1)), NewSet(th, big1), true},
		{NewSet(th, Int(1)), vec(th, 1), false}, {EmptyMap, EmptySet, false}, {EmptyMap, EmptyVector, false},
		{rec, NewRecord(th, typ, ints(1)), true}, {rec, NewRecord(th, other, ints(1)), false}, {rec, NewMap(th, Kw("a"), Int(1)), false},
		{Kw("a"), Of(NewKeyword("", "a")), true}, {Kw("a"), Sym("a"), false}, {Str("a"), Str("a"), true}, {Char('a'), Str("a"), false},
		{NewUUID(1, 2), NewUUID(1, 2), true}, {NewInst(5), NewInst(5), true}, {NewInst(5), NewInst(6), false},
		{NewTaggedLiteral(Sym("a"), Int(1)), NewTaggedLiteral(Sym("a"), Int(1)), true},
	}
	for _, c := range cases {
		for _, p := range [][2]Value{{c.a, c.b}, {c.b, c.a}} {
			if got := Equal(th, p[0], p[1]); got != c.want {
				t.Errorf("(= %s %s): got %v, want %v", show(p[0]), show(p[1]), got, c.want)
			}
		}
		if c.want && Hash(th, c.a) != Hash(th, c.b) {
			t.Errorf("hash: %s and %s are equal but hash apart", show(c.a), show(c.b))
		}
	}
}

func TestCompare(t *testing.T) {
	th := testThread()
	runOps(t, []opCase{
		{"maps", "ClassCastException: compare: got {} (map), want something with an order: a number, string, keyword, symbol, char, boolean or vector", func(t *Thread) Value {
			return Int(int64(Compare(t, EmptyMap, NewMap(t))))
		}},
		{"unlike", "ClassCastException: compare: got 1 (integer) and \"a\" (string), want two of a kind", func(t *Thread) Value {
			return Int(int64(Compare(t, Int(1), Str("a"))))
		}},
	})
	rising := [][]Value{
		{Nil, Int(-1), Float(0.5), Int(1), NewBigInt(big.NewInt(2)), Float(3.5)},
		{Nil, False, True}, {Nil, Str(""), Str("B"), Str("a"), Str("aa")}, {Nil, Kw("a"), Kw("b"), Kw("a/a"), Kw("b/a")},
		{Nil, Sym("a"), Sym("b"), Sym("a/a")}, {Nil, Char('a'), Char('b')},
		{Nil, EmptyVector, vec(th, 9), vec(th, 1, 2), NewMapEntry(Int(1), Int(3)), vec(th, 2, 1)},
		{Nil, NewInst(1), NewInst(2)}, {Nil, NewUUID(1<<63, 0), NewUUID(0, 0), NewUUID(0, 1)},
	}
	for _, xs := range rising {
		for i, a := range xs {
			for j, b := range xs {
				if got := sign(int64(Compare(th, a, b))); got != sign(int64(i-j)) {
					t.Errorf("(compare %s %s): got %d", show(a), show(b), got)
				}
			}
		}
	}
}

func TestMeta(t *testing.T) {
	pos := &Pos{Line: 3, Column: 7}
	m := func(t *Thread) Value { return NewMap(t, Kw("m"), Int(1)) }
	runOps(t, []opCase{
		{"of a read list", "{:line 3, :column 7}", func(t *Thread) Value { return Meta(WithPos(NewList(t, Int(1)), pos)) }},
		{"of a read vector", "nil", func(t *Thread) Value { return Meta(WithPos(vec(t, 1), pos)) }},
		{"of a read list with more", "{:line 3, :column 7, :m 1}", func(t *Thread) Value {
			return Meta(WithPos(WithMeta(t, NewList(t, Int(1)), m(t)), pos))
		}},
		{"replaced", "{:m 1}", func(t *Thread) Value { return Meta(WithMeta(t, WithPos(NewList(t, Int(1)), pos), m(t))) }},
		{"removed", "nil", func(t *Thread) Value { return Meta(WithMeta(t, WithPos(NewList(t, Int(1)), pos), Nil)) }},
		{"kept by assoc", "{:m 1}", func(t *Thread) Value { return Meta(Assoc(t, WithMeta(t, EmptyMap, m(t)), Int(1), Int(1))) }},
		{"kept by conj", "{:m 1}", func(t *Thread) Value { return Meta(Conj(t, WithMeta(t, EmptySet, m(t)), Int(1))) }},
		{"kept by conj to a list", "{:m 1}", func(t *Thread) Value { return Meta(Conj(t, WithMeta(t, EmptyList, m(t)), Int(1))) }},
		{"kept through a transient", "{:m 1}", func(t *Thread) Value {
			return Meta(Persistent(t, ConjT(t, Transient(t, WithMeta(t, EmptyVector, m(t))), Int(1))))
		}},
		{"of a lazy seq", "{:m 1}", func(t *Thread) Value {
			return Meta(WithMeta(t, NewLazyGo(func(*Thread) Value { return Nil }), m(t)))
		}},
		{"of a number", "ClassCastException: with-meta: got 1 (integer), want something that carries metadata: a collection, symbol or function", func(t *Thread) Value {
			return WithMeta(t, Int(1), Nil)
		}},
	})
	th := testThread()
	for _, coll := range sampleColls(th) {
		if coll.IsNil() || coll.Kind() == KindString {
			continue
		}
		with := WithMeta(th, coll, m(th))
		if show(Meta(with)) != "{:m 1}" || !Equal(th, with, coll) || !Meta(coll).IsNil() {
			t.Errorf("%s: metadata changes the value, or is lost", coll.Kind())
		}
	}
	if l := WithMeta(th, WithPos(NewList(th, Int(1)), pos), m(th)); PosOf(l) != pos {
		t.Errorf("position: lost by with-meta")
	}
}

func TestCalls(t *testing.T) {
	a := Kw("a")
	call := func(t *Thread, f Value, args ...Value) Value { return t.Call(f, args...) }
	runOps(t, []opCase{
		{"keyword", "1", func(t *Thread) Value { return call(t, a, NewMap(t, a, Int(1))) }},
		{"keyword, not found", ":x", func(t *Thread) Value { return call(t, a, Nil, Kw("x")) }},
		{"keyword, three", "ArityException: :a: got 3 arguments, want 1 or 2", func(t *Thread) Value { return call(t, a, Nil, Nil, Nil) }},
		{"symbol", "2", func(t *Thread) Value { return call(t, Sym("b"), NewMap(t, Sym("b"), Int(2))) }},
		{"map", "nil", func(t *Thread) Value { return call(t, EmptyMap, a) }},
		{"map with a default", "3", func(t *Thread) Value { return call(t, EmptyMap, a, Int(3)) }},
		{"set", ":a", func(t *Thread) Value { return call(t, NewSet(t, a), a) }},
		{"vector", "2", func(t *Thread) Value { return call(t, vec(t, 1, 2), Int(1)) }},
		{"vector, out of range", "IndexOutOfBoundsException: vector: got index 2, want 0 to 1", func(t *Thread) Value { return call(t, vec(t, 1, 2), Int(2)) }},
		{"vector, no index", "IllegalArgumentException: vector: got key :a (keyword) of a vector, want an integer", func(t *Thread) Value { return call(t, vec(t, 1), a) }},
		{"number", "ClassCastException: call: got 1 (integer), want a function", func(t *Thread) Value { return call(t, Int(1), a) }},
		{"list", "ClassCastException: call: got () (list), want a function", func(t *Thread) Value { return call(t, EmptyList, a) }},
		{"transient", ":a", func(t *Thread) Value { return call(t, Transient(t, NewSet(t, a)), a) }},
	})
}

func TestRecords(t *testing.T) {
	typ := NewRecordType("n", "R", []*Keyword{NewKeyword("", "a"), NewKeyword("", "b")})
	rec := func(t *Thread) Value { return NewRecord(t, typ, ints(1, 2)) }
	runOps(t, []opCase{
		{"get", "2", func(t *Thread) Value { return found(Get(t, rec(t), Kw("b"))) }},
		{"get nothing", ":none", func(t *Thread) Value { return found(Get(t, rec(t), Kw("c"))) }},
		{"assoc a field", "9", func(t *Thread) Value { return found(Get(t, Assoc(t, rec(t), Kw("a"), Int(9)), Kw("a"))) }},
		{"assoc more", "3", func(t *Thread) Value { return Int(int64(Count(t, Assoc(t, rec(t), Kw("c"), Int(9))))) }},
		{"dissoc more", "true", func(t *Thread) Value {
			return Bool(Equal(t, rec(t), Dissoc(t, Assoc(t, rec(t), Kw("c"), Int(9)), Kw("c"))))
		}},
		{"dissoc a field", "{:b 2}", func(t *Thread) Value { return Dissoc(t, rec(t), Kw("a")) }},
		{"seq", "([:a 1] [:b 2])", func(t *Thread) Value { return Seq(t, rec(t)) }},
		{"first", "[:a 1]", func(t *Thread) Value { return First(t, rec(t)) }},
		{"empty", "UnsupportedOperationException: empty: got a record, want a collection that can be empty", func(t *Thread) Value { return Empty(t, rec(t)) }},
	})
}

func TestSortStable(t *testing.T) {
	th := testThread()
	xs := make([]Value, 10_000)
	for i := range xs {
		xs[i] = vec(th, int64(mix(uint64(i))%50), int64(i))
	}
	key := func(v Value, i int) int64 { return As[Vector](v).Nth(i).Int() }
	SortStable(th, xs, func(a, b Value) bool { return key(a, 0) < key(b, 0) })
	for i := 1; i < len(xs); i++ {
		a, b := xs[i-1], xs[i]
		if key(a, 0) > key(b, 0) || key(a, 0) == key(b, 0) && key(a, 1) > key(b, 1) {
			t.Fatalf("at %d: %s before %s", i, show(a), show(b))
		}
	}
}
