package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// runGuest runs a box under gVisor.
func (b *Backend) runGuest(ctx context.Context, spec *sandbox.Spec) (sandbox.Result, error) {
	runsc, err := b.runsc()
	if err != nil {
		return sandbox.Result{}, err
	}
	seat := &seat{b: b, id: newID()}
	defer seat.release()
	if err := seat.claim(); err != nil {
		return sandbox.Result{}, err
	}
	body := newBody(b, seat, spec)
	body.guest, body.owner = true, -1
	l, leave, err := b.settle(seat, body)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	g := &guest{runsc: runsc, dir: b.guestDir(seat.id), id: "zeno-" + seat.id}
	l.onRelease(func() { b.discardGuest(g, seat) })
	first, ended, err := l.startGuest(ctx, g)
	if err != nil {
		return sandbox.Result{}, l.abandon(err)
	}
	return body.attendGuest(g, first, ended)
}

// startGuest starts runsc under the bounds of the box.
func (l *launch) startGuest(ctx context.Context, g *guest) (*running, <-chan struct{}, error) {
	cfg, err := l.b.plan(l.spec)
	if err != nil {
		return nil, nil, err
	}
	if err := g.write(cfg, l.spec, l.body.volume); err != nil {
		return nil, nil, err
	}
	if err := l.seat.group.limit(l.spec, guestThreads); err != nil {
		return nil, nil, err
	}
	first, err := newRunning(l.spec, -1)
	if err != nil {
		return nil, nil, err
	}
	pid, ended, err := g.start(l.seat.group, first.child)
	if err != nil {
		first.discard()
		return nil, nil, fmt.Errorf("failed to start runsc: %w", err)
	}
	first.closeChild()
	l.body.born(&process{pid: pid, start: startOf(pid)})
	l.onRelease(l.body.end)
	l.onRelease(l.body.watch(ctx, first))
	if err := l.seat.note(record{Pid: pid, PidStart: l.body.proc.start}); err != nil {
		first.discard()
		return nil, nil, err
	}
	l.b.event("started", l.spec.Name, "%q under gVisor", first.argv)
	return first, ended, nil
}

// attendGuest waits for the end of runsc, which ends as the program did, and ends what is left of the box.
func (y *body) attendGuest(g *guest, first *running, ended <-chan struct{}) (sandbox.Result, error) {
	<-ended
	y.mu.Lock()
	y.group.kill()
	y.mu.Unlock()
	y.end()
	y.lastCount()
	o := outcome{}
	if y.reason() == "" || y.proc.status.Exited() {
		o.exit = &stage2.Exit{Status: int(y.proc.status), MaxRSS: uint64(y.proc.usage.Maxrss) << 10,
			CPU: uint64((y.proc.usage.Utime.Nano() + y.proc.usage.Stime.Nano()) / 1000)}
	}
	res := first.result(o)
	res.Name = y.spec.Name
	oom := 0
	if res.Exit != 0 {
		oom = y.group.oomKills()
	}
	if why := g.failure(); why != "" && y.reason() == "" && oom == 0 && res.Exit != 0 {
		return sandbox.Result{}, fmt.Errorf("sandbox: run in the box under gVisor: %s", why)
	}
	res.PeakRSS = max(res.PeakRSS, y.group.peak())
	y.judge(&res, o, oom)
	y.b.event("exited", y.spec.Name, "exit %d after %.0f ms", res.Exit, res.Ms)
	return res, nil
}

// failure is what runsc itself failed with: only that is in its log.
func (g *guest) failure() string {
	text, err := os.ReadFile(g.log())
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(text), "\n") {
		var e struct{ Level, Msg string }
		if json.Unmarshal([]byte(line), &e) == nil && (e.Level == "error" || e.Level == "fatal") {
			return firstLine(e.Msg)
		}
	}
	return ""
}

// discardGuest removes the bundle and what runsc knows of it. Nothing runs any more.
func (b *Backend) discardGuest(g *guest, s *seat) {
	err := g.delete()
	for _, d := range s.group.paths() {
		err = errors.Join(err, removeBelow(d))
	}
	if err != nil {
		b.event("leftover", s.id, "%v", err)
	}
	if err := os.RemoveAll(g.dir); err != nil {
		b.event("leftover", s.id, "%v", err)
	}
}

// reapGuest ends what a zeno that is gone left of a box under gVisor; of another box it finds nothing.
func (b *Backend) reapGuest(r *record) error {
	dir := b.guestDir(r.ID)
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	for _, d := range r.Cgroups {
		killGroup(d)
		if err := removeBelow(d); err != nil {
			return err
		}
	}
	if runsc, err := b.runsc(); err == nil {
		if err := (&guest{runsc: runsc, dir: dir, id: "zeno-" + r.ID}).delete(); err != nil {
			b.event("leftover", r.Name, "%v", err)
		}
	}
	return os.RemoveAll(dir) // its mounts went with its processes
}

// removeBelow removes the groups that were made within a box's.
func removeBelow(dir string) error {
	var errs []error
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			sub := filepath.Join(dir, e.Name())
			errs = append(errs, removeBelow(sub), removeGroups([]string{sub}))
		}
	}
	return errors.Join(errs...)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s[:min(len(s), 300)]
}
