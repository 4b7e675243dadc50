package observe

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/noleak"
)

func TestMain(m *testing.M) { noleak.Main(m) }

var bg = context.Background()

// collector takes what an exporter sends.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []spanJSON
	res     []attrJSON
	header  http.Header
	path    string
	answers []int // statuses of the next requests; then 200
	body    string
}

func newCollector(t *testing.T, answers ...int) *collector {
	c := &collector{answers: answers}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.answers) > 0 {
			w.WriteHeader(c.answers[0])
			c.answers = c.answers[1:]
			return
		}
		var q traceRequest
		if err := json.Unmarshal(b, &q); err != nil {
			t.Errorf("a request that does not read: %v: %s", err, b)
			return
		}
		c.header, c.path = r.Header, r.URL.Path
		for _, rs := range q.ResourceSpans {
			c.res = rs.Resource.Attributes
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		_, _ = io.WriteString(w, c.body)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) find(t *testing.T, name string) spanJSON {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("got no span %q of %d", name, len(c.spans))
	return spanJSON{}
}

func attr(as []attrJSON, key string) string {
	for _, a := range as {
		if a.Key == key {
			switch {
			case a.Value.String != nil:
				return *a.Value.String
			case a.Value.Int != nil:
				return *a.Value.Int
			}
		}
	}
	return ""
}

// One trace: a process holds a step, that an agent, that an evaluation, which comes by another way, and that a call.
func TestOneTrace(t *testing.T) {
	c := newCollector(t)
	var ts Traces
	if err := ts.Start(bg, Export{Endpoint: c.URL, Headers: map[string]string{"X-Key": "k1"}, Service: "mine", Version: "1.2"}); err != nil {
		t.Fatal(err)
	}
	ctx, process := ts.Process(bg, "p")
	ctx, step := ts.Step(ctx, "s")
	_, agent, parent := ts.Agent(ctx, "worker", "s1", "scripted")
	if !strings.HasPrefix(parent, "00-") || !strings.HasSuffix(parent, "-01") || len(parent) != 55 {
		t.Errorf("traceparent: got %q", parent)
	}
	evalCtx, eval := ts.Eval(bg, "worker", "s1")
	_, call := ts.Call(evalCtx, "fetch")
	call.End("error")
	eval.EndEval("ok", 12, 34, 1)
	agent.End("ok")
	step.End("ok")
	process.End("ok")
	late, orphan := ts.Eval(bg, "worker", "s1") // its agent has ended
	orphan.End("ok")
	if Traceparent(late) == "" {
		t.Error("an evaluation without an agent has a trace of its own")
	}
	if err := ts.Stop(bg); err != nil {
		t.Fatal(err)
	}
	root := c.find(t, "process p")
	chain := []string{"process p", "step s", "spawn worker", "eval", "call fetch"}
	for i := 1; i < len(chain); i++ {
		above, s := c.find(t, chain[i-1]), c.find(t, chain[i])
		if s.Parent != above.SpanID || s.TraceID != root.TraceID {
			t.Errorf("%s: got the parent %q in the trace %s, want %s (%s)", chain[i], s.Parent, s.TraceID, above.SpanID, chain[i-1])
		}
	}
	if s := c.find(t, "call fetch"); s.Status.Code != 2 || s.Status.Message != "error" {
		t.Errorf("a call that failed: got %+v", s.Status)
	}
	if s := c.find(t, "eval"); attr(s.Attributes, "zeno.steps") != "12" || attr(s.Attributes, "zeno.spawn") != "s1" || s.Status.Code != 0 {
		t.Errorf("eval: got %+v", s)
	}
	if attr(c.res, "service.name") != "mine" || attr(c.res, "service.version") != "1.2" || c.header.Get("X-Key") != "k1" || c.path != "/v1/traces" {
		t.Errorf("got %v, %v, %s", c.res, c.header, c.path)
	}
	if !strings.Contains(parent, root.TraceID) {
		t.Errorf("traceparent %s is of another trace than %s", parent, root.TraceID)
	}
	if ctx, s := ts.Process(bg, "later"); s != nil || ctx != bg {
		t.Error("a span was made after the end")
	}
}

