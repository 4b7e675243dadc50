package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/reflection-dev/zeno/sandbox"
)

// Proxy serves the network of one box. It implements sandbox.Proxy.
type Proxy struct {
	conf    Config
	limits  Limits
	live    *live
	names   *names
	ca      *authority
	tls     *tls.Config
	secrets []bound
	token   []bound // the token of zeno.internal, or none
	hidden  *matcher
	marks   []string

	conns    conns
	arrived  queue
	slots    chan struct{}
	running  sync.WaitGroup
	started  atomic.Bool
	serving  context.Context // of Serve
	out      *http.Transport // what came by h2, or h1 where the server speaks no h2
	out1     *http.Transport // what came by h1: no cost of framing, and upgrades work
	inside   *http.Transport
	forward  *httputil.ReverseProxy
	matchers sync.Map // of sets of secrets
	hidePath atomic.Bool

	events  *rate.Limiter
	dropped atomic.Int64
	asked   sync.Map // names whose refusal was told
	askedN  atomic.Int64
}

var _ sandbox.Proxy = (*Proxy)(nil)

// New makes the proxy of one box. It fails on a policy that is not clear and on a secret without a value.
func New(conf Config) (*Proxy, error) {
	launch, err := conf.Policy.compile()
	if err != nil {
		return nil, err
	}
	p := &Proxy{conf: conf, limits: conf.Limits.withDefaults(), live: &live{launch: launch}, names: newNames(), marks: base64Marks()}
	if p.secrets, err = conf.bind(); err != nil {
		return nil, err
	}
	if err := p.bindToken(); err != nil {
		return nil, err
	}
	if p.conf.Now == nil {
		p.conf.Now = time.Now
	}
	if p.ca, err = newAuthority(p.conf.Now); err != nil {
		return nil, err
	}
	p.hidden = newMatcher(scrubPatterns(append(p.token, p.secrets...)))
	p.hidePath.Store(conf.Policy.HidePaths)
	p.conns = conns{open: map[*boxConn]struct{}{}, max: p.limits.Conns}
	p.slots = make(chan struct{}, p.limits.Requests)
	p.events = rate.NewLimiter(rate.Limit(p.limits.EventRate), int(10*p.limits.EventRate)+1)
	p.tls = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, DynamicRecordSizingDisabled: true, GetCertificate: p.certificate}
	p.connectors()
	return p, nil
}

// bindToken takes the token of zeno.internal as a secret of that host.
func (p *Proxy) bindToken() error {
	in := p.conf.Internal
	switch {
	case in == nil:
		return nil
	case in.Endpoint == nil || in.Endpoint.Scheme != "http" || in.Endpoint.Host == "" || len(in.Endpoint.Path) < 2:
		return fmt.Errorf("egress: got the internal endpoint %v, want http://ADDRESS:PORT/PATH", in.Endpoint)
	case in.Token.IsZero():
		return nil
	}
	env := in.TokenEnv
	if env == "" {
		env = "ZENO_TOKEN"
	}
	s := Secret{Env: env, Value: in.Token}
	if !variable(env) {
		return fmt.Errorf("secret: got the variable %q, want letters, digits and _, not a digit first", env)
	}
	for _, other := range p.secrets {
		if other.env == env {
			return fmt.Errorf("secret %s: got it twice, it is the token of %s already", env, InternalHost)
		}
	}
	p.token = []bound{{env: env, placeholder: s.Placeholder(), value: s.Value.Reveal()}}
	return nil
}

// connectors makes what connects to the outside and to the gateway.
func (p *Proxy) connectors() {
	d := &dialer{live: p.live, resolve: p.conf.Resolver, dial: p.conf.Dial, own: p.conf.Own}
	if d.resolve == nil {
		d.resolve = net.DefaultResolver
	}
	if d.dial == nil {
		d.dial = dialTCP
	}
	if d.own == nil {
		d.own = ownAddrs
	}
	var h1 http.Protocols
	h1.SetHTTP1(true)
	p.out = p.outward(d, "h2", "http/1.1")
	p.out1 = p.outward(d)
	p.out1.Protocols = &h1
	p.out.ForceAttemptHTTP2 = true
	p.out.HTTP2 = &http.HTTP2Config{MaxReadFrameSize: chunk}
	p.inside = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 4 * int64(p.limits.HeaderBytes)}
	p.forward = p.newForward()
}

// outward makes a transport that offers the protocols of TLS; none is h1 alone.
func (p *Proxy) outward(d *dialer, protocols ...string) *http.Transport {
	conf := &tls.Config{RootCAs: p.conf.Roots, MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true, NextProtos: protocols}
	return &http.Transport{
		DialContext: d.connect, DialTLSContext: d.connectTLS(conf, protocols == nil, p.limits.Handshake),
		DisableCompression: true, MaxIdleConns: 100, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: 4 * int64(p.limits.HeaderBytes),
		WriteBufferSize: chunk, ReadBufferSize: 4 << 10, // bodies pass by the latter
	}
}

// Env implements sandbox.Proxy: the placeholders, and where programs find the certificate.
func (p *Proxy) Env() map[string]string {
	out := p.Placeholders()
	for _, k := range caVars {
		out[k] = sandbox.BundlePath
	}
	out["NODE_EXTRA_CA_CERTS"] = sandbox.CAPath // added to what node brings
	return out
}

