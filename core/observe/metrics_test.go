package observe

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
)

func newTestMetrics() *Metrics {
	return NewMetrics("1.0", func() State {
		return State{Processes: map[string]int{"waiting": 3}, Spawns: map[string]int{"running": 2}, Asks: 1, Frozen: true,
			Journal: JournalState{Waiting: 7, Failing: true}}
	})
}

func scrape(m *Metrics) string {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestEventsAreCounted(t *testing.T) {
	m := newTestMetrics()
	for i, e := range []journal.Event{
		{Kind: journal.Eval, Role: "worker", Outcome: "ok", Elapsed: time.Millisecond, Data: map[string]any{"steps": int64(10), "code": "sk-secret"}},
		{Kind: journal.Eval, Role: "worker", Outcome: "steps", Elapsed: time.Second, Data: map[string]any{"steps": 5.0}},
		{Kind: journal.Call, Role: "worker", Outcome: "ok", Elapsed: time.Millisecond, Data: map[string]any{"name": "fetch", "args": "sk-secret"}},
		{Kind: journal.Refused, Role: "worker", Outcome: "unresolved", Data: map[string]any{"what": "sk-secret"}},
		{Kind: journal.SpawnStarted, Role: "worker", Data: map[string]any{"backend": "scripted"}},
		{Kind: journal.SpawnEnded, Role: "worker", Outcome: "ok", Elapsed: time.Minute, Data: map[string]any{"backend": "scripted", "tokens-in": int64(100), "tokens-out": 20, "usd": 0.5, "answer": "sk-secret"}},
		{Kind: journal.OnceStarted}, {Kind: journal.OnceEnded, Outcome: "done"},
		{Kind: "process/run", Outcome: "ok", Elapsed: time.Second, Data: map[string]any{"process": "p"}},
		{Kind: "process/step", Outcome: "error", Data: map[string]any{"process": "p"}},
		{Kind: "ask/asked", Role: "worker"}, {Kind: "control/freeze", Outcome: "ok"}, {Kind: "secret/use", Data: map[string]any{"secrets": []any{"KEY"}}},
		{Kind: "egress", Outcome: "ok", Data: map[string]any{"what": "request", "secrets": []any{"KEY", "OTHER"}}}, {Kind: "egress", Outcome: "refused", Data: map[string]any{"what": "secret", "secrets": []any{"KEY"}}},
		{Kind: "of-a-later-version", Data: map[string]any{"tokens-in": "NaN"}},
	} {
		e.Seq = uint64(i + 1)
		m.Count(e)
	}
	got := scrape(m)
	for _, want := range []string{
		`zeno_evals_total{outcome="ok",role="worker"} 1`, `zeno_evals_total{outcome="steps",role="worker"} 1`, `zeno_eval_steps_total{role="worker"} 15`,
		`zeno_eval_seconds_count{role="worker"} 2`, `zeno_capability_calls_total{capability="fetch",outcome="ok",role="worker"} 1`,
		`zeno_refusals_total{reason="unresolved",role="worker"} 1`, `zeno_spawns_started_total{backend="scripted",role="worker"} 1`,
		`zeno_spawns_ended_total{backend="scripted",role="worker",status="ok"} 1`, `zeno_spawn_seconds_sum{role="worker"} 60`,
		`zeno_tokens_total{direction="in",role="worker"} 100`, `zeno_usd_total{role="worker"} 0.5`, `zeno_once_total{state="done"} 1`,
		`zeno_process_runs_total{outcome="ok",process="p"} 1`, `zeno_process_step_failures_total{process="p"} 1`, `zeno_asks_total{role="worker",state="asked"} 1`,
		`zeno_operator_commands_total{command="freeze"} 1`, `zeno_secret_uses_total{secret="KEY"} 2`, `zeno_egress_total{outcome="refused",what="secret"} 1`, `zeno_journal_events_total{kind="of-a-later-version"} 1`,
		`zeno_processes{state="waiting"} 3`, `zeno_spawns{state="running"} 2`, `zeno_asks_waiting 1`, `zeno_frozen 1`, `zeno_journal_seq 16`,
		`zeno_journal_waiting_events 7`, `zeno_journal_failing 1`, `version="1.0"`, "go_goroutines ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %s", want)
		}
	}
	if strings.Contains(got, "secret-") || strings.Contains(got, "sk-secret") {
		t.Error("what an agent said is in the metrics")
	}
	all, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, v := range all {
		sums[v.Name] += v.Value
	}
	if sums["zeno_evals_total"] != 2 || sums["zeno_eval_seconds_count"] != 2 || sums["zeno_spawn_seconds_sum"] != 60 || sums["zeno_asks_waiting"] != 1 {
		t.Errorf("gather: got %v", sums)
	}
}

// Whatever names come, a label has a bounded number of values, each of them short and valid.
func TestLabelsAreBounded(t *testing.T) {
	m := newTestMetrics()
	for i := range 5000 {
		m.Count(journal.Event{Seq: 1, Kind: journal.Call, Role: fmt.Sprintf("r%d", i), Outcome: "\xff\xfe" + strings.Repeat("ü", 100), Data: map[string]any{"name": fmt.Sprintf("c%d", i)}})
	}
	got := scrape(m)
	if n := strings.Count(got, "\nzeno_"); n > 5000 {
		t.Errorf("got %d lines, want a bound", n)
	}
	if n := strings.Count(got, "\nzeno_capability_call_seconds_count{"); n != maxValues+1 {
		t.Errorf("got %d capabilities, want %d and %q", n, maxValues, Other)
	}
	if !strings.Contains(got, `zeno_capability_calls_total{capability="other",outcome="`) || strings.Contains(got, strings.Repeat("ü", 64)) {
		t.Errorf("want the rest under %q, and long values cut", Other)
	}
}

func BenchmarkCount(b *testing.B) {
	m := newTestMetrics()
	e := journal.Event{Seq: 1, Kind: journal.Eval, Role: "worker", Outcome: "ok", Elapsed: time.Millisecond, Data: map[string]any{"steps": int64(10)}}
	b.ReportAllocs()
	for b.Loop() {
		m.Count(e)
	}
}
