package egress

import (
	"crypto/tls"
	"encoding/binary"
	"net"
	"sync"
)

// A long body goes through this process in pieces of up to chunk bytes and not in TLS records of 16 KiB: a piece costs one
// call of the system to read and one to write, and wakes who waits for it once. Nothing waits for a piece to fill up: it
// is what is there.
const (
	chunk = 128 << 10
	// recordHead is the head of a TLS record. One of fullRecord bytes is data: what TLS says itself is shorter.
	recordHead = 5
	fullRecord = 8 << 10
	// recordRoom is what the records of a chunk need besides it.
	recordRoom = 4 << 10
	// shortRead is the buffer of a connection on which nothing long comes.
	shortRead = 4 << 10
)

// records is a connection below TLS that is read in large pieces and knows where the records in them end. One goroutine
// reads at a time.
type records struct {
	net.Conn
	buf  []byte
	rest []byte // of buf: read and not yet given
	left int    // bytes of the record under way
	head []byte // of the next one, where it came in parts
}

// Read gives no byte beyond a record: TLS keeps none, and more is right.
func (c *records) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	if c.left == 0 {
		if len(c.head) > 0 || len(c.rest) < recordHead {
			return c.readHead(p), nil
		}
		c.left = recordHead + length(c.rest)
	}
	n := copy(p, c.rest[:min(c.left, len(c.rest))])
	c.rest, c.left = c.rest[n:], c.left-n
	return n, nil
}

// fill reads once. The buffer is as large as what comes is long, so that connections that wait hold little.
func (c *records) fill() error {
	if c.buf == nil {
		c.buf = make([]byte, shortRead)
	}
	n, err := c.Conn.Read(c.buf)
	if n == 0 {
		return err
	}
	c.rest = c.buf[:n]
	switch {
	case n == shortRead && len(c.buf) == shortRead:
		c.buf = make([]byte, chunk)
	case n < shortRead && len(c.buf) == chunk:
		c.buf = nil
	}
	return nil
}

// readHead gives a part of the head of a record.
func (c *records) readHead(p []byte) int {
	n := copy(p, c.rest[:min(recordHead-len(c.head), len(c.rest))])
	c.head, c.rest = append(c.head, c.rest[:n]...), c.rest[n:]
	if len(c.head) == recordHead {
		c.left, c.head = length(c.head), c.head[:0]
	}
	return n
}

// more tells whether the next record is here and full of data, so that reading it waits for nothing.
func (c *records) more() bool {
	if c.left > 0 || len(c.head) > 0 || len(c.rest) < recordHead {
		return false
	}
	n := length(c.rest)
	return n >= fullRecord && len(c.rest) >= recordHead+n
}

func length(head []byte) int { return int(binary.BigEndian.Uint16(head[3:])) }

// cork is a connection that can hold back what is written to it for a moment, to write it at once.
type cork struct {
	net.Conn
	mu   sync.Mutex
	on   bool
	held []byte
}

var corkBuffers = sync.Pool{New: func() any { return new([chunk + recordRoom]byte) }}

// together runs f with what it writes to c held back, and then writes that.
func (c *cork) together(f func() (int, error)) (int, error) {
	buf := corkBuffers.Get().(*[chunk + recordRoom]byte)
	c.mu.Lock()
	c.on, c.held = true, buf[:0]
	c.mu.Unlock()
	n, err := f()
	c.mu.Lock()
	defer c.mu.Unlock()
	flushed := c.flush()
	c.on, c.held = false, nil
	corkBuffers.Put(buf)
	if err == nil {
		err = flushed
	}
	return n, err
}

func (c *cork) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.held)
	c.held = c.held[:0]
	return err
}

func (c *cork) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on {
		return c.Conn.Write(p)
	}
	if len(c.held)+len(p) > cap(c.held) {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	if len(p) > cap(c.held) {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	return len(p), nil
}

// bulk is TLS to a server, read and written in chunks.
type bulk struct {
	*tls.Conn
	below *records
	out   *cork
}

func (c *bulk) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for err == nil && n >= fullRecord && n < len(p) && c.below.more() {
		var m int
		m, err = c.Conn.Read(p[n:])
		n += m
	}
	return n, err
}

func (c *bulk) Write(p []byte) (int, error) {
	if len(p) <= fullRecord {
		return c.Conn.Write(p)
	}
	return c.out.together(func() (int, error) { return c.Conn.Write(p) })
}
