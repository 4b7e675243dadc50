package compile

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

// Arithmetic on small integers and floats without a call, in three shapes: a local and a constant, any and a constant,
// any and any. What is neither, or overflows, goes the slow way, which knows every kind of number and every error.

// emitAddConst emits (inc x), (dec x), (+ x k) and (- x k).
func emitAddConst(n *callNode, k int64, slow func(*value.Thread, value.Value) value.Value) exec {
	pos := n.pos
	if s, ok := localSlot(n.args[0]); ok {
		return func(t *value.Thread, f []value.Value) value.Value {
			a := f[s]
			if a.IsInt() {
				if r := a.Int() + k; (r > a.Int()) == (k > 0) {
					return value.Int(r)
				}
			}
			t.Pos = pos
			return slow(t, a)
		}
	}
	x := emit(n.args[0])
	return func(t *value.Thread, f []value.Value) value.Value {
		a := x(t, f)
		if a.IsInt() {
			if r := a.Int() + k; (r > a.Int()) == (k > 0) {
				return value.Int(r)
			}
		}
		t.Pos = pos
		return slow(t, a)
	}
}

func emitAdd(n *callNode) exec {
	if k, ok := constInt(n.args[1]); ok && k != 0 {
		return emitAddConst(n, k, func(t *value.Thread, a value.Value) value.Value { return value.Add(t, a, value.Int(k)) })
	}
	return emitAddAny(n)
}

func emitSub(n *callNode) exec {
	if k, ok := constInt(n.args[1]); ok && k != 0 && k != -1<<63 {
		return emitAddConst(n, -k, func(t *value.Thread, a value.Value) value.Value { return value.Sub(t, a, value.Int(k)) })
	}
	return emitSubAny(n)
}

// emitAddAny emits (+ x y).
func emitAddAny(n *callNode) exec {
	pos, x, y := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	return func(t *value.Thread, f []value.Value) value.Value {
		a := x(t, f)
		b := y(t, f)
		if fetch >= 0 {
			a = f[fetch]
			f[fetch] = value.Value{}
		}
		if a.IsInt() && b.IsInt() {
			i, j := a.Int(), b.Int()
			if r := i + j; (r > i) == (j > 0) {
				return value.Int(r)
			}
		} else if a.IsFloat() && b.IsFloat() {
			return value.Float(a.Float() + b.Float())
		}
		t.Pos = pos
		return value.Add(t, a, b)
	}
}

// emitSubAny emits (- x y).
func emitSubAny(n *callNode) exec {
	pos, x, y := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	return func(t *value.Thread, f []value.Value) value.Value {
		a := x(t, f)
		b := y(t, f)
		if fetch >= 0 {
			a = f[fetch]
			f[fetch] = value.Value{}
		}
		if a.IsInt() && b.IsInt() {
			i, j := a.Int(), b.Int()
			if r := i - j; (r < i) == (j > 0) {
				return value.Int(r)
			}
		} else if a.IsFloat() && b.IsFloat() {
			return value.Float(a.Float() - b.Float())
		}
		t.Pos = pos
		return value.Sub(t, a, b)
	}
}

// emitMul emits (* x y).
func emitMul(n *callNode) exec {
	pos, x, y := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	return func(t *value.Thread, f []value.Value) value.Value {
		a := x(t, f)
		b := y(t, f)
		if fetch >= 0 {
			a = f[fetch]
			f[fetch] = value.Value{}
		}
		if a.IsInt() && b.IsInt() {
			i, j := a.Int(), b.Int()
			if int64(int32(i)) == i && int64(int32(j)) == j {
				return value.Int(i * j)
			}
		} else if a.IsFloat() && b.IsFloat() {
			return value.Float(a.Float() * b.Float())
		}
		t.Pos = pos
		return value.Mul(t, a, b)
	}
}

