package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

func TestMain(m *testing.M) {
	if helper() {
		return
	}
	noleak.Main(m)
}

const canary = "canary-0f3c9a/+value=="

// patience is how long what must come may take, on however slow a machine.
const patience = time.Minute

func value(t testing.TB, s string) secret.Value {
	t.Helper()
	v, err := secret.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// world is a set of upstream servers under one authority.
type world struct {
	t    testing.TB
	ca   *authority
	pool *x509.CertPool
}

func newWorld(t testing.TB) *world {
	t.Helper()
	ca, err := newAuthority(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return &world{t: t, ca: ca, pool: pool}
}

// server starts an upstream for name, with TLS, h1 and h2, and gives its address.
func (w *world) server(name string, h http.Handler) string {
	w.t.Helper()
	cert, err := w.ca.issue(name)
	if err != nil {
		w.t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
	s.EnableHTTP2 = true
	s.StartTLS()
	w.t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// plain starts an upstream without TLS.
func (w *world) plain(h http.Handler) string {
	s := httptest.NewServer(h)
	w.t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// at is a rule for a name at 443 that leads to addr.
func at(name, addr string) Rule { return Rule{Host: name, Port: 443, Addr: addr} }

func at80(name, addr string) Rule { return Rule{Host: name, Port: 80, Addr: addr} }

// box stands for a box without a namespace: connections carry the address that was dialled.
type box struct {
	t      testing.TB
	p      *Proxy
	ln     map[int]*fakeListener
	roots  *x509.CertPool
	mu     sync.Mutex
	events []Event
	stop   func() error
}

func startBox(t testing.TB, conf Config) *box {
	t.Helper()
	b := &box{t: t, ln: map[int]*fakeListener{}}
	told := conf.Event
	conf.Event = func(e Event) {
		b.mu.Lock()
		b.events = append(b.events, e)
		b.mu.Unlock()
		if told != nil {
			told(e)
		}
	}
	p, err := New(conf)
	if err != nil {
		t.Fatal(err)
	}
	b.p = p
	l := sandbox.Listeners{TCP: map[int]net.Listener{}}
	for _, port := range append([]int{80, 443}, p.Ports()...) {
		b.ln[port] = newFakeListener(t)
		l.TCP[port] = b.ln[port]
	}
	b.serve(func(ctx context.Context) error { return p.Serve(ctx, l) })
	return b
}

func (b *box) serve(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	b.roots = x509.NewCertPool()
	if !b.roots.AppendCertsFromPEM(b.p.CA()) {
		b.t.Fatal("the proxy's CA is no certificate")
	}
	b.stop = sync.OnceValue(func() error { cancel(); return <-done })
	b.t.Cleanup(func() {
		if err := b.stop(); err != nil {
			b.t.Errorf("Serve: %v", err)
		}
	})
}

// fakeListener accepts real loopback connections and gives them the address that the box dialled.
type fakeListener struct {
	net.Listener
	mu  sync.Mutex
	was map[string]netip.AddrPort // by the client's address
}

func newFakeListener(t testing.TB) *fakeListener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &fakeListener{Listener: l, was: map[string]netip.AddrPort{}}
}

type fakeConn struct {
	*net.TCPConn
	l *fakeListener
}

func (c fakeConn) LocalAddr() net.Addr {
	key := c.RemoteAddr().String()
	for {
		c.l.mu.Lock()
		a, ok := c.l.was[key]
		c.l.mu.Unlock()
		if ok {
			return net.TCPAddrFromAddrPort(a)
		}
		time.Sleep(time.Millisecond) // the dialler is about to say
	}
}

func (l *fakeListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return fakeConn{c.(*net.TCPConn), l}, nil
}

// dialAddr connects to an address as a program in the box does.
func (b *box) dialAddr(a netip.AddrPort) (net.Conn, error) {
	l := b.ln[int(a.Port())]
	if l == nil {
		return nil, errors.New("connection refused")
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.was[c.LocalAddr().String()] = a
	l.mu.Unlock()
	return c, nil
}

// dial connects to a name, asking the stub for it.
func (b *box) dial(name string, port int) (net.Conn, error) {
	a, ok := b.p.address(name)
	if !ok {
		return nil, fmt.Errorf("REFUSED: %s", name)
	}
	return b.dialAddr(netip.AddrPortFrom(a, uint16(port)))
}

func (b *box) mustDial(name string, port int) net.Conn {
	b.t.Helper()
	c, err := b.dial(name, port)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c
}

// tls connects to a name with an SNI.
func (b *box) tls(name, sni string, protos ...string) (*tls.Conn, error) {
	c := b.mustDial(name, 443)
	_ = c.SetDeadline(time.Now().Add(patience))
	t := tls.Client(c, &tls.Config{ServerName: sni, RootCAs: b.roots, NextProtos: protos})
	return t, t.Handshake()
}

// client is an HTTP client in the box.
func (b *box) client() *http.Client {
	tr := &http.Transport{
		DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			name, port, err := splitPort(addr)
			if err != nil {
				return nil, err
			}
			return b.dial(name, port)
		},
		TLSClientConfig: &tls.Config{RootCAs: b.roots}, ForceAttemptHTTP2: true, DisableCompression: true,
	}
	b.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// get does a request and gives status and body.
func (b *box) get(url string, header ...string) (int, string) {
	b.t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return b.do(req)
}

func (b *box) do(req *http.Request) (int, string) {
	b.t.Helper()
	res, err := b.client().Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, string(body) + "!" + err.Error()
	}
	return res.StatusCode, string(body)
}

// raw sends bytes over a connection and gives what comes back.
func raw(c net.Conn, text string) string {
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil {
		return "write: " + err.Error()
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return fmt.Sprintf("%d %s", res.StatusCode, body)
}

// told gives the events so far, as text.
func (b *box) told() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var s strings.Builder
	for _, e := range b.events {
		fmt.Fprintf(&s, "%+v\n", e)
	}
	return s.String()
}

// wait gives the first event that f picks.
func (b *box) wait(f func(Event) bool) Event {
	b.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		b.mu.Lock()
		for _, e := range b.events {
			if f(e) {
				b.mu.Unlock()
				return e
			}
		}
		b.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatalf("no such event in:\n%s", b.told())
	return Event{}
}

// echo answers with the request as it arrived.
func echo(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s %s host=%s\n", r.Proto, r.Method, r.URL.RequestURI(), r.Host)
	for k, vs := range r.Header {
		fmt.Fprintf(w, "%s: %q\n", k, vs)
	}
	_, _ = io.Copy(w, r.Body)
}
