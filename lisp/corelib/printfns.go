package corelib

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

// printFns holds the functions that print.
func printFns() []Def {
	printing := func(name, doc string, readably bool, end string) Def {
		return Def{Name: name, Arglists: "([& xs])", Doc: doc, N: func(t *Thread, args []Value) Value { return show(t, args, readably, end) }}
	}
	texts := func(name, doc string, readably bool, end string) Def {
		return Def{Name: name, Arglists: "([& xs])", Doc: doc, N: func(t *Thread, args []Value) Value { return value.Str(text(t, args, readably, end)) }}
	}
	errors := func(name, doc string, readably bool, end string) Def {
		return Def{Name: name, Host: true, Arglists: "([& xs])", Doc: doc, N: func(t *Thread, args []Value) Value {
			return onErr(t, func() { show(t, args, readably, end) })
		}}
	}
	return []Def{
		{Name: "pprint", F1: pprint, Arglists: "([x])", Doc: "Prints x, over several lines where one of 72 columns is too short. clojure.pprint/pprint is the same and takes a writer too."},
		errors("pr-err", "As pr, to *err*.", true, ""),
		errors("prn-err", "As prn, to *err*.", true, "\n"),
		errors("print-err", "As print, to *err*.", false, ""),
		errors("println-err", "As println, to *err*.", false, "\n"),
		printing("pr", "Prints xs as the reader reads them, with spaces between.", true, ""),
		printing("prn", "As pr, and a newline.", true, "\n"),
		printing("print", "Prints xs for people, with spaces between.", false, ""),
		printing("println", "As print, and a newline.", false, "\n"),
		texts("pr-str", "What pr would print.", true, ""),
		texts("prn-str", "What prn would print.", true, "\n"),
		texts("print-str", "What print would print.", false, ""),
		texts("println-str", "What println would print.", false, "\n"),
		{Name: "newline", F0: func(t *Thread) Value { return show(t, nil, false, "\n") }, Arglists: "([])", Doc: "Prints a newline."},
		{Name: "flush", F0: func(*Thread) Value { return value.Nil }, Arglists: "([])", Doc: "Does nothing: output is never held back."},
		{Name: "printf", N: printf, Min: 1, Arglists: "([fmt & args])", Doc: "Prints args formatted as format does."},
		{Name: "with-out-str*", F1: withOutStr, Arglists: "([f])", Doc: "What with-out-str expands to: calls f and gives what it printed."},
		{Name: "with-in-str*", F2: withInStr, Host: true, Arglists: "([s f])", Doc: "What with-in-str expands to: calls f with *in* reading from s."},
		{Name: "read-line", F0: readLine, Host: true, Arglists: "([])", Doc: "The next line of *in*, or nil at its end."},
		{Name: "add-tap", F1: addTap, Host: true, Arglists: "([f])", Doc: "Makes f be called with everything that tap> is."},
		{Name: "remove-tap", F1: removeTap, Host: true, Arglists: "([f])", Doc: "Undoes add-tap."},
		{Name: "tap>", F1: tap, Host: true, Arglists: "([x])", Doc: "Hands x to every tap, in the background."},
	}
}

// onErr runs f with *out* bound to *err*.
func onErr(t *Thread, f func()) Value {
	saved := t.Binds
	t.Bind([]*value.Var{t.Env.OutVar}, []Value{dynamicValue(t, "*err*")})
	f()
	t.Binds = saved
	return value.Nil
}

func printf(t *Thread, args []Value) Value {
	emit(t, []byte(t.Call(coreFn(t, "format"), args...).Text()))
	return value.Nil
}

// coreFn gives what a name of the core stands for.
func coreFn(t *Thread, name string) Value {
	v := t.Env.Core.Var(name)
	if v == nil {
		panic(value.Errorf("UnsupportedOperationException", "%s: is not available here", name))
	}
	return v.Get(t)
}

func withOutStr(t *Thread, f Value) Value {
	b := &textBuffer{owner: t}
	saved := t.Binds
	t.Bind([]*value.Var{t.Env.OutVar}, []Value{value.NewHost("writer", b)})
	defer b.close() // for a throw as well
	t.Call(f)
	t.Binds = saved
	text := b.close()
	t.Charge(len(text))
	t.Unpin(b.held)
	return value.Str(string(text))
}

func withInStr(t *Thread, s, f Value) Value {
	if s.Kind() != value.KindString {
		panic(value.TypeError(t, "with-in-str", s, "a string"))
	}
	saved := t.Binds
	t.Bind([]*value.Var{t.Env.Core.Var("*in*")}, []Value{NewTextReader(s.Text())})
	v := t.Call(f)
	t.Binds = saved
	return v
}

func readLine(t *Thread) Value {
	line, ok := input(t, "read-line", dynamicValue(t, "*in*")).line()
	if !ok {
		t.Safepoint() // who was interrupted while waiting has not met the end of the text
		return value.Nil
	}
	return value.Str(line)
}

// taps are the functions of add-tap of one environment, and the agent that calls them.
type taps struct {
	set   *value.Atom
	agent *value.Agent
}

func (x *taps) Mark(m *value.Marker) {
	m.Value(value.Of(x.set))
	m.Value(value.Of(x.agent))
}

func tapsOf(t *Thread) *taps {
	if x, ok := t.Env.State.Load("corelib.taps"); ok {
		return x.(*taps)
	}
	x, _ := t.Env.State.LoadOrStore("corelib.taps", &taps{value.NewAtom(t, value.EmptySet), value.NewAgent(t, value.Nil, true, value.Nil)})
	return x.(*taps)
}

func addTap(t *Thread, f Value) Value {
	tapsOf(t).set.Swap(t, func(s Value) Value { return value.Conj(t, s, f) })
	return value.Nil
}

func removeTap(t *Thread, f Value) Value {
	tapsOf(t).set.Swap(t, func(s Value) Value { return value.Disj(t, s, f) })
	return value.Nil
}

func tap(t *Thread, x Value) Value {
	all := tapsOf(t)
	all.agent.Send(t, func(t *Thread, _ Value) Value {
		value.Each(t, all.set.Get(), func(f Value) bool {
			t.Try(func() Value { return t.Call1(f, x) })
			return true
		})
		return value.Nil
	})
	return value.True
}
