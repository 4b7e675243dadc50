package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	host := &fakeHost{}
	tests := []struct {
		name string
		cfg  Config
		want string // in the error; "": none
	}{
		{"defaults", Config{Host: host}, ""},
		{"no host", Config{}, "Host: got nil"},
		{"all interfaces", Config{Host: host, Addr: ":7777"}, "set AllowNonLoopback"},
		{"a LAN address", Config{Host: host, Addr: "192.168.1.2:0"}, "set AllowNonLoopback"},
		{"a name that may be anything", Config{Host: host, Addr: "example.org:0"}, "set AllowNonLoopback"},
		{"asked for", Config{Host: host, Addr: "0.0.0.0:0", AllowNonLoopback: true}, ""},
		{"IPv6 loopback", Config{Host: host, Addr: "[::1]:0"}, ""},
		{"localhost", Config{Host: host, Addr: "localhost:0"}, ""},
		{"no port", Config{Host: host, Addr: "localhost"}, "want host:port"},
		{"negative", Config{Host: host, MaxBody: -1}, "MaxBody: got -1"},
		{"host with port", Config{Host: host, AllowedHosts: []string{"zeno.internal:80"}}, "bare host name"},
		{"wildcard host", Config{Host: host, AllowedHosts: []string{"*"}}, "bare host name"},
		{"IPv6 host", Config{Host: host, AllowedHosts: []string{"fd00::1"}}, ""},
		{"origin with path", Config{Host: host, AllowedOrigins: []string{"https://a.example/"}}, "nothing more"},
		{"wildcard origin", Config{Host: host, AllowedOrigins: []string{"https://*.example"}}, "nothing more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.cfg)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// Without the refusal, a gateway on every interface is reached by its address.
func TestNonLoopback(t *testing.T) {
	s := start(t, Config{Addr: "0.0.0.0:0", AllowNonLoopback: true})
	if !strings.HasPrefix(s.URL("r"), "http://127.0.0.1:") {
		t.Errorf("URL: got %q, want one a local process can use", s.URL("r"))
	}
	token := issue(t, s, "r", "s1")
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() || ip.IP.To4() == nil {
			continue
		}
		_, port, _ := net.SplitHostPort(s.Addr())
		at := "http://" + net.JoinHostPort(ip.IP.String(), port) + "/mcp/r"
		if got := send(t, client(t), ask{url: at, token: token, body: callBody(1, "x")}); got.status != 200 {
			t.Errorf("%s: got %d, want 200", ip.IP, got.status)
		}
	}
}

func TestLife(t *testing.T) {
	s, err := New(Config{Host: &fakeHost{}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Addr() != "" || s.URL("r") != "" {
		t.Errorf("before Start: got %q and %q, want nothing", s.Addr(), s.URL("r"))
	}
	ctx := t.Context()
	for range 2 {
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	addr, token := s.Addr(), issue(t, s, "a/b c", "s1")
	if want := "http://" + addr + "/mcp/a%2Fb%20c"; s.URL("a/b c") != want {
		t.Errorf("URL: got %q, want %q", s.URL("a/b c"), want)
	}
	c := client(t)
	if got := send(t, c, ask{url: s.URL("a/b c"), token: token, body: callBody(1, "x")}); got.status != 200 {
		t.Errorf("a role with a slash: got %d %s, want 200", got.status, got.body)
	}
	// New options take effect under the open listener, and tokens stay.
	if err := s.Configure(Config{Host: &fakeHost{}, MaxBody: 10}); err != nil || s.Addr() != addr {
		t.Errorf("Configure: got %v, listening on %s, want %s still", err, s.Addr(), addr)
	}
	if got := send(t, c, ask{url: s.URL("a/b c"), token: token, body: callBody(1, "x")}); got.status != 413 {
		t.Errorf("with MaxBody 10: got %d, want 413", got.status)
	}
	if err := s.Configure(Config{Host: &fakeHost{}, Addr: "127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "Stop this gateway") {
		t.Errorf("another Addr: got %v, want it refused", err)
	}
	for range 2 {
		if err := s.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
	if err := s.Start(ctx); !errors.Is(err, errStopped) {
		t.Errorf("Start after Stop: got %v, want %v", err, errStopped)
	}
	if _, err := s.Issue("r", "s", time.Hour); !errors.Is(err, errStopped) {
		t.Errorf("Issue after Stop: got %v, want %v", err, errStopped)
	}
}

// Stop ends a running eval, and does not wait for a Host that is deaf longer
// than it was told to.
func TestStopEndsEvals(t *testing.T) {
	b := newBlocking()
	deaf := make(chan struct{})
	s, err := New(Config{Grace: 20 * time.Millisecond, Host: &fakeHost{eval: func(ctx context.Context, c Caller, code string) Reply {
		r := b.eval(ctx, c, code)
		if code == "deaf" {
			<-deaf
		}
		return r
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := client(t)
	var wg sync.WaitGroup
	for _, code := range []string{"good", "deaf"} {
		token := issue(t, s, "r", code)
		wg.Go(func() {
			text, isErr := toolText(t, send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, code)}))
			if !isErr || !strings.Contains(text, errStopped.Error()) {
				t.Errorf("%s: got %q, want it ended by the stop", code, text)
			}
		})
		<-b.began
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // it is given up when both are answered, and only the deaf one is there
		wg.Wait()
		for s.running.count() > 1 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if err := s.Stop(ctx); err == nil || !strings.Contains(err.Error(), "1 evals have not ended") {
		t.Errorf("Stop: got %v, want it to count the deaf eval", err)
	}
	wg.Wait()
	close(deaf)
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("Stop again: %v", err)
	}
}

func TestIssue(t *testing.T) {
	now := time.Now()
	s := start(t, Config{MaxTokens: 2, MaxTTL: time.Hour, Now: func() time.Time { return now }})
	for _, ttl := range []time.Duration{0, -1, time.Hour + 1} {
		if _, err := s.Issue("r", "s", ttl); err == nil || !strings.Contains(err.Error(), "MaxTTL") {
			t.Errorf("ttl %v: got %v, want it refused", ttl, err)
		}
	}
	if _, err := s.Issue("", "s", 1); err == nil {
		t.Error("no role: got a token")
	}
	first, second := issue(t, s, "r", "s1"), issue(t, s, "r", "s1")
	if first == second || len(first) != 43 {
		t.Errorf("tokens: got %d and %d characters, want two different ones of 43", len(first), len(second))
	}
	for digest := range s.reg.passes {
		if strings.Contains(string(digest[:]), first) {
			t.Error("the token is kept as it is")
		}
	}
	if _, err := s.Issue("other", "s1", time.Minute); err == nil {
		t.Error("a second role for one spawn: got a token")
	}
	if _, err := s.Issue("r", "s2", time.Minute); err == nil || !strings.Contains(err.Error(), "Revoke") {
		t.Errorf("one too many: got %v, want it refused", err)
	}
	now = now.Add(2 * time.Hour) // what has expired gives its place up
	third := issue(t, s, "r", "s2")
	if s.reg.find(first, "r", now) != nil || s.reg.find(third, "r", now) == nil || len(s.reg.passes) != 1 {
		t.Errorf("after expiry: got %d tokens, want the new one only", len(s.reg.passes))
	}
}

func TestMaxConns(t *testing.T) {
	var log safeBuffer
	s := start(t, Config{MaxConns: 2, Log: textLog(&log)})
	var held []net.Conn
	for range 2 {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		held = append(held, conn)
	}
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the third connection: got %v, want it closed", err)
	}
	if !strings.Contains(log.String(), "MaxConns") {
		t.Errorf("log: got %q, want it to name MaxConns", log.String())
	}
	held[0].Close()
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	waitFor(t, "a place", func() bool {
		got, err := trySend(t.Context(), once, ask{url: s.URL("r"), method: "GET"})
		return err == nil && got.status == 404
	})
}

// Two hundred spawns, ten evals each, thirty-two at a time: every answer is the
// caller's own.
func TestManySpawns(t *testing.T) {
	host := &fakeHost{eval: func(_ context.Context, c Caller, code string) Reply { return Reply{Value: c.Spawn + "/" + code} }}
	s := start(t, Config{Host: host})
	c := client(t)
	c.Transport.(*http.Transport).MaxIdleConnsPerHost = 32
	slots := make(chan struct{}, 32)
	var wg sync.WaitGroup
	for i := range 200 {
		spawn := fmt.Sprint("s", i)
		token := issue(t, s, "r", spawn)
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			for j := range 10 {
				code := fmt.Sprint(i, "-", j)
				if text, _ := toolText(t, send(t, c, ask{url: s.URL("r"), token: token, body: callBody(j, code)})); text != "=> "+spawn+"/"+code {
					t.Errorf("%s: got %q", spawn, text)
				}
			}
			if a := s.Revoke(spawn); a.Evals != 10 {
				t.Errorf("%s: got %+v, want 10 evals", spawn, a)
			}
		})
	}
	wg.Wait()
}

// The handler works without a listener of ours.
func TestHandler(t *testing.T) {
	s, err := New(Config{Host: &fakeHost{}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: s.Handler()}
	go func() { _ = srv.Serve(ln) }()
	defer srv.Close()
	got := send(t, client(t), ask{url: "http://" + ln.Addr().String() + "/mcp/r", token: issue(t, s, "r", "s1"), body: callBody(1, "x")})
	if text, _ := toolText(t, got); text != "=> x" {
		t.Errorf("got %q, want a value", text)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
