package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// sandboxForm is :sandbox of a spawn: :none, a profile, or nothing for the default box.
type sandboxForm struct {
	name string
	box  spawn.Box
}

// DecodeLisp implements bind.Decoder.
func (f *sandboxForm) DecodeLisp(t *value.Thread, v value.Value) error {
	switch {
	case v.IsNil():
		return nil
	case v.Kind().IsMap():
		var p profileForm
		if err := bind.Decode(t, v, &p); err != nil {
			return err
		}
		f.box = p.box()
		return nil
	}
	return bind.Decode(t, v, &f.name)
}

// profileForm is what a box may use: of a spawn, and of zeno.sandbox/run, which knows more words.
type profileForm struct {
	Image       imageForm         `lisp:"image"`
	Volume      string            `lisp:"volume"`
	Read        []string          `lisp:"read"`
	Env         map[string]string `lisp:"env"`
	Secrets     []sandbox.Secret  `lisp:"secrets"`
	Egress      egressForm        `lisp:"egress"`
	CPUs        float64           `lisp:"cpus"`
	Memory      bind.Size         `lisp:"memory"`
	Pids        int               `lisp:"pids"`
	Disk        bind.Size         `lisp:"disk"`
	TTL         bind.Duration     `lisp:"ttl"`
	IdleTimeout bind.Duration     `lisp:"idle-timeout"`
	Seccomp     string            `lisp:"seccomp"`
	Runtime     string            `lisp:"runtime"`
	Backend     string            `lisp:"backend"`
}

func (p *profileForm) box() spawn.Box {
	return spawn.Box{Image: string(p.Image), Volume: p.Volume, Read: p.Read, Env: p.Env, Secrets: p.Secrets, Egress: sandbox.Egress(p.Egress),
		CPUs: p.CPUs, Memory: int64(p.Memory), Pids: p.Pids, Disk: int64(p.Disk), TTL: time.Duration(p.TTL),
		IdleTimeout: time.Duration(p.IdleTimeout), Seccomp: p.Seccomp, Runtime: p.Runtime, Backend: p.Backend}
}

// spawnBoxes are the instance's boxes as a runner of spawns sees them.
type spawnBoxes struct {
	*native.Backend
	b *boxes
}

// forSpawns is spawn.Config.Boxes.
func (b *boxes) forSpawns() (spawn.Boxes, error) {
	n, err := b.native()
	if err != nil {
		return nil, err
	}
	return spawnBoxes{n, b}, nil
}

// Run notes whose box it is: what happens to it is recorded under the spawn.
func (s spawnBoxes) Run(ctx context.Context, spec sandbox.Spec) (sandbox.Result, error) {
	s.b.owners.Store(spec.Name, strings.TrimPrefix(spec.Holder, "spawn "))
	defer s.b.owners.Delete(spec.Name)
	n, err := s.b.of(spec.Backend)
	if err != nil {
		return sandbox.Result{}, err
	}
	return n.Run(ctx, spec)
}

// happened records what happens to a box: that it began, how it ended, that it was refused.
func (b *boxes) happened(e sandbox.Event) {
	b.c.conf.Log.Info("sandbox", "kind", e.Kind, "box", e.Box, "text", e.Text)
	je := journal.Event{At: e.Time, Outcome: "ok", Data: map[string]any{"box": e.Box, "what": e.Kind, "text": clip(strings.ToValidUTF8(e.Text, "�"))}}
	switch e.Kind {
	case "started":
		je.Kind = "sandbox/started"
	case "exited", "killed", "refused":
		je.Kind, je.Durable = "sandbox/ended", true
		if e.Kind != "exited" {
			je.Outcome = e.Kind
		}
	default: // exec, reaped, leftover, egress
		je.Kind = "sandbox/" + e.Kind
	}
	if id, ok := b.owners.Load(e.Box); ok {
		je.Spawn, _ = id.(string)
		if j := b.c.jobs.attempt(je.Spawn); j != nil {
			je.Role = j.role
		}
	}
	_, _ = b.c.record(je) // a failure is reported
}

// spawnEgress records what the proxy of a spawn's box decides.
func (c *Core) spawnEgress(id, role string, e egress.Event) {
	je := egressEvent(id, e)
	je.Spawn, je.Role = id, role
	_, _ = c.record(je) // a failure is reported
}

// trusted refuses an unboxed agent of a role that may do what a person has to approve: with a shell it could read what
// lets it approve that itself.
func trusted(req spawn.Request, g *grant.Grant) error {
	scripted := req.Backend == spawn.Scripted && req.Entry == nil
	if scripted || req.Sandbox != spawn.SandboxNone || req.Trust {
		return nil
	}
	i := slices.IndexFunc(g.Caps, func(c *grant.Capability) bool { return c.Approve })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("sandbox: got :none for role %s, whose %s a person has to approve: an agent without a box could reach the operator's token and approve it itself; leave :sandbox out, or say :trust true",
		req.Role, g.Caps[i].Name)
}
