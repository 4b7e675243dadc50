package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/msb"
	"github.com/reflection-dev/zeno/sandbox/native"
	"github.com/reflection-dev/zeno/sandbox/volume"
)

// boxes are the instance's sandboxes: made, and what a crash left reaped, at the first use.
type boxes struct {
	c      *Core
	native func() (*native.Backend, error)
	made   atomic.Pointer[native.Backend]

	msb     func() (*msb.Backend, error)
	madeMSB atomic.Pointer[msb.Backend]

	secrets secretSource
	owners  sync.Map // name of a box -> id of the spawn that runs in it
}

func newBoxes(c *Core) *boxes {
	b := &boxes{c: c}
	b.secrets.c = c
	b.native = sync.OnceValues(b.open)
	b.msb = sync.OnceValues(b.openMSB)
	return b
}

func (b *boxes) open() (*native.Backend, error) {
	state, err := b.c.state()
	if err != nil {
		return nil, err
	}
	n, err := native.New(native.Config{StateDir: state, Images: b.c.images, Stage2: b.c.conf.Stage2, Self: b.c.conf.BoxSelf, Events: b.happened})
	if err != nil {
		return nil, err
	}
	b.made.Store(n)
	if _, err := n.Reap(b.c.ctx); err != nil {
		b.c.conf.Log.Warn("sandbox: a box that an earlier zeno left could not be ended", "error", err)
	}
	return n, nil
}

