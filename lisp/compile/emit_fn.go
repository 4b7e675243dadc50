package compile

import (
	"slices"

	"github.com/reflection-dev/zeno/lisp/value"
)

// emitFn makes closures: the code is shared, the captured values are copied flat.
func emitFn(n *fnNode) exec {
	code := emitCode(n)
	slots := make([]int, len(n.captures))
	for i, c := range n.captures {
		slots[i] = c.l.slot
	}
	var meta exec
	if n.meta != nil {
		meta = emit(n.meta)
	}
	if len(slots) == 0 && meta == nil {
		v := value.Of(value.NewFn(code, nil))
		return func(*value.Thread, []value.Value) value.Value { return v }
	}
	size := 64 + 16*len(slots)
	return func(t *value.Thread, f []value.Value) value.Value {
		t.Charge(size)
		caps := make([]value.Value, len(slots))
		for i, s := range slots {
			caps[i] = f[s]
		}
		v := value.Of(value.NewFn(code, caps))
		if meta != nil {
			v = value.WithMeta(t, v, meta(t, f))
		}
		return v
	}
}

// emitCode emits the arities of a function into a Code.
func emitCode(n *fnNode) *value.Code {
	c := &value.Code{Name: n.name, Pos: n.pos, Cost: 1, Held: n.held, Hidden: n.hidden}
	fixed := map[int]*body{}
	var rest *body
	var counts []int
	for _, ar := range n.arities {
		b := newBody(c, ar)
		c.Cost = max(c.Cost, 1+ar.scope.deepest/8)
		counts = append(counts, max(0, len(ar.params)-n.hidden))
		if ar.rest != nil {
			rest = b
		} else {
			fixed[len(ar.params)] = b
		}
	}
	slices.Sort(counts)
	c.Arities = value.Arities(counts, rest != nil)
	pick := func(k int) *body {
		if b := fixed[k]; b != nil {
			return b
		}
		if rest != nil && k >= rest.required {
			return rest
		}
		return nil
	}
	c.F0, c.F1, c.F2, c.F3, c.F4 = entry0(c, pick(0)), entry1(c, pick(1)), entry2(c, pick(2)), entry3(c, pick(3)), entry4(c, pick(4))
	c.FN = entryN(c, pick)
	if rest != nil {
		c.Rest, c.Required = rest.applyRest, rest.required
	}
	return c
}

// body is one arity ready to run.
type body struct {
	code     *value.Code
	required int
	variadic bool
	frame    int
	self     int // slot, or -1
	capSlot  int
	capFrom  []int
	same     bool // the arity captures just what the function does, in order
	run      exec
}

func newBody(c *value.Code, ar *arity) *body {
	b := &body{code: c, required: len(ar.params), variadic: ar.rest != nil, frame: ar.scope.size, self: -1,
		capSlot: ar.capSlot, capFrom: ar.capFrom, run: emit(ar.body)}
	if ar.self != nil && ar.self.used {
		b.self = ar.self.slot
	}
	if ar.target.used {
		b.run = looping(b.run)
	}
	b.same = true
	for i, from := range b.capFrom {
		b.same = b.same && from == i
	}
	return b
}

// looping runs body again for as long as it recurs.
func looping(body exec) exec {
	return func(t *value.Thread, f []value.Value) value.Value {
		for {
			if v := body(t, f); v != recurring {
				return v
			}
			t.Step()
			t.Settle()
		}
	}
}

// fill puts what the closure captured into its frame.
func (b *body) fill(f []value.Value, fn *value.Fn) {
	if b.same {
		copy(f[b.capSlot:], fn.Caps[:len(b.capFrom)])
	} else {
		for i, from := range b.capFrom {
			f[b.capSlot+i] = fn.Caps[from]
		}
	}
	if b.self >= 0 {
		f[b.self] = value.Of(fn)
	}
}

// bare tells whether a frame needs nothing but arguments.
func (b *body) bare() bool { return len(b.capFrom) == 0 && b.self < 0 }

func entry0(c *value.Code, b *body) func(*value.Thread, *value.Fn) value.Value {
	switch {
	case b == nil:
		return func(*value.Thread, *value.Fn) value.Value { panic(value.ArityError(c, 0)) }
	case b.variadic:
		return func(t *value.Thread, fn *value.Fn) value.Value { return b.spread(t, fn) }
	}
	n, run := b.frame, b.run
	return func(t *value.Thread, fn *value.Fn) value.Value {
		f := t.EnterCall(c, n)
		b.fill(f, fn)
		t.Settle()
		v := run(t, f)
		t.LeaveCall(c, n)
		return v
	}
}

func entry1(c *value.Code, b *body) func(*value.Thread, *value.Fn, value.Value) value.Value {
	switch {
	case b == nil:
		return func(*value.Thread, *value.Fn, value.Value) value.Value { panic(value.ArityError(c, 1)) }
	case b.variadic:
		return func(t *value.Thread, fn *value.Fn, x value.Value) value.Value { return b.spread(t, fn, x) }
	}
	n, run := b.frame, b.run
	if b.bare() {
		return func(t *value.Thread, _ *value.Fn, x value.Value) value.Value {
			f := t.EnterCall(c, n)
			f[0] = x
			t.Settle()
			v := run(t, f)
			t.LeaveCall(c, n)
			return v
		}
	}
	return func(t *value.Thread, fn *value.Fn, x value.Value) value.Value {
		f := t.EnterCall(c, n)
		f[0] = x
		b.fill(f, fn)
		t.Settle()
		v := run(t, f)
		t.LeaveCall(c, n)
		return v
	}
}

func entry2(c *value.Code, b *body) func(*value.Thread, *value.Fn, value.Value, value.Value) value.Value {
	switch {
	case b == nil:
		return func(*value.Thread, *value.Fn, value.Value, value.Value) value.Value { panic(value.ArityError(c, 2)) }
	case b.variadic:
		return func(t *value.Thread, fn *value.Fn, x, y value.Value) value.Value { return b.spread(t, fn, x, y) }
	}
	n, run := b.frame, b.run
	return func(t *value.Thread, fn *value.Fn, x, y value.Value) value.Value {
		f := t.EnterCall(c, n)
		f[0], f[1] = x, y
		b.fill(f, fn)
		t.Settle()
		v := run(t, f)
		t.LeaveCall(c, n)
		return v
	}
}

func entry3(c *value.Code, b *body) func(*value.Thread, *value.Fn, value.Value, value.Value, value.Value) value.Value {
	switch {
	case b == nil:
		return func(*value.Thread, *value.Fn, value.Value, value.Value, value.Value) value.Value {
			panic(value.ArityError(c, 3))
		}
	case b.variadic:
		return func(t *value.Thread, fn *value.Fn, x, y, z value.Value) value.Value { return b.spread(t, fn, x, y, z) }
	}
	n, run := b.frame, b.run
	return func(t *value.Thread, fn *value.Fn, x, y, z value.Value) value.Value {
		f := t.EnterCall(c, n)
		f[0], f[1], f[2] = x, y, z
		b.fill(f, fn)
		t.Settle()
		v := run(t, f)
		t.LeaveCall(c, n)
		return v
	}
}

func entry4(c *value.Code, b *body) func(*value.Thread, *value.Fn, value.Value, value.Value, value.Value, value.Value) value.Value {
	switch {
	case b == nil:
		return func(*value.Thread, *value.Fn, value.Value, value.Value, value.Value, value.Value) value.Value {
			panic(value.ArityError(c, 4))
		}
	case b.variadic:
		return func(t *value.Thread, fn *value.Fn, x, y, z, w value.Value) value.Value {
			return b.spread(t, fn, x, y, z, w)
		}
	}
	n, run := b.frame, b.run
	return func(t *value.Thread, fn *value.Fn, x, y, z, w value.Value) value.Value {
		f := t.EnterCall(c, n)
		f[0], f[1], f[2], f[3] = x, y, z, w
		b.fill(f, fn)
		t.Settle()
		v := run(t, f)
		t.LeaveCall(c, n)
		return v
	}
}

func entryN(c *value.Code, pick func(int) *body) func(*value.Thread, *value.Fn, []value.Value) value.Value {
	return func(t *value.Thread, fn *value.Fn, args []value.Value) value.Value {
		b := pick(len(args))
		if b == nil {
			panic(value.ArityError(c, len(args)))
		}
		return b.apply(t, fn, args)
	}
}

// spread is apply for arguments in registers.
func (b *body) spread(t *value.Thread, fn *value.Fn, args ...value.Value) value.Value {
	return b.apply(t, fn, args)
}

// apply runs the arity on arguments in a slice, which it copies.
func (b *body) apply(t *value.Thread, fn *value.Fn, args []value.Value) value.Value {
	f := t.EnterCall(b.code, b.frame)
	copy(f, args[:b.required])
	if b.variadic {
		f[b.required] = restOf(t, args[b.required:])
	}
	b.fill(f, fn)
	t.Settle()
	v := b.run(t, f)
	t.LeaveCall(b.code, b.frame)
	return v
}

// applyRest runs an arity with & on its arguments before the & and the seq of the others.
func (b *body) applyRest(t *value.Thread, fn *value.Fn, args []value.Value, rest value.Value) value.Value {
	f := t.EnterCall(b.code, b.frame)
	copy(f, args[:b.required])
	f[b.required] = rest
	b.fill(f, fn)
	t.Settle()
	v := b.run(t, f)
	t.LeaveCall(b.code, b.frame)
	return v
}

func restOf(t *value.Thread, args []value.Value) value.Value {
	if len(args) == 0 {
		return value.Nil
	}
	t.Charge(48 + 16*len(args))
	return value.NewArraySeq(append([]value.Value(nil), args...))
}

func emitLetfn(n *letfnNode) exec {
	codes := make([]*value.Code, len(n.fns))
	for i, f := range n.fns {
		codes[i] = emitCode(f)
	}
	slots, run := slotsOf(n.locals), emit(n.body)
	return func(t *value.Thread, f []value.Value) value.Value {
		t.Charge(64 * len(codes))
		fns := make([]*value.Fn, len(codes))
		for i, c := range codes {
			caps := make([]value.Value, len(n.fns[i].captures))
			fns[i] = value.NewFn(c, caps)
			f[slots[i]] = value.Of(fns[i])
		}
		for i, fn := range fns { // the functions may capture each other: fill when all are there
			for j, c := range n.fns[i].captures {
				fn.Caps[j] = f[c.l.slot]
			}
		}
		return run(t, f)
	}
}

func emitLazy(n *lazyNode) exec {
	fn := emitFn(n.fn)
	return func(t *value.Thread, f []value.Value) value.Value {
		t.Charge(96)
		return value.NewLazySeq(value.As[value.Fn](fn(t, f)))
	}
}

func emitDelay(n *delayNode) exec {
	fn := emitFn(n.fn)
	return func(t *value.Thread, f []value.Value) value.Value {
		t.Charge(96)
		return value.NewDelay(value.As[value.Fn](fn(t, f)))
	}
}
