package value

import (
	"fmt"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

// TestVectorModel drives vectors against a slice, forking now and then, so that several vectors share a tail.
func TestVectorModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		th := testThread()
		n := rapid.SampledFrom([]int{0, 1, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 1055, 1056, 1057, 1088, 33000}).Draw(rt, "n")
		vecs := []*Vector{As[Vector](EmptyVector)}
		models := [][]int64{nil}
		if n > 0 {
			m := make([]int64, n)
			xs := make([]Value, n)
			for i := range m {
				m[i] = int64(i)
				xs[i] = Int(int64(i))
			}
			vecs, models = append(vecs, As[Vector](NewVector(th, xs))), append(models, m)
		}
		for range rapid.IntRange(1, 120).Draw(rt, "ops") {
			i := rapid.IntRange(max(0, len(vecs)-3), len(vecs)-1).Draw(rt, "which")
			v, m := vecs[i], models[i]
			x := rapid.Int64Range(0, 1000).Draw(rt, "x")
			switch op := rapid.IntRange(0, 5).Draw(rt, "op"); {
			case op == 0 && len(m) > 0:
				v, m = v.Pop(th), slices.Clone(m[:len(m)-1])
			case op == 1 && len(m) > 0:
				j := rapid.IntRange(0, len(m)-1).Draw(rt, "j")
				v, m = v.AssocN(th, j, Int(x)), slices.Clone(m)
				m[j] = x
			case op == 2:
				v, m = transientRun(rt, th, v, slices.Clone(m))
			default:
				k := rapid.IntRange(1, 40).Draw(rt, "k")
				m = slices.Clone(m)
				for range k {
					v, m = v.Conj(th, Int(x)), append(m, x)
				}
			}
			vecs, models = append(vecs, v), append(models, m)
		}
		for i := range vecs {
			checkVector(rt, th, vecs[i], models[i])
		}
	})
}

func transientRun(rt *rapid.T, th *Thread, v *Vector, m []int64) (*Vector, []int64) {
	tr := Transient(th, Of(v))
	for range rapid.IntRange(0, 60).Draw(rt, "tops") {
		x := rapid.Int64Range(0, 1000).Draw(rt, "x")
		switch op := rapid.IntRange(0, 4).Draw(rt, "top"); {
		case op == 0 && len(m) > 0:
			PopT(th, tr)
			m = m[:len(m)-1]
		case op == 1 && len(m) > 0:
			j := rapid.IntRange(0, len(m)-1).Draw(rt, "j")
			AssocT(th, tr, Int(int64(j)), Int(x))
			m[j] = x
		default:
			ConjT(th, tr, Int(x))
			m = append(m, x)
		}
	}
	return As[Vector](Persistent(th, tr)), m
}

func checkVector(rt *rapid.T, th *Thread, v *Vector, m []int64) {
	if v.Len() != len(m) {
		rt.Fatalf("count: got %d, want %d", v.Len(), len(m))
	}
	for i, x := range m {
		if v.Nth(i).Int() != x {
			rt.Fatalf("nth %d of %d: got %d, want %d", i, len(m), v.Nth(i).Int(), x)
		}
	}
	i := 0
	for s := Seq(th, Of(v)); !s.IsNil(); s = Next(th, s) {
		if First(th, s).Int() != m[i] {
			rt.Fatalf("seq %d: got %s", i, show(First(th, s)))
		}
		i++
	}
	if i != len(m) {
		rt.Fatalf("seq: got %d elements, want %d", i, len(m))
	}
}

func TestConjBuiltVectorNth(t *testing.T) {
	th := testThread()
	v := As[Vector](EmptyVector)
	const n = 1<<20 + 2000
	for i := range n {
		v = v.Conj(th, Int(int64(i)))
	}
	for i := range n {
		if v.Nth(i).Int() != int64(i) {
			t.Fatalf("nth %d: got %d", i, v.Nth(i).Int())
		}
	}
	for i := n; i > 1000; i-- {
		v = v.Pop(th)
	}
	if v.Len() != 1000 || v.Nth(999).Int() != 999 || v.shift != 5 {
		t.Fatalf("pop: got %d elements, shift %d", v.Len(), v.shift)
	}
}

