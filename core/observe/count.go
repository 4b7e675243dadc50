package observe

import (
	"strings"

	"github.com/reflection-dev/zeno/core/journal"
)

// Count takes an event into the metrics. It is for journal.Watcher.Watch: quick, and it never waits.
func (m *Metrics) Count(e journal.Event) {
	m.seq.Store(e.Seq)
	m.events.WithLabelValues(m.name("kind", e.Kind)).Inc()
	role := m.name("role", e.Role)
	outcome := m.name("outcome", e.Outcome)
	switch e.Kind {
	case journal.Eval:
		m.evals.WithLabelValues(role, outcome).Inc()
		m.evalTime.WithLabelValues(role).Observe(e.Elapsed.Seconds())
		m.steps.WithLabelValues(role).Add(number(e.Data["steps"]))
	case journal.Call:
		capability := m.name("capability", text(e.Data["name"]))
		m.calls.WithLabelValues(role, capability, outcome).Inc()
		m.callTime.WithLabelValues(capability).Observe(e.Elapsed.Seconds())
	case journal.Refused:
		m.refusals.WithLabelValues(role, m.name("reason", e.Outcome)).Inc()
	case journal.SpawnStarted:
		m.started.WithLabelValues(role, m.name("backend", text(e.Data["backend"]))).Inc()
	case journal.SpawnEnded:
		m.ended(role, e)
	case journal.OnceStarted:
		m.once.WithLabelValues("started").Inc()
	case journal.OnceEnded:
		m.once.WithLabelValues(m.name("state", e.Outcome)).Inc()
	default:
		m.rest(role, outcome, e)
	}
}

// rest counts the events of the parts of core.
func (m *Metrics) rest(role, outcome string, e journal.Event) {
	room, name, _ := strings.Cut(e.Kind, "/")
	switch {
	case e.Kind == "process/run":
		process := m.name("process", text(e.Data["process"]))
		m.runs.WithLabelValues(process, outcome).Inc()
		m.runTime.WithLabelValues(process).Observe(e.Elapsed.Seconds())
	case e.Kind == "process/step":
		m.stepFails.WithLabelValues(m.name("process", text(e.Data["process"]))).Inc()
	case e.Kind == "egress":
		m.egress.WithLabelValues(m.name("what", text(e.Data["what"])), outcome).Inc()
		if text(e.Data["what"]) == "request" {
			m.used(e.Data["secrets"])
		}
	case e.Kind == "secret/use":
		m.used(e.Data["secrets"])
	case room == "ask":
		m.asks.WithLabelValues(role, m.name("state", name)).Inc()
	case room == "control":
		m.commands.WithLabelValues(m.name("command", name)).Inc()
	}
}

// used counts the secrets of these names.
func (m *Metrics) used(names any) {
	list, _ := names.([]any)
	for _, n := range list {
		m.secrets.WithLabelValues(m.name("secret", text(n))).Inc()
	}
}

func (m *Metrics) ended(role string, e journal.Event) {
	m.spawns.WithLabelValues(role, m.name("backend", text(e.Data["backend"])), m.name("status", e.Outcome)).Inc()
	m.spawnTime.WithLabelValues(role).Observe(e.Elapsed.Seconds())
	for key, direction := range map[string]string{"tokens-in": "in", "tokens-out": "out"} {
		if n := number(e.Data[key]); n > 0 {
			m.tokens.WithLabelValues(role, direction).Add(n)
		}
	}
	if n := number(e.Data["usd"]); n > 0 {
		m.usd.WithLabelValues(role).Add(n)
	}
}

func (m *Metrics) name(label, v string) string { return m.names[label].of(v) }

func text(v any) string {
	s, _ := v.(string)
	return s
}

// number is v, which an event holds, as what may be added to a counter.
func number(v any) float64 {
	var f float64
	switch n := v.(type) {
	case int:
		f = float64(n)
	case int64:
		f = float64(n)
	case uint64:
		f = float64(n)
	case float64:
		f = n
	}
	if !(f > 0) {
		return 0
	}
	return f
}
