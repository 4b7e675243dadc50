package compile

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

// exec is running code: it finds its locals in the frame f.
type exec func(t *value.Thread, f []value.Value) value.Value

// recurring is what a recur returns to its loop. It is no Lisp value and never leaves the loop.
var recurring = value.Of(&recurMark{Header: value.Head(value.KindHost)})

type recurMark struct{ value.Header }

// emit turns a node into running code.
func emit(n node) exec {
	switch n := n.(type) {
	case *constNode:
		v := n.v
		return func(*value.Thread, []value.Value) value.Value { return v }
	case *localNode:
		return emitLocal(n)
	case *varNode:
		return emitVar(n)
	case *ifNode:
		return emitIf(n)
	case *doNode:
		return emitDo(n.body)
	case *letNode:
		return emitLet(n)
	case *loopNode:
		return emitLoop(n)
	case *recurNode:
		return emitRecur(n)
	case *callNode:
		return emitCall(n)
	case *fnNode:
		return emitFn(n)
	}
	return emitRare(n)
}

// emitRare emits what is not on any hot path.
func emitRare(n node) exec {
	switch n := n.(type) {
	case *vectorNode:
		return emitItems(n.items, n.temp, value.NewVector)
	case *mapNode:
		return emitItems(n.items, n.temp, value.NewMapLiteral)
	case *setLitNode:
		return emitItems(n.items, n.temp, value.NewSetLiteral)
	case *metaNode:
		return emitMeta(n)
	case *letfnNode:
		return emitLetfn(n)
	case *defNode:
		return emitDef(n)
	case *assignNode:
		return emitAssign(n)
	case *throwNode:
		return emitThrow(n)
	case *tryNode:
		return emitTry(n)
	case *caseNode:
		return emitCase(n)
	case *bindingNode:
		return emitBinding(n)
	case *lazyNode:
		return emitLazy(n)
	case *delayNode:
		return emitDelay(n)
	}
	panic(value.Errorf("InternalError", "compile: unknown node %T", n))
}

func emitAll(ns []node) []exec {
	out := make([]exec, len(ns))
	for i, n := range ns {
		out[i] = emit(n)
	}
	return out
}

func emitLocal(n *localNode) exec {
	slot := n.l.slot
	if n.last {
		return func(_ *value.Thread, f []value.Value) value.Value {
			v := f[slot]
			f[slot] = value.Value{}
			return v
		}
	}
	switch slot {
	case 0:
		return func(_ *value.Thread, f []value.Value) value.Value { return f[0] }
	case 1:
		return func(_ *value.Thread, f []value.Value) value.Value { return f[1] }
	}
	return func(_ *value.Thread, f []value.Value) value.Value { return f[slot] }
}

func emitVar(n *varNode) exec {
	v := n.v
	return func(t *value.Thread, _ []value.Value) value.Value { return v.Get(t) }
}

func emitIf(n *ifNode) exec {
	test, then, els := emitTest(n.test), emit(n.then), emit(n.els)
	return func(t *value.Thread, f []value.Value) value.Value {
		if test(t, f) {
			return then(t, f)
		}
		return els(t, f)
	}
}

func emitDo(body []node) exec {
	code := emitAll(body)
	last := code[len(code)-1]
	code = code[:len(code)-1]
	if len(code) == 1 {
		first := code[0]
		return func(t *value.Thread, f []value.Value) value.Value {
			first(t, f)
			return last(t, f)
		}
	}
	return func(t *value.Thread, f []value.Value) value.Value {
		for _, c := range code {
			c(t, f)
		}
		return last(t, f)
	}
}

func emitLet(n *letNode) exec {
	inits, body := emitAll(n.inits), emit(n.body)
	if len(inits) == 1 {
		slot, init := n.locals[0].slot, inits[0]
		return func(t *value.Thread, f []value.Value) value.Value {
			f[slot] = init(t, f)
			return body(t, f)
		}
	}
	slots := slotsOf(n.locals)
	return func(t *value.Thread, f []value.Value) value.Value {
		for i, init := range inits {
			f[slots[i]] = init(t, f)
		}
		return body(t, f)
	}
}

func slotsOf(ls []*local) []int {
	out := make([]int, len(ls))
	for i, l := range ls {
		out[i] = l.slot
	}
	return out
}

func emitLoop(n *loopNode) exec {
	inits, slots, body := emitAll(n.inits), slotsOf(n.locals), emit(n.body)
	return func(t *value.Thread, f []value.Value) value.Value {
		for i, init := range inits {
			f[slots[i]] = init(t, f)
		}
		for {
			t.Step()
			t.Settle()
			if v := body(t, f); v != recurring {
				return v
			}
		}
	}
}

func emitRecur(n *recurNode) exec {
	args, slots, temp := emitAll(n.args), slotsOf(n.target.locals), n.temp
	switch len(args) {
	case 0:
		return func(*value.Thread, []value.Value) value.Value { return recurring }
	case 1:
		a, s := args[0], slots[0]
		return func(t *value.Thread, f []value.Value) value.Value {
			f[s] = a(t, f)
			return recurring
		}
	case 2:
		a, b, s, r := args[0], args[1], slots[0], slots[1]
		if simple(n.args[1]) {
			return func(t *value.Thread, f []value.Value) value.Value {
				x := a(t, f)
				f[r] = b(t, f)
				f[s] = x
				return recurring
			}
		}
		return func(t *value.Thread, f []value.Value) value.Value {
			f[temp] = a(t, f)
			f[r] = b(t, f)
			f[s] = f[temp]
			f[temp] = value.Value{}
			return recurring
		}
	}
	return func(t *value.Thread, f []value.Value) value.Value {
		for i, a := range args {
			f[temp+i] = a(t, f)
		}
		for i, s := range slots {
			f[s] = f[temp+i]
			f[temp+i] = value.Value{}
		}
		return recurring
	}
}

// emitItems evaluates items into waiting slots and builds a collection of them.
func emitItems(items []node, temp int, build func(*value.Thread, []value.Value) value.Value) exec {
	code := emitAll(items)
	n := len(code)
	return func(t *value.Thread, f []value.Value) value.Value {
		for i, c := range code {
			f[temp+i] = c(t, f)
		}
		v := build(t, f[temp:temp+n])
		clear(f[temp : temp+n])
		return v
	}
}

func emitMeta(n *metaNode) exec {
	expr, meta := emit(n.expr), emit(n.meta)
	return func(t *value.Thread, f []value.Value) value.Value {
		v := expr(t, f)
		return value.WithMeta(t, v, meta(t, f))
	}
}
