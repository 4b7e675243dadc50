package compile

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

// test is running code whose value only decides a branch.
type test func(t *value.Thread, f []value.Value) bool

// intrinsics are the core functions that the compiler knows. They are sealed in every environment: a call of one needs
// no look-up, and on small integers and floats no call.
var intrinsics = map[string]bool{
	"+": true, "-": true, "*": true, "inc": true, "dec": true, "<": true, "<=": true, ">": true, ">=": true, "=": true,
	"==": true, "not": true, "nil?": true, "some?": true, "zero?": true, "identical?": true, "pos?": true, "neg?": true,
	"first": true, "next": true, "rest": true, "seq": true, "nth": true, "get": true, "conj": true, "assoc": true,
	"count": true, "cons": true, "quot": true, "rem": true, "mod": true, "even?": true, "odd?": true,
}

// Intrinsic tells whether the core function name is one that the compiler knows, and so is sealed in every environment.
func Intrinsic(name string) bool { return intrinsics[name] }

// arithmetic tells whether the core function name only computes with numbers.
func arithmetic(name string) bool {
	switch name {
	case "+", "-", "inc", "dec", "<", "<=", ">", ">=", "==", "not", "nil?", "some?", "zero?", "identical?":
		return true
	}
	return false
}

// emitIntrinsic emits a call of a known core function, or nil when there is nothing better than calling it.
func emitIntrinsic(n *callNode, b *value.Builtin) exec {
	switch len(n.args) {
	case 1:
		switch b.Name {
		case "inc":
			return emitAddConst(n, 1, value.Inc)
		case "dec":
			return emitAddConst(n, -1, value.Dec)
		}
	case 2:
		switch b.Name {
		case "+":
			return emitAdd(n)
		case "-":
			return emitSub(n)
		case "*":
			return emitMul(n)
		}
	}
	if t := emitTestIntrinsic(n, b); t != nil {
		return func(th *value.Thread, f []value.Value) value.Value { return value.Bool(t(th, f)) }
	}
	return nil
}

// emitTest emits a condition.
func emitTest(n node) test {
	if c, ok := n.(*callNode); ok {
		if b := coreBuiltin(c.fn); b != nil {
			if t := emitTestIntrinsic(c, b); t != nil {
				return t
			}
		}
	}
	e := emit(n)
	return func(t *value.Thread, f []value.Value) bool { return e(t, f).Truthy() }
}

func emitTestIntrinsic(n *callNode, b *value.Builtin) test {
	switch len(n.args) {
	case 1:
		return emitTest1(n, b.Name)
	case 2:
		switch b.Name {
		case "<":
			return emitLess(n)
		case "<=":
			return emitLessEq(n)
		case ">":
			return emitGreater(n)
		case ">=":
			return emitGreaterEq(n)
		case "=", "==":
			return emitEqual(n, b.Name)
		case "identical?":
			x, y := emit(n.args[0]), emit(n.args[1])
			return func(t *value.Thread, f []value.Value) bool {
				a := x(t, f)
				return value.Identical(a, y(t, f))
			}
		}
	}
	return nil
}

func emitTest1(n *callNode, name string) test {
	pos := n.pos
	switch name {
	case "not":
		x := emitTest(n.args[0])
		return func(t *value.Thread, f []value.Value) bool { return !x(t, f) }
	case "nil?":
		x := emit(n.args[0])
		return func(t *value.Thread, f []value.Value) bool { return x(t, f).IsNil() }
	case "some?":
		x := emit(n.args[0])
		return func(t *value.Thread, f []value.Value) bool { return !x(t, f).IsNil() }
	case "zero?":
		x := emit(n.args[0])
		return func(t *value.Thread, f []value.Value) bool {
			a := x(t, f)
			if a.IsInt() {
				return a.Int() == 0
			}
			t.Pos = pos
			return value.NumEq(t, a, value.Int(0))
		}
	}
	return nil
}

// constInt gives the integer that n is known to be.
func constInt(n node) (int64, bool) {
	c, ok := n.(*constNode)
	if !ok || !c.v.IsInt() {
		return 0, false
	}
	return c.v.Int(), true
}

// localSlot gives the slot that n reads.
func localSlot(n node) (int, bool) {
	l, ok := n.(*localNode)
	if !ok {
		return 0, false
	}
	return l.l.slot, true
}

// emitEqual emits = and ==.
func emitEqual(n *callNode, name string) test {
	pos, x, y := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	slow := value.Equal
	if name == "==" {
		slow = value.NumEq
	}
	if k, ok := constInt(n.args[1]); ok {
		return func(t *value.Thread, f []value.Value) bool {
			a := x(t, f)
			if a.IsInt() {
				return a.Int() == k
			}
			t.Pos = pos
			return slow(t, a, value.Int(k))
		}
	}
	return func(t *value.Thread, f []value.Value) bool {
		a := x(t, f)
		b := y(t, f)
		if fetch >= 0 {
			a = f[fetch]
			f[fetch] = value.Value{}
		}
		if a.IsInt() && b.IsInt() {
			return a.Int() == b.Int()
		}
		t.Pos = pos
		t.Step()
		return slow(t, a, b)
	}
}
