package lisp

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Isolate is an agent's environment: the pure core, what it is granted, and what it defines. Evaluations of one isolate
// run one at a time; isolates run in parallel and know nothing of each other.
type Isolate struct {
	rt     *Runtime
	env    *value.Env
	limits Limits
	busy   atomic.Bool
}

// NewIsolate makes an isolate under limits; zero fields take their defaults.
func (r *Runtime) NewIsolate(l Limits) *Isolate {
	i := &Isolate{rt: r, limits: l.OrDefault()}
	i.env = value.NewIsolateEnv(r.core, r.lookup, "user")
	i.env.OutVar = r.out
	i.env.Eval = compile.Eval
	i.env.Macroexpand, i.env.Macroexpand1 = compile.Macroexpand, compile.Macroexpand1
	i.env.EvalText = r.evalText
	return i
}

// SetLimits changes the limits of the evaluations to come.
func (i *Isolate) SetLimits(l Limits) { i.limits = l.OrDefault() }

// Grant makes name mean f, as if the core had it; a name with a slash is found in a namespace of its own. What is not
// granted does not resolve.
func (i *Isolate) Grant(name string, f value.Value) {
	ns, base := value.SplitName(name)
	home := i.env.Home
	if ns != "" {
		home = i.env.Create(ns)
	}
	v := value.NewVar(grantNS(ns), base)
	v.SetRoot(f)
	v.Sealed = true
	if ns != "" {
		home.Put(v)
		return
	}
	home.Refer(base, v)
}

// GrantMacro is Grant for a macro.
func (i *Isolate) GrantMacro(name string, f value.Value) {
	v := value.NewVar("grant", name)
	v.SetRoot(f)
	v.Macro.Store(true)
	v.Sealed = true
	i.env.Home.Refer(name, v)
}

func grantNS(ns string) string {
	if ns == "" {
		return "grant"
	}
	return ns
}

// Revoke takes name away; the next use of it does not resolve. Code compiled before fails where it calls it.
func (i *Isolate) Revoke(name string) {
	ns, base := value.SplitName(name)
	if ns == "" {
		i.env.Home.Unmap(base)
		return
	}
	if n := i.env.Namespace(ns); n != nil {
		n.Unmap(base)
	}
}

// Defined lists what the isolate itself has defined.
func (i *Isolate) Defined() []string {
	var out []string
	for _, v := range i.env.Home.Vars() {
		out = append(out, v.Name)
	}
	return out
}

// Result is what an evaluation gave.
type Result struct {
	Value   string // the value of the last form, as the reader reads it
	Out     string // what was printed
	Err     *Error // nil: it succeeded
	Used    Usage
	Elapsed time.Duration
}

// Eval evaluates every form of code. It always returns, soon after ctx ends or a limit trips, and never panics. A call
// while another evaluation of the isolate runs is refused.
func (i *Isolate) Eval(ctx context.Context, code string) Result {
	if !i.busy.CompareAndSwap(false, true) {
		return Result{Err: &Error{Kind: "reentrant", Message: "eval: another evaluation of this spawn is running; wait for it"}}
	}
	defer i.busy.Store(false)
	reserved, waited, ok := i.rt.pool.admit(ctx, i.limits)
	if !ok {
		return Result{Err: &Error{Kind: "busy", Message: "eval: got no memory to run in before the time was up, since other evaluations hold it; try again"}, Elapsed: waited}
	}
	defer i.rt.pool.release(reserved)
	e := &evaluation{}
	t := e.Start(ctx, i.limits, i.env, &e.out)
	res := i.trimmed(t)
	if res.Err == nil {
		res = i.eval(e, code)
	}
	e.Run.End()
	t.Park() // a future may measure before it sees the end
	e.Run.Wait()
	t.Flush()
	res.Out, res.Used, res.Elapsed = e.out.String(), e.Run.Used(), waited+time.Since(e.Run.Began())
	return res
}

// evaluation is one evaluation and its output.
type evaluation struct {
	value.Evaluation
	out buffer
}

// trimmed refuses an evaluation in an isolate that holds far more than it may, once: the definitions are gone then.
func (i *Isolate) trimmed(t *value.Thread) (res Result) {
	if i.env.Trim(t) {
		res.Err = &Error{Kind: "limit/" + string(limit.Bytes),
			Message: fmt.Sprintf("bytes limit: the definitions held far more than %d bytes and have been dropped, all of them", i.limits.Bytes),
			Hint:    "define what you need again and keep less; this evaluation has not run",
			err:     &limit.Error{Kind: limit.Bytes, Limit: i.limits.Bytes, Used: i.limits.Bytes + i.limits.Bytes/2}}
	}
	return res
}

func (i *Isolate) eval(e *evaluation, code string) (res Result) {
	t := &e.Thread
	_, err := boundary(t, texts{evalFile: {src: code}}, func() value.Value {
		e.Bind(i.rt.out) // it charges, and may be the first to pass a limit
		t.Pos = nil
		v := evalSource(t, i.rt, code, evalFile, 1, 1)
		res.Value = value.PrStr(t, v)
		t.Safepoint() // a future may have met a limit
		return v
	})
	if err != nil {
		res.Err, _ = err.(*Error)
		res.Value = ""
		i.hint(t, res.Err)
	}
	return res
}

// evalFile is the name of the source of an agent's evaluation.
const evalFile = "eval"

// hint adds what an agent can do about an unresolved symbol.
func (i *Isolate) hint(_ *value.Thread, e *Error) {
	if e.Kind == "unresolved" && e.Hint == "" {
		e.Hint = "it is neither in the core nor granted; see (tools)"
	}
}

// buffer collects output; futures of an evaluation print to it too.
type buffer struct {
	mu  sync.Mutex
	buf []byte
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf = append(b.buf, p...)
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.buf)
}

var _ io.Writer = (*buffer)(nil)

// LimitsOf gives the limits of the isolate's evaluations.
func (i *Isolate) LimitsOf() limit.Limits { return i.limits }