// Placeholders gives what the box sees of each secret, by its variable.
func (p *Proxy) Placeholders() map[string]string {
	out := map[string]string{}
	for _, list := range [][]bound{p.secrets, p.token} {
		for _, s := range list {
			out[s.env] = s.placeholder
		}
	}
	return out
}

// CA implements sandbox.Proxy.
func (p *Proxy) CA() []byte { return append([]byte(nil), p.ca.pem...) }

// Ports implements sandbox.Proxy: the ports besides 443 and 80 that the policy names.
func (p *Proxy) Ports() []int { return p.live.launch.ports() }

// SetPolicy narrows what the box may reach, at once: connections to what is closed now are cut. What the box was started
// without, or what an earlier call closed, stays closed; SetPolicy returns the allow rules of which that is true. A policy
// that is refused changes nothing.
func (p *Proxy) SetPolicy(to Policy) (closed []Rule, err error) {
	closed, err = p.live.narrow(to)
	if err != nil {
		return nil, err
	}
	if to.HidePaths {
		p.hidePath.Store(true)
	}
	p.conns.closeIf(func(c *boxConn) bool { return !c.forward && p.closedTo(c.to) != "" })
	p.out.CloseIdleConnections()
	p.out1.CloseIdleConnections()
	p.tell(Event{Kind: KindPolicy})
	return closed, nil
}

// Serve implements sandbox.Proxy: it answers until ctx ends or the sockets close, and closes them. A Proxy serves once.
func (p *Proxy) Serve(ctx context.Context, l sandbox.Listeners) error {
	return p.ServeForward(ctx, l)
}

// ServeForward is Serve that also answers as an ordinary forward proxy, with CONNECT, on the given listeners. The rules are
// the same: what comes through CONNECT is intercepted.
func (p *Proxy) ServeForward(ctx context.Context, l sandbox.Listeners, forward ...net.Listener) error {
	all := func() {
		l.Close()
		for _, f := range forward {
			_ = f.Close()
		}
	}
	defer all()
	if p.started.Swap(true) {
		return errors.New("egress: got a second Serve, want one: make a proxy for each box")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.serving = ctx
	p.arrived = queue{c: make(chan net.Conn), done: ctx.Done()}
	server := p.server(ctx)

	var listening sync.WaitGroup
	failed := make(chan error, len(l.TCP)+len(forward)+1)
	for port, t := range l.TCP {
		listening.Go(func() { failed <- p.accept(ctx, t, func(c net.Conn) { p.arrive(ctx, c, port) }) })
	}
	for _, f := range forward {
		listening.Go(func() { failed <- p.accept(ctx, f, func(c net.Conn) { p.arriveForward(ctx, c) }) })
	}
	if l.DNS != nil {
		s := &stub{address: p.address, refused: p.unknownName, limit: rate.NewLimiter(rate.Limit(p.limits.DNSRate), int(2*p.limits.DNSRate)+1)}
		listening.Go(func() { failed <- s.serve(ctx, l.DNS) })
	}
	p.running.Go(func() { p.sweep(ctx) })
	p.running.Go(func() { _ = server.Serve(&p.arrived) }) // ends with ctx
	stop := context.AfterFunc(ctx, all)
	defer stop()

	listening.Wait()
	cancel()
	p.conns.closeIf(func(*boxConn) bool { return true })
	_ = server.Close()
	for range cap(p.slots) { // each request holds one: with all of them here none runs
		p.slots <- struct{}{}
	}
	p.running.Wait()
	p.out.CloseIdleConnections()
	p.out1.CloseIdleConnections()
	p.inside.CloseIdleConnections()
	p.flushDropped()
	close(failed)
	var errs []error
	for err := range failed {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// server is the HTTP server behind all listeners.
func (p *Proxy) server(ctx context.Context) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Server{
		Handler: http.HandlerFunc(p.serveHTTP), Protocols: &protocols, TLSConfig: p.tls.Clone(),
		ReadHeaderTimeout: p.limits.HeaderTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: p.limits.HeaderBytes,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: 100, MaxReceiveBufferPerConnection: 8 << 20, MaxReceiveBufferPerStream: 2 << 20},
		ErrorLog:    log.New(io.Discard, "", 0), // what matters is an event; the rest could quote a header
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, underlying(c))
		},
	}
}

type connKey struct{}

// address answers the stub.
func (p *Proxy) address(name string) (netip.Addr, bool) {
	if name == InternalHost && p.conf.Internal != nil || name != InternalHost && p.live.knows(name) {
		return p.names.addr(name), true
	}
	return netip.Addr{}, false
}

// certificate gives one for the name that the client asks for, also where that is not the name of the connection: only so
// can the answer say what is wrong.
func (p *Proxy) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	b := underlying(hello.Conn)
	if b == nil {
		return nil, errors.New("TLS: no connection of the box")
	}
	name, err := hostname(hello.ServerName)
	if err != nil {
		name = b.to.name
	}
	return p.ca.certificate(name)
}

// clean hides secrets in a text that is shown to anybody.
func (p *Proxy) clean(s string) string { return p.hidden.text(s) }
