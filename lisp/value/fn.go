package value

import "fmt"

// Pos is a place in a source.
type Pos struct {
	File   string
	Line   int32 // from 1
	Column int32 // from 1, in runes
}

func (p *Pos) String() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Code is what every closure of one function expression shares, or a builtin.
//
// F0 to F4 take their arguments in registers; FN takes any number in a slice that it must not keep. Each of the six is
// always set: an arity that the function lacks throws.
type Code struct {
	Name string // for stack traces and messages: ns/name
	F0   func(*Thread, *Fn) Value
	F1   func(*Thread, *Fn, Value) Value
	F2   func(*Thread, *Fn, Value, Value) Value
	F3   func(*Thread, *Fn, Value, Value, Value) Value
	F4   func(*Thread, *Fn, Value, Value, Value, Value) Value
	FN   func(*Thread, *Fn, []Value) Value

	// Rest runs the arity with &, if there is one, on the Required arguments before the & and a seq of the others, not
	// empty, that it does not look at: so apply need not compute an argument list that may have no end.
	Rest     func(*Thread, *Fn, []Value, Value) Value
	Required int

	Held    Value    // a host object that marks the constants in the code; nil: there are none to speak of
	Builtin *Builtin // the Go functions behind a builtin; nil for compiled code
	Pos     *Pos
	Cost    int    // frames it counts for the depth limit
	Arities string // of compiled code, for messages: "1, 2 or more"; a builtin words its own
	Hidden  int    // arguments that the caller does not write: a macro's form and environment
}

// Fn is a function: a Code and what it closed over.
type Fn struct {
	Header
	meta *MetaBox
	Code *Code
	Caps []Value // captured values; never written after the closure is made
}

// NewFn makes a function of code c that closed over caps.
func NewFn(c *Code, caps []Value) *Fn { return &Fn{Header: Head(KindFn), Code: c, Caps: caps} }

// Builtin is a function written in Go. Fill the arities that it has; N takes any other number. Arguments in a slice must
// not be kept. A builtin charges what it does: one step an item looked at, its bytes before it builds them.
type Builtin struct {
	Name     string
	F0       func(*Thread) Value
	F1       func(*Thread, Value) Value
	F2       func(*Thread, Value, Value) Value
	F3       func(*Thread, Value, Value, Value) Value
	F4       func(*Thread, Value, Value, Value, Value) Value
	N        func(*Thread, []Value) Value
	Min      int // fewest arguments N takes
	Max      int // most arguments N takes; 0: any number
	Doc      string
	Arglists string // "([x] [x y & more])"
	Macro    bool   // called with &form and &env first, on unevaluated forms
	Private  bool
	Host     bool // reaches outside the language: absent in an isolate
}

// NewBuiltin makes a function value of b. name is the qualified name. A process starts with a thousand of these, so that
// their entries are shared: each finds its builtin in the Fn that it is called on.
func NewBuiltin(name string, b *Builtin) *Fn {
	return NewFn(&Code{Name: name, Builtin: b, Cost: 1, F0: builtin0, F1: builtin1, F2: builtin2, F3: builtin3,
		F4: builtin4, FN: builtinN}, nil)
}

func builtin0(t *Thread, fn *Fn) Value {
	c := fn.Code
	t.enterBuiltin(c)
	v := c.Builtin.call0(t, c)
	t.leaveBuiltin()
	return v
}

func builtin1(t *Thread, fn *Fn, x Value) Value {
	c := fn.Code
	t.enterBuiltin(c)
	v := c.Builtin.call1(t, c, x)
	t.leaveBuiltin()
	return v
}

func builtin2(t *Thread, fn *Fn, x, y Value) Value {
	c := fn.Code
	t.enterBuiltin(c)
	v := c.Builtin.call2(t, c, x, y)
	t.leaveBuiltin()
	return v
}

func builtin3(t *Thread, fn *Fn, x, y, z Value) Value {
	c := fn.Code
	t.enterBuiltin(c)
	var v Value
	if f := c.Builtin.F3; f != nil {
		v = f(t, x, y, z)
	} else {
		v = c.Builtin.callN(t, c, x, y, z)
	}
	t.leaveBuiltin()
	return v
}

func builtin4(t *Thread, fn *Fn, x, y, z, w Value) Value {
	c := fn.Code
	t.enterBuiltin(c)
	var v Value
	if f := c.Builtin.F4; f != nil {
		v = f(t, x, y, z, w)
	} else {
		v = c.Builtin.callN(t, c, x, y, z, w)
	}
	t.leaveBuiltin()
	return v
}