// close ends every body.
func (b *boxes) close() error {
	var errs []error
	if n := b.made.Load(); n != nil {
		errs = append(errs, n.Close())
	}
	if m := b.madeMSB.Load(); m != nil {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// boxFunctions are the namespace zeno.sandbox.
func (c *Core) boxFunctions() []value.Builtin {
	b := c.boxes
	return []value.Builtin{
		bind.Func("run", "([{:keys [argv in volume workdir env read egress secrets cpus memory pids disk timeout ttl idle-timeout seccomp user name image out max-out backend runtime]}])",
			"Runs a program in a box and gives {:exit … :out … :err … :status … :killed-by … :ms … :peak-rss …}. Only :argv is required; every bound has a default. What cannot be enforced here is refused. :out is a function that is given standard output as it comes.", b.run),
		bind.Func("omp", "([{:keys [in argv …]}])",
			"Is run for the agent CLI omp, whose prompt is :in, and gives of the stream that it prints :answer, :session, :usage and :error as well; :argv is another command that prints the same stream. An agent with a role and an endpoint is zeno.spawn/spawn.", b.omp),
		bind.Func("exec!", "([name {:keys [argv in env workdir timeout max-out]}])",
			"Runs one more program in the live body of that name, under the same constraints.", b.exec),
		bind.Func("ps", "([])", "Lists the live bodies: {:name … :pid … :volume … :argv … :started … :owner …}.", b.ps),
		bind.Func("stop!", "([name])", "Ends a body and everything in it.", b.stop),
		bind.Func("ensure-volume!", "([name])", "Makes a volume that is not there. Gives true where it made one.", b.ensure),
		bind.Func("volumes", "([])", "Lists the volumes: {:name … :bytes … :files … :holder … :changed …}.", b.volumes),
		bind.Func("remove-volume!", "([name])", "Deletes a volume and what is in it. One that is in use is refused.", b.remove),
		bind.Func("probe", "([])", "Tries what this host can enforce: {:backend … :usable … :checks [{:what … :ok … :how … :fix …} …]}.", b.probe),
	}
}

// boxForm is a sandbox.Spec as the program writes it.
type boxForm struct {
	profileForm
	Name    string        `lisp:"name"`
	Argv    []string      `lisp:"argv"` // an image may have a command of its own
	In      string        `lisp:"in"`
	Workdir string        `lisp:"workdir"`
	User    int           `lisp:"user"`
	Timeout bind.Duration `lisp:"timeout"`
	MaxOut  bind.Size     `lisp:"max-out"`
	Out     value.Value   `lisp:"out"`
}

func (f *boxForm) spec() sandbox.Spec {
	return sandbox.Spec{Name: f.Name, Image: string(f.Image), Argv: f.Argv, In: f.In, Volume: f.Volume, Workdir: f.Workdir, User: f.User,
		Read: f.Read, Env: f.Env, Secrets: f.Secrets, Egress: sandbox.Egress(f.Egress), CPUs: f.CPUs, Memory: int64(f.Memory),
		Pids: f.Pids, Disk: int64(f.Disk), Timeout: time.Duration(f.Timeout), TTL: time.Duration(f.TTL),
		IdleTimeout: time.Duration(f.IdleTimeout), Seccomp: f.Seccomp, Runtime: f.Runtime, Backend: f.Backend, MaxOut: int(f.MaxOut)}
}

// egressForm is :none, :public, or {:default … :allow […] :deny […]} with hosts as strings or maps.
type egressForm sandbox.Egress

// DecodeLisp implements bind.Decoder.
func (e *egressForm) DecodeLisp(t *value.Thread, v value.Value) error {
	if v.Kind() == value.KindKeyword {
		e.Default = value.As[value.Keyword](v).FullName()
		return nil
	}
	var f struct {
		Default string     `lisp:"default"`
		Allow   []ruleForm `lisp:"allow"`
		Deny    []string   `lisp:"deny"`
	}
	if err := bind.Decode(t, v, &f); err != nil {
		return err
	}
	e.Default, e.Deny = f.Default, f.Deny
	if e.Default == "" {
		e.Default = sandbox.EgressDeny
	}
	for _, r := range f.Allow {
		e.Allow = append(e.Allow, sandbox.Rule(r))
	}
	return nil
}

// ruleForm is "host", "host:port" or {:host … :addr … :port …}.
type ruleForm sandbox.Rule

// DecodeLisp implements bind.Decoder.
func (r *ruleForm) DecodeLisp(t *value.Thread, v value.Value) error {
	if v.Kind() == value.KindString {
		r.Host = v.Text()
		return nil
	}
	return bind.Decode(t, v, (*sandbox.Rule)(r))
}

func (b *boxes) run(t *value.Thread, f boxForm) (value.Value, error) {
	res, err := b.execute(t, f)
	if err != nil {
		return value.Nil, err
	}
	return boxResult(t, res), nil
}

func (b *boxes) execute(t *value.Thread, f boxForm) (sandbox.Result, error) {
	s := f.spec()
	if err := f.checkOut(); err != nil {
		return sandbox.Result{}, err
	}
	n, err := b.attach(t.Context, &s)
	if err != nil {
		return sandbox.Result{}, err
	}
	if !f.Out.IsNil() {
		s.Stdout = &listener{ctx: t.Context, call: func(ctx context.Context, text string) error {
			_, err := b.c.env.Call(ctx, f.Out, value.Str(text))
			return err
		}}
	}
	res, err := n.Run(t.Context, s)
	t.Safepoint()
	return res, err
}

func (f *boxForm) checkOut() error {
	if f.Out.IsNil() || isFunction(f.Out) {
		return nil
	}
	return fmt.Errorf(":out: got a %s, want a function of one text", f.Out.Kind())
}

// proxy makes the host's end of a box's network, with the values of its secrets.
func (b *boxes) proxy(ctx context.Context, s *sandbox.Spec) (sandbox.Proxy, error) {
	if s.Egress.Default == "" || s.Egress.Default == sandbox.EgressNone {
		return nil, nil
	}
	full := s.Defaults()
	if err := full.Validate(); err != nil { // before a secret is looked up
		return nil, err
	}
	conf := egress.Config{Policy: egress.Policy{Default: egress.Mode(s.Egress.Default)}, Roots: b.c.conf.Roots, Event: b.c.egressOf(s.Name)}
	for i, r := range s.Egress.Allow {
		rule, err := egress.ParseRule(r.Host)
		if err != nil {
			return nil, fmt.Errorf(":egress :allow %d: %w", i, err)
		}
		rule.Addr = r.Addr
		if r.Port != 0 {
			rule.Port = r.Port
		}
		conf.Policy.Allow = append(conf.Policy.Allow, rule)
	}
	for i, h := range s.Egress.Deny {
		rule, err := egress.ParseRule(h)
		if err != nil {
			return nil, fmt.Errorf(":egress :deny %d: %w", i, err)
		}
		conf.Policy.Deny = append(conf.Policy.Deny, rule)
	}
	for _, sec := range s.Secrets {
		v, err := b.secrets.Resolve(ctx, sec.Env)
		if err != nil {
			return nil, err
		}
		bound := egress.Secret{Env: sec.Env, Hosts: sec.Hosts, Value: v}
		for _, in := range sec.In {
			bound.In = append(bound.In, egress.Place(in))
		}
		conf.Secrets = append(conf.Secrets, bound)
	}
	return egress.New(conf)
}

// listener gives output to a function of the program's. One that throws is not called again.
type listener struct {
	ctx  context.Context
	call func(context.Context, string) error
}

func (l *listener) Write(b []byte) (int, error) {
	if err := l.call(l.ctx, string(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// boxResult is a Result with keywords where the program compares.
func boxResult(t *value.Thread, r sandbox.Result) value.Value {
	killed := any(nil)
	if r.KilledBy != "" {
		killed = bind.Keyword(r.KilledBy)
	}
	return bind.Encode(t, struct {
		Name       string
		Exit       int
		Signal     string `lisp:"signal,omitempty"`
		Out        string
		Err        string
		OutDropped int64        `lisp:"out-dropped,omitempty"`
		ErrDropped int64        `lisp:"err-dropped,omitempty"`
		Status     bind.Keyword `lisp:"status"`
		KilledBy   any
		Ms         float64
		PeakRSS    int64   `lisp:"peak-rss"`
		CPUMs      float64 `lisp:"cpu-ms"`
	}{r.Name, r.Exit, r.Signal, r.Out, r.Err, r.OutDropped, r.ErrDropped, bind.Keyword(r.Status), killed, r.Ms, r.PeakRSS, r.CPUMs})
}

func (b *boxes) exec(t *value.Thread, name string, f struct {
	Argv    []string          `lisp:"argv,required"`
	In      string            `lisp:"in"`
	Env     map[string]string `lisp:"env"`
	Workdir string            `lisp:"workdir"`
	Timeout bind.Duration     `lisp:"timeout"`
	MaxOut  bind.Size         `lisp:"max-out"`
}) (value.Value, error) {
	n, err := b.holding(t.Context, name)
	if err != nil {
		return value.Nil, err
	}
	res, err := n.Exec(t.Context, name, sandbox.ExecSpec{Argv: f.Argv, In: f.In, Env: f.Env, Workdir: f.Workdir,
		Timeout: time.Duration(f.Timeout), MaxOut: int(f.MaxOut)})
	if err != nil {
		return value.Nil, err
	}
	t.Safepoint()
	return boxResult(t, res), nil
}

func (b *boxes) ps(ctx context.Context) ([]sandbox.Body, error) {
	n, err := b.native()
	if err != nil {
		return nil, err
	}
	m, err := b.msb()
	if err != nil {
		return nil, err
	}
	list, err := n.PS(ctx)
	if err != nil {
		return nil, err
	}
	more, err := m.PS(ctx)
	return append(list, more...), err
}

func (b *boxes) stop(ctx context.Context, name string) error {
	n, err := b.holding(ctx, name)
	if err != nil {
		return err
	}
	return n.Stop(ctx, name)
}

func (b *boxes) store() (*volume.Store, error) {
	n, err := b.native()
	if err != nil {
		return nil, err
	}
	return n.Volumes(), nil
}

func (b *boxes) ensure(name string) (bool, error) {
	s, err := b.store()
	if err != nil {
		return false, err
	}
	return s.Ensure(name)
}

func (b *boxes) volumes() ([]volume.Info, error) {
	s, err := b.store()
	if err != nil {
		return nil, err
	}
	return s.List()
}

func (b *boxes) remove(name string) error {
	s, err := b.store()
	if err != nil {
		return err
	}
	return s.Remove(name)
}

func (b *boxes) probe(ctx context.Context) (sandbox.Report, error) {
	n, err := b.native()
	if err != nil {
		return sandbox.Report{}, err
	}
	r := n.Probe(ctx)
	if !r.Usable && ctx.Err() != nil {
		return r, errors.Join(ctx.Err())
	}
	return r, nil
}
