package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/server"
)

// unguarded serves one spawn as mcp-go alone would: what the guards are for is
// shown against it first.
func unguarded(t *testing.T, s *Server, spawn string) string {
	sp := s.reg.spawns[spawn]
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c := &call{spawn: sp, cfg: s.config()}
		sp.stream.Handle(&writer{w: w, stall: time.Minute}, &server.HTTPRequest{Method: r.Method, URL: r.URL,
			Header: r.Header, Body: body, Context: context.WithValue(r.Context(), callKey{}, c)})
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestGuards(t *testing.T) {
	s := start(t, Config{AllowedHosts: []string{"zeno.internal"}, AllowedOrigins: []string{"https://inspect.example"}})
	token := issue(t, s, "reviewer", "s1")
	c, url := client(t), s.URL("reviewer")
	origin := func(o string) map[string]string { return map[string]string{"Origin": o} }
	tests := []struct {
		name string
		ask  ask
		want int
	}{
		{"plain", ask{}, 200},
		{"localhost", ask{host: "localhost:1"}, 200},
		{"IPv6 loopback", ask{host: "[::1]:80"}, 200},
		{"allowed host", ask{host: "ZENO.internal:7777"}, 200},
		{"foreign host", ask{host: "evil.example"}, 403},
		{"host that begins well", ask{host: "localhost.evil.example"}, 403},
		{"foreign address", ask{host: "10.1.2.3"}, 403},
		{"loopback origin", ask{header: origin("http://localhost:3000")}, 200},
		{"allowed origin", ask{header: origin("https://inspect.example")}, 200},
		{"foreign origin", ask{header: origin("https://evil.example")}, 403},
		{"allowed origin, other port", ask{header: origin("https://inspect.example:1")}, 403},
		{"origin that begins well", ask{header: origin("http://127.0.0.1.evil.example")}, 403},
		{"origin with a user", ask{header: origin("http://evil@localhost")}, 403},
		{"null origin", ask{header: origin("null")}, 403},
		{"file origin", ask{header: origin("file://localhost")}, 403},
		{"compressed", ask{header: map[string]string{"Content-Encoding": "gzip"}}, 415},
		{"not JSON", ask{header: map[string]string{"Content-Type": "text/plain"}}, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.ask
			a.url, a.token, a.body = url, token, callBody(1, "(+ 1 2)")
			if got := send(t, c, a); got.status != tt.want {
				t.Errorf("status: got %d %s, want %d", got.status, got.body, tt.want)
			}
			if tt.want == 403 {
				a.url = unguarded(t, s, "s1")
				if got := send(t, c, a); got.status != 200 || !strings.Contains(got.body, "(+ 1 2)") {
					t.Errorf("without the guard: got %d %q, want it served", got.status, got.body)
				}
			}
		})
	}
}

