package nrepl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// Message is a request or a reply.
type Message = bencode.Dict

// Client is the other end: it sends requests and hands out the replies. Its methods are safe for concurrent use.
type Client struct {
	nc    net.Conn
	token string

	mu      sync.Mutex // of writing and of what follows
	next    int
	waiting map[string]*waiter
	err     error         // why there are no more replies
	done    chan struct{} // closed when there are no more replies
}

// waiter is a request that waits for replies.
type waiter struct {
	ch   chan Message
	gone chan struct{} // closed when it waits no more
}

// replies is how many messages of one request may wait to be read before the reading of all others waits too.
const replies = 64

// Dial connects to a server: addr is host:port, or the path of a Unix socket, which holds a slash. token may be "".
func Dial(ctx context.Context, addr, token string) (*Client, error) {
	network := "tcp"
	if slices.Contains([]byte(addr), '/') {
		network = "unix"
	}
	nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("nrepl: failed to connect to %s: %w", addr, err)
	}
	c := &Client{nc: nc, token: token, waiting: map[string]*waiter{}, done: make(chan struct{})}
	go c.read()
	return c, nil
}

// Close ends the connection. Sessions stay.
func (c *Client) Close() error {
	err := c.nc.Close()
	<-c.done
	return err
}

func (c *Client) read() {
	d := bencode.NewDecoder(c.nc, bencode.Limits{Bytes: 1 << 30, Items: 10_000_000})
	for {
		m, err := d.Next()
		if err != nil {
			c.mu.Lock()
			c.err = fmt.Errorf("nrepl: the connection has ended: %w", err)
			c.mu.Unlock()
			close(c.done)
			return
		}
		id, _ := m["id"].(string)
		c.mu.Lock()
		w := c.waiting[id]
		c.mu.Unlock()
		if w == nil {
			continue
		}
		select {
		case w.ch <- m:
		case <-w.gone:
		}
	}
}

// Do sends a request and calls each, which may be nil, with every reply, in order. It returns after the last: the keys of
// all replies, later ones over earlier, out, err and value joined, and status with all words. When ctx ends it returns at
// once; the server goes on: see Interrupt.
func (c *Client) Do(ctx context.Context, req Message, each func(Message)) (Message, error) {
	id, w, err := c.send(ctx, req)
	if err != nil {
		return nil, err
	}
	defer c.forget(id, w)
	all := Message{}
	for {
		select {
		case m := <-w.ch:
			if each != nil {
				each(m)
			}
			merge(all, m)
			if slices.Contains(Status(m), "done") {
				return all, nil
			}
		case <-c.done:
			if len(w.ch) > 0 {
				continue
			}
			return all, c.err
		case <-ctx.Done():
			return all, fmt.Errorf("nrepl: no answer yet: %w", ctx.Err())
		}
	}
}

func (c *Client) send(ctx context.Context, req Message) (string, *waiter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", nil, c.err
	}
	id, ok := req["id"].(string)
	if !ok {
		c.next++
		id = strconv.Itoa(c.next)
	}
	m := Message{"id": id}
	for k, v := range req {
		m[k] = v
	}
	if c.token != "" {
		m["token"] = c.token
	}
	b, err := bencode.Append(nil, m)
	if err != nil {
		return "", nil, err
	}
	w := &waiter{make(chan Message, replies), make(chan struct{})}
	c.waiting[id] = w
	deadline, _ := ctx.Deadline() // zero: none
	if err = errors.Join(c.nc.SetWriteDeadline(deadline), write(c.nc, b)); err != nil {
		delete(c.waiting, id)
		return "", nil, fmt.Errorf("nrepl: failed to send: %w", err)
	}
	return id, w, nil
}

func write(nc net.Conn, b []byte) error {
	_, err := nc.Write(b)
	return err
}

// forget stops handing out replies to a request.
func (c *Client) forget(id string, w *waiter) {
	close(w.gone)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[id] == w {
		delete(c.waiting, id)
	}
}

func merge(all, m Message) {
	for k, v := range m {
		switch k {
		case "out", "err", "value":
			old, _ := all[k].(string)
			text, _ := v.(string)
			if k == "value" && old != "" && m["ns"] != nil {
				old += "\n"
			}
			all[k] = old + text
		case "status":
			all[k] = append(Status(all), Status(m)...)
		default:
			all[k] = v
		}
	}
}

// Status gives the status words of a reply.
func Status(m Message) []string {
	if s, ok := m["status"].([]string); ok {
		return s
	}
	return texts(m["status"])
}

// ErrUnauthorized is that the server wants a token and got none or another one.
var ErrUnauthorized = errors.New("nrepl: got no token or a wrong one, want that of the server")

// Clone makes a session and gives its name.
func (c *Client) Clone(ctx context.Context) (string, error) {
	m, err := c.Do(ctx, Message{"op": "clone", "client-name": "zeno"}, nil)
	if err != nil {
		return "", err
	}
	id, _ := m["new-session"].(string)
	if id == "" && slices.Contains(Status(m), "unauthorized") {
		return "", ErrUnauthorized
	}
	if id == "" {
		return "", fmt.Errorf("nrepl: got no session: %v %v", Status(m), m["message"])
	}
	return id, nil
}

// Interrupt stops what a session runs.
func (c *Client) Interrupt(ctx context.Context, session string) error {
	_, err := c.Do(ctx, Message{"op": "interrupt", "session": session}, nil)
	return err
}
