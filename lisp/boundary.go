package lisp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

// Capability is an orchestrator's function that an isolate may call.
//
// Data crosses by value: arguments are realised to plain data within the caller's limits before they cross, and so is
// the result, charged to the caller. A function crosses only where AcceptsFns says so.
type Capability struct {
	Name       string
	AcceptsFns bool
	Timeout    time.Duration // of one call; 0: only the evaluation's
	// Call runs the capability. ctx ends with the evaluation. The arguments are plain data.
	Call func(ctx context.Context, args []value.Value) (value.Value, error)
}

// Capable makes the function that an isolate is granted for c.
func Capable(c Capability) value.Value {
	b := &value.Builtin{Name: c.Name}
	b.N = func(t *value.Thread, args []value.Value) value.Value { return c.invoke(t, args) }
	b.F1 = func(t *value.Thread, x value.Value) value.Value {
		if immediate(x) { // nothing that has to lie on the stack while it crosses
			t.Stoppable()
			t.HostCall()
			return c.settle(t, c.one(t, x))
		}
		f := t.Push(1)
		f[0] = x
		v := c.invoke(t, f)
		f[0] = value.Nil
		t.Pop(1)
		return v
	}
	return value.Of(value.NewBuiltin(c.Name, b))
}

// Invoke calls the capability from the isolate's thread t: arguments and result cross, the call is counted.
func (c Capability) Invoke(t *value.Thread, args []value.Value) value.Value { return c.invoke(t, args) }

func (c *Capability) invoke(t *value.Thread, args []value.Value) value.Value {
	t.Stoppable()
	t.HostCall() // also where the arguments do not cross: the attempt is recorded
	if !c.AcceptsFns {
		return c.settle(t, c.arguments(t, args, nil))
	}
	lent := &atomic.Int64{}
	defer func() { t.Lend(-lent.Load()) }()
	return c.settle(t, c.arguments(t, args, lent))
}

// settle runs the capability with plain arguments and brings its result across.
func (c *Capability) settle(t *value.Thread, plain []value.Value) value.Value {
	ctx := t.Context
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	v, err := c.call(ctx, t, plain)
	t.AfterHostCall()
	if err != nil {
		panic(c.failure(t, ctx, err))
	}
	if immediate(v) {
		t.Step()
		return v
	}
	weight := 0
	defer func() { t.Unpin(weight) }()
	return Plain(t, v, Crossing{What: fmt.Sprintf("%s: its result", c.Name), weight: &weight})
}

// call runs the capability while t stands still.
func (c *Capability) call(ctx context.Context, t *value.Thread, plain []value.Value) (value.Value, error) {
	if t.Alone() {
		return c.Call(ctx, plain)
	}
	t.Park()
	defer t.Unpark()
	return c.Call(ctx, plain)
}

// immediate tells whether v is plain data without any object behind it: most arguments and many results are, and a call
// with nothing else needs no walk.
func immediate(v value.Value) bool {
	switch v.Kind() {
	case value.KindNil, value.KindBool, value.KindInt, value.KindFloat, value.KindChar:
		return true
	}
	return false
}

// arguments realises args to plain data. They are charged as if nothing in them were shared, and held all at once: whoever
// gets them has no limits, and may well print them.
func (c *Capability) arguments(t *value.Thread, args []value.Value, lent *atomic.Int64) []value.Value {
	for _, a := range args {
		if !immediate(a) {
			plain := make([]value.Value, len(args))
			c.realise(t, args, plain, lent)
			return plain
		}
	}
	t.Steps(len(args))
	t.Charge(immediateBytes * len(args))
	plain := t.HostArgs(len(args))
	copy(plain, args)
	return plain
}

// one is arguments for one immediate value.
func (c *Capability) one(t *value.Thread, x value.Value) []value.Value {
	t.Step()
	t.Charge(immediateBytes)
	plain := t.HostArgs(1)
	plain[0] = x
	return plain
}

