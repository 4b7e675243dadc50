package egress

import (
	"bufio"
	"context"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

// forwardBox is a box that reaches out through an ordinary proxy.
func forwardBox(t *testing.T, conf Config) (*box, string) {
	t.Helper()
	b := &box{t: t}
	conf.Event = func(e Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.events = append(b.events, e)
	}
	p, err := New(conf)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.p = p
	b.serve(func(ctx context.Context) error { return p.ServeForward(ctx, sandbox.Listeners{}, l) })
	return b, l.Addr().String()
}

func TestForwardProxy(t *testing.T) {
	w := newWorld(t)
	rec := &recorder{then: echo}
	tlsAddr, plain := w.server("api.example.com", rec), w.plain(rec)
	b, addr := forwardBox(t, Config{Roots: w.pool,
		Policy:  Policy{Allow: []Rule{at("api.example.com", tlsAddr), at80("api.example.com", plain), at80("second.example.com", plain)}},
		Secrets: []Secret{{Env: "TOKEN", Hosts: []string{"api.example.com"}, Value: value(t, canary)}}})
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: addr}), TLSClientConfig: &tls.Config{RootCAs: b.roots}, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr, Timeout: patience}
	get := func(u string) (int, string) {
		req, _ := http.NewRequest("GET", u, nil)
		req.Header.Set("Authorization", "Bearer $MSB_TOKEN")
		res, err := c.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(body)
	}
	if status, body := get("https://api.example.com/x"); status != 200 || rec.last().Header.Get("Authorization") != "Bearer "+canary || strings.Contains(body, canary) {
		t.Errorf("through CONNECT: got %d %s", status, body)
	}
	for _, host := range []string{"api", "second"} { // on one connection
		if status, _ := get("http://" + host + ".example.com/x"); status != 200 || rec.last().Header.Get("Authorization") != "Bearer $MSB_TOKEN" || rec.last().Host != host+".example.com" {
			t.Errorf("plain: got %d, upstream %v", status, rec.last().Header)
		}
	}
	for u, want := range map[string]string{"https://evil.example.com/": "Forbidden", "https://127.0.0.1:7888/": "Forbidden", "https://[::1]/": "Forbidden", "https://api.example.com:7888/": "Forbidden", "https://zeno.internal:7888/": "Forbidden",
		"http://evil.example.com/": "not allowed", "http://127.0.0.1:7888/": "without a name", "http://localhost:7888/": "not allowed", "http://169.254.169.254/latest/meta-data": "without a name"} {
		if status, text := get(u); status == 200 || !strings.Contains(text, want) {
			t.Errorf("%s: got %d %s, want %q", u, status, text, want)
		}
	}
	// A tunnel is not a way round the names: inside it the same is checked.
	for _, inner := range []string{"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "SSH-2.0-x\r\n"} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		before := len(rec.seen)
		_, _ = io.WriteString(conn, "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n")
		br := bufio.NewReader(conn)
		if res, err := http.ReadResponse(br, nil); err != nil || res.StatusCode != 200 {
			t.Fatalf("CONNECT: got %v %v", res, err)
		}
		_, _ = io.WriteString(conn, inner)
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		got, _ := br.ReadString('\n')
		if strings.HasPrefix(inner, "SSH") && (len(rec.seen) != before || !strings.Contains(got, "400")) {
			t.Errorf("%q in a tunnel: got %q", inner, got)
		}
		_ = conn.Close()
	}
	if leaks(b.told()) != "" {
		t.Errorf("leaked in %s", b.told())
	}
}

