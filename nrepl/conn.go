package nrepl

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// linger is how long a connection stays open for its evaluations once the client has sent its last: a script may send one
// request, close its side and read the answer.
const linger = 250 * time.Millisecond

// conn is one connection.
type conn struct {
	s    *Server
	nc   net.Conn
	out  *outbox
	last chan struct{} // closed when no more replies will come

	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	own    *session     // of requests that name none
	known  bool         // the token came; used by the reading goroutine only
	reads  atomic.Int64 // bytes held of the request being read

	mu    sync.Mutex
	used  map[*session]struct{} // that this connection has used: they stay while it does
	jobs  int                   // of this connection that wait or run
	quiet chan struct{}         // closed when there are none; nil while nobody waits for that
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{s: s, nc: nc, out: newOutbox(nc, s.conf.MaxPending, s.conf.WriteTimeout), last: make(chan struct{}),
		known: s.conf.Token == "", used: map[*session]struct{}{}}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.own = newSession(s, c.ctx, nil)
	c.own.conn = c
	return c
}

// close ends the connection at once.
func (c *conn) close() {
	c.cancel()
	c.out.close()
	_ = c.nc.Close() // of a connection that is given up there is nobody to tell
}

func (c *conn) write() {
	defer c.s.wg.Done()
	c.out.run(c.last)
	c.close()
}

// read takes requests until the stream ends or is no bencode: then nothing is said, since there is no telling where the
// next message starts, and the connection closes once what was asked before is answered.
func (c *conn) read() {
	defer c.s.wg.Done()
	defer c.s.forget(c)
	d := bencode.NewDecoder(c.nc, bencode.Limits{Bytes: c.s.conf.MaxMessage, Depth: c.s.conf.MaxNesting})
	d.Room(c.hold)
	for {
		m, err := c.next(d)
		held := c.reads.Swap(0)
		if err != nil {
			c.s.held.Add(-held)
			var bad *bencode.Error
			if errors.As(err, &bad) {
				c.s.conf.Log.Warn("nrepl: closing a connection that sent no message", "peer", c.nc.RemoteAddr(), "error", bad)
			}
			break
		}
		c.handle(&request{c: c, msg: m, held: held})
	}
	c.drain()
	c.s.closeSession(c.own)
	close(c.last)
	c.release()
}

func (c *conn) next(d *bencode.Decoder) (bencode.Dict, error) {
	if !d.Buffered() {
		if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
			return nil, err
		}
		if err := d.Wait(); err != nil {
			return nil, err
		}
	}
	if err := c.nc.SetReadDeadline(time.Now().Add(c.s.conf.MessageTimeout)); err != nil {
		return nil, err
	}
	return d.Next()
}

// hold counts bytes of a request before they are read.
func (c *conn) hold(n int) error {
	if c.s.held.Add(int64(n)) > int64(c.s.conf.MaxHeld) {
		c.s.held.Add(int64(-n))
		c.s.conf.Log.Warn("nrepl: closing a connection: too many bytes of requests wait, want fewer or a larger Config.MaxHeld", "limit", c.s.conf.MaxHeld)
		return errors.New("nrepl: too many bytes of requests wait")
	}
	c.reads.Add(int64(n))
	return nil
}

// handle answers a request, or queues it.
func (c *conn) handle(r *request) {
	if !r.open() {
		r.release()
		return
	}
	if !c.admitted(r) {
		r.finish(bencode.Dict{"message": "nrepl: got no token or a wrong one, want that of the server as the key token"}, "error", "unauthorized", "done")
		r.release()
		return
	}
	o, known := c.s.ops[r.op], r.enter() // entered also for an op that there is not: clients sort replies by the session
	switch {
	case o == nil:
		r.finish(bencode.Dict{"op": r.op}, "error", "unknown-op", "done")
	case !known:
		r.finish(nil, "error", "unknown-session", "done")
	default:
		c.run(o, r)
	}
	if !r.queued {
		r.release()
	}
}

// run answers a request. One that a defect of ours leaves without an answer gets one.
func (c *conn) run(o *op, r *request) {
	defer func() {
		if !r.answered && !r.queued {
			r.finish(bencode.Dict{"message": r.op + ": failed inside zeno; the log has more"}, "error", "done")
		}
	}()
	defer c.s.survive("request", r.op)
	o.run(r)
}

// survive keeps a defect of ours from ending the process.
func (s *Server) survive(what, op string) {
	if r := recover(); r != nil {
		s.conf.Log.Error("nrepl: a defect in a "+what, "op", op, "reason", r, "stack", string(debug.Stack()))
	}
}

// admitted tells whether the connection may ask.
func (c *conn) admitted(r *request) bool {
	if c.known {
		return true
	}
	token, _ := r.msg["token"].(string)
	c.known = subtle.ConstantTimeCompare([]byte(token), []byte(c.s.conf.Token)) == 1
	return c.known
}

// begin and end count the jobs of the connection.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs++
}

func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs--; c.jobs == 0 && c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

// drain waits for the jobs of the connection, but not for long.
func (c *conn) drain() {
	c.mu.Lock()
	if c.jobs == 0 {
		c.mu.Unlock()
		return
	}
	quiet := make(chan struct{})
	c.quiet = quiet
	c.mu.Unlock()
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-quiet:
	case <-timer.C:
	case <-c.out.gone:
	}
}

// uses notes that the connection has used a session.
func (c *conn) uses(x *session) {
	c.mu.Lock()
	_, ok := c.used[x]
	if !ok {
		c.used[x] = struct{}{}
	}
	c.mu.Unlock()
	if !ok {
		x.users.Add(1)
	}
}

// unuses lets go of a session that has been closed.
func (c *conn) unuses(x *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.used[x]; ok {
		delete(c.used, x)
		x.users.Add(-1)
	}
}

// release lets go of the sessions that the connection has used.
func (c *conn) release() {
	c.mu.Lock()
	used := c.used
	c.used = map[*session]struct{}{}
	c.mu.Unlock()
	for x := range used {
		x.touch()
		x.users.Add(-1)
	}
}