func (c *Capability) realise(t *value.Thread, args, plain []value.Value, lent *atomic.Int64) {
	weight := 0
	defer func() { t.Unpin(weight) }()
	for i, a := range args {
		plain[i] = Plain(t, a, Crossing{What: fmt.Sprintf("%s: argument %d", c.Name, i+1), Functions: c.AcceptsFns, weight: &weight, lent: lent})
	}
}

// failure is the error of a capability as its caller sees it: the message and the data, never the orchestrator's stack.
func (c *Capability) failure(t *value.Thread, ctx context.Context, err error) *value.Exception {
	if ctx.Err() != nil && t.Context.Err() == nil { // the capability's own time was up, not the evaluation's
		return value.Errorf("TimeoutException", "%s: got no answer within %s, want one; try again or ask for less", c.Name, c.Timeout)
	}
	var le *Error
	if !errors.As(err, &le) {
		return value.Errorf("Exception", "%s: %s", c.Name, err)
	}
	class := le.Class
	if class == "" {
		class = "Exception"
	}
	ex := value.Errorf(class, "%s", le.Message)
	ex.Hint = le.Hint
	if le.Value.Kind() == value.KindException {
		if data := value.As[value.Exception](le.Value).Data; !data.IsNil() {
			ex.Data = Plain(t, data, Crossing{What: fmt.Sprintf("%s: the data of its error", c.Name), Lossy: true})
		}
	}
	return ex
}

// immediateBytes is what a value without an object weighs.
const immediateBytes = 16

// Crossing says what a value that leaves its environment may hold.
type Crossing struct {
	What      string // for errors: what crosses
	Functions bool   // functions cross, wrapped: they run on their own side
	Lossy     bool   // what is no data crosses as the name of its kind instead of failing

	weight *int          // where not nil, counts what v would take if nothing in it were shared; each byte is charged and pinned
	lent   *atomic.Int64 // counts what the functions that cross give: the capability may keep it until it returns
}

// weigh charges for v itself, not for what it holds.
func (c Crossing) weigh(t *value.Thread, v value.Value) {
	if c.weight == nil {
		return
	}
	n := immediateBytes
	switch v.Kind() {
	case value.KindString:
		n += len(v.Text())
	case value.KindKeyword:
		n += len(value.As[value.Keyword](v).FullName())
	case value.KindSymbol:
		n += len(value.As[value.Symbol](v).FullName())
	case value.KindBigInt:
		n += value.BigOf(v).BitLen() / 3
	}
	*c.weight += n
	t.Pin(n)
	t.Charge(n)
}

// weighAll is weigh for v, which is plain, and everything in it.
func (c Crossing) weighAll(t *value.Thread, v value.Value) {
	t.Step()
	c.weigh(t, v)
	k := v.Kind()
	if !k.IsColl() || c.weight == nil {
		return
	}
	t.Enter()
	defer t.Leave()
	if k.IsMap() {
		value.EachKV(t, v, func(k, x value.Value) bool {
			c.weighAll(t, k)
			c.weighAll(t, x)
			return true
		})
		return
	}
	value.Each(t, v, func(x value.Value) bool {
		c.weighAll(t, x)
		return true
	})
}

// Plain realises v to plain data: nil, booleans, numbers, characters, strings, symbols, keywords, and lists, vectors,
// maps and sets of plain data. Seqs become lists, records maps, and metadata is dropped. Everything is charged to t, so an
// endless seq ends in a limit of the side that made it.
func Plain(t *value.Thread, v value.Value, c Crossing) value.Value {
	if value.IsPlain(v) {
		c.weighAll(t, v)
		return v
	}
	t.Step()
	c.weigh(t, v)
	switch k := v.Kind(); {
	case k <= value.KindChar, k == value.KindKeyword, k == value.KindString, k == value.KindUUID, k == value.KindInst:
		return v
	case k == value.KindSymbol:
		s := value.As[value.Symbol](v)
		return value.Of(value.NewSymbol(s.NS, s.Name))
	}
	t.Enter()
	defer t.Leave()
	return c.coll(t, v)
}

