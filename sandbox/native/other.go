//go:build !linux

package native

import (
	"context"
	"runtime"

	"github.com/reflection-dev/zeno/sandbox"
)

type host struct{ noCgroups bool }

func (h *host) close() error { return nil }

type body struct {
	gone    chan struct{}
	started interface{ Format(string) string }
}

func (b *body) kill(string) {}

func missing() error {
	return &sandbox.Unenforceable{Backend: "native", What: "any constraint", Why: "it is made of what Linux has and this is " + runtime.GOOS,
		Fix: "use :backend :msb"}
}

// Probe says that the backend is of no use here.
func (b *Backend) Probe(context.Context) sandbox.Report {
	return sandbox.Report{Backend: "native", Checks: []sandbox.Check{{What: "linux", How: "this is " + runtime.GOOS, Fix: "use :backend :msb"}}}
}

// Run refuses.
func (b *Backend) Run(context.Context, sandbox.Spec) (sandbox.Result, error) {
	return sandbox.Result{}, missing()
}

// Exec refuses.
func (b *Backend) Exec(context.Context, string, sandbox.ExecSpec) (sandbox.Result, error) {
	return sandbox.Result{}, missing()
}

// PS lists none.
func (b *Backend) PS(context.Context) ([]sandbox.Body, error) { return nil, nil }

// Reap finds nothing.
func (b *Backend) Reap(context.Context) ([]string, error) { return nil, nil }

func (b *Backend) stopForeign(_ context.Context, name string) error {
	return &sandbox.NoBody{Name: name}
}
