package value_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

func refThread(l limit.Limits) *value.Thread {
	env := value.NewEnv(value.NewNamespace("clojure.core"), nil)
	env.Home = env.Create("user")
	return value.NewThread(value.NewRun(context.Background(), l), env)
}

// goFn makes a function of no arguments.
func goFn(f func(*value.Thread) value.Value) *value.Fn {
	return value.NewBuiltin("test/f", &value.Builtin{Name: "f", F0: f})
}

// caught runs f and gives what it panicked with.
func caught(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

func inc(t *value.Thread) func(value.Value) value.Value {
	return func(v value.Value) value.Value { return value.Inc(t, v) }
}

func TestAtomSwapsFromManyThreads(t *testing.T) {
	th := refThread(limit.Trusted())
	a := value.NewAtom(th, value.Int(0))
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mine := th.Fork()
			for range 1000 {
				a.Swap(mine, inc(mine))
			}
		}()
	}
	wg.Wait()
	if got := a.Get(); got != value.Int(8000) {
		t.Errorf("atom: got %v, want 8000", got.Int())
	}
}

func TestRefsKeepTheirSum(t *testing.T) {
	th := refThread(limit.Trusted())
	a, b := value.NewRef(th, value.Int(1000)), value.NewRef(th, value.Int(0))
	move := func(t *value.Thread) {
		t.Transact(func() value.Value {
			a.Set(t, "alter", func(v value.Value) value.Value { return value.Dec(t, v) })
			return b.Set(t, "alter", inc(t))
		})
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mine := th.Fork()
			for range 200 {
				move(mine)
				sum := mine.Transact(func() value.Value { return value.Add(mine, a.Get(mine), b.Get(mine)) })
				if sum != value.Int(1000) {
					t.Errorf("refs: got a sum of %d, want 1000", sum.Int())
				}
			}
		}()
	}
	wg.Wait()
	if got := b.Get(th); got != value.Int(800) {
		t.Errorf("ref: got %d, want 800", got.Int())
	}
}

func TestRefOutsideTransaction(t *testing.T) {
	th := refThread(limit.Trusted())
	r := value.NewRef(th, value.Int(1))
	got := caught(func() { r.Set(th, "alter", inc(th)) })
	if ex, ok := got.(*value.Exception); !ok || ex.Class != "IllegalStateException" {
		t.Errorf("alter outside dosync: got %v, want an IllegalStateException", got)
	}
	boom := value.Errorf("Exception", "boom")
	caught(func() {
		th.Transact(func() value.Value {
			r.Set(th, "alter", inc(th))
			panic(boom)
		})
	})
	if got := r.Get(th); got != value.Int(1) || th.InTransaction() {
		t.Errorf("aborted transaction: got %d, want 1", got.Int())
	}
}

func TestDelayRunsOnce(t *testing.T) {
	th := refThread(limit.Trusted())
	calls := value.NewAtom(th, value.Int(0))
	d := value.As[value.Delay](value.NewDelay(goFn(func(t *value.Thread) value.Value {
		_, n := calls.Swap(t, inc(t))
		time.Sleep(time.Millisecond)
		return n
	})))
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if got := d.Force(th.Fork()); got != value.Int(1) {
				t.Errorf("delay: got %d, want 1", got.Int())
			}
		}()
	}
	wg.Wait()
}

