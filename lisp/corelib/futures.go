package corelib

import (
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

// futures holds what runs beside the evaluation that made it: futures, promises and agents.
func futures() []Def {
	return concat([]Def{
		{Name: "promise", F0: value.NewPromise, Arglists: "([])", Doc: "A value to come: deliver gives it, deref waits for it."},
		{Name: "deliver", F2: deliver, Arglists: "([promise val])", Doc: "Gives the promise its value, once; nil when it has one already."},
		{Name: "future-call", F1: futureCall, Arglists: "([f])", Doc: "Calls f on a thread of its own; deref waits for the value. In an isolate it ends with the evaluation."},
		{Name: "future?", F1: kindTest(value.KindFuture), Arglists: "([x])", Doc: "Whether x is a future."},
		{Name: "future-done?", F1: futureDone, Arglists: "([f])", Doc: "Whether the future has ended."},
		{Name: "future-cancel", F1: futureCancel, Arglists: "([f])", Doc: "Stops the future; false when it has ended already."},
		{Name: "future-cancelled?", F1: futureCancelled, Arglists: "([f])", Doc: "Whether the future was cancelled."},
		{Name: "pmap", N: pmap, Min: 2, Arglists: "([f coll] [f coll & colls])", Doc: "As map, but calls f in parallel, a few items ahead."},
		{Name: "pcalls", N: pcalls, Arglists: "([& fns])", Doc: "The seq of what fns give, called in parallel."},
	}, agents())
}

func deliver(t *Thread, p, v Value) Value {
	if p.Kind() != value.KindPromise {
		panic(value.TypeError(t, "deliver", p, "a promise"))
	}
	if value.As[value.Promise](p).Deliver(v) {
		return p
	}
	return value.Nil
}

func futureCall(t *Thread, f Value) Value { return value.Of(value.NewFuture(t, f)) }

func futureOf(t *Thread, who string, v Value) *value.Future {
	if v.Kind() != value.KindFuture {
		panic(value.TypeError(t, who, v, "a future"))
	}
	return value.As[value.Future](v)
}

func futureDone(t *Thread, f Value) Value {
	return value.Bool(futureOf(t, "future-done?", f).Done())
}

func futureCancel(t *Thread, f Value) Value {
	return value.Bool(futureOf(t, "future-cancel", f).Cancel())
}

func futureCancelled(t *Thread, f Value) Value {
	return value.Bool(futureOf(t, "future-cancelled?", f).Cancelled())
}

// ahead is how many calls pmap has going at once.
const ahead = 4

func pmap(t *Thread, args []Value) Value {
	colls := append([]Value(nil), args[1:]...)
	f := args[0]
	return value.NewLazyGo(func(t *Thread) Value { return pmapStep(t, f, colls, nil) }, append(copied(t, colls), f)...)
}

// pmapStep starts the calls that are due and gives the first result, with the rest lazy.
func pmapStep(t *Thread, f Value, colls []Value, going []Value) Value {
	for len(going) < ahead {
		call, rest, ok := pmapCall(t, f, colls)
		if !ok {
			break
		}
		going, colls = append(going, call), rest
	}
	if len(going) == 0 {
		return value.Nil
	}
	v, _ := await(t, going[0], -1)
	later := append([]Value(nil), going[1:]...)
	held := append(append([]Value{f}, colls...), later...)
	return value.Cons(t, v, value.NewLazyGo(func(t *Thread) Value { return pmapStep(t, f, colls, later) }, held...))
}

// pmapCall starts the next call.
func pmapCall(t *Thread, f Value, colls []Value) (call Value, rest []Value, ok bool) {
	t.Charge(32 * len(colls))
	args, rest := make([]Value, len(colls)), make([]Value, len(colls))
	for i, c := range colls {
		s := value.Seq(t, c)
		if s.IsNil() {
			return value.Nil, nil, false
		}
		args[i], rest[i] = value.First(t, s), value.Rest(t, s)
	}
	thunk := &value.Builtin{Name: "pmap", F0: func(t *Thread) Value { return t.Call(f, args...) }}
	return futureCall(t, value.Of(value.NewBuiltin("clojure.core/pmap", thunk))), rest, true
}

func pcalls(t *Thread, fns []Value) Value {
	call := &value.Builtin{Name: "pcalls", F1: func(t *Thread, f Value) Value { return t.Call(f) }}
	f := value.Of(value.NewBuiltin("clojure.core/pcalls", call))
	return pmap(t, []Value{f, value.NewList(t, fns...)})
}

func agents() []Def {
	return []Def{
		{Name: "agent", N: newAgent, Min: 1, Arglists: "([state & options])", Doc: "A cell that changes by actions that send queues, one after another. Options: :meta, :validator, :error-mode (:fail or :continue), :error-handler."},
		{Name: "send", N: send, Min: 2, Arglists: "([a f & args])", Doc: "Queues an action: the agent will hold f of what it holds and args. Gives the agent at once."},
		{Name: "send-off", N: send, Min: 2, Arglists: "([a f & args])", Doc: "As send."},
		{Name: "send-via", N: sendVia, Min: 3, Arglists: "([executor a f & args])", Doc: "As send; the executor is ignored."},
		{Name: "await", N: awaitAgents, Arglists: "([& agents])", Doc: "Waits until the actions sent so far to the agents have run."},
		{Name: "await-for", N: awaitAgentsFor, Min: 1, Arglists: "([timeout-ms & agents])", Doc: "As await, at most timeout-ms; false when that ran out."},
		{Name: "agent-error", F1: agentError, Arglists: "([a])", Doc: "The exception that stopped the agent, or nil."},
		{Name: "agent-errors", F1: agentErrors, Arglists: "([a])", Doc: "A list of the exception that stopped the agent, or nil."},
		{Name: "restart-agent", N: restartAgent, Min: 2, Arglists: "([a new-state & options])", Doc: "Sets a failed agent going again from new-state. :clear-actions true forgets what waits."},
		{Name: "error-mode", F1: errorMode, Arglists: "([a])", Doc: ":fail or :continue."},
		{Name: "set-error-mode!", F2: setErrorMode, Arglists: "([a mode-keyword])", Doc: "Sets whether the agent stops (:fail) or carries on (:continue) when an action throws."},
		{Name: "error-handler", F1: errorHandler, Arglists: "([a])", Doc: "The function that is told of the agent's exceptions, or nil."},
		{Name: "set-error-handler!", F2: setErrorHandler, Arglists: "([a handler-fn])", Doc: "Makes handler-fn be called with the agent and the exception when an action throws."},
		{Name: "shutdown-agents", F0: func(*Thread) Value { return value.Nil }, Arglists: "([])", Doc: "Does nothing: an agent has a thread only while there is something to do."},
		{Name: "release-pending-sends", F0: func(*Thread) Value { return value.Int(0) }, Arglists: "([])", Doc: "0: an action's sends are queued at once."},
	}
}

func newAgent(t *Thread, args []Value) Value {
	carryOn, handler := false, value.Nil
	ag := value.NewAgent(t, args[0], false, value.Nil)
	mode := false
	guarded(t, "agent", value.Of(ag), args[1:], func(key string, v Value) {
		switch key {
		case "error-mode":
			carryOn, mode = isContinue(t, v), true
		case "error-handler":
			handler = v
		}
	})
	if !mode {
		carryOn = !handler.IsNil()
	}
	ag.SetMode(carryOn, handler)
	return value.Of(ag)
}

func isContinue(t *Thread, v Value) bool {
	switch {
	case value.Identical(v, value.Kw("continue")):
		return true
	case value.Identical(v, value.Kw("fail")):
		return false
	}
	panic(value.ArgError("agent: got error mode %s, want :fail or :continue", value.Brief(t, v)))
}

func agentOf(t *Thread, who string, v Value) *value.Agent {
	if v.Kind() != value.KindAgent {
		panic(value.TypeError(t, who, v, "an agent"))
	}
	return value.As[value.Agent](v)
}

func send(t *Thread, args []Value) Value {
	a := agentOf(t, "send", args[0])
	t.Charge(16 * len(args))
	call := append([]Value(nil), args[1:]...) // the function and the arguments after the old state
	a.Send(t, func(t *Thread, old Value) Value {
		if v := t.Env.Core.Var("*agent*"); v != nil { // the thread of the agent puts its bindings back
			t.Bind([]*value.Var{v}, []Value{value.Of(a)})
		}
		return callWith(t, call[0], old, call[1:])
	}, call...)
	return args[0]
}

func sendVia(t *Thread, args []Value) Value { return send(t, args[1:]) }

func awaitAgents(t *Thread, args []Value) Value {
	for _, a := range args {
		ag := agentOf(t, "await", a)
		ag.Await(t, -1)
		if ex := ag.Failed(); ex != nil {
			panic(value.StateError("await: the agent has failed: %s", ex.Error()))
		}
	}
	return value.Nil
}

func awaitAgentsFor(t *Thread, args []Value) Value {
	end := time.Now().Add(millis(t, "await-for", args[0]))
	for _, a := range args[1:] {
		if !agentOf(t, "await-for", a).Await(t, max(0, time.Until(end))) {
			return value.False
		}
	}
	return value.True
}

func agentError(t *Thread, a Value) Value {
	if ex := agentOf(t, "agent-error", a).Failed(); ex != nil {
		return value.Of(ex)
	}
	return value.Nil
}

func agentErrors(t *Thread, a Value) Value {
	if ex := agentError(t, a); !ex.IsNil() {
		return value.NewList(t, ex)
	}
	return value.Nil
}

func restartAgent(t *Thread, args []Value) Value {
	drop := false
	options(t, "restart-agent", args[2:], func(key string, v Value) { drop = drop || key == "clear-actions" && v.Truthy() })
	agentOf(t, "restart-agent", args[0]).Restart(t, args[1], drop)
	return args[1]
}

func errorMode(t *Thread, a Value) Value {
	if carryOn, _ := agentOf(t, "error-mode", a).Mode(); carryOn {
		return value.Kw("continue")
	}
	return value.Kw("fail")
}

func setErrorMode(t *Thread, a, mode Value) Value {
	ag := agentOf(t, "set-error-mode!", a)
	_, f := ag.Mode()
	ag.SetMode(isContinue(t, mode), f)
	return value.Nil
}

func errorHandler(t *Thread, a Value) Value {
	_, f := agentOf(t, "error-handler", a).Mode()
	return f
}

func setErrorHandler(t *Thread, a, f Value) Value {
	ag := agentOf(t, "set-error-handler!", a)
	carryOn, _ := ag.Mode()
	ag.SetMode(carryOn, f)
	return value.Nil
}
