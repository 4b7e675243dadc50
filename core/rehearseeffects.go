package core

import (
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/rehearsal"
	"github.com/reflection-dev/zeno/lisp/value"
)

// netFunctions and execFunctions are what a program can do to the world besides writing files.
func netFunctions() map[string][]string {
	return map[string][]string{"joker.http": {"send", "start-server", "start-file-server"}, "joker.smtp": {"send"}}
}

func execFunctions() map[string][]string {
	return map[string][]string{"joker.os": {"sh", "sh-from", "exec", "start", "kill", "signal"},
		"zeno.sandbox": {"run", "exec!", "stop!", "ensure-volume!", "remove-volume!"}}
}

// install puts the rehearsal between the program and the world.
func (r *rehearsing) install(env *value.Env) {
	if r == nil {
		return
	}
	for ns, names := range netFunctions() {
		for _, name := range names {
			r.between(env, ns, name, r.refuseNet)
		}
	}
	if !r.conf.AllowExec {
		for ns, names := range execFunctions() {
			for _, name := range names {
				r.between(env, ns, name, r.refuseExec)
			}
		}
	}
	r.time(env)
}

// between replaces a function. judge may give a refusal; nil lets the call through.
func (r *rehearsing) between(env *value.Env, ns, name string, judge func(t *value.Thread, what string, args []value.Value) *value.Exception) {
	v := varOf(env, ns, name)
	if v == nil {
		return
	}
	real, _ := v.Root()
	what := ns + "/" + name
	b := documented(what, real)
	b.N = func(t *value.Thread, args []value.Value) value.Value {
		shown := r.core.printed(args)
		if ex := judge(t, what, args); ex != nil {
			r.add(rehearsal.Effect, what, "refused", shown)
			panic(ex)
		}
		r.add(rehearsal.Effect, what, "made", shown)
		return t.Call(real, args...)
	}
	v.SetRoot(value.Of(value.NewBuiltin(what, b)))
}

// documented begins a function with the documentation of the one it stands for.
func documented(name string, real value.Value) *value.Builtin {
	b := &value.Builtin{Name: name}
	if real.Kind() == value.KindFn {
		if code := value.As[value.Fn](real).Code; code != nil && code.Builtin != nil {
			b.Doc, b.Arglists = code.Builtin.Doc, code.Builtin.Arglists
		}
	}
	return b
}

func varOf(env *value.Env, ns, name string) *value.Var {
	n := env.Namespace(ns)
	if n == nil {
		return nil
	}
	return n.Var(name)
}

const standInHint = "or have " + RehearsalFile + " replace the function that calls it: (alter-var-root #'my.ns/fetch (constantly …))"

func (r *rehearsing) refuseNet(t *value.Thread, what string, args []value.Value) *value.Exception {
	if what != "joker.http/send" {
		return value.StateError("%s: not done in a dry run; %s", what, standInHint)
	}
	method := "GET"
	if len(args) == 1 && args[0].Kind().IsMap() {
		if m, ok := value.Get(t, args[0], value.Kw("method")); ok {
			switch m.Kind() {
			case value.KindString:
				method = strings.ToUpper(m.Text())
			case value.KindKeyword:
				method = strings.ToUpper(value.As[value.Keyword](m).FullName())
			default:
				method = "a method that is no text"
			}
		}
	}
	reads := method == "GET" || method == "HEAD"
	switch {
	case reads && r.conf.AllowNet:
		return nil
	case reads:
		return value.StateError("%s: %s not done in a dry run; --allow net makes GET and HEAD requests, %s", what, method, standInHint)
	}
	return value.StateError("%s: %s not done in a dry run; %s", what, method, standInHint)
}

func (r *rehearsing) refuseExec(_ *value.Thread, what string, _ []value.Value) *value.Exception {
	return value.StateError("%s: not done in a dry run; --allow exec runs commands, %s", what, standInHint)
}

// time gives the program the virtual clock for what tells the time and what waits.
func (r *rehearsing) time(env *value.Env) {
	clock := r.core.loop.Clock()
	set := func(name string, b *value.Builtin) {
		if v := varOf(env, "joker.time", name); v != nil {
			real, _ := v.Root()
			like := documented(name, real)
			b.Doc, b.Arglists = like.Doc, like.Arglists
			v.SetRoot(value.Of(value.NewBuiltin("joker.time/"+name, b)))
		}
	}
	set("now", &value.Builtin{Name: "now", F0: func(*value.Thread) value.Value { return value.InstOf(clock.Now()) }})
	set("sleep", &value.Builtin{Name: "sleep", F1: func(t *value.Thread, d value.Value) value.Value {
		if !d.IsInt() {
			panic(value.TypeError(t, "sleep", d, "nanoseconds"))
		}
		_ = clock.Sleep(t.Context, time.Duration(d.Int())) // a cancelled one ends at the safepoint
		t.Safepoint()
		return value.Nil
	}})
}