func TestDelayRemembersAnExceptionButNotALimit(t *testing.T) {
	th := refThread(limit.Trusted())
	n := 0
	d := value.As[value.Delay](value.NewDelay(goFn(func(*value.Thread) value.Value {
		n++
		panic(value.Errorf("Exception", "boom"))
	})))
	for range 2 {
		if ex, ok := caught(func() { d.Force(th) }).(*value.Exception); !ok || ex.Error() != "boom" {
			t.Errorf("delay: got %v, want boom", ex)
		}
	}
	if n != 1 {
		t.Errorf("delay: ran %d times, want once", n)
	}
	spin := true
	d = value.As[value.Delay](value.NewDelay(goFn(func(t *value.Thread) value.Value {
		for spin {
			t.Step()
		}
		return value.Int(7)
	})))
	poor := refThread(limit.Limits{Steps: 10_000}.OrDefault())
	var le *limit.Error
	if err, _ := caught(func() { d.Force(poor) }).(error); !errors.As(err, &le) || le.Kind != limit.Steps {
		t.Fatalf("delay: got %v, want the steps limit", err)
	}
	if d.Realized() {
		t.Error("delay: realised by a limit, want it to be tried again")
	}
	spin = false
	if got := d.Force(th); got != value.Int(7) {
		t.Errorf("delay after a limit: got %d, want 7", got.Int())
	}
}

func TestFutureCancels(t *testing.T) {
	th := refThread(limit.Trusted())
	f := value.NewFuture(th, value.Of(goFn(func(t *value.Thread) value.Value {
		for {
			t.Step()
		}
	})))
	if !f.Cancel() || f.Cancel() || !f.Cancelled() {
		t.Error("cancel: got false or twice true, want true once")
	}
	if ex, ok := caught(func() { f.Await(th, -1) }).(*value.Exception); !ok || ex.Class != "CancellationException" {
		t.Errorf("deref: got %v, want a CancellationException", ex)
	}
	th.Wait() // the thread has stopped
}

func TestFutureEndsWithItsRun(t *testing.T) {
	th := refThread(limit.Trusted())
	p := value.NewPromise(th)
	value.NewFuture(th, value.Of(goFn(func(t *value.Thread) value.Value {
		for {
			t.Step()
		}
	})))
	th.End()
	th.Wait()
	if _, ok := value.As[value.Promise](p).Peek(); ok {
		t.Error("promise: got a value, want none")
	}
}

func TestFutureLimitEndsWhoWaits(t *testing.T) {
	th := refThread(limit.Limits{Steps: 50_000}.OrDefault())
	f := value.NewFuture(th, value.Of(goFn(func(t *value.Thread) value.Value {
		for {
			t.Step()
		}
	})))
	var le *limit.Error
	err, _ := caught(func() { f.Await(th, -1) }).(error)
	if !errors.As(err, &le) || le.Kind != limit.Steps || !th.Unwinding() {
		t.Errorf("deref: got %v, want the steps limit to pass on", err)
	}
}

func TestFutureCrashIsNoLispSecret(t *testing.T) {
	th := refThread(limit.Trusted())
	var reported any
	th.Env.Crashed = func(r any) { reported = r }
	f := value.NewFuture(th, value.Of(goFn(func(*value.Thread) value.Value { panic("a defect") })))
	ex, ok := caught(func() { f.Await(th, -1) }).(*value.Exception)
	if !ok || ex.Class != "InternalError" || reported != "a defect" {
		t.Errorf("deref: got %v and report %v, want an InternalError and the defect reported", ex, reported)
	}
}

func TestPromiseTimesOut(t *testing.T) {
	th := refThread(limit.Trusted())
	p := value.As[value.Promise](value.NewPromise(th))
	if _, ok := p.Await(th, time.Millisecond); ok {
		t.Error("promise: got a value, want a timeout")
	}
	if !p.Deliver(value.Int(1)) || p.Deliver(value.Int(2)) {
		t.Error("deliver: want true, then false")
	}
	if v, ok := p.Await(th, -1); !ok || v != value.Int(1) {
		t.Errorf("promise: got %v %v, want 1", v, ok)
	}
}

func TestAgentRunsActionsInOrder(t *testing.T) {
	th := refThread(limit.Trusted())
	a := value.NewAgent(th, value.EmptyVector, false, value.Nil)
	for i := range 100 {
		a.Send(th, func(t *value.Thread, old value.Value) value.Value { return value.Conj(t, old, value.Int(int64(i))) })
	}
	a.Await(th, -1)
	for i := range 100 {
		if x, _ := value.Nth(th, a.Get(), i); x != value.Int(int64(i)) {
			t.Fatalf("agent: got %d at %d", x.Int(), i)
		}
	}
	th.Wait()
}