func (c Crossing) coll(t *value.Thread, v value.Value) value.Value {
	switch k := v.Kind(); {
	case k.IsVector():
		return value.MarkPlain(value.NewVectorOwned(t, c.items(t, v)))
	case k.IsSeq():
		return value.MarkPlain(value.NewList(t, c.items(t, v)...))
	case k == value.KindSortedMap || k == value.KindSortedSet:
		return c.sorted(t, v)
	case k.IsMap():
		var kvs []value.Value
		at := t.Watch(nil)
		value.EachKV(t, v, func(k, x value.Value) bool {
			t.Charge(32)
			kvs = append(kvs, Plain(t, k, c), Plain(t, x, c))
			t.Rewatch(at, kvs)
			return true
		})
		t.Unwatch()
		return value.MarkPlain(value.NewMap(t, kvs...))
	case k.IsSet():
		return value.MarkPlain(value.NewSet(t, c.items(t, v)...))
	case k == value.KindFn && c.Functions:
		return c.function(t, v)
	}
	what := value.Outline(t, v) // the other side learns what it is, not what it holds
	if c.Lossy {
		return value.Str(what)
	}
	panic(value.ArgError("%s: got %s (%s), want plain data", c.What, what, v.Kind()))
}

// sorted keeps the order of a sorted collection, which its comparator, being code, must not carry across.
func (c Crossing) sorted(t *value.Thread, v value.Value) value.Value {
	items := c.items(t, v)
	if v.Kind() == value.KindSortedSet {
		return value.MarkPlain(value.NewSet(t, items...))
	}
	var kvs []value.Value
	for _, e := range items {
		k, _ := value.Nth(t, e, 0)
		x, _ := value.Nth(t, e, 1)
		t.Charge(32)
		kvs = append(kvs, k, x)
	}
	return value.MarkPlain(value.NewMap(t, kvs...))
}

func (c Crossing) items(t *value.Thread, v value.Value) []value.Value {
	var out []value.Value
	held, at := 0, t.Watch(nil)
	value.Each(t, v, func(x value.Value) bool {
		if len(out) == cap(out) {
			grow := 16 * (cap(out) + 8)
			t.Charge(grow)
			t.Pin(grow)
			held += grow
		}
		out = append(out, Plain(t, x, c))
		t.Rewatch(at, out)
		return true
	})
	t.Unwatch()
	t.Unpin(held)
	return out
}

// function wraps an isolate's function for the orchestrator: each call runs on a fork of the isolate's thread, charged
// to the evaluation that made it, and fails once that has ended.
func (c Crossing) function(t *value.Thread, f value.Value) value.Value {
	t.Accompanied()                    // by the forks, whose memory counts with its own
	here, depth := t.Fork(), t.Depth() // t itself goes on meanwhile, when it is called later
	b := &value.Builtin{Name: c.What}
	b.N = func(caller *value.Thread, args []value.Value) value.Value {
		n := here.Fork()
		done := n.Accompany(f)
		defer done()
		v, err := boundary(n, nil, func() value.Value {
			n.Deeper(depth + caller.Depth()) // it runs on the Go stack of both
			n.Safepoint()
			in := make([]value.Value, len(args))
			for i, a := range args {
				in[i] = Plain(n, a, Crossing{What: "function: an argument"})
			}
			weight := 0
			out := Plain(n, n.Call(f, in...), Crossing{What: "function: its result", weight: &weight})
			if c.lent != nil {
				c.lent.Add(int64(weight))
				n.Lend(int64(weight))
			}
			n.Unpin(weight)
			return out
		})
		if err != nil {
			panic(value.WrapError(fmt.Errorf("%s: the function failed: %w", c.What, err)))
		}
		return v
	}
	return value.Of(value.NewBuiltin("function", b))
}