func builtinN(t *Thread, fn *Fn, args []Value) Value {
	c := fn.Code
	t.enterBuiltin(c)
	v := c.Builtin.spread(t, c, args)
	t.leaveBuiltin()
	return v
}

func (t *Thread) enterBuiltin(c *Code) {
	t.Step()
	t.depth++
	if t.depth > t.limit {
		t.tooDeep()
	}
	t.calls = append(t.calls, Frame{c, t.Pos})
}

func (t *Thread) leaveBuiltin() {
	t.depth--
	t.calls = t.calls[:len(t.calls)-1]
}

func (b *Builtin) call0(t *Thread, c *Code) Value {
	if b.F0 != nil {
		return b.F0(t)
	}
	return b.callN(t, c)
}

func (b *Builtin) call1(t *Thread, c *Code, x Value) Value {
	if b.F1 != nil {
		return b.F1(t, x)
	}
	return b.callN(t, c, x)
}

func (b *Builtin) call2(t *Thread, c *Code, x, y Value) Value {
	if b.F2 != nil {
		return b.F2(t, x, y)
	}
	return b.callN(t, c, x, y)
}

// callN moves arguments from registers to the thread's stack.
func (b *Builtin) callN(t *Thread, c *Code, args ...Value) Value {
	n := len(args)
	if !b.takes(n) {
		panic(ArityError(c, n))
	}
	f := t.Push(n)
	copy(f, args)
	v := b.N(t, f)
	clear(f)
	t.Pop(n)
	return v
}

func (b *Builtin) spread(t *Thread, c *Code, args []Value) Value {
	switch n := len(args); {
	case n == 0 && b.F0 != nil:
		return b.F0(t)
	case n == 1 && b.F1 != nil:
		return b.F1(t, args[0])
	case n == 2 && b.F2 != nil:
		return b.F2(t, args[0], args[1])
	case n == 3 && b.F3 != nil:
		return b.F3(t, args[0], args[1], args[2])
	case n == 4 && b.F4 != nil:
		return b.F4(t, args[0], args[1], args[2], args[3])
	case b.takes(n):
		return b.N(t, args)
	}
	panic(ArityError(c, len(args)))
}

func (b *Builtin) takes(n int) bool {
	return b.N != nil && n >= b.Min && (b.Max == 0 || n <= b.Max)
}

func (b *Builtin) arities() string {
	var ns []int
	for i, has := range []bool{b.F0 != nil, b.F1 != nil, b.F2 != nil, b.F3 != nil, b.F4 != nil} {
		if has || b.takes(i) {
			ns = append(ns, i)
		}
	}
	return Arities(ns, b.N != nil && b.Max == 0)
}

// Arities words the numbers of arguments, in order, that a function takes; more tells that it takes any more than those.
func Arities(fixed []int, more bool) string {
	s := ""
	for n := len(fixed); more && n > 1 && fixed[n-2] == fixed[n-1]-1; n-- { // 2, 3 or more are 2 or more
		fixed = fixed[:n-1]
	}
	if more && len(fixed) == 1 && fixed[0] == 0 {
		fixed = nil
	}
	for i, n := range fixed {
		if i > 0 {
			if i == len(fixed)-1 && !more {
				s += " or "
			} else {
				s += ", "
			}
		}
		s += fmt.Sprint(n)
	}
	switch {
	case more && s == "":
		return "any number"
	case more:
		return s + " or more"
	}
	return s
}

// Call calls f, which may be anything that can be called: a function, a keyword, a map, a var …
func (t *Thread) Call(f Value, args ...Value) Value {
	if f.Kind() == KindFn {
		fn := As[Fn](f)
		switch len(args) {
		case 0:
			return fn.Code.F0(t, fn)
		case 1:
			return fn.Code.F1(t, fn, args[0])
		case 2:
			return fn.Code.F2(t, fn, args[0], args[1])
		case 3:
			return fn.Code.F3(t, fn, args[0], args[1], args[2])
		}
		return fn.Code.FN(t, fn, args)
	}
	return t.callOther(f, args)
}

// Call1 calls f with one argument.
func (t *Thread) Call1(f, a Value) Value {
	if f.Kind() == KindFn {
		fn := As[Fn](f)
		return fn.Code.F1(t, fn, a)
	}
	return t.callOther(f, []Value{a})
}

// Call2 calls f with two arguments.
func (t *Thread) Call2(f, a, b Value) Value {
	if f.Kind() == KindFn {
		fn := As[Fn](f)
		return fn.Code.F2(t, fn, a, b)
	}
	return t.callOther(f, []Value{a, b})
}