// keyGen draws keys of which many are equal in hash and some equal across kinds.
func keyGen() *rapid.Generator[Value] {
	return rapid.Custom(func(rt *rapid.T) Value {
		i := rapid.IntRange(0, 60).Draw(rt, "key")
		switch rapid.IntRange(0, 4).Draw(rt, "sort") {
		case 0:
			return colliding(fmt.Sprint("c", i%12))
		case 1:
			return Kw(fmt.Sprint("k", i))
		case 2:
			return Str(fmt.Sprint("s", i))
		case 3:
			return Nil
		}
		return Int(int64(i))
	})
}

// TestMapModel drives maps, persistent and transient, against a Go map by printed key.
func TestMapModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		th := testThread()
		m := EmptyMap
		model := map[string]int64{}
		keys := map[string]Value{}
		for range rapid.IntRange(1, 200).Draw(rt, "ops") {
			k := keyGen().Draw(rt, "k")
			name := show(k)
			x := rapid.Int64Range(0, 1000).Draw(rt, "x")
			before, count := m, len(model)
			switch rapid.IntRange(0, 6).Draw(rt, "op") {
			case 0, 1:
				m = Dissoc(th, m, k)
				delete(model, name)
			case 2:
				tr := Transient(th, m)
				AssocT(th, tr, k, Int(x))
				AssocT(th, tr, Int(1), Int(x))
				DissocT(th, tr, Int(2))
				m = Persistent(th, tr)
				model[name], keys[name] = x, k
				model["1"], keys["1"] = x, Int(1)
				delete(model, "2")
			default:
				m = Assoc(th, m, k, Int(x))
				model[name], keys[name] = x, k
			}
			if Count(th, before) != count {
				rt.Fatalf("a change to a map changed the map it came from")
			}
		}
		checkMap(rt, th, m, model, keys)
	})
}

func checkMap(rt *rapid.T, th *Thread, m Value, model map[string]int64, keys map[string]Value) {
	if Count(th, m) != len(model) {
		rt.Fatalf("count: got %d, want %d: %s", Count(th, m), len(model), show(m))
	}
	for name, x := range model {
		if v, ok := Get(th, m, keys[name]); !ok || v.Int() != x {
			rt.Fatalf("get %s: got %s, want %d", name, show(v), x)
		}
	}
	n := 0
	for s := Seq(th, m); !s.IsNil(); s = Next(th, s) {
		e := First(th, s)
		k, _ := Nth(th, e, 0)
		v, _ := Nth(th, e, 1)
		if model[show(k)] != v.Int() {
			rt.Fatalf("entry: got %s", show(e))
		}
		n++
	}
	if n != len(model) {
		rt.Fatalf("seq: got %d entries, want %d", n, len(model))
	}
	again := EmptyMap // the same entries by another way: equal, of one hash, and of one shape
	for _, name := range sortedNames(model) {
		again = Assoc(th, again, keys[name], Int(model[name]))
	}
	if !Equal(th, m, again) || !Equal(th, again, m) || Hash(th, m) != Hash(th, again) {
		rt.Fatalf("equal: got %s and %s", show(m), show(again))
	}
	if m.Kind() == KindHashMap {
		checkNode(rt, th, As[HashMap](m).root, 0, true)
	}
}

func sortedNames(m map[string]int64) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// checkNode holds the tree to its canonical form: no node but the root has a single entry and nothing below.
func checkNode(rt *rapid.T, th *Thread, n *hnode, shift uint, root bool) {
	if !root && len(n.kids) == 0 && len(n.kvs) < 4 {
		rt.Fatalf("node: got %d entries alone below the root", len(n.kvs)/2)
	}
	if shift <= lastShift {
		for i := 0; i < len(n.kvs); i += 2 {
			if index(n.data, slot(Hash(th, n.kvs[i]), shift))*2 != i {
				rt.Fatalf("node: entry %s is out of place", show(n.kvs[i]))
			}
		}
	}
	for _, kid := range n.kids {
		checkNode(rt, th, kid, shift+5, false)
	}
}

func TestSetModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		th := testThread()
		s, tr := EmptySet, Transient(th, EmptySet)
		model := map[string]Value{}
		for range rapid.IntRange(1, 150).Draw(rt, "ops") {
			x := keyGen().Draw(rt, "x")
			if rapid.IntRange(0, 2).Draw(rt, "op") == 0 {
				s, tr = Disj(th, s, x), DisjT(th, tr, x)
				delete(model, show(x))
			} else {
				s, tr = Conj(th, s, x), ConjT(th, tr, x)
				model[show(x)] = x
			}
		}
		if Count(th, tr) != len(model) {
			rt.Fatalf("transient count: got %d, want %d", Count(th, tr), len(model))
		}
		built := Persistent(th, tr)
		if !Equal(th, s, built) || Hash(th, s) != Hash(th, built) || Count(th, s) != len(model) {
			rt.Fatalf("got %s and %s", show(s), show(built))
		}
		for _, x := range model {
			if !Contains(th, s, x) || !Contains(th, built, x) {
				rt.Fatalf("contains %s: got false", show(x))
			}
		}
	})
}

func TestSortedModel(t *testing.T) {
	down := goFn(Builtin{Name: "down", F2: func(t *Thread, a, b Value) Value { return Int(int64(Compare(t, b, a))) }})
	above := goFn(Builtin{Name: "above", F2: func(t *Thread, a, b Value) Value { return Bool(Compare(t, a, b) > 0) }})
	rapid.Check(t, func(rt *rapid.T) {
		th := testThread()
		cmp := rapid.SampledFrom([]Value{Nil, down, above}).Draw(rt, "cmp")
		m, s := NewSortedMap(th, cmp), NewSortedSet(th, cmp)
		model := map[int64]int64{}
		for range rapid.IntRange(1, 200).Draw(rt, "ops") {
			k := rapid.Int64Range(0, 60).Draw(rt, "k")
			x := rapid.Int64Range(0, 1000).Draw(rt, "x")
			if rapid.IntRange(0, 2).Draw(rt, "op") == 0 {
				m, s = Dissoc(th, m, Int(k)), Disj(th, s, Int(k))
				delete(model, k)
			} else {
				m, s = Assoc(th, m, Int(k), Int(x)), Conj(th, s, Int(k))
				model[k] = x
			}
			checkTree(rt, As[SortedMap](m).root)
		}
		want := sortedKeys(model, cmp != Nil)
		if got := intsOf(th, s); !slices.Equal(got, want) {
			rt.Fatalf("set: got %v, want %v", got, want)
		}
		if got := intsOf(th, Keys(th, m)); !slices.Equal(got, want) {
			rt.Fatalf("keys: got %v, want %v", got, want)
		}
		checkSubseq(rt, th, s, want, cmp != Nil)
	})
}

func checkSubseq(rt *rapid.T, th *Thread, s Value, all []int64, down bool) {
	lo := Bound{rapid.Bool().Draw(rt, "lo"), Int(rapid.Int64Range(-1, 61).Draw(rt, "from")), rapid.Bool().Draw(rt, "lin")}
	hi := Bound{rapid.Bool().Draw(rt, "hi"), Int(rapid.Int64Range(-1, 61).Draw(rt, "to")), rapid.Bool().Draw(rt, "hin")}
	before := func(a, b int64) bool { return a < b != down && a != b }
	var want []int64
	for _, x := range all {
		if lo.Set && (before(x, lo.Key.Int()) || x == lo.Key.Int() && !lo.Inclusive) {
			continue
		}
		if hi.Set && (before(hi.Key.Int(), x) || x == hi.Key.Int() && !hi.Inclusive) {
			continue
		}
		want = append(want, x)
	}
	if got := intsOf(th, Subseq(th, s, lo, hi, false)); !slices.Equal(got, want) {
		rt.Fatalf("subseq: got %v, want %v", got, want)
	}
	slices.Reverse(want)
	if got := intsOf(th, Subseq(th, s, lo, hi, true)); !slices.Equal(got, want) {
		rt.Fatalf("rsubseq: got %v, want %v", got, want)
	}
}

