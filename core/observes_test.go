package core_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/observe"
)

// spanSink takes spans as a collector does, by name.
type spanSink struct {
	*httptest.Server
	mu    sync.Mutex
	spans []sunkSpan
	raw   bytes.Buffer
}

type sunkSpan struct {
	Trace  string `json:"traceId"`
	ID     string `json:"spanId"`
	Parent string `json:"parentSpanId"`
	Name   string `json:"name"`
}

func newSpanSink(t *testing.T) *spanSink {
	s := &spanSink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.raw.Write(b)
		var q struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []sunkSpan } }
		}
		if err := json.Unmarshal(b, &q); err != nil {
			t.Error(err)
		}
		for _, x := range q.ResourceSpans[0].ScopeSpans {
			s.spans = append(s.spans, x.Spans...)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// chain gives the chain of names above the first span of a name, from the root on.
func (s *spanSink) chain(t *testing.T, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := -1
	for i, x := range s.spans {
		if x.Name == name {
			at = i
		}
	}
	var out []string
	for at >= 0 {
		x := s.spans[at]
		out = append([]string{x.Name}, out...)
		at = -1
		for i, y := range s.spans {
			if x.Parent != "" && y.ID == x.Parent {
				if y.Trace != x.Trace {
					t.Errorf("%s is of another trace than %s", x.Name, y.Name)
				}
				at = i
			}
		}
	}
	return strings.Join(out, " > ")
}

const tracedProgram = `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.loop :as loop] '[zeno.observe :as observe])
(def seen (atom nil))
(defn inner [] (:answer (spawn/spawn {:role :helper :backend :scripted :agent (fn [{:keys [eval]}] (:text (eval "(leaf)")))})))
(defn grant [] {:vocab {"fetch" (fn [x] (reset! seen (observe/traceparent)) x) "delegate" inner}})
(defn helper-grant [] {:vocab {"leaf" (fn [] "sk-in-a-value")}})
(gateway/start! {:roles {:worker #'grant :helper #'helper-grant}})
(defn work [_] (:answer (spawn/spawn {:role :worker :backend :scripted :agent (fn [{:keys [eval]}] (eval "(fetch \"sk-in-code\")") (eval "(delegate)") "done")})))
(defn later [_] @(:result (spawn/spawn-async {:role :helper :backend :scripted :agent (fn [{:keys [eval]}] (eval "(leaf)") "x")})))
(defn pass [] (loop/tick [["work" work] ["later" later]]))
(loop/every :pass "1h" #'pass)
`

// One trace holds a run of a process, its steps, the agents they spawn, their evaluations and calls, and an agent spawned
// by a capability of another's. No span holds code or a value.
func TestATraceOfARun(t *testing.T) {
	sink := newSpanSink(t)
	c, _ := startIn(t, t.TempDir(), tracedProgram, func(conf *core.Config) {
		conf.Traces = &observe.Export{Endpoint: sink.URL, Headers: map[string]string{"Key": "k-123456"}}
	})
	eval(t, c, `(do (loop/run-now! :pass) (while (zero? (:runs (first (loop/processes)))) (loop/sleep 10)))`)
	parent := eval(t, c, "@seen")
	if got := eval(t, c, "(observe/traceparent)"); got != "nil" {
		t.Errorf("outside of spans: got %s", got)
	}
	if err := c.Traces().Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	run := "process pass > step work > spawn worker > eval > "
	for name, want := range map[string]string{"call fetch": run + "call fetch", "call leaf": "process pass > step later > spawn helper > eval > call leaf",
		"step later": "process pass > step later"} {
		if got := sink.chain(t, name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	deep := run + "call delegate > spawn helper > eval > call leaf"
	sink.mu.Lock()
	for i, s := range sink.spans { // of the two calls of leaf, the first
		if s.Name == "call leaf" {
			sink.spans = append(sink.spans[:i+1:i+1], filter(sink.spans[i+1:], "call leaf")...)
			break
		}
	}
	raw := sink.raw.String()
	sink.mu.Unlock()
	if got := sink.chain(t, "call leaf"); got != deep {
		t.Errorf("an agent of an agent's: got %s, want %s", got, deep)
	}
	if trace := sink.spans[0].Trace; !strings.Contains(parent, trace) {
		t.Errorf("traceparent in a capability: got %s, want one of the trace %s", parent, trace)
	}
	if strings.Contains(raw, "sk-in") || strings.Contains(raw, "fetch \\") {
		t.Errorf("code or values are in the spans: %s", raw)
	}
	eval(t, c, `(do (observe/traces! nil) (work nil))`)
	if c.Traces().On() {
		t.Error("traces are on after (observe/traces! nil)")
	}
}

func filter(in []sunkSpan, without string) (out []sunkSpan) {
	for _, s := range in {
		if s.Name != without {
			out = append(out, s)
		}
	}
	return out
}

// /metrics is at the control socket, and elsewhere needs the admin token.
func TestMetricsAtTheSocket(t *testing.T) {
	dir := t.TempDir()
	c, _ := serve(t, dir, tracedProgram)
	eval(t, c, "(work nil)")
	h := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, "state", control.SocketFile))
	}}}
	defer h.CloseIdleConnections()
	get := func(url, token string) (int, string) {
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		client := h
		if !strings.HasPrefix(url, "http://zeno/") {
			client = http.DefaultClient
			req.Close = true
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b)
	}
	waitFor(t, "the counts", func() bool {
		code, got := get("http://zeno/metrics", "")
		return code == 200 && strings.Contains(got, `zeno_spawns_ended_total{backend="scripted",role="worker",status="ok"} 1`) &&
			strings.Contains(got, `zeno_evals_total{outcome="ok",role="worker"} 2`) &&
			strings.Contains(got, `zeno_capability_calls_total{capability="fetch",outcome="ok",role="worker"} 1`)
	})
	if got := eval(t, c, `(first (filter (fn [m] (= (:name m) "zeno_spawns_started_total")) (observe/metrics)))`); got != `{:name "zeno_spawns_started_total", :labels {:backend "scripted", :role "helper"}, :value 1.0}` {
		t.Errorf("(observe/metrics): got %s", got)
	}
	addr, err := c.Control().ListenTCP(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + addr.String() + "/metrics"
	if code, got := get(url, ""); code != http.StatusForbidden && code != http.StatusUnauthorized {
		t.Errorf("without the token: got %d %s", code, got)
	}
	if code, _ := get(url, c.Control().AdminToken()); code != 200 {
		t.Errorf("with the token: got %d", code)
	}
}

