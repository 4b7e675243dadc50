package egress

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// recorder keeps what an upstream was asked.
type recorder struct {
	mu   sync.Mutex
	seen []*http.Request
	then http.HandlerFunc
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, req.Clone(req.Context()))
	r.mu.Unlock()
	if r.then != nil {
		r.then(w, req)
	}
}

func (r *recorder) last() *http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) == 0 {
		return &http.Request{Header: http.Header{}}
	}
	return r.seen[len(r.seen)-1]
}

func TestAllowedHost(t *testing.T) {
	w := newWorld(t)
	addr := w.server("api.example.com", http.HandlerFunc(echo))
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", addr)}}, Roots: w.pool})
	status, body := b.get("https://api.example.com/a%2Fb?q=1;2&x=%zz")
	if status != 200 || !strings.Contains(body, "HTTP/2.0 GET /a%2Fb?q=1;2&x=%zz host=api.example.com") {
		t.Fatalf("got %d %s", status, body)
	}
	e := b.wait(func(e Event) bool { return e.Kind == KindRequest })
	if e.Host != "api.example.com" || e.Path != "/a%2Fb" || e.Method != "GET" || e.Status != 200 || e.Received != int64(len(body)) {
		t.Errorf("got the event %+v", e)
	}
	if _, body := b.get("https://other.example.com/"); !strings.Contains(body, "REFUSED") {
		t.Errorf("got %q for a name that is not allowed", body)
	}
}
