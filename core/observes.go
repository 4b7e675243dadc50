package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/observe"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// observed is what an operator sees of the instance from outside. Nothing of it is made before somebody asks.
type observed struct {
	traces   observe.Traces
	metrics  func() *observe.Metrics // made by the first event that is counted, or by who asks
	counting sync.Once
}

func (c *Core) initObserved() {
	c.conf.Log = observe.Redacting(c.conf.Log, c.secrets.Text)
	c.metrics = sync.OnceValue(func() *observe.Metrics { return observe.NewMetrics(c.conf.Version, c.observedState) })
}

// count counts events from now on. It costs nothing before the first.
func (c *Core) count() {
	c.counting.Do(func() {
		f := func(e journal.Event) { c.metrics().Count(e) }
		if c.home != nil {
			c.home.onOpen(func(k keeper) { k.Watch(f) })
		} else if w, ok := journal.As[journal.Watcher](c.journal); ok {
			w.Watch(f)
		}
	})
}

// serveMetrics is /metrics of the control socket.
func (c *Core) serveMetrics(w http.ResponseWriter, r *http.Request) { c.Metrics().ServeHTTP(w, r) }

// Metrics counts what the instance does, from the first call on; where the instance serves a home, from its start.
func (c *Core) Metrics() *observe.Metrics {
	c.count()
	return c.metrics()
}

// Traces are the spans of the instance. They are off until somebody starts them: Config.Traces, or zeno.observe/traces!.
func (c *Core) Traces() *observe.Traces { return &c.traces }

func (c *Core) observedState() observe.State {
	s := observe.State{Processes: map[string]int{}, Spawns: map[string]int{}, Frozen: c.Frozen() != nil, Draining: c.Draining()}
	for _, p := range c.loop.Processes() {
		state := string(p.State)
		if p.Paused {
			state = "paused"
		}
		s.Processes[state]++
	}
	for _, x := range c.Spawns(false) {
		s.Spawns[x.State]++
	}
	ctx, cancel := context.WithTimeout(c.ctx, 2*time.Second)
	defer cancel()
	if list, err := c.Inbox(ctx); err == nil {
		s.Asks = len(list)
	}
	if f, err := c.journalFile(); err == nil {
		waiting, failing := f.Health()
		s.Journal = observe.JournalState{Waiting: waiting, Failing: failing != nil}
	}
	return s
}

// startTraces sends spans where the configuration says so. What is wrong with it is reported: it keeps nothing from running.
func (c *Core) startTraces(ctx context.Context) {
	if c.conf.Traces == nil {
		return
	}
	if err := c.sendTraces(ctx, *c.conf.Traces); err != nil {
		c.report("no traces are sent", err)
	}
}

func (c *Core) sendTraces(ctx context.Context, e observe.Export) error {
	for _, v := range e.Headers {
		c.secrets.Hide(v) // a key, likely
	}
	e.Version = c.conf.Version
	hear := e.OnError
	e.OnError = func(err error) {
		if err == nil {
			c.conf.Log.Info("traces: they are sent again")
		} else {
			c.conf.Log.Warn("traces: failed to send", "error", err)
			c.warn(c.secrets.Text(err.Error()))
		}
		if hear != nil {
			hear(err)
		}
	}
	return c.traces.Start(ctx, e)
}

// runTraced runs one attempt of a spawn in a span of its own, which the agent's environment names (W3C traceparent): a CLI
// that makes spans puts them into the same trace.
func (c *Core) runTraced(ctx context.Context, r *spawn.Runner, req spawn.Request) spawn.Result {
	backend := req.Backend
	if req.Entry != nil {
		backend = req.Entry.Name
	}
	ctx, span, parent := c.traces.Agent(ctx, req.Role, req.ID, backend)
	if parent != "" {
		req.Env = maps.Clone(req.Env)
		if req.Env == nil {
			req.Env = map[string]string{}
		}
		req.Env["TRACEPARENT"] = parent
	}
	c.recordSecrets(req)
	res := r.Run(ctx, req)
	span.End(string(res.Status))
	return res
}

// recordSecrets records that an agent without a box is given secrets. One in a box gets none: the proxy records where each
// goes.
func (c *Core) recordSecrets(req spawn.Request) {
	if req.Sandbox != spawn.SandboxNone {
		return
	}
	var names []any
	for _, n := range req.Secrets {
		names = append(names, n)
	}
	if req.APIKey != "" {
		names = append(names, cmp.Or(req.APIKeyEnv, "api-key"))
	}
	if len(names) == 0 {
		return
	}
	_, _ = c.record(journal.Event{Kind: "secret/use", Role: req.Role, Spawn: req.ID, Outcome: "ok",
		Data: map[string]any{"secrets": names, "how": "environment"}}) // a failure is reported
}

// spanOutcome is how something ended, for a span: never what an error says.
func spanOutcome(err error) string {
	var le *lisp.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &le):
		return le.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "error"
}

// observeFunctions are the namespace zeno.observe.
func (c *Core) observeFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("traces!", "([{:keys [endpoint headers service timeout]}])", `Sends traces to a collector from now on: OTLP over HTTP, as JSON, to :endpoint, such as "http://localhost:4318". :headers may hold a key; it is kept out of all records. nil ends it, and sends what waits.`, c.lispTraces),
		bind.Func("traceparent", "([])", "Gives the W3C traceparent of the span that runs, for a request to another program; nil where there is none.", lispTraceparent),
		bind.Func("metrics", "([])", `Gives what /metrics shows: [{:name "zeno_evals_total" :labels {:role "worker" :outcome "ok"} :value 7.0} …], counted since the first call, or since the start of an instance that serves a home.`,
			func() ([]observe.Value, error) { return c.Metrics().Gather() }),
	}
}

type tracesForm struct {
	Endpoint string            `lisp:"endpoint,required"`
	Headers  map[string]string `lisp:"headers"`
	Service  string            `lisp:"service"`
	Timeout  bind.Duration     `lisp:"timeout"`
}

func (c *Core) lispTraces(ctx context.Context, f *tracesForm) error {
	if f == nil {
		return c.traces.Stop(ctx)
	}
	if c.rehearsal != nil { // nothing leaves a dry run
		return nil
	}
	if f.Timeout < 0 || time.Duration(f.Timeout) > 10*time.Minute {
		return fmt.Errorf(":timeout: got %s, want up to 10m", time.Duration(f.Timeout))
	}
	return c.sendTraces(ctx, observe.Export{Endpoint: f.Endpoint, Headers: f.Headers, Service: f.Service, Timeout: time.Duration(f.Timeout)})
}

func lispTraceparent(ctx context.Context) any {
	if s := observe.Traceparent(ctx); s != "" {
		return s
	}
	return nil
}
