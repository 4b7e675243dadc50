package lisp

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Source finds the text of a library: its source and the name for positions. ok is false where there is none.
type Source func(lib string) (src, file string, ok bool, err error)

// EnvConfig is what a trusted environment is made from. The zero value is a core without output or libraries.
type EnvConfig struct {
	Out        io.Writer                  // *out*; nil discards
	Err        io.Writer                  // *err*; nil discards
	In         io.Reader                  // *in*; nil is empty
	Source     Source                     // where require looks; nil: only what the environment holds
	Namespaces map[string][]value.Builtin // host namespaces
	Context    context.Context            // the environment's life: its futures end with it; nil: for ever
	Limits     *Limits                    // nil: only depth is limited
}

// Env is the environment of a trusted program. It may be used by any number of goroutines.
type Env struct {
	rt      *Runtime
	env     *value.Env
	life    *value.Run // of futures that outlive the evaluation that made them
	limits  Limits
	out     io.Writer
	source  Source
	user    *value.Namespace
	loading sync.Map // libraries being loaded, by name
}

// NewEnv makes a trusted environment.
func (r *Runtime) NewEnv(c EnvConfig) *Env {
	e := &Env{rt: r, out: c.Out, source: c.Source, limits: limit.Trusted()}
	if c.Limits != nil {
		e.limits = c.Limits.OrDefault()
	}
	if e.out == nil {
		e.out = io.Discard
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	core := own(r.core)
	e.env = value.NewEnv(core, nil)
	e.env.Add(core)
	for name, ns := range r.shared {
		e.env.Add(own(ns))
		_ = name
	}
	e.addHost(c)
	e.addDynamics(core, c)
	e.life = value.NewRun(c.Context, e.limits)
	e.life.Out = e.out
	e.env.Life = e.life
	e.user = e.env.Create("user")
	e.env.Home = e.user
	e.env.NSVar.SetRoot(value.Of(e.user))
	e.env.Eval = compile.Eval
	e.env.Macroexpand, e.env.Macroexpand1 = compile.Macroexpand, compile.Macroexpand1
	e.env.Load = e.load
	e.env.EvalText = func(t *value.Thread, src, file string) value.Value { return evalSource(t, r, src, file, 1, 1) }
	return e
}

func (e *Env) addHost(c EnvConfig) {
	for _, tables := range []map[string][]value.Builtin{c.Namespaces, e.rt.host} {
		for name, bs := range tables {
			ns := e.env.Create(name)
			for i := range bs {
				define(ns, &bs[i])
			}
		}
	}
}

func (e *Env) addDynamics(core *value.Namespace, c EnvConfig) {
	for _, d := range corelib.Dynamics() {
		dynamic(core, d)
	}
	e.env.NSVar = dynamic(core, corelib.Dynamic{Name: "*ns*"})
	e.env.OutVar = dynamic(core, corelib.Dynamic{Name: "*out*"})
	corelib.BindIO(core, e.out, c.Err, c.In)
}

// Run starts an evaluation under ctx with the environment's limits.
func (e *Env) run(ctx context.Context) *value.Run {
	r := value.NewRun(ctx, e.limits)
	r.Out = e.out
	return r
}

// Thread makes a thread for ctx: what a Go function needs to call Lisp. It belongs to one goroutine.
func (e *Env) Thread(ctx context.Context) *value.Thread { return value.NewThread(e.run(ctx), e.env) }

// Library finds the text of a library, as require would: the environment's source first, then those that come with the
// language. file is the name that positions in it have. ok is false where there is none.
func (e *Env) Library(lib string) (src, file string, ok bool) {
	if e.source != nil {
		if src, file, ok, err := e.source(lib); ok && err == nil {
			return src, file, true
		}
	}
	return corelib.Source(lib)
}

// Close ends the futures and agents that still run, and waits for them.
func (e *Env) Close() {
	e.life.End()
	e.life.Wait()
}

// Raw is the environment below the face, for packages that add libraries to it.
func (e *Env) Raw() *value.Env { return e.env }

// Runtime is what e was made from.
func (e *Env) Runtime() *Runtime { return e.rt }

// Do runs f on a thread of ctx and turns what it throws into an error.
func (e *Env) Do(ctx context.Context, f func(*value.Thread) value.Value) (value.Value, error) {
	t := e.Thread(ctx)
	return boundary(t, nil, func() value.Value { return f(t) })
}

// Eval evaluates every form of src in the namespace user and gives the value of the last. file is for positions.
func (e *Env) Eval(ctx context.Context, src, file string) (value.Value, error) {
	t := e.Thread(ctx)
	return boundary(t, texts{file: {src: src}}, func() value.Value {
		t.Bind([]*value.Var{e.env.NSVar}, []value.Value{value.Of(e.user)})
		return evalSource(t, e.rt, src, file, 1, 1)
	})
}

// Call calls f, as a program would.
func (e *Env) Call(ctx context.Context, f value.Value, args ...value.Value) (value.Value, error) {
	return e.Do(ctx, func(t *value.Thread) value.Value { return t.Call(f, args...) })
}

// Print gives the text of v that the reader reads back.
func (e *Env) Print(ctx context.Context, v value.Value) (string, error) {
	var s string
	_, err := e.Do(ctx, func(t *value.Thread) value.Value {
		s = value.PrStr(t, v)
		return value.Nil
	})
	return s, err
}

// load loads the library lib for t, in a namespace context of its own.
func (e *Env) load(t *value.Thread, lib string) error {
	if e.source == nil {
		return fmt.Errorf("require: no library %s, and no paths to look in", lib)
	}
	src, file, ok, err := e.source(lib)
	switch {
	case err != nil:
		return fmt.Errorf("require: failed to read %s: %w", lib, err)
	case !ok:
		return fmt.Errorf("require: no library %s on the paths", lib)
	}
	if _, busy := e.loading.LoadOrStore(lib, true); busy {
		return fmt.Errorf("require: %s is being loaded already: a cycle of requires", lib)
	}
	defer e.loading.Delete(lib)
	binds, pos := t.Binds, t.Pos
	t.Bind([]*value.Var{e.env.NSVar}, []value.Value{value.Of(t.NS())})
	evalSource(t, e.rt, src, file, 1, 1)
	t.Binds, t.Pos = binds, pos
	return nil
}
