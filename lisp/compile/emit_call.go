package compile

import "github.com/reflection-dev/zeno/lisp/value"

// simple tells whether running n neither calls nor builds anything: values that wait meanwhile may stay in Go variables,
// where the measurement of live bytes does not see them.
func simple(n node) bool {
	switch n := n.(type) {
	case *constNode, *localNode, *varNode:
		return true
	case *callNode:
		if b := coreBuiltin(n.fn); b == nil || !arithmetic(b.Name) {
			return false
		}
		for _, a := range n.args {
			if !simple(a) {
				return false
			}
		}
		return true
	}
	return false
}

// anySimple tells whether every node of ns is simple.
func allSimple(ns []node) bool {
	for _, n := range ns {
		if !simple(n) {
			return false
		}
	}
	return true
}

// coreBuiltin gives the builtin that n is known to be, or nil.
func coreBuiltin(n node) *value.Builtin {
	c, ok := n.(*constNode)
	if !ok || c.v.Kind() != value.KindFn {
		return nil
	}
	return value.As[value.Fn](c.v).Code.Builtin
}

func emitCall(n *callNode) exec {
	if b := coreBuiltin(n.fn); b != nil {
		if e := emitIntrinsic(n, b); e != nil {
			return e
		}
		if e := emitBuiltin(n, b); e != nil {
			return e
		}
	}
	if c, ok := n.fn.(*constNode); ok && c.v.Kind() == value.KindKeyword && len(n.args) == 1 {
		return emitKeyword(n, c.v)
	}
	callee := emitCallee(n.fn)
	if !simple(n.fn) && !allSimple(n.args) || len(n.args) > 4 {
		return emitCallN(n, emit(n.fn))
	}
	switch len(n.args) {
	case 0:
		return emitCall0(n, callee)
	case 1:
		return emitCall1(n, callee)
	case 2:
		return emitCall2(n, callee)
	}
	return emitCall34(n, callee)
}

// emitCallee reads what is called; a var that is not dynamic needs one atomic load.
func emitCallee(n node) exec {
	if v, ok := n.(*varNode); ok && !v.v.Dynamic.Load() {
		w := v.v
		return func(t *value.Thread, _ []value.Value) value.Value {
			if x, ok := w.Root(); ok && !w.Dynamic.Load() {
				return x
			}
			return w.Get(t)
		}
	}
	return emit(n)
}

func emitCall0(n *callNode, callee exec) exec {
	pos := n.pos
	return func(t *value.Thread, f []value.Value) value.Value {
		c := callee(t, f)
		t.Pos = pos
		if c.Kind() == value.KindFn {
			fn := value.As[value.Fn](c)
			return fn.Code.F0(t, fn)
		}
		return t.Call(c)
	}
}

func emitCall1(n *callNode, callee exec) exec {
	pos, a := n.pos, emit(n.args[0])
	if v, ok := n.fn.(*varNode); ok && !v.v.Dynamic.Load() {
		w := v.v
		return func(t *value.Thread, f []value.Value) value.Value {
			x := a(t, f)
			c, ok := w.Root()
			t.Pos = pos
			if ok && c.Kind() == value.KindFn {
				fn := value.As[value.Fn](c)
				return fn.Code.F1(t, fn, x)
			}
			return t.Call1(w.Get(t), x)
		}
	}
	return func(t *value.Thread, f []value.Value) value.Value {
		c := callee(t, f)
		x := a(t, f)
		t.Pos = pos
		if c.Kind() == value.KindFn {
			fn := value.As[value.Fn](c)
			return fn.Code.F1(t, fn, x)
		}
		return t.Call1(c, x)
	}
}

func emitCall2(n *callNode, callee exec) exec {
	pos, a, b := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	return func(t *value.Thread, f []value.Value) value.Value {
		c := callee(t, f)
		x := a(t, f)
		y := b(t, f)
		if fetch >= 0 {
			x = f[fetch]
			f[fetch] = value.Value{}
		}
		t.Pos = pos
		if c.Kind() == value.KindFn {
			fn := value.As[value.Fn](c)
			return fn.Code.F2(t, fn, x, y)
		}
		return t.Call2(c, x, y)
	}
}

