package value

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp/limit"
)

func TestLazyRunsOnce(t *testing.T) {
	var runs atomic.Int64
	th := testThread()
	l := NewLazyGo(func(t *Thread) Value {
		runs.Add(1)
		time.Sleep(5 * time.Millisecond)
		return NewList(t, ints(1, 2, 3)...)
	})
	var wg sync.WaitGroup
	for range 16 {
		wg.Add(1)
		f := th.Fork()
		go func() {
			defer wg.Done()
			if n := Count(f, l); n != 3 {
				t.Errorf("count: got %d, want 3", n)
			}
		}()
	}
	wg.Wait()
	if runs.Load() != 1 {
		t.Errorf("thunk: ran %d times, want once", runs.Load())
	}
}

func TestLazyChainBetweenThreads(t *testing.T) {
	var runs atomic.Int64
	var from func(i int64) Value
	from = func(i int64) Value {
		return NewLazyGo(func(t *Thread) Value {
			runs.Add(1)
			if i%3 == 0 {
				return from(i + 1) // a lazy seq that gives a lazy seq
			}
			if i > 3000 {
				return Nil
			}
			return Cons(t, Int(i), from(i+1))
		})
	}
	l, th := from(0), testThread()
	var wg sync.WaitGroup
	sums := make([]int64, 8)
	for i := range sums {
		wg.Add(1)
		f := th.Fork()
		go func() {
			defer wg.Done()
			Each(f, l, func(x Value) bool {
				sums[i] += x.Int()
				return true
			})
		}()
	}
	wg.Wait()
	for _, s := range sums {
		if s != sums[0] || s == 0 {
			t.Fatalf("sums: got %v, want one", sums)
		}
	}
	if runs.Load() != 3002 {
		t.Errorf("thunks: ran %d times, want 3002", runs.Load())
	}
}

func TestLazyRetriesAfterPanic(t *testing.T) {
	th, tries := testThread(), 0
	l := NewLazyGo(func(t *Thread) Value {
		tries++
		if tries < 3 {
			panic(ArgError("not yet"))
		}
		return NewList(t, Int(int64(tries)))
	})
	outer := NewLazyGo(func(*Thread) Value { return l })
	for range 2 {
		m := th.Mark()
		wantThrow(t, "IllegalArgumentException", func() { Seq(th, outer) })
		th.Unwind(m)
		if As[LazySeq](l).Realized() {
			t.Fatal("realized after a panic")
		}
	}
	if x := First(th, outer); x != Int(3) {
		t.Fatalf("first: got %s, want 3", show(x))
	}
	if x := First(th, l); x != Int(3) || tries != 3 {
		t.Fatalf("first of the inner: got %s after %d tries", show(x), tries)
	}
}

func TestLazyReentry(t *testing.T) {
	th := testThread()
	var l Value
	l = NewLazyGo(func(t *Thread) Value { return Cons(t, First(t, l), Nil) })
	wantThrow(t, "IllegalStateException", func() { Seq(th, l) })
}

func TestLazyWaiterIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	th := NewThread(NewRun(ctx, limit.Trusted()), NewEnv(NewNamespace("c"), nil))
	started, finish := make(chan struct{}), make(chan struct{})
	l := NewLazyGo(func(t *Thread) Value {
		close(started)
		<-finish
		return Nil
	})
	done := make(chan struct{})
	other := testThread()
	go func() {
		defer close(done)
		Seq(other, l)
	}()
	<-started
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := tripped(func() { Seq(th, l) }); err == nil || err.Kind != limit.Cancel {
		t.Errorf("waiting: got %v, want a cancellation", err)
	}
	close(finish)
	<-done
}

func TestLazyLongChainOfLayers(t *testing.T) {
	l := NewLazyGo(func(t *Thread) Value { return NewList(t, Int(1)) })
	for range 1_000_000 {
		inner := l
		l = NewLazyGo(func(*Thread) Value { return inner })
	}
	if x := First(testThread(), l); x != Int(1) {
		t.Fatalf("first: got %s", show(x))
	}
}

// TestLazyNestedThunks asks for a seq whose thunk asks for another's elements, a million deep: it ends in the depth limit.
func TestLazyNestedThunks(t *testing.T) {
	nest := func() Value {
		l := NewLazyGo(func(t *Thread) Value { return NewList(t, Int(1)) })
		for range 1_000_000 {
			inner := l
			l = NewLazyGo(func(t *Thread) Value { return Seq(t, inner) })
		}
		return l
	}
	wantThrow(t, "StackOverflowError", func() { Seq(testThread(), nest()) })
	l := limit.Defaults()
	if err := tripped(func() { Seq(limitedThread(l), nest()) }); err == nil || err.Kind != limit.Depth {
		t.Errorf("got %v, want the depth limit", err)
	}
}