// emitLess emits (< x y).
func emitLess(n *callNode) test {
	pos, x, y := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	k, isConst := constInt(n.args[1])
	if s, ok := localSlot(n.args[0]); ok && isConst {
		return func(t *value.Thread, f []value.Value) bool {
			a := f[s]
			if a.IsInt() {
				return a.Int() < k
			}
			t.Pos = pos
			a, b := a, value.Int(k)
			return value.NumLess(t, a, b)
		}
	}
	if s, ok := localSlot(n.args[0]); ok {
		if r, ok := localSlot(n.args[1]); ok {
			return func(t *value.Thread, f []value.Value) bool {
				a, b := f[s], f[r]
				if a.IsInt() && b.IsInt() {
					return a.Int() < b.Int()
				}
				t.Pos = pos
				return value.NumLess(t, a, b)
			}
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
			return a.Int() < b.Int()
		}
		t.Pos = pos
		return value.NumLess(t, a, b)
	}
}

// emitGreater emits (> x y).
func emitGreater(n *callNode) test {
	pos, x, y := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	k, isConst := constInt(n.args[1])
	if s, ok := localSlot(n.args[0]); ok && isConst {
		return func(t *value.Thread, f []value.Value) bool {
			a := f[s]
			if a.IsInt() {
				return a.Int() > k
			}
			t.Pos = pos
			a, b := a, value.Int(k)
			return value.NumLess(t, b, a)
		}
	}
	if s, ok := localSlot(n.args[0]); ok {
		if r, ok := localSlot(n.args[1]); ok {
			return func(t *value.Thread, f []value.Value) bool {
				a, b := f[s], f[r]
				if a.IsInt() && b.IsInt() {
					return a.Int() > b.Int()
				}
				t.Pos = pos
				return value.NumLess(t, b, a)
			}
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
			return a.Int() > b.Int()
		}
		t.Pos = pos
		return value.NumLess(t, b, a)
	}
}

// emitLessEq emits (<= x y).
func emitLessEq(n *callNode) test {
	pos, x, y := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	k, isConst := constInt(n.args[1])
	if s, ok := localSlot(n.args[0]); ok && isConst {
		return func(t *value.Thread, f []value.Value) bool {
			a := f[s]
			if a.IsInt() {
				return a.Int() <= k
			}
			t.Pos = pos
			a, b := a, value.Int(k)
			return value.NumLessEq(t, a, b)
		}
	}
	if s, ok := localSlot(n.args[0]); ok {
		if r, ok := localSlot(n.args[1]); ok {
			return func(t *value.Thread, f []value.Value) bool {
				a, b := f[s], f[r]
				if a.IsInt() && b.IsInt() {
					return a.Int() <= b.Int()
				}
				t.Pos = pos
				return value.NumLessEq(t, a, b)
			}
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
			return a.Int() <= b.Int()
		}
		t.Pos = pos
		return value.NumLessEq(t, a, b)
	}
}

// emitGreaterEq emits (>= x y).
func emitGreaterEq(n *callNode) test {
	pos, x, y := n.pos, emitWaiting(n, 0), emit(n.args[1])
	fetch := waiting(n, 0)
	k, isConst := constInt(n.args[1])
	if s, ok := localSlot(n.args[0]); ok && isConst {
		return func(t *value.Thread, f []value.Value) bool {
			a := f[s]
			if a.IsInt() {
				return a.Int() >= k
			}
			t.Pos = pos
			a, b := a, value.Int(k)
			return value.NumLessEq(t, b, a)
		}
	}
	if s, ok := localSlot(n.args[0]); ok {
		if r, ok := localSlot(n.args[1]); ok {
			return func(t *value.Thread, f []value.Value) bool {
				a, b := f[s], f[r]
				if a.IsInt() && b.IsInt() {
					return a.Int() >= b.Int()
				}
				t.Pos = pos
				return value.NumLessEq(t, b, a)
			}
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
			return a.Int() >= b.Int()
		}
		t.Pos = pos
		return value.NumLessEq(t, b, a)
	}
}
