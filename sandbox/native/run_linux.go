package native

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// Run implements sandbox.Backend.
func (b *Backend) Run(ctx context.Context, spec sandbox.Spec) (sandbox.Result, error) {
	spec = spec.Defaults()
	res, err := b.run(ctx, &spec)
	if err != nil {
		b.event("refused", spec.Name, "%v", err)
	}
	return res, err
}

func (b *Backend) run(ctx context.Context, spec *sandbox.Spec) (sandbox.Result, error) {
	if err := spec.Validate(); err != nil {
		return sandbox.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return sandbox.Result{}, err
	}
	b.host.look()
	if err := b.enforceable(spec); err != nil {
		return sandbox.Result{}, err
	}
	id := newID()
	spec.Name = or(spec.Name, "box-"+id)
	body := newBody(b, id, spec)
	if err := b.enter(spec.Name, body); err != nil {
		return sandbox.Result{}, err
	}
	defer b.leave(spec.Name)
	defer close(body.gone)
	l := &launch{b: b, body: body, spec: spec}
	defer l.release()
	if err := l.prepare(); err != nil {
		return sandbox.Result{}, err
	}
	first, err := l.start(ctx)
	if err != nil {
		return sandbox.Result{}, l.abandon(err)
	}
	return body.attend(first), nil
}

func newID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// launch is a run up to the start of its program. What it takes it gives back in reverse.
type launch struct {
	b    *Backend
	body *body
	spec *sandbox.Spec

	undo   []func()
	base   int // first id of the box on the host; 0 where the box has the caller's
	mounts []int
	record *os.File
}

func (l *launch) onRelease(f func()) { l.undo = append(l.undo, f) }

func (l *launch) release() {
	for i := len(l.undo) - 1; i >= 0; i-- {
		l.undo[i]()
	}
}

// prepare takes the volume, ids, the record and cgroups.
func (l *launch) prepare() error {
	if err := l.takeVolume(); err != nil {
		return err
	}
	if l.b.host.root {
		base, release, err := l.b.host.ids.take()
		if err != nil {
			return err
		}
		l.base = base
		l.onRelease(release)
	}
	s := l.spec
	rec := &record{ID: l.body.id, Name: s.Name, Argv: s.Argv, Volume: s.Volume, Started: l.body.started,
		Owner: os.Getpid(), OwnerStart: l.b.host.start}
	var g *group
	if l.b.host.cgroups.usable() {
		g = l.b.host.cgroups.plan(l.body.id)
		rec.Cgroups = g.paths()
	}
	f, err := l.b.create(rec)
	if err != nil {
		return err
	}
	l.record = f
	l.onRelease(func() {
		f.Close()
		os.Remove(f.Name())
	})
	if g == nil {
		return nil
	}
	if err := g.make(s, threads); err != nil {
		return err
	}
	l.body.group = g
	l.onRelease(func() {
		if err := g.remove(); err != nil {
			l.b.event("leftover", s.Name, "%v", err)
		}
	})
	return nil
}

func (l *launch) takeVolume() error {
	s := l.spec
	if s.Volume == "" {
		return nil
	}
	made, err := l.b.cfg.Volumes.Ensure(s.Volume)
	if err != nil {
		return err
	}
	held, err := l.b.cfg.Volumes.Lock(s.Volume, or(s.Holder, fmt.Sprintf("box %s of zeno %d", s.Name, os.Getpid())))
	if err != nil {
		return err
	}
	l.onRelease(func() { held.Close() })
	l.body.volume = l.b.cfg.Volumes.Path(s.Volume)
	if made && l.b.host.root && s.User != 0 {
		if err := os.Chown(l.body.volume, s.User, s.User); err != nil {
			return fmt.Errorf("failed to give volume %s to the program: %w", s.Volume, err)
		}
	}
	return nil
}

// start makes the first process, tells it what to be, and waits until the program runs. The bounds of time hold from
// the first process on: it may come to wait for a file system that does not answer.
func (l *launch) start(ctx context.Context) (*running, error) {
	cfg, err := l.b.plan(l.spec)
	if err != nil {
		return nil, err
	}
	prog, err := l.b.host.stageTwo(l.b.cfg.Stage2, l.b.cfg.Self)
	if err != nil {
		return nil, err
	}
	l.body.owner = l.ids()
	first, err := newRunning(l.spec, l.body.owner)
	if err != nil {
		return nil, err
	}
	proc, err := fork(prog, l.body.group, l.base)
	if err != nil {
		first.discard()
		return nil, err
	}
	l.body.born(proc)
	l.onRelease(l.body.end)
	l.onRelease(l.body.watch(ctx, first))
	if err := add(l.record, proc); err != nil {
		first.discard()
		return nil, err
	}
	if err := l.configure(proc, cfg, first); err != nil {
		first.discard()
		return nil, err
	}
	return first, l.body.await(first, l.spec.Proxy, cfg.Net.Ports)
}

// ids are the owner of the program's streams on the host; -1 is the caller.
func (l *launch) ids() int {
	if l.base == 0 {
		return -1
	}
	return l.base + l.spec.User
}

func (l *launch) configure(p *process, cfg *stage2.Config, first *running) error {
	if err := p.mapIDs(l.base, l.spec.User); err != nil {
		return err
	}
	defer l.closeMounts()
	if err := l.hostMounts(p, cfg); err != nil {
		return err
	}
	if err := p.configure(cfg, first.child, l.mounts); err != nil {
		return err
	}
	first.closeChild()
	return nil
}

// hostMounts adds the volume, and as root opens what the box could not: directories that only root may enter.
func (l *launch) hostMounts(p *process, cfg *stage2.Config) error {
	add := func(path string, write bool) (int, error) {
		if l.base == 0 {
			return -1, nil
		}
		fd, err := p.mapped(path, write)
		if err != nil {
			return -1, err
		}
		l.mounts = append(l.mounts, fd)
		return len(l.mounts) - 1, nil
	}
	for i := range cfg.Layers {
		fd, err := add(cfg.Layers[i].Path, false)
		if err != nil {
			return err
		}
		cfg.Layers[i].FD = fd
	}
	for i := range cfg.Binds {
		if cfg.Binds[i].Optional { // the host's own: anyone may enter them, and their ids stay those of nobody
			continue
		}
		fd, err := add(cfg.Binds[i].Path, false)
		if err != nil {
			return err
		}
		cfg.Binds[i].FD = fd
	}
	if l.body.volume == "" {
		return nil
	}
	fd, err := add(l.body.volume, true)
	cfg.Binds = append(cfg.Binds, stage2.Bind{Source: stage2.Source{Path: l.body.volume, FD: fd}, Dst: l.spec.Workdir, Write: true})
	return err
}

func (l *launch) closeMounts() {
	for _, fd := range l.mounts {
		syscall.Close(fd)
	}
	l.mounts = nil
}

// abandon is the error of a box that did not come up; one that was killed for memory says so.
func (l *launch) abandon(err error) error {
	if l.body.group != nil && l.body.group.oomKills() > 0 {
		return fmt.Errorf("%w: the box ran out of memory while it was made: give it more :memory", err)
	}
	return err
}

// since gives milliseconds.
func since(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }
