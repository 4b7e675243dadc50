package gateway

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
)

// cappedListener closes a connection that is one too many at once. Not
// accepting it would leave the client waiting for nothing; accepting all would
// let one process use up the file descriptors of all.
type cappedListener struct {
	net.Listener
	limit int64
	open  atomic.Int64
	log   *slog.Logger
}

func (l *cappedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.limit {
			return &countedConn{Conn: conn, done: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		l.log.Warn("gateway: too many connections, want fewer or a larger Config.MaxConns", "limit", l.limit)
		_ = conn.Close()
	}
}

// countedConn gives its place back when it closes.
type countedConn struct {
	net.Conn
	done func()
}

func (c *countedConn) Close() error {
	c.done()
	return c.Conn.Close()
}
