package bencode

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
)

// piece is how many bytes of a string are made room for before they have come.
const piece = 32 << 10

// Decoder reads messages from a stream. It is for one goroutine.
type Decoder struct {
	r      *bufio.Reader
	limits Limits
	read   int // bytes of this message
	items  int
	room   func(bytes int) error
	short  int // bytes of short strings that room has not been asked for
}

// NewDecoder reads from r, which it buffers.
func NewDecoder(r io.Reader, l Limits) *Decoder {
	return &Decoder{r: bufio.NewReaderSize(r, 16<<10), limits: l.orDefault()}
}

// Room makes f be asked before a string grows by that many bytes; its error ends the message. Short strings are asked for
// together, once there are many.
func (d *Decoder) Room(f func(bytes int) error) { d.room = f }

// Wait blocks until a message begins, and consumes nothing. It gives io.EOF where the stream ends instead.
func (d *Decoder) Wait() error {
	_, err := d.r.Peek(1)
	return err
}

// Buffered tells whether part of the next message has come.
func (d *Decoder) Buffered() bool { return d.r.Buffered() > 0 }

// Next reads a message, which is a dictionary. It gives io.EOF between messages, io.ErrUnexpectedEOF inside one, and an
// *Error for what is no message.
func (d *Decoder) Next() (Dict, error) {
	d.read, d.items, d.short = 0, 0, 0
	c, err := d.r.ReadByte()
	if err != nil {
		return nil, err
	}
	d.read++
	if c != 'd' {
		return nil, d.bad("got %q, want a message, which begins with d", c)
	}
	m, err := d.dict(1)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return m, err
}

func (d *Decoder) bad(format string, args ...any) error {
	return &Error{Offset: max(d.read-1, 0), Message: fmt.Sprintf(format, args...)}
}

func (d *Decoder) byte() (byte, error) {
	if d.read >= d.limits.Bytes {
		return 0, d.bad("got a message of more than %d bytes, want fewer", d.limits.Bytes)
	}
	c, err := d.r.ReadByte()
	if err == nil {
		d.read++
	}
	return c, err
}

// value reads the value that begins with c.
func (d *Decoder) value(c byte, depth int) (any, error) {
	if d.items++; d.items > d.limits.Items {
		return nil, d.bad("got more than %d items in a message, want fewer", d.limits.Items)
	}
	if depth > d.limits.Depth {
		return nil, d.bad("got a message nested deeper than %d, want it flatter", d.limits.Depth)
	}
	switch {
	case c == 'i':
		return d.number('e', 0)
	case c == 'l':
		return d.list(depth)
	case c == 'd':
		return d.dict(depth)
	case c >= '0' && c <= '9':
		return d.text(c)
	}
	return nil, d.bad("got %q, want a string, i, l or d", c)
}

func (d *Decoder) list(depth int) ([]any, error) {
	out := []any{}
	for {
		c, err := d.byte()
		if err != nil || c == 'e' {
			return out, err
		}
		v, err := d.value(c, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

// dict reads the rest of a dictionary. Keys come in any order, as clients send them; of equal ones the last counts.
func (d *Decoder) dict(depth int) (Dict, error) {
	out := Dict{}
	for {
		c, err := d.byte()
		if err != nil || c == 'e' {
			return out, err
		}
		if c < '0' || c > '9' {
			return nil, d.bad("got %q, want a string for a key, or e", c)
		}
		key, err := d.text(c)
		if err != nil {
			return nil, err
		}
		if c, err = d.byte(); err != nil {
			return nil, err
		}
		if out[key], err = d.value(c, depth+1); err != nil {
			return nil, err
		}
	}
}

// number reads digits up to end. first is the first of them, or 0.
func (d *Decoder) number(end, first byte) (int64, error) {
	var digits [20]byte // "-9223372036854775808"
	n := 0
	if first != 0 {
		digits[0], n = first, 1
	}
	for {
		c, err := d.byte()
		switch {
		case err != nil:
			return 0, err
		case c == end:
			return d.integer(string(digits[:n]))
		case c >= '0' && c <= '9', c == '-' && n == 0 && first == 0:
		default:
			return 0, d.bad("got %q in a number, want a digit or %q", c, end)
		}
		if n == len(digits) {
			return 0, d.bad("got a number of more than %d digits, want one of 64 bits", len(digits))
		}
		digits[n] = c
		n++
	}
}

// integer reads the canonical form of a number: no leading zeros, no -0.
func (d *Decoder) integer(s string) (int64, error) {
	digits, limit := s, uint64(math.MaxInt64)
	if s != "" && s[0] == '-' {
		digits, limit = s[1:], 1<<63
	}
	if digits == "" || digits[0] == '0' && s != "0" {
		return 0, d.bad("got the number %q, want digits without a leading zero", s)
	}
	var n uint64
	for _, c := range []byte(digits) {
		if n > (limit-uint64(c-'0'))/10 {
			return 0, d.bad("got the number %s, want one of 64 bits", s)
		}
		n = 10*n + uint64(c-'0')
	}
	if digits != s {
		return -int64(n), nil
	}
	return int64(n), nil
}

// text reads a string whose length begins with the digit first.
func (d *Decoder) text(first byte) (string, error) {
	n, err := d.number(':', first)
	if err != nil {
		return "", err
	}
	if n > int64(d.limits.Bytes-d.read) {
		return "", d.bad("got a string of %d bytes, want at most %d in a message", n, d.limits.Bytes)
	}
	size := int(n)
	if size <= piece {
		b := make([]byte, size)
		got, err := io.ReadFull(d.r, b)
		d.read += got
		if d.short += size; err == nil && d.short >= piece {
			err = d.ask(d.short)
			d.short = 0
		}
		return string(b), err
	}
	return d.long(size)
}

func (d *Decoder) ask(bytes int) error {
	if d.room == nil {
		return nil
	}
	return d.room(bytes)
}

// long reads a string in pieces: there is never room for more than twice what has come.
func (d *Decoder) long(size int) (string, error) {
	var b []byte
	for len(b) < size {
		if len(b) == cap(b) {
			grow := min(max(len(b), piece), size-len(b))
			if err := d.ask(grow); err != nil {
				return "", err
			}
			b = append(make([]byte, 0, len(b)+grow), b...)
		}
		got, err := io.ReadFull(d.r, b[len(b):min(cap(b), len(b)+piece)])
		d.read += got
		if err != nil {
			return "", err
		}
		b = b[:len(b)+got]
	}
	return string(b), nil
}