func TestValidatorAndWatch(t *testing.T) {
	th := refThread(limit.Trusted())
	a := value.NewAtom(th, value.Int(1))
	positive := value.NewBuiltin("pos?", &value.Builtin{Name: "pos?", F1: func(t *value.Thread, v value.Value) value.Value {
		return value.Bool(value.NumLess(t, value.Int(0), v))
	}})
	value.SetValidator(th, value.Of(a), value.Of(positive))
	var seen []int64
	watch := value.NewBuiltin("watch", &value.Builtin{Name: "watch", F4: func(_ *value.Thread, _, _, old, v value.Value) value.Value {
		seen = append(seen, old.Int(), v.Int())
		return value.Nil
	}})
	value.AddWatch(th, value.Of(a), value.Kw("w"), value.Of(watch))
	set := func(v value.Value) func(value.Value) value.Value {
		return func(value.Value) value.Value { return v }
	}
	a.Swap(th, set(value.Int(5)))
	if caught(func() { a.Swap(th, set(value.Int(-1))) }) == nil {
		t.Error("validator: got no exception for -1")
	}
	value.RemoveWatch(th, value.Of(a), value.Kw("w"))
	a.Swap(th, set(value.Int(6)))
	if len(seen) != 2 || seen[0] != 1 || seen[1] != 5 || a.Get() != value.Int(6) {
		t.Errorf("watch: got %v and %d, want [1 5] and 6", seen, a.Get().Int())
	}
}

func TestWhatReferencesHoldIsAlive(t *testing.T) {
	// Each of these keeps growing what it holds: the bytes limit must see it there.
	grow := func(t *value.Thread, old value.Value) value.Value {
		return value.Conj(t, old, value.NewVector(t, make([]value.Value, 30)))
	}
	for name, step := range map[string]func(*value.Thread) func(){
		"atom": func(t *value.Thread) func() {
			a := value.NewAtom(t, value.EmptyVector)
			t.Env.Home.Intern("x").SetRoot(value.Of(a))
			return func() { a.Swap(t, func(v value.Value) value.Value { return grow(t, v) }) }
		},
		"volatile": func(t *value.Thread) func() {
			v := value.NewVolatile(t, value.EmptyVector)
			t.Env.Home.Intern("x").SetRoot(v)
			c := value.As[value.Volatile](v)
			return func() { c.Set(t, grow(t, c.Get())) }
		},
		"ref": func(t *value.Thread) func() {
			r := value.NewRef(t, value.EmptyVector)
			t.Env.Home.Intern("x").SetRoot(value.Of(r))
			return func() {
				t.Transact(func() value.Value { return r.Set(t, "alter", func(v value.Value) value.Value { return grow(t, v) }) })
			}
		},
		"multimethod": func(t *value.Thread) func() {
			m := value.NewMultiFn(t, "user", "m", value.Nil, value.Nil, value.Nil)
			t.Env.Home.Intern("x").SetRoot(m)
			n := int64(0)
			return func() {
				n++
				value.MultiFnOf(t, "test", m).Add(t, value.Int(n), grow(t, value.EmptyVector))
			}
		},
		"hierarchy": func(t *value.Thread) func() {
			n := int64(0)
			return func() {
				n++
				t.Env.Hierarchy(t).Swap(t, func(h value.Value) value.Value { return value.Assoc(t, h, value.Int(n), grow(t, value.EmptyVector)) })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			th := refThread(limit.Limits{Bytes: 4 << 20, Alloc: 256 << 20, Steps: limit.Unlimited - 1, Time: limit.Unlimited}.OrDefault())
			f := step(th)
			var le *limit.Error
			err, _ := caught(func() {
				for range 200_000 {
					f()
				}
			}).(error)
			if !errors.As(err, &le) || le.Kind != limit.Bytes {
				t.Errorf("growing %s: got %v, want the bytes limit", name, err)
			}
		})
	}
}