// What is hidden from the journal is hidden from the log, too; reports are lines of the log where that is asked for.
func TestLogsHoldNoSecrets(t *testing.T) {
	logs, said := &buffer{}, &buffer{}
	c, _ := startIn(t, t.TempDir(), tracedProgram, func(conf *core.Config) {
		conf.Log, conf.LogReports, conf.Err = slog.New(slog.NewJSONHandler(logs, nil)), true, said
	})
	eval(t, c, `(loop/every :fails "1h" (fn [] (throw (ex-info "no luck with hush-hush-1" {}))))`)
	t.Setenv("CORE_TEST_KEY", "hush-hush-1")
	eval(t, c, `(spawn/spawn {:role :helper :backend :scripted :api-key-env "CORE_TEST_KEY" :agent (fn [_] "x")})`)
	eval(t, c, `(loop/run-now! :fails)`)
	waitFor(t, "the report in the log", func() bool { return strings.Contains(logs.String(), "process fails failed") })
	time.Sleep(10 * time.Millisecond)
	if got := logs.String(); strings.Contains(got, "hush-hush-1") || !strings.Contains(got, "no luck with [secret]") {
		t.Errorf("got %s", got)
	}
	if strings.Contains(said.String(), "process fails failed") {
		t.Errorf("the report is told twice: %s", said.String())
	}
}

// What an evaluation costs with traces and without.
func BenchmarkEvalTraced(b *testing.B) {
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	for name, on := range map[string]bool{"off": false, "on": true} {
		b.Run(name, func(b *testing.B) {
			c, _ := start(b, reader)
			if on {
				if err := c.Traces().Start(context.Background(), observe.Export{Endpoint: sink.URL}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if res := c.EvalAs(context.Background(), "reader", "(echo 1)"); res.Err != nil {
					b.Fatal(res.Err)
				}
			}
		})
	}
}

// An agent's CLI finds the trace it belongs to in its environment, and that it was given a key is recorded, by name.
func TestACLIKnowsItsTraceAndItsKeyIsRecorded(t *testing.T) {
	sink := newSpanSink(t)
	t.Setenv("CORE_TEST_KEY", "hush-hush-2")
	c := cli(t, tracedProgram, map[string]string{"fake": `echo "{\"answer\":\"$TRACEPARENT\"}"`})
	if err := c.Traces().Start(context.Background(), observe.Export{Endpoint: sink.URL}); err != nil {
		t.Fatal(err)
	}
	parent := eval(t, c, `(:answer (spawn/spawn {:id "cli-1" :role :worker :backend "fake" :sandbox :none :prompt "x" :model "m" :api-key-env "CORE_TEST_KEY" :timeout "2m"}))`)
	if err := c.Traces().Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	sink.mu.Lock()
	if len(sink.spans) != 1 || !strings.Contains(parent, "00-"+sink.spans[0].Trace+"-"+sink.spans[0].ID+"-01") {
		t.Errorf("TRACEPARENT of the CLI: got %s, want that of %+v", parent, sink.spans)
	}
	sink.mu.Unlock()
	es, err := c.Journal().Since(context.Background(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var used []any
	traced := false
	for _, e := range es {
		if e.Kind == "secret/use" && e.Spawn == "cli-1" {
			used, _ = e.Data["secrets"].([]any)
		}
		if e.Kind == journal.SpawnStarted && e.Spawn == "cli-1" {
			traced = e.Data["trace"] != nil && strings.Contains(parent, e.Data["trace"].(string))
		}
	}
	if !traced {
		t.Error("the journal does not say which trace the spawn is in")
	}
	if len(used) != 1 || used[0] != "CORE_TEST_KEY" {
		t.Errorf("the use of the key: got %v, want its name", used)
	}
}
