package egress

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strconv"
)

// arriveForward takes a connection to the forward proxy.
func (p *Proxy) arriveForward(ctx context.Context, c net.Conn) {
	b := newBoxConn(c, dest{}, p.gone)
	b.forward = true
	b.touch()
	if !p.conns.add(b) {
		p.refused(Event{Kind: KindConnection, Refused: "too many connections at once"})
		reset(c)
		return
	}
	p.hand(ctx, b)
}

// forwardTo finds where a request to the forward proxy leads, and whether it may.
func (p *Proxy) forwardTo(x *exchange, r *http.Request) *refusal {
	host, port := r.URL.Hostname(), r.URL.Port()
	if r.Method == http.MethodConnect {
		var err error
		if host, port, err = net.SplitHostPort(r.Host); err != nil {
			return refuse(http.StatusBadRequest, "CONNECT: got %q, want HOST:PORT", r.Host)
		}
	} else if r.URL.Scheme != "http" || host == "" {
		return refuse(http.StatusBadRequest, "request: got the target %q, want http://HOST/PATH, or CONNECT for TLS: this is a proxy", clip(r.URL.Redacted(), 200))
	}
	if port == "" {
		port = "80"
	}
	name, err := hostname(host)
	if err != nil {
		x.to.name = clip(host, 255)
		return refuse(http.StatusForbidden, "%s: an address without a name: names are allowed, addresses are not", clip(host, 255))
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return refuse(http.StatusBadRequest, "request: got the port %q, want 1 to 65535", clip(port, 20))
	}
	x.to = dest{name: name, port: int(n)}
	if why := p.closedTo(x.to); why != "" {
		return refuse(http.StatusForbidden, "%s:%d: %s", name, n, why)
	}
	return nil
}

// tunnel opens a CONNECT. What comes through it is a connection to that name like any other.
func (p *Proxy) tunnel(w *writer) {
	to := w.x.to
	raw, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.x.answer(w, refuse(http.StatusBadRequest, "CONNECT: want HTTP/1.1"))
		return
	}
	w.x.status = http.StatusOK
	if _, err := raw.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		_ = raw.Close()
		return
	}
	// The request ends here, the connection does not: it belongs to the time of Serve.
	p.running.Go(func() { p.admit(p.serving, &readAhead{raw, rw.Reader}, to) })
}

// readAhead is a connection that is read through a buffer.
type readAhead struct {
	net.Conn
	r *bufio.Reader
}

func (c *readAhead) Read(b []byte) (int, error) { return c.r.Read(b) }