// What is off costs nothing.
func TestOffIsFree(t *testing.T) {
	var ts Traces
	n := testing.AllocsPerRun(100, func() {
		ctx, s := ts.Process(bg, "p")
		ctx, a, _ := ts.Agent(ctx, "r", "s", "b")
		ctx, e := ts.Eval(ctx, "r", "s")
		_, c := ts.Call(ctx, "c")
		c.End("ok")
		e.EndEval("ok", 1, 2, 3)
		a.End("ok")
		s.End("ok")
	})
	if n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// A collector that is busy is asked again; one that refuses, or is not there, is told of once, and nobody waits for it.
func TestACollectorThatFails(t *testing.T) {
	var mu sync.Mutex
	var heard []error
	hear := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, err)
	}
	send := func(c *collector) {
		t.Helper()
		var ts Traces
		if err := ts.Start(bg, Export{Endpoint: c.URL, OnError: hear, Timeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, s := ts.Process(bg, "p")
			s.End("ok")
			if err := ts.Flush(bg); err != nil {
				t.Error(err)
			}
		}
		if err := ts.Stop(bg); err != nil {
			t.Error(err)
		}
	}
	busy := newCollector(t, 503)
	send(busy)
	if len(busy.spans) != 2 || len(heard) != 0 {
		t.Errorf("busy: got %d spans, %v, want two and no error", len(busy.spans), heard)
	}
	send(newCollector(t, 400, 400))
	if len(heard) != 1 || !strings.Contains(heard[0].Error(), "got 400") || !strings.Contains(heard[0].Error(), "dropped") {
		t.Errorf("refused twice: got %v, want one error", heard)
	}
	heard = nil
	send(newCollector(t, 400))
	if len(heard) != 2 || heard[1] != nil {
		t.Errorf("refused once: got %v, want an error and then that it works", heard)
	}
	heard = nil
	part := newCollector(t)
	part.body = `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`
	send(part)
	if len(heard) != 1 || !strings.Contains(heard[0].Error(), "too old") {
		t.Errorf("taken in part: got %v, want what the collector says", heard)
	}
	heard = nil
	moved := newCollector(t, 302)
	send(moved)
	if len(heard) != 2 {
		t.Errorf("a redirect: got %v, want it refused: the headers are for one address", heard)
	}
}

// Spans that nobody takes do not pile up and hold nobody up.
func TestSpansAreDropped(t *testing.T) {
	hang := make(chan struct{})
	var got atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		<-hang
	}))
	var ts Traces
	if err := ts.Start(bg, Export{Endpoint: srv.URL, Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for range 50_000 {
		_, s := ts.Process(bg, "p")
		s.End("ok")
	}
	if took := time.Since(begun); took > 50*time.Second {
		t.Errorf("50,000 spans took %s: somebody waits for the collector", took)
	}
	close(hang)
	if err := ts.Stop(bg); err != nil {
		t.Error(err)
	}
	srv.Close()
	if n := got.Load(); n == 0 || n > 40 {
		t.Errorf("got %d requests, want a queue's worth of 512 spans each", n)
	}
}

func TestFromEnv(t *testing.T) {
	for name, tt := range map[string]struct {
		env  map[string]string
		ok   bool
		fail string
	}{
		"nothing":  {nil, false, ""},
		"endpoint": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, true, ""},
		"disabled": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, false, ""},
		"none":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"grpc":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "no gRPC"},
		"a CA":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/ca"}, false, "SSL_CERT_FILE"},
		"headers":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "sk-secret"}, false, "entry 1"},
		"a time":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_TIMEOUT": "1s"}, false, "milliseconds"},
	} {
		conf, ok, err := FromEnv(func(k string) string { return tt.env[k] })
		if ok != tt.ok || (err == nil) != (tt.fail == "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%s: got %+v, %v, %v", name, conf, ok, err)
		}
		if err != nil && strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: the error holds the header: %v", name, err)
		}
	}
	conf, _, err := FromEnv(func(k string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/x", "OTEL_EXPORTER_OTLP_HEADERS": "a=b%20c, d=e",
			"OTEL_RESOURCE_ATTRIBUTES": "service.name=s,env=prod", "OTEL_EXPORTER_OTLP_TIMEOUT": "1500"}[k]
	})
	if err != nil || conf.URL != "http://c/x" || conf.Headers["a"] != "b c" || conf.Headers["d"] != "e" || conf.Service != "s" || conf.Timeout != 1500*time.Millisecond {
		t.Errorf("got %+v, %v", conf, err)
	}
	for _, bad := range []Export{{}, {Endpoint: "c:4317"}, {Endpoint: "http://u:p@c"}, {Endpoint: "file:///x"}, {Endpoint: "http://c", Headers: map[string]string{"A": "b\r\nC: d"}}} {
		if err := new(Traces).Start(bg, bad); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: got %v, want it refused", bad, err)
		}
	}
}
