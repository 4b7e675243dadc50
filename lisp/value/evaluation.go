package value

import (
	"context"
	"io"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// Evaluation is what one evaluation of an isolate starts with, in one allocation: a small one needs no more.
type Evaluation struct {
	Run    Run
	Thread Thread

	// The first dynamic binding of the thread.
	binds Bindings
	list  [1]bound
	box   Box
	value Value
}

// Start begins the evaluation in env, with a context of its own that ends with it. e is new.
func (e *Evaluation) Start(ctx context.Context, l limit.Limits, env *Env, out io.Writer) *Thread {
	r := &e.Run
	r.own.Context = ctx
	r.start(&r.own, ctx.Done(), l)
	r.Out = out
	e.Thread.start(r, env)
	return &e.Thread
}

// Bind puts the first dynamic binding in force: v is nil.
func (e *Evaluation) Bind(v *Var) {
	t := &e.Thread
	t.Charge(bindingBytes(1, 0))
	e.box.p.Store(&e.value)
	e.list[0] = bound{v, &e.box}
	e.binds.list = e.list[:]
	t.Binds = &e.binds
}
