package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// dest is where a connection of the box leads.
type dest struct {
	name string
	port int
	tls  bool
}

func (d dest) internal() bool { return d.name == InternalHost }

// boxConn is a connection from the box, with its first byte looked at.
type boxConn struct {
	net.Conn
	out      *cork // the same
	to       dest
	forward  bool   // it speaks to a forward proxy: each request says where it leads
	first    []byte // read ahead
	last     atomic.Int64
	requests atomic.Int64
	once     sync.Once
	closed   func(*boxConn)
}

func newBoxConn(c net.Conn, to dest, closed func(*boxConn)) *boxConn {
	out := &cork{Conn: c}
	return &boxConn{Conn: out, out: out, to: to, closed: closed}
}

func (c *boxConn) Read(p []byte) (int, error) {
	if len(c.first) > 0 && len(p) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	c.touch()
	return n, err
}

func (c *boxConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.touch()
	return n, err
}

func (c *boxConn) touch() { c.last.Store(time.Now().UnixNano()) }

func (c *boxConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.closed(c) })
	return err
}

// reset ends a TCP connection so that the box sees a reset and not an orderly end.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// conns are the open connections of a box.
type conns struct {
	mu   sync.Mutex
	open map[*boxConn]struct{}
	max  int
}

// add takes c in, unless there are too many.
func (s *conns) add(c *boxConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= s.max {
		return false
	}
	s.open[c] = struct{}{}
	return true
}

func (s *conns) remove(c *boxConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// closeIf closes the connections that f picks.
func (s *conns) closeIf(f func(*boxConn) bool) {
	s.mu.Lock()
	var picked []*boxConn
	for c := range s.open {
		if f(c) {
			picked = append(picked, c)
		}
	}
	s.mu.Unlock()
	for _, c := range picked {
		_ = c.Close()
	}
}

// queue is a listener of connections that are accepted elsewhere.
type queue struct {
	c    chan net.Conn
	done <-chan struct{}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.c:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error   { return nil }
func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }

// accept takes the connections of one listener until it is closed.
func (p *Proxy) accept(ctx context.Context, l net.Listener, arrive func(net.Conn)) error {
	wait := time.Millisecond
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			// No file handles left, or a connection that went before it was accepted: neither ends the proxy.
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
			wait = min(2*wait, time.Second)
			continue
		}
		wait = time.Millisecond
		p.running.Go(func() { arrive(c) })
	}
}

// arrive finds the name that a connection was made to.
func (p *Proxy) arrive(ctx context.Context, c net.Conn, port int) {
	addr, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		reset(c)
		return
	}
	name, ok := p.names.name(addr.Addr())
	if !ok {
		p.refused(Event{Kind: KindConnection, Host: addr.Addr().Unmap().String(), Port: port, Refused: "an address without a name: names are allowed, addresses are not"})
		reset(c)
		return
	}
	p.admit(ctx, c, dest{name: name, port: port})
}

// admit lets a connection to a name in, ends its TLS and gives it to the HTTP server.
func (p *Proxy) admit(ctx context.Context, c net.Conn, to dest) {
	if why := p.closedTo(to); why != "" {
		p.refused(Event{Kind: KindConnection, Host: to.name, Port: to.port, Refused: why})
		reset(c)
		return
	}
	b := newBoxConn(c, to, p.gone)
	b.touch()
	if !p.conns.add(b) {
		p.refused(Event{Kind: KindConnection, Host: to.name, Port: to.port, Refused: "too many connections at once"})
		reset(c)
		return
	}
	ready, err := p.begin(ctx, b)
	if err != nil {
		if b.requests.Add(1) == 1 { // the event is this one
			p.refused(Event{Kind: KindConnection, Host: to.name, Port: to.port, Error: p.clean(err.Error())})
		}
		reset(c)
		_ = b.Close()
		return
	}
	p.hand(ctx, ready)
}

// hand gives a connection to the HTTP server.
func (p *Proxy) hand(ctx context.Context, c net.Conn) {
	select {
	case p.arrived.c <- c:
	case <-ctx.Done():
		_ = c.Close()
	}
}

// closedTo says why a destination is refused.
func (p *Proxy) closedTo(to dest) string {
	if to.internal() {
		if p.conf.Internal == nil || to.port != 80 {
			return "zeno.internal is reached at port 80 only, where a box has an endpoint"
		}
		return ""
	}
	if _, ok := p.live.find(to.name, to.port); !ok {
		return "not allowed by the egress policy"
	}
	return ""
}

// begin looks at the first byte: TLS begins with 22, which no HTTP request does.
func (p *Proxy) begin(ctx context.Context, b *boxConn) (net.Conn, error) {
	_ = b.SetReadDeadline(time.Now().Add(p.limits.HeaderTime))
	var first [1]byte
	if _, err := io.ReadFull(b.Conn, first[:]); err != nil {
		return nil, errors.New("closed, or silent for too long, before the first byte")
	}
	b.first = first[:]
	_ = b.SetReadDeadline(time.Time{})
	if first[0] != 22 {
		return b, nil
	}
	b.to.tls = true
	ctx, cancel := context.WithTimeout(ctx, p.limits.Handshake)
	defer cancel()
	c := tls.Server(&records{Conn: b}, p.tls)
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// gone is told of each connection that is closed.
func (p *Proxy) gone(b *boxConn) {
	p.conns.remove(b)
	if b.requests.Load() == 0 && !b.forward {
		p.refused(Event{Kind: KindConnection, Host: b.to.name, Port: b.to.port, Refused: "no HTTP request in it"})
	}
}

// underlying gives the box's connection below TLS.
func underlying(c net.Conn) *boxConn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if r, ok := c.(*records); ok {
		c = r.Conn
	}
	b, _ := c.(*boxConn)
	return b
}

// sweep closes connections without a byte for too long, until ctx ends.
func (p *Proxy) sweep(ctx context.Context) {
	tick := time.NewTicker(min(p.limits.Idle/4+time.Millisecond, 30*time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			before := now.Add(-p.limits.Idle).UnixNano()
			p.conns.closeIf(func(c *boxConn) bool { return c.last.Load() < before })
		}
	}
}
