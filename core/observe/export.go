package observe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Export says where spans go: a collector that takes OTLP over HTTP, as JSON.
type Export struct {
	Endpoint string            // URL of the collector; /v1/traces is put behind it
	URL      string            // or the whole URL
	Headers  map[string]string // of each request; they may hold a key
	Timeout  time.Duration     // of one request; default 10 s
	Service  string            // service.name; default "zeno"
	Version  string            // service.version
	Attrs    map[string]string // further attributes of the resource
	OnError  func(error)       // hears that spans cannot be sent, once for each time this begins, and with nil when they can again
}

// FromEnv reads the standard variables of OpenTelemetry. ok is false where they ask for no traces.
func FromEnv(getenv func(string) string) (conf Export, ok bool, err error) {
	conf.Endpoint, conf.URL = getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if conf.Endpoint == "" && conf.URL == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return conf, false, nil
	}
	either := func(name string) string {
		return cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), getenv("OTEL_EXPORTER_OTLP_"+name))
	}
	if p := either("PROTOCOL"); p != "" && !strings.HasPrefix(p, "http/") {
		return conf, false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: got %q, want http/json: zeno has no gRPC; most collectors take HTTP on port 4318", p)
	}
	for _, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if either(name) != "" {
			return conf, false, fmt.Errorf("OTEL_EXPORTER_OTLP_%s: got a value, want none: it is not supported; SSL_CERT_FILE names further authorities", name)
		}
	}
	if conf.Headers, err = pairs(either("HEADERS")); err != nil {
		return conf, false, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err)
	}
	if conf.Attrs, err = pairs(getenv("OTEL_RESOURCE_ATTRIBUTES")); err != nil {
		return conf, false, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if ms := either("TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n <= 0 || n > 600_000 {
			return conf, false, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: got %q, want milliseconds from 1 to 600000", ms)
		}
		conf.Timeout = time.Duration(n) * time.Millisecond
	}
	conf.Service = cmp.Or(getenv("OTEL_SERVICE_NAME"), conf.Attrs["service.name"])
	return conf, true, nil
}

// pairs reads name=value,name=value with percent signs. Errors do not hold values.
func pairs(s string) (map[string]string, error) {
	out := map[string]string{}
	for i, p := range strings.Split(s, ",") {
		if strings.TrimSpace(p) == "" {
			continue
		}
		k, v, ok := strings.Cut(p, "=")
		k = strings.TrimSpace(k)
		value, err := url.PathUnescape(strings.TrimSpace(v))
		if !ok || k == "" || err != nil {
			return nil, fmt.Errorf("entry %d: got something else, want name=value with special bytes written as %%XX", i+1)
		}
		out[k] = value
	}
	return out, nil
}

func (conf Export) resource() *resource.Resource {
	attrs := []attribute.KeyValue{}
	for k, v := range conf.Attrs {
		attrs = append(attrs, attribute.String(k, v))
	}
	attrs = append(attrs, attribute.String("service.name", cmp.Or(conf.Service, "zeno")))
	if conf.Version != "" {
		attrs = append(attrs, attribute.String("service.version", conf.Version))
	}
	return resource.NewSchemaless(attrs...)
}

// exporter sends spans. It implements sdk.SpanExporter.
type exporter struct {
	conf   Export
	url    string
	client *http.Client

	mu      sync.Mutex
	failing bool
}

func newExporter(conf Export) (*exporter, error) {
	u, err := url.Parse(cmp.Or(conf.URL, conf.Endpoint))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("traces: endpoint: got something else, want a URL such as http://localhost:4318, without a user in it: keys go into headers")
	}
	if conf.URL == "" {
		u = u.JoinPath("v1", "traces")
	}
	for name, v := range conf.Headers {
		if strings.ContainsAny(name+v, "\r\n\x00") {
			return nil, fmt.Errorf("traces: header %q: got a line break in it, want none", name)
		}
	}
	if conf.Timeout <= 0 {
		conf.Timeout = 10 * time.Second
	}
	dialer := &net.Dialer{Timeout: conf.Timeout}
	return &exporter{conf: conf, url: u.String(), client: &http.Client{
		Timeout:       conf.Timeout,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the headers are for this address
	}}, nil
}

// attempts of one batch, and the longest pause between two.
const (
	attempts = 3
	maxPause = 5 * time.Second
)

// ExportSpans implements sdk.SpanExporter. What cannot be sent is dropped, and OnError is told.
func (x *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := json.Marshal(request(spans))
	if err != nil {
		return x.tell(fmt.Errorf("traces: failed to write %d spans as JSON: %w", len(spans), err))
	}
	pause := time.Second / 2
	for n := 1; ; n++ {
		wait, err := x.post(ctx, body)
		if err == nil {
			return x.tell(nil)
		}
		if wait < 0 || n == attempts {
			return x.tell(fmt.Errorf("traces: failed to send %d spans, which are dropped: %w", len(spans), err))
		}
		select {
		case <-ctx.Done():
			return x.tell(fmt.Errorf("traces: failed to send %d spans, which are dropped: %w", len(spans), err))
		case <-time.After(min(max(pause, wait), maxPause)):
			pause *= 2
		}
	}
}

// post sends one request. retry is how long to wait before the next attempt; negative: it makes no sense.
func (x *exporter) post(ctx context.Context, body []byte) (retry time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for k, v := range x.conf.Headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := x.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	said, _ := io.ReadAll(io.LimitReader(res.Body, 4096)) // what comes of it is judged by the status
	switch {
	case res.StatusCode/100 == 2:
		return -1, rejected(said)
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusBadGateway ||
		res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusGatewayTimeout:
		secs, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0: it does not say
		return time.Duration(max(secs, 0)) * time.Second, fmt.Errorf("got %s, want 200", res.Status)
	}
	return -1, fmt.Errorf("got %s, want 200: %s", res.Status, short(string(said)))
}

// rejected tells of spans that a collector has not taken.
func rejected(said []byte) error {
	var r struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(said, &r) != nil {
		return nil
	}
	if n := r.PartialSuccess.RejectedSpans.String(); n != "" && n != "0" {
		return fmt.Errorf("the collector took all but %s of them: %s", short(n), short(r.PartialSuccess.ErrorMessage))
	}
	return nil
}

// tell tells OnError of a change. It gives nil: the SDK would write to the process's stderr.
func (x *exporter) tell(err error) error {
	x.mu.Lock()
	changed := x.failing != (err != nil)
	x.failing = err != nil
	x.mu.Unlock()
	if changed && x.conf.OnError != nil {
		x.conf.OnError(err)
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (x *exporter) Shutdown(context.Context) error {
	x.client.CloseIdleConnections()
	return nil
}
