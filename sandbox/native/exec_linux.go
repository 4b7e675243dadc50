package native

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// Exec implements sandbox.Backend: stage two starts the program from the thread that started the first one, so that the
// same constraints hold.
func (b *Backend) Exec(ctx context.Context, name string, spec sandbox.ExecSpec) (sandbox.Result, error) {
	y := b.body(name)
	if y == nil {
		err := b.elsewhere(ctx, name)
		if y = b.body(name); y == nil { // it may have begun since
			return sandbox.Result{}, err
		}
	}
	if y.guest {
		return sandbox.Result{}, &sandbox.Unenforceable{Backend: "native", What: "exec with :runtime :runsc",
			Why: "a program that gVisor was asked to start cannot be ended without the box", Fix: "run it in a box of its own, or leave :runtime out"}
	}
	full := sandbox.Spec{Argv: spec.Argv, In: spec.In, Env: spec.Env, Workdir: or(spec.Workdir, y.spec.Workdir), Timeout: spec.Timeout,
		MaxOut: spec.MaxOut, Stdin: spec.Stdin, Stdout: spec.Stdout, Stderr: spec.Stderr, Name: name, User: y.spec.User}.Defaults()
	if err := full.ValidateExec(); err != nil {
		return sandbox.Result{}, err
	}
	return y.exec(ctx, &full)
}

// elsewhere explains why there is nothing to run in.
func (b *Backend) elsewhere(ctx context.Context, name string) error {
	bodies, err := b.PS(ctx)
	if err != nil {
		return err
	}
	for _, o := range bodies {
		if o.Name == name {
			return fmt.Errorf("sandbox: body %q: belongs to zeno %d, and only the zeno that runs a body can run more in it: ask that one", name, o.Owner)
		}
	}
	return &sandbox.NoBody{Name: name}
}

func (y *body) exec(ctx context.Context, s *sandbox.Spec) (sandbox.Result, error) {
	merged := *y.spec
	merged.Env = map[string]string{}
	for k, v := range y.spec.Env {
		merged.Env[k] = v
	}
	for k, v := range s.Env {
		merged.Env[k] = v
	}
	select { // whoever heard from the first program may be faster than this process, which hears that it began
	case <-y.open:
	case <-y.gone:
		return sandbox.Result{}, &sandbox.NoBody{Name: s.Name}
	case <-ctx.Done():
		return sandbox.Result{}, ctx.Err()
	}
	r, err := newRunning(s, y.owner)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer r.discard()
	y.mu.Lock()
	if y.ended {
		y.mu.Unlock()
		return sandbox.Result{}, &sandbox.NoBody{Name: s.Name}
	}
	id := y.nextID
	y.nextID++
	y.programs[id] = r
	y.mu.Unlock()
	p := stage2.Program{ID: id, Argv: s.Argv, Env: environment(&merged), Dir: s.Workdir}
	if err := y.proc.sendText(stage2.MsgProgram, p.Encode(), int(r.child[0].Fd()), int(r.child[1].Fd()), int(r.child[2].Fd())); err != nil {
		y.finish(id, outcome{})
		return sandbox.Result{}, &sandbox.NoBody{Name: s.Name} // it has just ended
	}
	r.closeChild()
	y.b.event("exec", s.Name, "%q", s.Argv)
	return y.attendExec(ctx, r, id, s)
}

// grace is how long a program that was killed may take to end. Only one that another stopped before it was executed takes
// longer: stage two, which waits for that, hears of no signal then, and the whole box is ended.
const grace = 5 * time.Second

func (y *body) attendExec(ctx context.Context, r *running, id uint64, s *sandbox.Spec) (sandbox.Result, error) {
	deadline := time.NewTimer(s.Timeout)
	defer deadline.Stop()
	reason, late := "", make(<-chan time.Time)
	end := func(why string) {
		reason, late = why, time.After(grace)
		y.proc.send(stage2.MsgSignal, stage2.PutNumbers(id, uint64(syscall.SIGKILL)))
	}
	cancelled := ctx.Done()
	for {
		select {
		case o := <-r.done:
			if o.failed != nil {
				return sandbox.Result{}, notStarted(s.Argv[0], o.failed)
			}
			res := r.result(o)
			res.Name, res.KilledBy, res.Status = s.Name, reason, "ok"
			if o.exit == nil && reason == "" {
				res.KilledBy = or(y.reason(), sandbox.KilledStop)
			}
			if res.KilledBy != "" {
				res.Status = "killed"
			} else if res.Exit != 0 {
				res.Status = "failed"
			}
			return res, nil
		case <-deadline.C:
			end(sandbox.KilledTimeout)
		case <-cancelled:
			cancelled = nil
			end(sandbox.KilledCancel)
		case <-late:
			y.kill(reason)
		}
	}
}
