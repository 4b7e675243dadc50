package msb

import (
	"context"
	"errors"

	"github.com/reflection-dev/zeno/sandbox"
)

// Probe implements sandbox.Backend: it finds the program, asks for its version and lets it look at the machine. It starts
// no box, since that needs an image.
func (b *Backend) Probe(ctx context.Context) sandbox.Report {
	r := sandbox.Report{Backend: Name}
	t, err := b.look()
	add(&r, "msb", err, func() string { return t.path })
	if err == nil {
		err = t.version(ctx)
		add(&r, "version", err, func() string { return wantVersion + "x" })
	}
	if err == nil {
		err = t.virtual(ctx)
		add(&r, "virtualisation", err, func() string { return "msb doctor" })
	}
	r.Usable = err == nil
	if r.Usable {
		r.Checks = append(r.Checks,
			sandbox.Check{What: "memory", OK: true, How: "that of the machine"},
			sandbox.Check{What: "cpus", OK: true, How: "those of the machine, whole ones"},
			sandbox.Check{What: "disk", OK: true, How: "the root is a disk of that size; a volume is watched every 100 ms"},
			sandbox.Check{What: "egress", OK: true, How: "msb's own rules"})
	}
	return r
}

func add(r *sandbox.Report, what string, err error, how func() string) {
	var no *sandbox.Unenforceable
	switch {
	case err == nil:
		r.Checks = append(r.Checks, sandbox.Check{What: what, OK: true, How: how()})
	case errors.As(err, &no):
		r.Checks = append(r.Checks, sandbox.Check{What: what, How: no.Why, Fix: no.Fix})
	default:
		r.Checks = append(r.Checks, sandbox.Check{What: what, How: err.Error()})
	}
}
