// Package compile turns forms into running code: macroexpand and analyse to a tree (analyse.go, special.go), mark the last
// use of every local (liveness.go), emit a tree of Go closures (emit*.go), run.
//
// Locals become slots of the thread's stack at compile time; a closure copies what it captures when it is made. A call of
// a sealed core function goes straight to its Go code, a call of another var loads the var's root. There is no name
// look-up while code runs.
//
// The one invariant: whatever recovers a panic restores the thread with Unwind, so emitted code never needs a defer of
// its own, save in try. A limit passes through try untouched.
package compile

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

// Eval expands, compiles and runs one form in t's environment and namespace.
func Eval(t *value.Thread, form value.Value) value.Value { return evalIn(t, form, nil) }

// evalIn is Eval for a form of the expansion of a macro call at from; nil: of none.
func evalIn(t *value.Thread, form value.Value, from *value.Pos) value.Value {
	t.Enter()
	a := newAnalyser(t)
	a.from = from
	form = a.topExpand(form)
	if forms, ok := topDo(t, form); ok { // a macro defined by one form of a top-level do serves the next
		v := value.Nil
		t.Watch(forms)
		for _, f := range forms {
			v = evalIn(t, f, a.from)
		}
		t.Unwatch()
		t.Leave()
		return v
	}
	pinned := t.Pinned()
	t.Push(1)[0] = form
	a.watch = t.Watch(nil)
	n := a.analyse(form, ctxReturn)
	size := a.fn.size
	if a.locals {
		markLastUses(t, n)
	}
	run := emit(n)
	f := t.Push(size)
	clear(f)
	v := run(t, f)
	t.Pop(size)
	t.Unwatch()
	t.Pop(1)
	t.Unpin(int(t.Pinned() - pinned))
	t.Leave()
	return v
}

// topExpand expands form until it is no macro call.
func (a *analyser) topExpand(form value.Value) value.Value {
	for {
		next, expanded := expand1(a.t, form, value.Nil, a)
		if !expanded {
			return form
		}
		a.expanding(form)
		form = next
	}
}

func topDo(t *value.Thread, form value.Value) ([]value.Value, bool) {
	if k := form.Kind(); k != value.KindList && k != value.KindCons {
		return nil, false
	}
	if h := value.First(t, form); h.Kind() != value.KindSymbol || !isSpecial(value.As[value.Symbol](h), "do") {
		return nil, false
	}
	return value.ToSlice(t, value.Next(t, form)), true
}

// Macroexpand1 expands form once if it is a macro call.
func Macroexpand1(t *value.Thread, form value.Value) value.Value {
	v, _ := expand1(t, form, value.Nil, nil)
	return v
}

// Macroexpand expands form until it is no macro call.
func Macroexpand(t *value.Thread, form value.Value) value.Value {
	return newAnalyser(t).topExpand(form)
}
