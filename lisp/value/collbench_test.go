package value

import "testing"

func BenchmarkVectorConjNth1M(b *testing.B) {
	for range b.N {
		t := testThread()
		v := As[Vector](EmptyVector)
		for i := range 1_000_000 {
			v = v.Conj(t, Int(int64(i)))
		}
		sum := int64(0)
		for i := range v.Len() {
			sum += v.Nth(i).Int()
		}
		if sum != 499999500000 {
			b.Fatal(sum)
		}
	}
}

func BenchmarkTransientConj1M(b *testing.B) {
	for range b.N {
		t := testThread()
		v := Transient(t, EmptyVector)
		for i := range 1_000_000 {
			v = ConjT(t, v, Int(int64(i)))
		}
		Persistent(t, v)
	}
}

func BenchmarkAssoc200k(b *testing.B) {
	for range b.N {
		t := testThread()
		m := EmptyMap
		for i := range 200_000 {
			m = Assoc(t, m, Int(int64(i)), Int(int64(i)))
		}
	}
}

func BenchmarkTransientAssoc200k(b *testing.B) {
	for range b.N {
		t := testThread()
		m := Transient(t, EmptyMap)
		for i := range 200_000 {
			m = AssocT(t, m, Int(int64(i)), Int(int64(i)))
		}
		Persistent(t, m)
	}
}

func BenchmarkGet200k(b *testing.B) {
	t := testThread()
	m := EmptyMap
	for i := range 200_000 {
		m = Assoc(t, m, Int(int64(i)), Int(int64(i)))
	}
	b.ResetTimer()
	for range b.N {
		for i := range 200_000 {
			if _, ok := Get(t, m, Int(int64(i))); !ok {
				b.Fatal(i)
			}
		}
	}
}

func BenchmarkReduceRange1M(b *testing.B) {
	for range b.N {
		t := testThread()
		r := Reduce(t, func(a, x Value) Value { return Add(t, a, x) }, Int(0), NewRange(0, 1_000_000, 1))
		if r.Int() != 499999500000 {
			b.Fatal(r.Int())
		}
	}
}

func BenchmarkLazyChain1M(b *testing.B) {
	var from func(i int64) Value
	from = func(i int64) Value {
		return NewLazyGo(func(t *Thread) Value {
			if i == 1_000_000 {
				return Nil
			}
			return Cons(t, Int(i), from(i+1))
		})
	}
	for range b.N {
		if n := Count(testThread(), from(0)); n != 1_000_000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkSmallMapKeyword(b *testing.B) {
	t := testThread()
	m := NewMap(t, Kw("a"), Int(1), Kw("b"), Int(2), Kw("c"), Int(3))
	k := Kw("c")
	for range b.N {
		if _, ok := Get(t, m, k); !ok {
			b.Fatal()
		}
	}
}

func BenchmarkSort200k(b *testing.B) {
	for range b.N {
		t := testThread()
		xs := make([]Value, 200_000)
		for i := range xs {
			xs[i] = Int(int64(mix(uint64(i)) >> 1))
		}
		SortStable(t, xs, func(a, b Value) bool { return Compare(t, a, b) < 0 })
	}
}