// emitKeyword looks a keyword up, as calling it would: the commonest call there is gathers no arguments.
func emitKeyword(n *callNode, k value.Value) exec {
	pos, a := n.pos, emit(n.args[0])
	return func(t *value.Thread, f []value.Value) value.Value {
		x := a(t, f)
		t.Pos = pos
		t.Step()
		if v, ok := value.Get(t, x, k); ok {
			return v
		}
		return value.Nil
	}
}

// waiting gives the slot where argument i waits while later ones are evaluated, or -1 when it may stay in a Go variable.
func waiting(n *callNode, i int) int {
	if allSimple(n.args[i+1:]) {
		return -1
	}
	return n.temp + i
}

// emitWaiting evaluates argument i, leaving it where it waits.
func emitWaiting(n *callNode, i int) exec {
	a, slot := emit(n.args[i]), waiting(n, i)
	if slot < 0 {
		return a
	}
	return func(t *value.Thread, f []value.Value) value.Value {
		v := a(t, f)
		f[slot] = v
		return v
	}
}

// emitCall34 calls with three or four arguments, which wait in slots.
func emitCall34(n *callNode, callee exec) exec {
	pos, args, temp := n.pos, emitAll(n.args), n.temp
	four := len(args) == 4
	return func(t *value.Thread, f []value.Value) value.Value {
		c := callee(t, f)
		w := f[temp : temp+len(args)]
		for i, a := range args {
			w[i] = a(t, f)
		}
		t.Pos = pos
		if c.Kind() != value.KindFn {
			return t.Call(c, w...)
		}
		fn := value.As[value.Fn](c)
		x, y, z := w[0], w[1], w[2]
		if four {
			u := w[3]
			clear(w)
			return fn.Code.F4(t, fn, x, y, z, u)
		}
		clear(w)
		return fn.Code.F3(t, fn, x, y, z)
	}
}

// emitCallN calls with everything, the function too, waiting in slots.
func emitCallN(n *callNode, callee exec) exec {
	pos, args, temp := n.pos, emitAll(n.args), n.temp
	k := len(args)
	return func(t *value.Thread, f []value.Value) value.Value {
		w := f[temp : temp+k+1]
		w[k] = callee(t, f)
		for i, a := range args {
			w[i] = a(t, f)
		}
		t.Pos = pos
		c := w[k]
		v := t.Call(c, w[:k]...)
		clear(w)
		return v
	}
}

// emitBuiltin calls a known builtin's Go code directly, when it has the arity.
func emitBuiltin(n *callNode, b *value.Builtin) exec {
	pos := n.pos
	switch {
	case len(n.args) == 0 && b.F0 != nil:
		return func(t *value.Thread, _ []value.Value) value.Value {
			t.Pos = pos
			t.Step()
			return b.F0(t)
		}
	case len(n.args) == 1 && b.F1 != nil:
		a, call := emit(n.args[0]), b.F1
		return func(t *value.Thread, f []value.Value) value.Value {
			x := a(t, f)
			t.Pos = pos
			t.Step()
			return call(t, x)
		}
	case len(n.args) == 2 && b.F2 != nil:
		return emitBuiltin2(n, b.F2)
	case len(n.args) == 3 && b.F3 != nil:
		return emitBuiltin3(n, b.F3)
	}
	return nil
}

func emitBuiltin2(n *callNode, call func(*value.Thread, value.Value, value.Value) value.Value) exec {
	pos, a, b := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	return func(t *value.Thread, f []value.Value) value.Value {
		x := a(t, f)
		y := b(t, f)
		if fetch >= 0 {
			x = f[fetch]
			f[fetch] = value.Value{}
		}
		t.Pos = pos
		t.Step()
		return call(t, x, y)
	}
}

func emitBuiltin3(n *callNode, call func(*value.Thread, value.Value, value.Value, value.Value) value.Value) exec {
	pos, a, b, c := n.pos, emitWaiting(n, 0), emitWaiting(n, 1), emit(n.args[2])
	s, r := waiting(n, 0), waiting(n, 1)
	return func(t *value.Thread, f []value.Value) value.Value {
		x := a(t, f)
		y := b(t, f)
		z := c(t, f)
		if s >= 0 {
			x = f[s]
			f[s] = value.Value{}
		}
		if r >= 0 {
			y = f[r]
			f[r] = value.Value{}
		}
		t.Pos = pos
		t.Step()
		return call(t, x, y, z)
	}
}