// What has no business here is told apart from nothing.
func TestNotFoundIsAlwaysTheSame(t *testing.T) {
	now := time.Now()
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	host := &fakeHost{surface: func(c Caller) (Surface, bool) { return Surface{}, c.Role != "gone" }}
	s := start(t, Config{Host: host, Now: clock})
	good := issue(t, s, "reviewer", "s1")
	other := issue(t, s, "writer", "s2")
	gone := issue(t, s, "gone", "s3")
	old, err := s.Issue("reviewer", "s4", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	revoked := issue(t, s, "reviewer", "s5")
	s.Revoke("s5")
	mu.Lock()
	now = now.Add(2 * time.Minute)
	mu.Unlock()

	c, url := client(t), s.URL("reviewer")
	body := callBody(1, "(+ 1 2)")
	if got := send(t, c, ask{url: url, token: good, body: body}); got.status != 200 {
		t.Fatalf("the right token: got %d %s", got.status, got.body)
	}
	tests := map[string]ask{
		"no token":           {url: url},
		"wrong token":        {url: url, token: strings.Repeat("A", 43)},
		"token and a bit":    {url: url, token: good + "A"},
		"other role's token": {url: url, token: other},
		"expired":            {url: url, token: old},
		"revoked":            {url: url, token: revoked},
		"role that is gone":  {url: s.URL("gone"), token: gone},
		"token in the URL":   {url: url + "?token=" + good},
		"basic":              {url: url, header: map[string]string{"Authorization": "Basic " + good}},
		"GET without token":  {url: url, method: "GET"},
		"other path":         {url: strings.Replace(url, "/mcp/", "/x/", 1), token: good},
		"path below":         {url: url + "/x", token: good},
		"no role":            {url: s.URL(""), token: good},
	}
	want := answer{status: 404, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"not found"}}` + "\n"}
	for name, a := range tests {
		a.body = body
		got := send(t, c, a)
		if got.status != want.status || got.body != want.body {
			t.Errorf("%s: got %d %q, want %d %q", name, got.status, got.body, want.status, want.body)
		}
		got.header.Del("Date")
		wantHeader := http.Header{"Content-Type": {"application/json"}, "Content-Length": {fmt.Sprint(len(want.body))},
			"X-Content-Type-Options": {"nosniff"}}
		if diff := cmp.Diff(wantHeader, got.header); diff != "" {
			t.Errorf("%s: header (-want +got):\n%s", name, diff)
		}
	}
	if n := len(host.seen()); n != 1 {
		t.Errorf("evals that reached the host: got %d, want 1", n)
	}
	// Without the guard the same request runs.
	if got := send(t, c, ask{url: unguarded(t, s, "s1"), body: body}); got.status != 200 {
		t.Errorf("without the guard: got %d, want 200", got.status)
	}
}

func TestMethods(t *testing.T) {
	s := start(t, Config{})
	token := issue(t, s, "r", "s1")
	c := client(t)
	for _, m := range []string{"GET", "DELETE", "PUT", "OPTIONS", "HEAD"} {
		got := send(t, c, ask{url: s.URL("r"), method: m, token: token})
		if got.status != 405 || got.header.Get("Allow") != "POST" {
			t.Errorf("%s: got %d, Allow %q, want 405, POST", m, got.status, got.header.Get("Allow"))
		}
	}
}

// sendHuge writes a request with a body of size bytes and returns the status
// line and how much of the body could be written before the answer came.
func sendHuge(t *testing.T, addr, path, token string, size int, chunked bool) (status string, sent int) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	length := fmt.Sprintf("Content-Length: %d", size)
	if chunked {
		length = "Transfer-Encoding: chunked"
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s\r\n\r\n",
		path, token, length)
	done := make(chan int)
	go func() {
		const block = 64 << 10
		n, data := 0, []byte(strings.Repeat(" ", block))
		if chunked {
			data = fmt.Appendf(nil, "%x\r\n%s\r\n", block, data)
		}
		for n < size {
			if _, err := conn.Write(data); err != nil {
				break
			}
			n += block
		}
		if chunked && n >= size {
			_, _ = io.WriteString(conn, "0\r\n\r\n")
		}
		done <- n
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode == 413 && !strings.Contains(string(body), "want at most") {
		t.Errorf("413: got %q, want it to say the limit", body)
	}
	conn.Close()
	return res.Status, <-done
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestHugeBody(t *testing.T) {
	s := start(t, Config{})
	token := issue(t, s, "r", "s1")
	const huge = 100 << 20
	for _, chunked := range []bool{false, true} {
		before := allocated()
		status, sent := sendHuge(t, s.Addr(), "/mcp/r", token, huge, chunked)
		if !strings.HasPrefix(status, "413") {
			t.Errorf("chunked %v: got %s, want 413", chunked, status)
		}
		if sent > huge/2 {
			t.Errorf("chunked %v: %d bytes were taken, want it refused early", chunked, sent)
		}
		if grew := allocated() - before; grew > 16<<20 {
			t.Errorf("chunked %v: %d bytes allocated, want it not buffered", chunked, grew)
		}
	}
	// Without the guard every byte is read and kept.
	const large = 8 << 20
	before := allocated()
	url := strings.TrimPrefix(unguarded(t, s, "s1"), "http://")
	if _, sent := sendHuge(t, url, "/", token, large, false); sent < large || allocated()-before < large {
		t.Errorf("without the guard: %d bytes taken, %d allocated, want all", sent, allocated()-before)
	}
}

// A body that does not come is given up; a long eval is not, though it lasts
// longer than a body may.
func TestReadTimeout(t *testing.T) {
	s := start(t, Config{ReadTimeout: 200 * time.Millisecond})
	token := issue(t, s, "r", "s1")
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp/r HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 10\r\n\r\n{", token)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != 400 {
		t.Errorf("half a body: got %v %v, want 400", res, err)
	}

	// On a slow machine a body that is there may be read too late: then there is more time for both.
	var got answer
	for d := 200 * time.Millisecond; got.status != 200 && d < 20*time.Second; d *= 5 {
		b := newBlocking()
		s := start(t, Config{Host: &fakeHost{eval: b.eval}, ReadTimeout: d})
		token := issue(t, s, "r", "s1")
		go func() {
			select {
			case <-b.began:
				time.Sleep(3 * d)
			case <-t.Context().Done():
			}
			close(b.free)
		}()
		got = send(t, client(t), ask{url: s.URL("r"), token: token, body: callBody(1, "long")})
	}
	if text, isErr := toolText(t, got); isErr || text != "=> long" {
		t.Errorf("a long eval: got %q, want its value", text)
	}
}

// Tokens are in no log line, whatever is asked.
func TestTokensStayOutOfLogs(t *testing.T) {
	var log safeBuffer
	host := &fakeHost{eval: func(context.Context, Caller, string) Reply { panic("boom") }}
	s := start(t, Config{Host: host, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	token := issue(t, s, "r", "s1")
	c := client(t)
	for _, a := range []ask{
		{token: token, body: callBody(1, "x")}, {token: token, method: "GET"}, {token: token, body: "{"},
		{token: token, host: "evil.example"}, {token: token + "A", body: callBody(1, "x")},
	} {
		a.url = s.URL("r")
		if got := send(t, c, a); strings.Contains(got.body, token) {
			t.Errorf("answer: got %q, which holds the token", got.body)
		}
	}
	if got := log.String(); got == "" || strings.Contains(got, token) {
		t.Errorf("log: got %q, want lines without the token", got)
	}
}

type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
