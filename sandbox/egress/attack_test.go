package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// isReset tells that the peer reset the connection.
func isReset(c net.Conn) error {
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	n, err := c.Read(make([]byte, 1))
	if n > 0 || err == nil || !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "EOF") {
		return fmt.Errorf("got %d bytes, %w; want a reset", n, err)
	}
	return nil
}

func TestAddressesHaveNoName(t *testing.T) {
	w := newWorld(t)
	addr := w.server("api.example.com", http.HandlerFunc(echo))
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", addr)}}, Roots: w.pool})
	if status, _ := b.get("https://api.example.com/"); status != 200 {
		t.Fatalf("the server is not there: %d", status)
	}
	for _, a := range []string{"93.184.216.34:443", "169.254.169.254:80", "127.0.0.1:443", "198.19.0.9:443", "10.0.0.1:80", "0.0.0.0:80", "255.255.255.255:443", "[::1]:443", "[::ffff:127.0.0.1]:80"} {
		c, err := b.dialAddr(netip.MustParseAddrPort(a))
		if err != nil {
			t.Fatal(err)
		}
		if err := isReset(c); err != nil {
			t.Errorf("%s: %v", a, err)
		}
		_ = c.Close()
	}
	b.wait(func(e Event) bool {
		return e.Host == "169.254.169.254" && e.Port == 80 && strings.Contains(e.Refused, "without a name")
	})
}

// One server that holds several names answers for each of them on any connection. The proxy does not let an allowed name
// be a door to another.
func TestNamesMustAgree(t *testing.T) {
	w := newWorld(t)
	rec := &recorder{then: echo}
	addr := w.server("front.example.com", rec)
	direct := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.pool, ServerName: "front.example.com"}}}
	defer direct.CloseIdleConnections()
	req, _ := http.NewRequest("GET", "https://"+addr+"/", nil)
	req.Host = "hidden.example.com"
	if res, err := direct.Do(req); err != nil || res.StatusCode != 200 {
		t.Fatalf("without the proxy the server answers for the other name: got %v %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("front.example.com", addr), {Host: "other.example.com"}}}, Roots: w.pool})
	before := len(rec.seen)
	for _, c := range []struct{ sni, host string }{
		{"front.example.com", "hidden.example.com"},
		{"front.example.com", "other.example.com"}, // allowed, but not this connection
		{"other.example.com", "front.example.com"},
		{"other.example.com", "other.example.com"},
		{"front.example.com", "front.example.com:8443"},
		{"front.example.com", "front.example.com.evil.com"},
		{"front.example.com", "127.0.0.1"},
		{"front.example.com", "[::1]"},
		{"front.example.com", "front.example.com\tx"},
		{"front.example.com", "front.example.com@hidden.example.com"},
		{"front.example.com", ""},
	} {
		conn, err := b.tls("front.example.com", c.sni)
		if err != nil {
			t.Errorf("%v: no handshake, so nothing can say what is wrong: %v", c, err)
			continue
		}
		if got := raw(conn, "GET / HTTP/1.1\r\nHost: "+c.host+"\r\n\r\n"); !strings.HasPrefix(got, "421 ") && !strings.HasPrefix(got, "400 ") {
			t.Errorf("SNI %q, Host %q: got %q, want 421", c.sni, c.host, got)
		}
	}
	if len(rec.seen) != before {
		t.Errorf("the server got %d requests of these", len(rec.seen)-before)
	}
	for _, host := range []string{"front.example.com", "FRONT.example.com.", "front.example.com:443"} {
		conn, err := b.tls("front.example.com", "front.example.com")
		if err != nil {
			t.Fatal(err)
		}
		if got := raw(conn, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "200 ") {
			t.Errorf("Host %q: got %q, want 200", host, got)
		}
		if got := rec.last().Host; got != "front.example.com" {
			t.Errorf("upstream got the Host %q, want the one spelling", got)
		}
	}
}

func TestNoSNI(t *testing.T) {
	w := newWorld(t)
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("front.example.com", w.server("front.example.com", http.HandlerFunc(echo)))}}, Roots: w.pool})
	c := tls.Client(b.mustDial("front.example.com", 443), &tls.Config{InsecureSkipVerify: true})
	if got := raw(c, "GET / HTTP/1.1\r\nHost: front.example.com\r\n\r\n"); !strings.HasPrefix(got, "421 ") {
		t.Errorf("got %q, want 421", got)
	}
}

