package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/noleak"
)

// patience is how long what must come may take, on however slow a machine.
const patience = time.Minute

func TestMain(m *testing.M) { noleak.Main(m) }

// fakeHost is a Host that a test fills in. It is safe to change under way.
type fakeHost struct {
	mu      sync.Mutex
	surface func(Caller) (Surface, bool)
	eval    func(context.Context, Caller, string) Reply
	codes   []string
	granted []any // of each eval's surface; nil where it got none
}

func (h *fakeHost) Surface(_ context.Context, c Caller) (Surface, bool) {
	h.mu.Lock()
	f := h.surface
	h.mu.Unlock()
	if f == nil {
		return Surface{}, true
	}
	return f(c)
}

func (h *fakeHost) Eval(ctx context.Context, c Caller, code string, now *Surface) Reply {
	h.mu.Lock()
	f := h.eval
	h.codes = append(h.codes, code)
	if now == nil {
		now = &Surface{}
	}
	h.granted = append(h.granted, now.Grant)
	h.mu.Unlock()
	if f == nil {
		return Reply{Value: code}
	}
	return f(ctx, c, code)
}

func (h *fakeHost) setSurface(f func(Caller) (Surface, bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.surface = f
}

func (h *fakeHost) seen() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.codes...)
}

// blocking is an eval that says when it began and ends with its context or
// when it is let go.
type blocking struct {
	began chan string
	free  chan struct{}
	ended chan error
}

func newBlocking() *blocking {
	return &blocking{began: make(chan string, 64), free: make(chan struct{}), ended: make(chan error, 64)}
}

func (b *blocking) eval(ctx context.Context, _ Caller, code string) Reply {
	b.began <- code
	select {
	case <-b.free:
		b.ended <- nil
		return Reply{Value: code}
	case <-ctx.Done():
		b.ended <- context.Cause(ctx)
		return Reply{Err: &EvalError{Kind: "limit/time", Message: context.Cause(ctx).Error()}}
	}
}

// start runs a gateway on loopback until the test ends.
func start(t testing.TB, cfg Config) *Server {
	t.Helper()
	if cfg.Host == nil {
		cfg.Host = &fakeHost{}
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	return s
}

func issue(t testing.TB, s *Server, role, spawn string) string {
	t.Helper()
	token, err := s.Issue(role, spawn, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// ask is one raw request; its zero value but for url and token is a plain
// tools/call of the legacy era.
type ask struct {
	method, url, token, body string
	host                     string
	header                   map[string]string
}

type answer struct {
	status int
	header http.Header
	body   string
}

// client returns an HTTP client that leaves nothing behind.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

func send(t testing.TB, c *http.Client, a ask) answer {
	t.Helper()
	got, err := trySend(t.Context(), c, a)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func trySend(ctx context.Context, c *http.Client, a ask) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, or(a.method, "POST"), a.url, strings.NewReader(a.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	for k, v := range a.header {
		req.Header.Set(k, v)
	}
	req.Host = a.host
	res, err := c.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body)}, err
}

// callBody is a tools/call of eval.
func callBody(id int, code string) string {
	quoted, _ := json.Marshal(code)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"eval","arguments":{"code":%s}}}`, id, quoted)
}

// toolText takes text and isError out of the answer to a tools/call, whether
// it came as JSON or as a stream of events.
func toolText(t testing.TB, a answer) (text string, isError bool) {
	t.Helper()
	body := a.body
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		i := strings.LastIndex(body, "data: ")
		body = body[i+len("data: "):]
	}
	var msg struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&msg); err != nil || len(msg.Result.Content) != 1 {
		t.Fatalf("answer: got %d %q, want a tool result", a.status, a.body)
	}
	return msg.Result.Content[0].Text, msg.Result.IsError
}
