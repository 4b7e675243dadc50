package observe

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are what an instance has done since it began to count. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	counts
	names   map[string]*labels // by label, over all metrics
	seq     atomic.Uint64      // of the newest event
	handler http.Handler
}

// State is what an instance is doing at the moment of a scrape.
type State struct {
	Processes map[string]int // by state
	Spawns    map[string]int // by state
	Asks      int            // questions that wait for a person
	Frozen    bool
	Draining  bool
	Journal   JournalState
}

// JournalState is how the journal does.
type JournalState struct {
	Waiting int  // events accepted and not yet written
	Failing bool // the file cannot be written
}

// counts are the metrics that grow.
type counts struct {
	events, evals, steps, calls, refusals, started, spawns, tokens, usd, runs, stepFails, asks, once, commands, secrets, egress *prometheus.CounterVec
	evalTime, callTime, spawnTime, runTime                                                                                      *prometheus.HistogramVec
}

// NewMetrics makes the metrics of an instance of that version. state is asked at each scrape; it must be quick.
func NewMetrics(version string, state func() State) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), names: map[string]*labels{}}
	for _, l := range []string{"kind", "role", "outcome", "capability", "reason", "backend", "status", "direction", "process", "state", "command", "what", "secret"} {
		m.names[l] = &labels{}
	}
	m.makeCounters()
	m.makeTimes()
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
	m.registry.MustRegister(newStateCollector(version, m.seq.Load, state),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "zeno", Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) times(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "zeno", Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) makeCounters() {
	m.events = m.counter("journal_events_total", "Events recorded, by kind.", "kind")
	m.evals = m.counter("evals_total", "Evaluations by agents that have ended.", "role", "outcome")
	m.steps = m.counter("eval_steps_total", "Steps of agents' evaluations.", "role")
	m.calls = m.counter("capability_calls_total", "Capability calls that have ended.", "role", "capability", "outcome")
	m.refusals = m.counter("refusals_total", "What agents asked for and were not granted.", "role", "reason")
	m.started = m.counter("spawns_started_total", "Agents started.", "role", "backend")
	m.spawns = m.counter("spawns_ended_total", "Agents that have ended.", "role", "backend", "status")
	m.tokens = m.counter("tokens_total", "Tokens of agents that have ended.", "role", "direction")
	m.usd = m.counter("usd_total", "US dollars of agents that have ended.", "role")
	m.runs = m.counter("process_runs_total", "Runs of processes that have ended.", "process", "outcome")
	m.stepFails = m.counter("process_step_failures_total", "Steps of a tick that threw.", "process")
	m.asks = m.counter("asks_total", "Changes of questions to a person, by the state they came to.", "role", "state")
	m.once = m.counter("once_total", "Work to be done once, by the state it came to.", "state")
	m.commands = m.counter("operator_commands_total", "Commands of the operator.", "command")
	m.secrets = m.counter("secret_uses_total", "Uses of a secret: requests of a box that it was put into, and agents without a box that got it.", "secret")
	m.egress = m.counter("egress_total", "What the proxies of boxes have seen, by what it was.", "what", "outcome")
}

func (m *Metrics) makeTimes() {
	short := []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 45, 300}
	long := []float64{.1, 1, 10, 30, 60, 300, 600, 1800, 3600, 4 * 3600}
	m.evalTime = m.times("eval_seconds", "How long agents' evaluations took.", short, "role")
	m.callTime = m.times("capability_call_seconds", "How long capability calls took.", short, "capability")
	m.spawnTime = m.times("spawn_seconds", "How long agents ran.", long, "role")
	m.runTime = m.times("process_run_seconds", "How long runs of processes took.", append([]float64{.01}, long...), "process")
}

// ServeHTTP gives the metrics to Prometheus: at most 4 scrapes at once, of at most 10 s each.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Value is one number of the metrics. Of a histogram there are two, whose names end in _count and _sum.
type Value struct {
	Name   string            `lisp:"name"`
	Labels map[string]string `lisp:"labels"`
	Value  float64           `lisp:"value"`
}

// Gather gives the values, for who has no scraper.
func (m *Metrics) Gather() ([]Value, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	var out []Value
	for _, f := range families {
		for _, x := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range x.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			add := func(suffix string, v float64) { out = append(out, Value{f.GetName() + suffix, labels, v}) }
			switch {
			case x.Counter != nil:
				add("", x.GetCounter().GetValue())
			case x.Gauge != nil:
				add("", x.GetGauge().GetValue())
			case x.Histogram != nil:
				add("_count", float64(x.GetHistogram().GetSampleCount()))
				add("_sum", x.GetHistogram().GetSampleSum())
			}
		}
	}
	return out, nil
}
