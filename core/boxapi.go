package core

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/volume"
)

// ReadProfile reads a profile of a box: one map of data, in the words of zeno.sandbox/run. Nothing in it is evaluated.
func ReadProfile(text string) (spawn.Box, error) {
	t := value.NewThread(value.NewRun(context.Background(), limit.Defaults()), value.NewEnv(value.NewNamespace("user"), nil))
	r := read.New(t, text, read.Options{EDN: true})
	v, err := r.Read()
	if err != nil {
		return spawn.Box{}, err
	}
	if !v.Kind().IsMap() {
		return spawn.Box{}, fmt.Errorf("profile: got a %s, want one map such as {:egress {:allow [\"pkg.example.net\"]} :memory \"1G\"}", v.Kind())
	}
	var f profileForm
	if err := bind.Decode(t, v, &f); err != nil {
		return spawn.Box{}, fmt.Errorf("profile: %w", err)
	}
	return f.box(), nil
}

// BoxSpec is a box as a spec, for a program that is not an agent.
func BoxSpec(b spawn.Box) sandbox.Spec {
	return sandbox.Spec{Image: b.Image, Volume: b.Volume, Read: b.Read, Env: b.Env, Secrets: b.Secrets, Egress: b.Egress,
		CPUs: b.CPUs, Memory: b.Memory, Pids: b.Pids, Disk: b.Disk, TTL: b.TTL, IdleTimeout: b.IdleTimeout,
		Backend: b.Backend, Runtime: b.Runtime, Seccomp: b.Seccomp}
}

// RunBox runs a program in a box to its end. Its network's proxy, where it has one, is the instance's.
func (c *Core) RunBox(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
	if s.Name == "" {
		s.Name = "box-" + strings.ToLower(rand.Text()[:10])
	}
	n, err := c.boxes.attach(ctx, &s)
	if err != nil {
		return sandbox.Result{}, err
	}
	return n.Run(ctx, s)
}

// Boxes lists the live boxes of the home, whichever zeno runs them.
func (c *Core) Boxes(ctx context.Context) ([]sandbox.Body, error) { return c.boxes.ps(ctx) }

// StopBox ends a box, whichever zeno runs it.
func (c *Core) StopBox(ctx context.Context, name string) error { return c.boxes.stop(ctx, name) }

// ExecBox runs one more program in a box that this instance runs.
func (c *Core) ExecBox(ctx context.Context, name string, s sandbox.ExecSpec) (sandbox.Result, error) {
	n, err := c.boxes.holding(ctx, name)
	if err != nil {
		return sandbox.Result{}, err
	}
	return n.Exec(ctx, name, s)
}

// Volumes gives the home's volumes.
func (c *Core) Volumes() (*volume.Store, error) { return c.boxes.store() }

// boxVerbs are those of boxes at the control socket.
func (c *Core) boxVerbs() []control.Verb {
	return []control.Verb{
		{Name: "sandbox/ps", Doc: "the live boxes", Call: func(ctx context.Context, _ control.Request) (any, error) {
			list, err := c.Boxes(ctx)
			if list == nil {
				list = []sandbox.Body{}
			}
			return list, err
		}},
		{Name: "sandbox/stop", Doc: "end a box: {name}", Change: true, Call: c.verbBoxStop},
		{Name: "sandbox/exec", Doc: "run one more program in a box: {name, argv, in, env, workdir, timeout}", Change: true, Stream: c.verbBoxExec},
	}
}

func (c *Core) verbBoxStop(ctx context.Context, q control.Request) (any, error) {
	var in struct{ Name string }
	if err := q.Decode(&in); err != nil {
		return nil, err
	}
	if err := c.StopBox(ctx, in.Name); err != nil {
		return nil, &control.Error{Kind: control.Usage, Message: err.Error()}
	}
	return map[string]any{"stopped": in.Name}, nil
}

// BoxExec is the argument of sandbox/exec.
type BoxExec struct {
	Name string `json:"name"`
	sandbox.ExecSpec
}

// BoxOutput is a line of what sandbox/exec answers: a piece of a stream, or the end.
type BoxOutput struct {
	Out  []byte          `json:"out,omitempty"`
	Err  []byte          `json:"err,omitempty"`
	Done *sandbox.Result `json:"done,omitempty"`
}

func (c *Core) verbBoxExec(ctx context.Context, q control.Request, send func(any) error) error {
	var in BoxExec
	if err := q.Decode(&in); err != nil {
		return err
	}
	out := &lineSender{send: send}
	in.Stdout = sendTo(func(b []byte) error { return out.line(BoxOutput{Out: b}) })
	in.Stderr = sendTo(func(b []byte) error { return out.line(BoxOutput{Err: b}) })
	in.MaxOut = 1
	res, err := c.ExecBox(ctx, in.Name, in.ExecSpec)
	if err != nil {
		return &control.Error{Kind: control.Usage, Message: err.Error()}
	}
	res.Out, res.Err = "", ""
	return out.line(BoxOutput{Done: &res})
}