// A websocket, the client by hand: the accept key, then frames both ways.
func TestWebsocket(t *testing.T) {
	w := newWorld(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Authorization") != "Bearer "+canary {
			http.Error(w, "want a websocket with the value", http.StatusBadRequest)
			return
		}
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Echo: %s\r\nSec-WebSocket-Accept: %s\r\n\r\n", canary, base64.StdEncoding.EncodeToString(sum[:]))
		_ = rw.Flush()
		echoFrames(conn, rw)
	})
	b := secretBox(t, w, h)
	conn, err := b.tls("api.example.com", "api.example.com", "http/1.1")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET /ws HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer $MSB_TOKEN\r\n\r\n")
	br := bufio.NewReader(conn)
	res, err := http.ReadResponse(br, nil)
	if err != nil || res.StatusCode != 101 || res.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" || res.Header.Get("X-Echo") != "$MSB_TOKEN" {
		t.Fatalf("got %v %v", res, err)
	}
	frame := []byte{0x81, 0x85, 1, 2, 3, 4, 'h' ^ 1, 'e' ^ 2, 'l' ^ 3, 'l' ^ 4, 'o' ^ 1}
	for range 3 {
		_, _ = conn.Write(frame)
		got := make([]byte, 7)
		if _, err := io.ReadFull(br, got); err != nil || string(got) != "\x81\x05hello" {
			t.Fatalf("got %q %v", got, err)
		}
	}
	// Closing the box ends it.
	go func() { time.Sleep(50 * time.Millisecond); _ = b.stop() }()
	if _, err := io.ReadAll(br); err == nil {
		t.Log("ended in order")
	}
	if e := b.wait(func(e Event) bool { return e.Kind == KindRequest }); e.Status != 101 {
		t.Errorf("got %+v", e)
	}
}

func TestManyConnections(t *testing.T) {
	w := newWorld(t)
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", http.HandlerFunc(echo)))}}, Roots: w.pool, Limits: Limits{Conns: 10, EventRate: 1, Handshake: 10 * patience}})
	began := time.Now()
	ended := make(chan error, 50)
	for range 50 {
		c := b.mustDial("api.example.com", 443)
		go func() {
			_, err := c.Read(make([]byte, 1))
			ended <- err
		}()
	}
	for i := range 40 {
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatalf("got %d of 50 refused, want 40", i)
		}
	}
	select {
	case err := <-ended:
		t.Errorf("got more than 40 of 50 refused (%v), want 10 held", err)
	case <-time.After(100 * time.Millisecond):
	}
	n, took := strings.Count(b.told(), "Kind:connection"), time.Since(began)
	if float64(n) > 15+took.Seconds() {
		t.Errorf("got %d events in %v, want the rate to hold them back", n, took)
	}
	_ = b.stop()
	e := b.wait(func(e Event) bool { return e.Kind == KindDropped })
	if e.Dropped == 0 {
		t.Errorf("got %+v", e)
	}
}

func TestManyRequests(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", h))}}, Roots: w.pool, Limits: Limits{Requests: 5}})
	c := b.client()
	codes := make(chan int, 20)
	for range 20 {
		go func() {
			res, err := c.Get("https://api.example.com/")
			if err != nil {
				codes <- 0
				return
			}
			_ = res.Body.Close()
			codes <- res.StatusCode
		}()
	}
	for range 15 {
		if code := <-codes; code != 503 && code != 0 {
			t.Errorf("got %d, want 503 over the limit", code)
		}
	}
	close(release)
	for range 5 {
		<-codes
	}
}

func TestLargeHeaders(t *testing.T) {
	w := newWorld(t)
	rec := &recorder{then: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/big" {
			w.Header().Set("X-Big", strings.Repeat("a", 600<<10))
		}
	}}
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", rec))}}, Roots: w.pool})
	if status, _ := b.get("https://api.example.com/", "X-A", strings.Repeat("a", 200<<10)); status == 200 || len(rec.seen) > 0 {
		t.Errorf("got %d for a header of 200 KiB", status)
	}
	if status, body := b.get("https://api.example.com/big"); status != 502 {
		t.Errorf("got %d %.100s for an answer with a header of 600 KiB", status, body)
	}
}

// A server without a certificate that holds gets nothing: no header with a value leaves before it is known who hears it.
func TestUpstreamIsVerified(t *testing.T) {
	w, foreign := newWorld(t), newWorld(t)
	rec := &recorder{}
	for _, addr := range []string{foreign.server("api.example.com", rec), w.server("other.example.com", rec)} {
		b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", addr)}}, Roots: w.pool, Secrets: []Secret{{Env: "TOKEN", Hosts: []string{"api.example.com"}, Value: value(t, canary)}}})
		if status, body := b.get("https://api.example.com/", "Authorization", "$MSB_TOKEN"); status != 502 || !strings.Contains(body, "certificate") || len(rec.seen) != 0 {
			t.Errorf("got %d %s", status, body)
		}
	}
}

func TestServeOnce(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Serve(context.Background(), sandbox.Listeners{}); err != nil {
		t.Errorf("got %v for no listeners", err)
	}
	if err := p.Serve(context.Background(), sandbox.Listeners{}); err == nil || !strings.Contains(err.Error(), "second Serve") {
		t.Errorf("got %v", err)
	}
}
