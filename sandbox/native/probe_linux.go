package native

import (
	"context"
	"errors"
	"time"
	"unsafe"

	"github.com/reflection-dev/zeno/sandbox"
)

func pointerTo(p *uint32) unsafe.Pointer { return unsafe.Pointer(p) }

// Probe implements sandbox.Backend. It runs a box: on some systems the clone succeeds and the first mount is refused, so
// that nothing less tells.
func (b *Backend) Probe(ctx context.Context) sandbox.Report {
	b.host.look()
	r := sandbox.Report{Backend: "native"}
	run := b.probeRun(ctx)
	r.Usable = run.OK
	r.Checks = append(r.Checks, run, b.host.idReport(), seccompReport(), landlockReport(b.host.landlock))
	r.Checks = append(r.Checks, b.host.limitReport()...)
	r.Checks = append(r.Checks,
		sandbox.Check{What: "disk", OK: true, How: "the root is a tmpfs of that size; a volume is watched every 100 ms"},
		b.probeVolume(ctx),
		b.probeGuest(ctx))
	return r
}

// probeGuest tries a box under gVisor.
func (b *Backend) probeGuest(ctx context.Context) sandbox.Check {
	c := sandbox.Check{What: "runsc"}
	res, err := b.run(ctx, ptr(sandbox.Spec{Argv: []string{"true"}, Runtime: "runsc", Timeout: 10 * time.Second}.Defaults()))
	var no *sandbox.Unenforceable
	switch {
	case err == nil && res.Exit == 0:
		c.OK, c.How = true, "a box ran under gVisor"
	case errors.As(err, &no):
		c.How, c.Fix = no.Why, no.Fix
	case err != nil:
		c.How, c.Fix = err.Error(), gvisorFix
	default:
		c.How, c.Fix = "a box under gVisor: "+firstLine(res.Err), gvisorFix
	}
	return c
}

// probeRun tries namespaces, mounts, network and filter: a box that runs what every system has.
func (b *Backend) probeRun(ctx context.Context) sandbox.Check {
	c := sandbox.Check{What: "boxes"}
	_, err := b.run(ctx, ptr(sandbox.Spec{Argv: []string{"true"}, Timeout: 10 * time.Second}.Defaults()))
	var no *sandbox.Unenforceable
	switch {
	case err == nil:
		c.OK, c.How = true, "namespaces, mounts, network and filter: a box ran"
	case errors.As(err, &no):
		c.How, c.Fix = no.What+": "+no.Why, no.Fix
	default:
		c.How = err.Error()
	}
	return c
}

// probeVolume tries a volume: as root that needs a file system that maps ids.
func (b *Backend) probeVolume(ctx context.Context) sandbox.Check {
	c := sandbox.Check{What: "volumes"}
	name := "zeno-probe-" + newID()
	defer b.cfg.Volumes.Remove(name)
	_, err := b.run(ctx, ptr(sandbox.Spec{Argv: []string{"true"}, Volume: name, Timeout: 10 * time.Second}.Defaults()))
	var no *sandbox.Unenforceable
	switch {
	case err == nil:
		c.OK, c.How = true, "in "+b.cfg.Volumes.Dir
	case errors.As(err, &no):
		c.How, c.Fix = no.What+": "+no.Why, no.Fix
	default:
		c.How = err.Error()
	}
	return c
}

func ptr[T any](v T) *T { return &v }
