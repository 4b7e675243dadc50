package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// closureBytes is what a function made at run time charges.
const closureBytes = 512

// closure is a function made at run time: some arities in Go, the rest by more. Arities that are nil and not taken by
// more throw.
type closure struct {
	name  string
	f0    func(t *Thread) Value
	f1    func(t *Thread, x Value) Value
	f2    func(t *Thread, x, y Value) Value
	f3    func(t *Thread, x, y, z Value) Value
	more  func(t *Thread, args []Value) Value // takes least arguments and more
	least int
}

// make gives the function. held are the Lisp values that its Go closures hold, for the count of what is alive.
func (c *closure) make(t *Thread, held ...Value) Value {
	t.Charge(closureBytes + 16*len(held))
	code := &value.Code{Name: c.name, Cost: 1, Arities: c.arities()}
	code.F0, code.F1, code.F2, code.F3 = c.entry0, c.entry1, c.entry2, c.entry3
	code.F4 = func(t *Thread, fn *value.Fn, x, y, z, w Value) Value { return c.spill(t, fn, x, y, z, w) }
	code.FN = c.entryN
	return value.Of(value.NewFn(code, held))
}

func (c *closure) arities() string {
	var ns []int
	for n, has := range []bool{c.f0 != nil, c.f1 != nil, c.f2 != nil, c.f3 != nil} {
		if has || c.more != nil && n >= c.least {
			ns = append(ns, n)
		}
	}
	return value.Arities(ns, c.more != nil)
}

func (c *closure) entry0(t *Thread, fn *value.Fn) Value {
	if c.f0 == nil {
		return c.spill(t, fn)
	}
	t.EnterCall(fn.Code, 0)
	v := c.f0(t)
	t.LeaveCall(fn.Code, 0)
	return v
}

func (c *closure) entry1(t *Thread, fn *value.Fn, x Value) Value {
	if c.f1 == nil {
		return c.spill(t, fn, x)
	}
	t.EnterCall(fn.Code, 0)
	v := c.f1(t, x)
	t.LeaveCall(fn.Code, 0)
	return v
}

func (c *closure) entry2(t *Thread, fn *value.Fn, x, y Value) Value {
	if c.f2 == nil {
		return c.spill(t, fn, x, y)
	}
	t.EnterCall(fn.Code, 0)
	v := c.f2(t, x, y)
	t.LeaveCall(fn.Code, 0)
	return v
}

func (c *closure) entry3(t *Thread, fn *value.Fn, x, y, z Value) Value {
	if c.f3 == nil {
		return c.spill(t, fn, x, y, z)
	}
	t.EnterCall(fn.Code, 0)
	v := c.f3(t, x, y, z)
	t.LeaveCall(fn.Code, 0)
	return v
}

// spill moves arguments from registers to the thread's stack.
func (c *closure) spill(t *Thread, fn *value.Fn, args ...Value) Value {
	if c.more == nil || len(args) < c.least {
		panic(value.ArityError(fn.Code, len(args)))
	}
	f := t.EnterCall(fn.Code, len(args))
	copy(f, args)
	v := c.more(t, f)
	t.LeaveCall(fn.Code, len(args))
	return v
}

func (c *closure) entryN(t *Thread, fn *value.Fn, args []Value) Value {
	switch n := len(args); {
	case n == 0 && c.f0 != nil:
		return c.entry0(t, fn)
	case n == 1 && c.f1 != nil:
		return c.entry1(t, fn, args[0])
	case n == 2 && c.f2 != nil:
		return c.entry2(t, fn, args[0], args[1])
	case n == 3 && c.f3 != nil:
		return c.entry3(t, fn, args[0], args[1], args[2])
	case c.more == nil || n < c.least:
		panic(value.ArityError(fn.Code, n))
	}
	t.EnterCall(fn.Code, 0)
	v := c.more(t, args)
	t.LeaveCall(fn.Code, 0)
	return v
}

// calling1 and calling2 give Go functions that call f, with the kind of f looked at once. A builtin is called without a
// frame of its own: whoever goes through a collection has charged the step.
func calling1(f Value) func(t *Thread, x Value) Value {
	if f.Kind() == value.KindFn {
		fn := value.As[value.Fn](f)
		if b := fn.Code.Builtin; b != nil && b.F1 != nil {
			return b.F1
		}
		call := fn.Code.F1
		return func(t *Thread, x Value) Value { return call(t, fn, x) }
	}
	return func(t *Thread, x Value) Value { return t.Call1(f, x) }
}

func calling2(f Value) func(t *Thread, x, y Value) Value {
	if f.Kind() == value.KindFn {
		fn := value.As[value.Fn](f)
		if b := fn.Code.Builtin; b != nil && b.F2 != nil {
			return b.F2
		}
		call := fn.Code.F2
		return func(t *Thread, x, y Value) Value { return call(t, fn, x, y) }
	}
	return func(t *Thread, x, y Value) Value { return t.Call2(f, x, y) }
}

// with gives a call's arguments behind others, on the thread's stack; give them back with t.Pop of their number.
func with(t *Thread, before, args []Value) []Value {
	f := t.Push(len(before) + len(args))
	copy(f, before)
	copy(f[len(before):], args)
	return f
}

// copied copies arguments, which are not ours to keep.
func copied(t *Thread, args []Value) []Value {
	t.Charge(16 * len(args))
	return append([]Value(nil), args...)
}
