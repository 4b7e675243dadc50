package msb

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

// body is a box that lives.
type body struct {
	spec    *sandbox.Spec
	tool    *tool
	started time.Time
	gone    chan struct{}
	ctx     context.Context // ends with the first kill
	cancel  context.CancelFunc

	mu       sync.Mutex
	killed   string
	up       bool // programs can be run in it
	programs map[*program]bool
	execs    sync.WaitGroup
}

func newBody(s *sandbox.Spec, t *tool) *body {
	y := &body{spec: s, tool: t, started: time.Now(), gone: make(chan struct{}), programs: map[*program]bool{}}
	y.ctx, y.cancel = context.WithCancel(context.Background())
	return y
}

// kill ends what msb does for the box; Run then removes it. The first reason stands.
func (y *body) kill(reason string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.killed == "" {
		y.killed = reason
	}
	y.cancel()
}

func (y *body) reason() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.killed
}

// Run implements sandbox.Backend.
func (b *Backend) Run(ctx context.Context, spec sandbox.Spec) (sandbox.Result, error) {
	res, err := b.run(ctx, spec)
	if err != nil {
		b.event("refused", spec.Name, "%v", err)
	}
	return res, err
}

func (b *Backend) run(ctx context.Context, declared sandbox.Spec) (sandbox.Result, error) {
	s := declared.Defaults()
	if err := s.Validate(); err != nil {
		return sandbox.Result{}, err
	}
	take := b.cfg.Images != nil && unloaded(s.Image)
	if take {
		s.Image = "zeno-box:1" // until it has its name
	}
	if err := acceptable(&declared, &s); err != nil {
		return sandbox.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return sandbox.Result{}, err
	}
	secrets, err := b.secrets(ctx, &s) // before anything is made: msb would find a missing one at the start
	if err != nil {
		return sandbox.Result{}, err
	}
	t, err := b.tool(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	if take {
		if s.Image, err = b.cfg.Images(ctx, declared.Image, names(&s)); err != nil {
			return sandbox.Result{}, err
		}
	}
	if s.Name == "" {
		s.Name = "box-" + newID()
	}
	y := newBody(&s, t)
	defer y.cancel()
	if err := b.enter(y); err != nil {
		return sandbox.Result{}, err
	}
	defer b.leave(y)
	defer close(y.gone)
	release, err := b.take(&s, y.started)
	if err != nil {
		return sandbox.Result{}, err
	}
	l := &launch{b: b, t: t, y: y, s: &s, secrets: secrets}
	defer func() { release(l.removed) }()
	return l.live(ctx)
}

func names(s *sandbox.Spec) (out []string) {
	for _, sec := range s.Secrets {
		out = append(out, sec.Env)
	}
	return out
}

func newID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// secrets finds the values, as the launcher's environment.
func (b *Backend) secrets(ctx context.Context, s *sandbox.Spec) (env []string, err error) {
	for _, sec := range s.Secrets {
		v, err := b.cfg.Secrets.Resolve(ctx, sec.Env)
		if err != nil {
			return nil, err
		}
		if strings.IndexByte(v.Reveal(), 0) >= 0 {
			return nil, fmt.Errorf("secret %s: got a NUL byte, want none", sec.Env)
		}
		env = append(env, sec.Env+"="+v.Reveal())
	}
	return env, nil
}

// launch is one run.
type launch struct {
	b       *Backend
	t       *tool
	y       *body
	s       *sandbox.Spec
	secrets []string // the launcher's environment
	removed bool
}

// live makes the box, runs the program, and removes the box whatever came of that.
func (l *launch) live(ctx context.Context) (sandbox.Result, error) {
	first := newProgram(l.s)
	stop := l.y.watch(ctx, first, l.volumeDir())
	defer stop()
	defer l.remove(ctx)
	if err := l.create(); err != nil {
		return sandbox.Result{}, err
	}
	if l.y.reason() == "" {
		l.b.event("started", l.s.Name, "%q", l.s.Argv)
		first.run(l.y.ctx, l.t, execArgs(l.s, parts(l.s.In), nil), parts(l.s.In))
	}
	l.y.mu.Lock()
	l.y.up = false
	l.y.mu.Unlock()
	res := first.result(l.s.Name)
	l.judge(&res, first)
	l.y.cancel() // what exec started ends with the first program
	l.y.execs.Wait()
	l.b.event("exited", l.s.Name, "exit %d after %.0f ms", res.Exit, res.Ms)
	return res, nil
}

// volumeDir is where msb keeps the volume on the host.
func (l *launch) volumeDir() string {
	if l.s.Volume == "" {
		return ""
	}
	return filepath.Join(l.b.home, "volumes", l.s.Volume)
}

// create makes the box and waits until it is up. A box that was killed meanwhile is no error: the result says so.
func (l *launch) create() error {
	ctx, cancel := context.WithTimeout(l.y.ctx, l.b.cfg.Boot)
	defer cancel()
	if l.s.Volume != "" {
		if _, err := l.t.ensureVolume(ctx, l.s.Volume); err != nil && l.y.reason() == "" {
			return err
		}
	}
	_, errs, err := l.t.finish(ctx, l.secrets, createArgs(l.s)...)
	switch {
	case l.y.reason() != "":
		return nil
	case err == nil:
		l.y.mu.Lock()
		l.y.up = true
		l.y.mu.Unlock()
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("msb: box %s: did not start within %v: try `msb doctor`", l.s.Name, l.b.cfg.Boot)
	}
	return l.whyNot(exitCode(err), l.hide(errs))
}

// whyNot words why msb made no box.
func (l *launch) whyNot(code int, errs string) error {
	ctx, cancel := context.WithTimeout(context.Background(), shortTime)
	defer cancel()
	if _, found, err := l.t.short(ctx, "image", "inspect", l.s.Image); err != nil && strings.Contains(found, "not found") {
		return refuse(":image", fmt.Sprintf("%q is not loaded into msb", clip(l.s.Image, 80)), "load it: (zeno.oci/load! \"FILE.tar\" :msb), or msb load -i FILE.tar")
	}
	if code == 2 { // the words themselves
		return refuse("the spec", "msb does not take its words: "+clip(errs, 500), "use msb 0.6.18")
	}
	return fmt.Errorf("msb: box %s: did not start: %s", l.s.Name, clip(errs, 1000))
}

// hide takes values out of what msb printed, should it ever print one.
func (l *launch) hide(text string) string {
	for _, kv := range l.secrets {
		if name, value, ok := strings.Cut(kv, "="); ok && value != "" {
			text = strings.ReplaceAll(text, value, "$MSB_"+name)
		}
	}
	return text
}

// remove ends the box. One that cannot be removed keeps its record: the next Reap tries again, and msb's own clock ends it.
func (l *launch) remove(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	var err error
	for range 2 {
		if err = l.t.remove(ctx, l.s.Name); err == nil {
			l.removed = true
			return
		}
	}
	l.b.event("leftover", l.s.Name, "%v", err)
}

// judge says what ended the program. One that exited well exited well, whatever was asked meanwhile.
func (l *launch) judge(res *sandbox.Result, p *program) {
	res.KilledBy = l.y.reason()
	switch {
	case p.exited && res.Exit == 0:
		res.KilledBy, res.Status = "", "ok"
	case res.KilledBy != "":
		l.killed(res)
	case l.lost():
		res.KilledBy = "unknown" // the machine went down under the program
		l.killed(res)
	default:
		res.Status = "failed"
	}
}

func (l *launch) killed(res *sandbox.Result) {
	res.Status, res.Exit, res.Signal = "killed", 137, "SIGKILL"
	l.b.event("killed", l.s.Name, "by %s", res.KilledBy)
}

// lost tells whether the box is down although nobody ended it: msb's exit code 1 is also that of a program.
func (l *launch) lost() bool {
	ctx, cancel := context.WithTimeout(context.Background(), shortTime)
	defer cancel()
	up, err := l.t.running(ctx, l.s.Name)
	if err != nil {
		l.b.event("leftover", l.s.Name, "%v", err)
		return false
	}
	return !up
}

// Exec implements sandbox.Backend.
func (b *Backend) Exec(ctx context.Context, name string, spec sandbox.ExecSpec) (sandbox.Result, error) {
	b.mu.Lock()
	y := b.bodies[name]
	b.mu.Unlock()
	if y == nil {
		return sandbox.Result{}, b.elsewhere(ctx, name)
	}
	s := sandbox.Spec{Argv: spec.Argv, In: spec.In, Env: spec.Env, Workdir: spec.Workdir, Timeout: spec.Timeout, MaxOut: spec.MaxOut,
		Stdin: spec.Stdin, Stdout: spec.Stdout, Stderr: spec.Stderr, Name: name, User: y.spec.User, Pids: y.spec.Pids}
	if s.Workdir == "" {
		s.Workdir = startDir(y.spec)
	}
	s = s.Defaults()
	if err := s.ValidateExec(); err != nil {
		return sandbox.Result{}, err
	}
	if err := acceptText(nil, &s); err != nil {
		return sandbox.Result{}, err
	}
	p := newProgram(&s)
	if !y.join(p) {
		return sandbox.Result{}, &sandbox.NoBody{Name: name}
	}
	defer y.part(p)
	b.event("exec", name, "%q", s.Argv)
	return y.exec(ctx, &s, p), nil
}

// exec runs a program until it exits, its time is over, or the box ends. The client is ended; what it started in the box
// is told by msb's own --timeout, and ends with the box at the latest.
func (y *body) exec(ctx context.Context, s *sandbox.Spec, p *program) sandbox.Result {
	run, cancel := context.WithTimeout(y.ctx, s.Timeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	p.run(run, y.tool, execArgs(s, parts(s.In), s.Env), parts(s.In))
	res := p.result(s.Name)
	switch {
	case p.exited && res.Exit == 0:
		res.Status = "ok"
	case p.exited:
		res.Status = "failed"
	default:
		res.Status, res.KilledBy = "killed", sandbox.KilledStop
		if y.ctx.Err() == nil {
			res.KilledBy = sandbox.KilledTimeout
		}
		if ctx.Err() != nil {
			res.KilledBy = sandbox.KilledCancel
		} else if r := y.reason(); r != "" {
			res.KilledBy = r
		}
	}
	return res
}

func (y *body) join(p *program) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if !y.up || y.ctx.Err() != nil {
		return false
	}
	y.programs[p] = true
	y.execs.Add(1)
	return true
}

func (y *body) part(p *program) {
	y.mu.Lock()
	delete(y.programs, p)
	y.mu.Unlock()
	y.execs.Done()
}