// Requests that different parsers read differently reach the server as one request each, or not at all.
func TestSmuggling(t *testing.T) {
	w := newWorld(t)
	rec := &recorder{then: echo}
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", rec))}}, Roots: w.pool})
	const host = "Host: api.example.com\r\n"
	hidden := "GET /hidden HTTP/1.1\r\nHost: hidden.example.com\r\n\r\n"
	for name, text := range map[string]string{
		"CL.TE":        "POST / HTTP/1.1\r\n" + host + fmt.Sprintf("Content-Length: %d\r\n", 5+len(hidden)) + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"TE.CL":        "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nabcde\r\n0\r\n\r\n" + hidden,
		"TE.TE":        "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n" + hidden,
		"TE space":     "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
		"two CL":       "POST / HTTP/1.1\r\n" + host + "Content-Length: 0\r\nContent-Length: 60\r\n\r\n" + hidden,
		"CL +":         "POST / HTTP/1.1\r\n" + host + "Content-Length: +0\r\n\r\n" + hidden,
		"obs-fold":     "GET / HTTP/1.1\r\n" + host + "X-A: b\r\n Host: hidden.example.com\r\n\r\n",
		"fold of Host": "GET / HTTP/1.1\r\nHost: api.example.com\r\n .evil.com\r\n\r\n",
		"two Hosts":    "GET / HTTP/1.1\r\n" + host + "Host: hidden.example.com\r\n\r\n",
		"absolute":     "GET https://hidden.example.com/ HTTP/1.1\r\n" + host + "\r\n",
		"absolute 2":   "GET http://api.example.com/ HTTP/1.1\r\n" + host + "\r\n",
		"authority":    "GET //hidden.example.com/ HTTP/1.1\r\n" + host + "\r\n",
		"bare LF":      "GET / HTTP/1.1\nHost: api.example.com\nX-A: b\n\n" + hidden,
		"bare CR":      "GET / HTTP/1.1\r\n" + host + "X-A: b\rHost: hidden.example.com\r\n\r\n",
		"NUL":          "GET / HTTP/1.1\r\n" + host + "X-A: b\x00c\r\n\r\n",
		"CONNECT":      "CONNECT hidden.example.com:443 HTTP/1.1\r\n" + host + "\r\n",
		"CONNECT own":  "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
		"upgrade h2c":  "GET / HTTP/1.1\r\n" + host + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
		"nominated":    "GET / HTTP/1.1\r\n" + host + "Connection: close, Authorization, Host\r\nAuthorization: x\r\n\r\n",
	} {
		conn, err := b.tls("api.example.com", "api.example.com")
		if err != nil {
			t.Fatal(err)
		}
		got := raw(conn, text)
		t.Logf("%-12s %.60q", name, got)
		if strings.HasPrefix(name, "CONNECT") && !strings.HasPrefix(got, "4") {
			t.Errorf("%s: got %q, want a refusal", name, got)
		}
		_ = conn.Close()
	}
	time.Sleep(50 * time.Millisecond)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for _, r := range rec.seen {
		if r.Host != "api.example.com" || strings.Contains(r.URL.Path, "/hidden") && r.URL.Path != "//hidden.example.com/" {
			t.Errorf("the server got %s %s for %s", r.Method, r.URL, r.Host)
		}
		if r.Header.Get("Upgrade") != "" {
			t.Errorf("the server got an upgrade to %s", r.Header.Get("Upgrade"))
		}
	}
}

// h2 sends a raw request: pseudo headers and fields as given.
func h2(conn *tls.Conn, fields ...string) string {
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = conn.Write([]byte(http2.ClientPreface))
	fr := http2.NewFramer(conn, conn)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = fr.WriteSettings()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return err.Error()
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return "reset " + f.ErrCode.String()
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				return "reset by goaway " + f.ErrCode.String()
			}
		}
	}
}

