package registry

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// maxIdle is how long a registry may say nothing, and take nothing, in the middle of a transfer.
const maxIdle = 5 * time.Minute

// shared keeps connections for the next request, as the library's own does. It is made at the first use.
var shared = sync.OnceValue(func() http.RoundTripper { return impatient(maxIdle) })

// impatient is the library's, with connections that a registry cannot keep open in silence.
func impatient(idle time.Duration) http.RoundTripper {
	base, ok := remote.DefaultTransport.(*http.Transport)
	if !ok {
		return remote.DefaultTransport
	}
	t := base.Clone()
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &idleConn{c, idle}, nil
	}
	return t
}

// idleConn is a connection that fails once nothing has gone over it for so long.
type idleConn struct {
	net.Conn
	idle time.Duration
}

// Read implements net.Conn. A write moves the deadline of a read that waits: an upload is no silence.
func (c *idleConn) Read(b []byte) (int, error) {
	_ = c.SetReadDeadline(time.Now().Add(c.idle)) // an error shows in the read
	return c.Conn.Read(b)
}

// Write implements net.Conn.
func (c *idleConn) Write(b []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Write(b)
}
