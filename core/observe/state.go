package observe

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// stateCollector asks for the state at each scrape.
type stateCollector struct {
	state   func() State
	version string
	newest  func() uint64 // number of the newest event

	info, processes, spawns, asks, frozen, draining, seq, waiting, failing *prometheus.Desc
}

func newStateCollector(version string, newest func() uint64, state func() State) *stateCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("zeno_"+name, help, labels, nil)
	}
	return &stateCollector{state: state, version: version, newest: newest,
		info:      desc("build_info", "Which zeno this is; always 1.", "version", "go"),
		processes: desc("processes", "Processes, by state.", "state"),
		spawns:    desc("spawns", "Agents that have not ended, by state.", "state"),
		asks:      desc("asks_waiting", "Questions that wait for a person."),
		frozen:    desc("frozen", "1 while the instance is frozen."),
		draining:  desc("draining", "1 while the instance drains."),
		seq:       desc("journal_seq", "Number of the newest event."),
		waiting:   desc("journal_waiting_events", "Events accepted and not yet written."),
		failing:   desc("journal_failing", "1 while the journal's file cannot be written."),
	}
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.info, c.processes, c.spawns, c.asks, c.frozen, c.draining, c.seq, c.waiting, c.failing} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.state()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(c.info, 1, short(c.version), runtime.Version())
	for state, n := range s.Processes {
		gauge(c.processes, float64(n), short(state))
	}
	for state, n := range s.Spawns {
		gauge(c.spawns, float64(n), short(state))
	}
	gauge(c.asks, float64(s.Asks))
	gauge(c.frozen, bit(s.Frozen))
	gauge(c.draining, bit(s.Draining))
	gauge(c.seq, float64(c.newest()))
	gauge(c.waiting, float64(s.Journal.Waiting))
	gauge(c.failing, bit(s.Journal.Failing))
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