func TestSmugglingOverH2(t *testing.T) {
	w := newWorld(t)
	rec := &recorder{then: echo}
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", rec))}}, Roots: w.pool})
	start := []string{":method", "GET", ":scheme", "https", ":path", "/"}
	good := append(start, ":authority", "api.example.com")
	for _, c := range []struct {
		name, want string
		fields     []string
	}{
		{"good", "200", good},
		{"authority", "421", append(start, ":authority", "hidden.example.com")},
		{"host beside authority", "4", append(good, "host", "hidden.example.com")},
		{"host alone", "421", append(start, "host", "hidden.example.com")},
		{"userinfo", "reset", append(start, ":authority", "api.example.com@hidden.example.com")},
		{"two authorities", "400", append(good, ":authority", "hidden.example.com")},
		{"pseudo after field", "reset", append(start, "x", "y", ":authority", "api.example.com")},
		{"CRLF in a value", "400", append(good, "x", "a\r\nHost: hidden.example.com")},
		{"upper case", "400", append(good, "X-A", "b")},
		{"CRLF in the path", "", []string{":method", "GET", ":scheme", "https", ":path", "/ HTTP/1.1\r\nHost: hidden.example.com\r\n\r\n", ":authority", "api.example.com"}},
		{"CRLF in the method", "", []string{":method", "GET / HTTP/1.1\r\n", ":scheme", "https", ":path", "/", ":authority", "api.example.com"}},
		{"connection", "", append(good, "connection", "upgrade")},
		{"transfer-encoding", "", append(good, "transfer-encoding", "chunked")},
		{"CONNECT", "", []string{":method", "CONNECT", ":authority", "hidden.example.com:443"}},
	} {
		conn, err := b.tls("api.example.com", "api.example.com", "h2")
		if err != nil {
			t.Fatal(err)
		}
		got := h2(conn, c.fields...)
		if c.want != "" && !strings.HasPrefix(got, c.want) || c.want == "" && got == "200" && len(c.fields) < 10 {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		_ = conn.Close()
	}
	for _, r := range rec.seen {
		if r.Host != "api.example.com" || len(r.Header["Transfer-Encoding"]) > 0 || r.Method != "GET" {
			t.Errorf("the server got %s for %s with %v", r.Method, r.Host, r.Header)
		}
	}
}

// resolver answers from a function.
type resolver func(host string) []netip.Addr

func (r resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a := r(host); a != nil {
		return a, nil
	}
	return nil, errors.New("no such host")
}

func addrs(s ...string) []netip.Addr {
	out := []netip.Addr{}
	for _, a := range s {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func noOwn() ([]netip.Addr, error) { return nil, nil }

// A name that is allowed resolves to the internet first and to the host itself later.
func TestRebinding(t *testing.T) {
	w := newWorld(t)
	addr := netip.MustParseAddrPort(w.server("rebind.example.com", http.HandlerFunc(echo)))
	inside := w.plain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the host's own service") }))
	var later, dialled atomic.Bool
	conf := Config{Policy: Policy{Default: Public}, Roots: w.pool, Own: noOwn,
		Resolver: resolver(func(string) []netip.Addr {
			if later.Load() {
				return addrs("127.0.0.1")
			}
			return addrs("93.184.216.34")
		}),
		Dial: func(ctx context.Context, to netip.AddrPort, control func(netip.AddrPort) error) (net.Conn, error) {
			if err := control(to); err != nil {
				return nil, err
			}
			if to.Addr().String() == "93.184.216.34" {
				to = addr
			} else {
				dialled.Store(true)
				to = netip.MustParseAddrPort(inside)
			}
			return net.Dial("tcp", to.String())
		}}
	b := startBox(t, conf)
	if status, body := b.get("https://rebind.example.com/"); status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	later.Store(true)
	b.p.out1.CloseIdleConnections()
	b.p.out.CloseIdleConnections() // as when the server closes them
	for _, scheme := range []string{"https", "http"} {
		status, body := b.get(scheme + "://rebind.example.com/")
		if status != 403 || !strings.Contains(body, "127.0.0.1, which is not a public address") {
			t.Errorf("%s: got %d %s, want a refusal", scheme, status, body)
		}
	}
	if dialled.Load() {
		t.Error("the host's own service was dialled")
	}
	// The harm: without the check the same name reaches the service.
	open := startBox(t, Config{Policy: Policy{Allow: []Rule{{Host: "rebind.example.com", Addr: "127.0.0.0/8"}}}, Resolver: conf.Resolver, Dial: conf.Dial, Own: noOwn})
	if status, body := open.get("http://rebind.example.com/"); status != 200 || body != "the host's own service" {
		t.Errorf("a rule that names the network: got %d %s", status, body)
	}
}

// What the system is about to connect to is checked too, where it differs from what was asked for.
func TestTheAddressIsPinned(t *testing.T) {
	p, err := New(Config{Policy: Policy{Default: Public}, Own: noOwn, Resolver: resolver(func(string) []netip.Addr { return addrs("93.184.216.34") }),
		Dial: func(_ context.Context, to netip.AddrPort, control func(netip.AddrPort) error) (net.Conn, error) {
			return nil, control(netip.AddrPortFrom(netip.MustParseAddr("169.254.169.254"), to.Port()))
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.out.DialContext(context.Background(), "tcp", "a.example.com:80"); err == nil || !strings.Contains(err.Error(), "was about to go to") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestPublicAddresses(t *testing.T) {
	for _, s := range []string{"8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1", "172.32.0.1", "100.128.0.1"} {
		if !public(netip.MustParseAddr(s)) {
			t.Errorf("%s: got not public", s)
		}
	}
	for _, s := range []string{"127.0.0.1", "127.255.0.1", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.100.100.200",
		"192.0.0.192", "168.63.129.16", "224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "198.19.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
		"fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe::", "2001::1", "64:ff9b:1::1", "fec0::1"} {
		if public(netip.MustParseAddr(s)) {
			t.Errorf("%s: got public", s)
		}
	}
}

// The host is refused by its own public address too: its services listen there.
func TestTheHostsOwnAddresses(t *testing.T) {
	d := &dialer{live: &live{launch: &policy{mode: Public}}, resolve: resolver(func(string) []netip.Addr { return addrs("93.184.216.34") }),
		own: func() ([]netip.Addr, error) { return addrs("93.184.216.34"), nil }}
	if _, err := d.connect(context.Background(), "tcp", "self.example.com:443"); err == nil || !strings.Contains(err.Error(), "not a public address") {
		t.Errorf("got %v, want a refusal", err)
	}
	d.own = func() ([]netip.Addr, error) { return nil, errors.New("cannot tell") }
	if _, err := d.connect(context.Background(), "tcp", "self.example.com:443"); err == nil {
		t.Error("got a connection although the host's addresses are not known")
	}
}

func TestRedirect(t *testing.T) {
	w := newWorld(t)
	addr := w.server("api.example.com", http.RedirectHandler("https://evil.example.com/x", http.StatusFound))
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", addr)}}, Roots: w.pool})
	if status, text := b.get("https://api.example.com/"); status != 0 || !strings.Contains(text, "REFUSED: evil.example.com") {
		t.Errorf("got %d %q, want the client to find no such name", status, text)
	}
}

func TestOnlyTheOwnEndpoint(t *testing.T) {
	w := newWorld(t)
	rec := &recorder{then: echo}
	endpoint, _ := url.Parse("http://" + w.plain(rec) + "/mcp/worker")
	b := startBox(t, Config{Internal: &Internal{Endpoint: endpoint, Token: value(t, "token-0123456789")}})
	status, body := b.get("http://zeno.internal/mcp/worker", "Authorization", "Bearer $MSB_ZENO_TOKEN")
	if status != 200 || rec.last().Header.Get("Authorization") != "Bearer token-0123456789" || rec.last().Host != endpoint.Host {
		t.Fatalf("got %d, upstream %v", status, rec.last())
	}
	if strings.Contains(body, "token-0123456789") || !strings.Contains(body, "$MSB_ZENO_TOKEN") {
		t.Errorf("the token came back: %s", body)
	}
	before := len(rec.seen)
	for _, path := range []string{"/", "/mcp", "/mcp/", "/mcp/reader", "/mcp/worker/", "/mcp/worker/../reader", "/mcp/%77orker", "/mcp/worker%2f..%2freader", "//mcp/worker", "/MCP/worker",
		"/mcp/worker;x", "/control", "/control/spawns", "/debug/pprof/", "/metrics", "http://zeno.internal/mcp/reader", "http://127.0.0.1/mcp/worker", "*"} {
		got := raw(b.mustDial(InternalHost, 80), "GET "+path+" HTTP/1.1\r\nHost: zeno.internal\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, "4") {
			t.Errorf("%s: got %q, want a refusal", path, got)
		}
	}
	for _, host := range []string{"localhost", "127.0.0.1", "zeno.internal:7888", "reader.zeno.internal"} {
		if got := raw(b.mustDial(InternalHost, 80), "GET /mcp/worker HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); !strings.HasPrefix(got, "421") {
			t.Errorf("Host %s: got %q, want 421", host, got)
		}
	}
	c := tls.Client(b.mustDial(InternalHost, 80), &tls.Config{ServerName: InternalHost, RootCAs: b.roots})
	if got := raw(c, "GET /mcp/worker HTTP/1.1\r\nHost: zeno.internal\r\n\r\n"); !strings.HasPrefix(got, "404") {
		t.Errorf("TLS: got %q, want 404", got)
	}
	if err := isReset(b.mustDial(InternalHost, 443)); err != nil {
		t.Errorf("port 443: %v", err)
	}
	if len(rec.seen) != before {
		t.Errorf("the gateway got %d of these", len(rec.seen)-before)
	}
	none := startBox(t, Config{Policy: Policy{Default: Public}})
	if _, err := none.dial(InternalHost, 80); err == nil {
		t.Error("zeno.internal resolves in a box without an endpoint")
	}
}

// The token of zeno.internal goes nowhere else.
func TestTheTokenStays(t *testing.T) {
	w := newWorld(t)
	rec := &recorder{}
	endpoint, _ := url.Parse("http://" + w.plain(rec) + "/mcp/worker")
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", rec))}}, Roots: w.pool,
		Internal: &Internal{Endpoint: endpoint, Token: value(t, "token-0123456789")}})
	b.get("https://api.example.com/", "Authorization", "Bearer $MSB_ZENO_TOKEN")
	if got := rec.last().Header.Get("Authorization"); got != "Bearer $MSB_ZENO_TOKEN" {
		t.Errorf("got %q at another host", got)
	}
	b.wait(func(e Event) bool {
		return e.Kind == KindSecret && e.Host == "api.example.com" && e.Secrets[0] == "ZENO_TOKEN"
	})
}