func checkTree(rt *rapid.T, n *tnode) {
	if n == nil {
		return
	}
	if d := n.l.high() - n.r.high(); d < -1 || d > 1 || n.height != max(n.l.high(), n.r.high())+1 {
		rt.Fatalf("tree: heights %d and %d under %d", n.l.high(), n.r.high(), n.height)
	}
	if n.len() != n.l.len()+n.r.len()+1 {
		rt.Fatalf("tree: size %d over %d and %d", n.len(), n.l.len(), n.r.len())
	}
	checkTree(rt, n.l)
	checkTree(rt, n.r)
}

func sortedKeys(m map[int64]int64, down bool) []int64 {
	var ks []int64
	for k := range m {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	if down {
		slices.Reverse(ks)
	}
	return ks
}

func intsOf(th *Thread, coll Value) []int64 {
	var out []int64
	Each(th, coll, func(x Value) bool {
		out = append(out, x.Int())
		return true
	})
	return out
}

// TestIterAgrees holds the two ways to walk a collection to each other.
func TestIterAgrees(t *testing.T) {
	th := testThread()
	for _, coll := range sampleColls(th) {
		var a, b []string
		for s := Seq(th, coll); !s.IsNil(); s = Next(th, s) {
			a = append(a, show(First(th, s)))
		}
		for s := Value(coll); ; s = Rest(th, s) {
			if Seq(th, s).IsNil() {
				break
			}
			b = append(b, show(First(th, s)))
		}
		var c []string
		Each(th, coll, func(x Value) bool {
			c = append(c, show(x))
			return true
		})
		if !slices.Equal(a, c) || !slices.Equal(a, b) || len(a) != Count(th, coll) {
			t.Errorf("%s: got %v by next, %v by rest, %v by each, count %d", coll.Kind(), a, b, c, Count(th, coll))
		}
		for i := range a {
			if x, ok := Nth(th, Seq(th, coll), i); !ok || show(x) != a[i] {
				t.Errorf("%s: nth %d: got %s, want %s", coll.Kind(), i, show(x), a[i])
			}
		}
		if _, ok := Nth(th, Seq(th, coll), len(a)); ok {
			t.Errorf("%s: nth beyond the end: got something", coll.Kind())
		}
		if got := len(ToSlice(th, coll)); got != len(a) {
			t.Errorf("%s: to slice: got %d, want %d", coll.Kind(), got, len(a))
		}
	}
}

func sampleColls(th *Thread) []Value {
	var big []Value
	for i := range 100 {
		big = append(big, Int(int64(i)))
	}
	lazy := NewLazyGo(func(t *Thread) Value {
		return NewChunkedCons(t, ints(1, 2), NewLazyGo(func(*Thread) Value { return NewRange(3, 40, 1) }))
	})
	typ := NewRecordType("n", "R", []*Keyword{NewKeyword("", "a"), NewKeyword("", "b")})
	rec := NewRecord(th, typ, ints(1, 2))
	set := NewSet(th, big...)
	return []Value{
		Nil, EmptyList, EmptyVector, EmptyMap, EmptySet, NewList(th, big...), NewVector(th, big), NewVector(th, big[:3]),
		Cons(th, Int(1), NewVector(th, big)), NewMapEntry(Int(1), Int(2)), NewMap(th, big...), NewMap(th, big[:6]...), set,
		NewSortedMap(th, Nil, big...), NewSortedSet(th, Nil, big...), Str("añb"), NewRange(5, -70, -3), NewRepeatN(Int(1), 5),
		lazy, rec, Assoc(th, rec, Kw("z"), Int(3)), Keys(th, NewMap(th, big...)), Vals(th, NewSortedMap(th, Nil, big...)),
		NewArraySeq(big), Rseq(th, NewVector(th, big)), Rseq(th, NewSortedSet(th, Nil, big...)), Seq(th, Str("abc")),
		NewNumRange(th, Float(0), Float(10), Float(0.25)), NewNumRange(th, Int(0), Float(-50), Int(-1)),
	}
}
