package nrepl

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// errGone says that the client is not there any more.
var errGone = errors.New("nrepl: the client has gone")

// outbox holds the replies on their way to one client. What is sent while a write is under way goes out with the next
// one, so that a value and its done make one packet. Beyond max bytes senders wait, until the client has read or the write
// has run out of time.
type outbox struct {
	nc      net.Conn
	max     int
	timeout time.Duration // of writing one piece

	mu      sync.Mutex
	pending []byte
	wake    chan struct{} // holds one when there is something pending
	space   chan struct{} // closed, and replaced, when pending has been taken
	gone    chan struct{} // closed with the connection
	once    sync.Once
}

func newOutbox(nc net.Conn, max int, timeout time.Duration) *outbox {
	return &outbox{nc: nc, max: max, timeout: timeout, wake: make(chan struct{}, 1), space: make(chan struct{}), gone: make(chan struct{})}
}

// send puts a message in the box. It waits while the box is full, as long as ctx lasts.
func (o *outbox) send(ctx context.Context, m bencode.Dict) error {
	for {
		full, err := o.put(m, false)
		if err != nil || full == nil {
			return err
		}
		select {
		case <-full:
		case <-o.gone:
			return errGone
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// post puts a message in the box even if it is full: for the short ones that end a request, of which there are no more
// than requests.
func (o *outbox) post(m bencode.Dict) error {
	_, err := o.put(m, true)
	return err
}

// put adds m, or gives the channel to wait for.
func (o *outbox) put(m bencode.Dict, always bool) (full <-chan struct{}, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.gone:
		return nil, errGone
	default:
	}
	if len(o.pending) >= o.max && !always {
		return o.space, nil
	}
	if o.pending, err = bencode.Append(o.pending, m); err != nil {
		return nil, err
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil, nil
}

// take gives what is pending, and room to those who wait.
func (o *outbox) take(spare []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.pending
	o.pending = spare[:0]
	close(o.space)
	o.space = make(chan struct{})
	return b
}

// run writes until the connection closes. last, once closed, ends it when all is written.
func (o *outbox) run(last <-chan struct{}) {
	var spare []byte
	for {
		select {
		case <-o.wake:
		case <-o.gone:
			return
		case <-last:
			_ = o.flush(o.take(spare)) // the connection closes whatever comes of it
			return
		}
		b := o.take(spare)
		if o.flush(b) != nil {
			return
		}
		if spare = b; cap(b) > 1<<18 {
			spare = nil // a large reply is not held on to
		}
	}
}

// flush writes b in pieces, each with a time of its own.
func (o *outbox) flush(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), 1<<18)
		if err := o.nc.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
			return err
		}
		if _, err := o.nc.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func (o *outbox) close() {
	o.once.Do(func() { close(o.gone) })
}