func deep(kind string) Value {
	th := testThread()
	v := Value(Nil)
	for range 1_000_000 {
		switch kind {
		case "vector":
			v = Of(tailVector([]Value{v}, nil))
		case "list":
			v = NewList(th, v)
		case "map":
			v = Of(newArrayMap([]Value{Nil, v}))
		case "key":
			v = Of(newArrayMap([]Value{v, Nil}))
		case "set":
			e := hashEdit{t: th, k: v, h: 1}
			v = Of(newHashSet(th, e.assoc(emptyNode, 0), 1, nil))
		case "lazy":
			inner := v
			v = NewLazyGo(func(t *Thread) Value { return NewList(t, inner) })
		case "tag":
			v = NewTaggedLiteral(Sym("a"), v)
		}
	}
	return v
}

func TestDeepData(t *testing.T) {
	l := limit.Defaults()
	l.Bytes, l.Alloc, l.Steps = limit.Unlimited, limit.Unlimited, 1<<40
	for _, kind := range []string{"vector", "list", "map", "key", "set", "lazy", "tag"} {
		a, b := deep(kind), deep(kind)
		walks := map[string]func(*Thread){
			"equal": func(t *Thread) { Equal(t, a, b) },
			"hash":  func(t *Thread) { Hash(t, a) },
		}
		if kind == "vector" {
			walks["compare"] = func(t *Thread) { Compare(t, a, b) }
		}
		for name, walk := range walks {
			if err := tripped(func() { walk(limitedThread(l)) }); err == nil || err.Kind != limit.Depth {
				t.Errorf("%s of a deep %s: got %v, want the depth limit", name, kind, err)
			}
			ex := thrown(func() { walk(testThread()) })
			if ex == nil || ex.Class != "StackOverflowError" {
				t.Errorf("%s of a deep %s: got %v, want a stack overflow", name, kind, ex)
			}
		}
	}
}

func TestEndlessSeqsHitSteps(t *testing.T) {
	l := limit.Defaults()
	l.Steps = 100_000
	inc := goFn(Builtin{Name: "inc", F1: func(t *Thread, x Value) Value { return IncP(t, x) }})
	endless := map[string]func(t *Thread) Value{
		"iterate": func(*Thread) Value { return NewIterate(inc, Int(0)) },
		"repeat":  func(*Thread) Value { return NewRepeat(Int(0)) },
		"cycle":   func(t *Thread) Value { return NewCycle(t, NewList(t, ints(1, 2)...)) },
		"range":   func(t *Thread) Value { return NewNumRange(t, Int(0), Nil, Int(1)) },
	}
	for name, make := range endless {
		walks := map[string]func(*Thread, Value){
			"count":  func(t *Thread, v Value) { Count(t, v) },
			"equal":  func(t *Thread, v Value) { Equal(t, v, make(t)) },
			"hash":   func(t *Thread, v Value) { Hash(t, v) },
			"nth":    func(t *Thread, v Value) { Nth(t, v, 1<<40) },
			"slice":  func(t *Thread, v Value) { ToSlice(t, v) },
			"reduce": func(t *Thread, v Value) { Reduce(t, func(a, _ Value) Value { return a }, Nil, v) },
		}
		for what, walk := range walks {
			th := limitedThread(l)
			if err := tripped(func() { walk(th, make(th)) }); err == nil || err.Kind != limit.Steps {
				t.Errorf("%s of an endless %s: got %v, want the steps limit", what, name, err)
			}
		}
	}
}

// TestCollisionsCostTheirFinder shows that keys of one hash end in the steps limit, not in hours of work.
func TestCollisionsCostTheirFinder(t *testing.T) {
	l := limit.Defaults()
	l.Steps, l.Alloc, l.Bytes = 1_000_000, limit.Unlimited, limit.Unlimited
	th := limitedThread(l)
	err := tripped(func() {
		tr := Transient(th, EmptyMap)
		for i := range 1 << 20 {
			AssocT(th, tr, colliding(string(rune('a'+i%26))+string(rune(i))), Nil)
		}
	})
	if err == nil || err.Kind != limit.Steps {
		t.Errorf("got %v, want the steps limit", err)
	}
}

func TestLimitLeavesNoClaim(t *testing.T) {
	l := limit.Defaults()
	l.Steps = 5_000
	bad := limitedThread(l)
	tr := Transient(testThread(), EmptySet)
	err := tripped(func() {
		ConjT(bad, tr, NewRepeat(Int(1)))
	})
	var le *limit.Error
	if !errors.As(err, &le) {
		t.Fatalf("got %v, want a limit", err)
	}
	th := testThread()
	ConjT(th, tr, Int(1))
	if show(Persistent(th, tr)) != "#{1}" {
		t.Errorf("the transient is not as it was before the limit")
	}
}
