package nrepl

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkRoundTrip is an evaluation of (+ 1 2) on a warm session, from the request's first byte to done's last.
func BenchmarkRoundTrip(b *testing.B) {
	s := start(b, Config{})
	c, err := Dial(b.Context(), s.Addr(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ses, err := c.Clone(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		m, err := c.Do(b.Context(), Message{"op": "eval", "code": "(+ 1 2)", "session": ses}, nil)
		if err != nil || m["value"] != "3" {
			b.Fatal(m, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
}

// BenchmarkInterrupt is the time from an interrupt to the done of an endless loop.
func BenchmarkInterrupt(b *testing.B) {
	s := start(b, Config{})
	p := open(b, s)
	var took []time.Duration
	for b.Loop() {
		id := p.send(Message{"op": "eval", "code": loop})
		time.Sleep(2 * time.Millisecond)
		began := time.Now()
		p.ask(Message{"op": "interrupt", "interrupt-id": id})
		p.done(id)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "µs-max")
}
