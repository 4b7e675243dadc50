package value

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// TestBuildersChargeWhatTheyTake compares what builders charge with what the Go allocator hands out.
func TestBuildersChargeWhatTheyTake(t *testing.T) {
	const n = 20_000
	builders := map[string]func(*Thread) Value{
		"conj": func(t *Thread) Value {
			v := EmptyVector
			for i := range n {
				v = Conj(t, v, Int(int64(i)))
			}
			return v
		},
		"short conj": func(t *Thread) Value {
			var v Value
			for range n {
				v = Conj(t, EmptyVector, Int(1))
			}
			return v
		},
		"assoc": func(t *Thread) Value {
			m := EmptyMap
			for i := range n {
				m = Assoc(t, m, Int(int64(i)), Nil)
			}
			return m
		},
		"dissoc": func(t *Thread) Value {
			m := NewMap(t, seqInts(2*n)...)
			for i := range n {
				m = Dissoc(t, m, Int(int64(2*i)))
			}
			return m
		},
		"small assoc":  func(t *Thread) Value { return repeatOp(n, func() Value { return Assoc(t, EmptyMap, Int(1), Nil) }) },
		"sorted assoc": func(t *Thread) Value { return NewSortedMap(t, Nil, seqInts(2*n)...) },
		"set":          func(t *Thread) Value { return NewSet(t, seqInts(n)...) },
		"list":         func(t *Thread) Value { return NewList(t, seqInts(n)...) },
		"vector":       func(t *Thread) Value { return NewVector(t, seqInts(n)) },
		"assoc vector": func(t *Thread) Value {
			v := NewVector(t, seqInts(n))
			for i := range n {
				v = Assoc(t, v, Int(int64(i)), Nil)
			}
			return v
		},
		"transient vector": func(t *Thread) Value {
			tr := Transient(t, EmptyVector)
			for i := range n {
				ConjT(t, tr, Int(int64(i)))
			}
			return Persistent(t, tr)
		},
		"transient map": func(t *Thread) Value {
			tr := Transient(t, EmptyMap)
			for i := range n {
				AssocT(t, tr, Int(int64(i)), Nil)
			}
			return Persistent(t, tr)
		},
		"slice":   func(t *Thread) Value { return NewArraySeq(ToSlice(t, NewRange(0, n, 1))) },
		"numbers": func(t *Thread) Value { return Int(int64(Count(t, NewNumRange(t, Float(0), Int(n), Int(1))))) },
		"entries": func(t *Thread) Value {
			m := NewMap(t, seqInts(2*n)...)
			return NewArraySeq(ToSlice(t, m))
		},
		"next": func(t *Thread) Value {
			s := Seq(t, NewVector(t, seqInts(n)))
			for !s.IsNil() {
				s = Next(t, s)
			}
			return s
		},
	}
	for name, build := range builders {
		th := limitedThread(limit.Limits{Steps: 1 << 40, Alloc: 1 << 40, Bytes: limit.Unlimited, Depth: 1000, Time: limit.Unlimited})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		keep := build(th)
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(keep)
		th.Flush()
		got, real := float64(th.Used().Alloc), float64(after.TotalAlloc-before.TotalAlloc)
		if got < real*0.5 || got > real*2.5 {
			t.Errorf("%s: charged %.0f bytes for %.0f (%.2f times)", name, got, real, got/real)
		}
	}
}

func repeatOp(n int, f func() Value) (v Value) {
	for range n {
		v = f()
	}
	return v
}

func seqInts(n int) []Value {
	xs := make([]Value, n)
	for i := range xs {
		xs[i] = Int(int64(i))
	}
	return xs
}

// TestLiveBytesSeeCollections builds more than the limit alive at once in each sort of collection, reachable from a
// definition, and then as much that is dropped at once.
func TestLiveBytesSeeCollections(t *testing.T) {
	text := func(t *Thread) Value {
		t.Charge(1024)
		return Str(string(make([]byte, 1000)))
	}
	keepers := map[string]func(t *Thread, old Value, i int) Value{
		"vector": func(t *Thread, old Value, _ int) Value { return Conj(t, orValue(old, EmptyVector), text(t)) },
		"list":   func(t *Thread, old Value, _ int) Value { return Conj(t, old, text(t)) },
		"map":    func(t *Thread, old Value, i int) Value { return Assoc(t, old, Int(int64(i)), text(t)) },
		"keys": func(t *Thread, old Value, i int) Value {
			return Assoc(t, old, NewVector(t, []Value{Int(int64(i)), text(t)}), Nil)
		},
		"set": func(t *Thread, old Value, i int) Value {
			return Conj(t, orValue(old, EmptySet), NewVector(t, []Value{Int(int64(i)), text(t)}))
		},
		"sorted": func(t *Thread, old Value, i int) Value {
			return Assoc(t, orValue(old, NewSortedMap(t, Nil)), Int(int64(i)), text(t))
		},
		"transient": func(t *Thread, old Value, _ int) Value {
			return ConjT(t, orValue(old, Transient(t, EmptyVector)), text(t))
		},
		"cons":   func(t *Thread, old Value, _ int) Value { return Cons(t, text(t), old) },
		"chunks": func(t *Thread, old Value, _ int) Value { return NewChunkedCons(t, []Value{text(t)}, old) },
		"lazy": func(t *Thread, old Value, _ int) Value {
			x := text(t)
			t.Charge(160)
			return NewLazyGo(func(t *Thread) Value { return Cons(t, x, old) }, x, old)
		},
		"realised": func(t *Thread, old Value, _ int) Value {
			x := text(t)
			t.Charge(160)
			l := NewLazyGo(func(t *Thread) Value { return Cons(t, x, old) }, x, old)
			Seq(t, l)
			return l
		},
		"meta": func(t *Thread, old Value, _ int) Value { return WithMeta(t, EmptyVector, NewMap(t, text(t), old)) },
	}
	for name, add := range keepers {
		for _, keep := range []bool{true, false} {
			l := limit.Defaults()
			l.Bytes, l.Alloc = 1<<20, limit.Unlimited
			th := limitedThread(l)
			th.Env.Add(NewNamespace("user"))
			def := th.Env.Namespace("user").Intern("x")
			def.SetRoot(Nil)
			err := tripped(func() {
				for i := range 3000 {
					old, _ := def.Root()
					if !keep {
						old = Nil
					}
					def.SetRoot(add(th, old, i))
				}
			})
			if (err != nil && err.Kind == limit.Bytes) != keep {
				t.Errorf("%s, kept %v: got %v", name, keep, err)
			}
		}
	}
}

func orValue(v, other Value) Value {
	if v.IsNil() {
		return other
	}
	return v
}

// TestTailIsSharedSafely has many threads extend one vector: each must see only what it put there itself.
func TestTailIsSharedSafely(t *testing.T) {
	th := testThread()
	v := Conj(th, vec(th, 1, 2, 3), Int(4))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		f := th.Fork()
		go func() {
			defer wg.Done()
			for range 2000 {
				w := v
				for i := range 40 {
					w = Conj(f, w, Int(int64(100*g+i)))
				}
				for i := range 40 {
					if x, _ := Nth(f, w, 4+i); x != Int(int64(100*g+i)) {
						t.Errorf("nth %d: got %s, want %d", 4+i, show(x), 100*g+i)
						return
					}
				}
			}
		}()
	}
	wg.Wait()
}

// TestTransientRefusesTwoThreads has threads fight over transients: each call works or throws, and nothing else.
func TestTransientRefusesTwoThreads(t *testing.T) {
	th := testThread()
	for _, coll := range []Value{EmptyVector, EmptyMap, EmptySet} {
		tr := Transient(th, coll)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Add(1)
			f := th.Fork()
			go func() {
				defer wg.Done()
				for i := range 3000 {
					ex := thrown(func() {
						switch x := Int(int64(g*3000 + i)); tr.Kind() {
						case KindTransientMap:
							AssocT(f, tr, x, x)
						default:
							ConjT(f, tr, x)
						}
						Get(f, tr, Int(0))
						Count(f, tr)
					})
					if ex != nil && ex.Class != "IllegalStateException" {
						t.Error(ex)
						return
					}
				}
			}()
		}
		wg.Wait()
		n := Count(th, tr)
		done := Persistent(th, tr)
		if got := len(ToSlice(th, done)); got != n || n == 0 {
			t.Errorf("%s: got %d elements, counted %d", done.Kind(), got, n)
		}
	}
}

// TestHashOrderIsFixed pins the order of one set: it is the same in every process.
func TestHashOrderIsFixed(t *testing.T) {
	th := testThread()
	s := EmptySet
	for i := range 12 {
		s = Conj(th, s, Kw(fmt.Sprint("k", i)))
	}
	const want = "#{:k6 :k5 :k10 :k1 :k8 :k7 :k11 :k9 :k0 :k2 :k4 :k3}"
	if got := show(s); got != want {
		t.Errorf("order of a set: got %s, want %s", got, want)
	}
}
