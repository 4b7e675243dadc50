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
	release, err := b.image(ctx, &spec)
	if err != nil {
		b.event("refused", spec.Name, "%v", err)
		return sandbox.Result{}, err
	}
	defer release()
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
	if spec.Runtime == "runsc" {
		return b.runGuest(ctx, spec)
	}
	seat, err := b.takeSeat()
	if err != nil {
		return sandbox.Result{}, err
	}
	defer b.follow()
	defer seat.release()
	l, leave, err := b.settle(seat, newBody(b, seat, spec))
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	first, err := l.start(ctx)
	if err != nil {
		return sandbox.Result{}, l.abandon(err)
	}
	return l.body.attend(first)
}

// settle gives the body its name and its volume. leave gives back all that it has, its name last: who takes that next finds
// nothing of it any more.
func (b *Backend) settle(s *seat, y *body) (l *launch, leave func(), err error) {
	named := y.spec.Name != ""
	y.spec.Name = or(y.spec.Name, "box-"+s.id)
	if err := b.enter(y.spec.Name, y); err != nil {
		return nil, nil, err
	}
	l = &launch{b: b, body: y, spec: y.spec, seat: s}
	leave = func() {
		l.release()
		s.release()
		b.leave(y.spec.Name)
		close(y.gone)
	}
	if err = b.register(s, y, named); err == nil {
		err = l.takeVolume()
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return l, leave, nil
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

	seat   *seat
	undo   []func()
	mounts []int
}

func (l *launch) onRelease(f func()) { l.undo = append(l.undo, f) }

func (l *launch) release() {
	for i := len(l.undo) - 1; i >= 0; i-- {
		l.undo[i]()
	}
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

// start tells the first process what to be, and waits until the program runs. The bounds of time hold from here on:
// it may come to wait for a file system that does not answer.
func (l *launch) start(ctx context.Context) (*running, error) {
	cfg, err := l.b.plan(l.spec)
	if err != nil {
		return nil, err
	}
	l.body.owner = l.ids()
	first, err := newRunning(l.spec, l.body.owner)
	if err != nil {
		return nil, err
	}
	l.body.born(l.seat.proc)
	l.onRelease(l.body.end)
	l.onRelease(l.body.watch(ctx, first))
	if err := l.tell(cfg, first); err != nil {
		if l.body.reason() != "" || l.body.stoppedByOther() { // it ended before it was told
			first.closeChild()
			close(l.body.lost)
			return first, nil
		}
		first.discard()
		return nil, err
	}
	return first, l.body.await(first, l.spec.Proxy, cfg.Net.Ports)
}

// tell bounds the first process and configures it.
func (l *launch) tell(cfg *stage2.Config, first *running) error {
	if g := l.seat.group; g != nil {
		if err := g.limit(l.spec, threads); err != nil {
			return err
		}
	}
	return l.configure(l.seat.proc, cfg, first)
}

// ids are the owner of the program's streams on the host; -1 is the caller.
func (l *launch) ids() int {
	if l.seat.base == 0 {
		return -1
	}
	return l.seat.base + l.spec.User
}

func (l *launch) configure(p *process, cfg *stage2.Config, first *running) error {
	if err := p.mapIDs(l.seat.base, l.spec.User); err != nil {
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
	add := func(from stage2.Source, write bool) (int, error) {
		if l.seat.base == 0 {
			return -1, nil
		}
		fd, err := p.mapped(from, write)
		if err != nil {
			return -1, err
		}
		l.mounts = append(l.mounts, fd)
		return len(l.mounts) - 1, nil
	}
	for i := range cfg.Layers {
		fd, err := add(cfg.Layers[i], false)
		if err != nil {
			return err
		}
		cfg.Layers[i].FD = fd
	}
	for i := range cfg.Binds {
		if cfg.Binds[i].Optional { // the host's own: anyone may enter them, and their ids stay those of nobody
			continue
		}
		fd, err := add(cfg.Binds[i].Source, cfg.Binds[i].Write)
		if err != nil {
			return err
		}
		cfg.Binds[i].FD = fd
	}
	if l.body.volume == "" {
		return nil
	}
	fd, err := add(stage2.Source{Path: l.body.volume}, true)
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
