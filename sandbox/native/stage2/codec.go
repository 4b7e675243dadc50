package stage2

import "errors"

// codec writes or reads fields in turn. It is our own because reflection and encoding/json would double what a box costs
// to start.
type codec struct {
	buf     []byte
	reading bool
	bad     bool
}

var errTruncated = errors.New("stage two: message: got a truncated or over-long one: zeno and its stage two differ; rebuild with make")

func (c *codec) end() error {
	if c.bad || len(c.buf) != 0 {
		return errTruncated
	}
	return nil
}

func (c *codec) u64(v *uint64) {
	if !c.reading {
		for x := *v; ; x >>= 7 {
			if x < 0x80 {
				c.buf = append(c.buf, byte(x))
				return
			}
			c.buf = append(c.buf, byte(x)|0x80)
		}
	}
	*v = 0
	for shift := 0; shift < 64; shift += 7 {
		if len(c.buf) == 0 {
			break
		}
		b := c.buf[0]
		c.buf = c.buf[1:]
		*v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return
		}
	}
	c.bad = true
	c.buf = nil
}

func (c *codec) num(v *int) {
	u := uint64(*v)
	c.u64(&u)
	*v = int(u)
}

func (c *codec) u32(v *uint32) {
	u := uint64(*v)
	c.u64(&u)
	*v = uint32(u)
}

func (c *codec) boolean(v *bool) {
	var u uint64
	if *v {
		u = 1
	}
	c.u64(&u)
	*v = u != 0
}

func (c *codec) bytes(v *[]byte) {
	n := uint64(len(*v))
	c.u64(&n)
	if !c.reading {
		c.buf = append(c.buf, *v...)
		return
	}
	if n > uint64(len(c.buf)) {
		c.bad, c.buf = true, nil
		return
	}
	*v, c.buf = c.buf[:n:n], c.buf[n:]
}

func (c *codec) str(v *string) {
	b := []byte(*v)
	c.bytes(&b)
	if c.reading {
		*v = string(b)
	}
}

func (c *codec) strs(v *[]string) { list(c, v, func(s *string, c *codec) { c.str(s) }) }

// list walks a slice. What is read makes a slice no longer than the bytes that are left, so that a bad length cannot ask
// for more memory than the message had.
func list[T any](c *codec, v *[]T, f func(*T, *codec)) {
	n := uint64(len(*v))
	c.u64(&n)
	if c.reading {
		if n > uint64(len(c.buf)) {
			c.bad, c.buf = true, nil
			return
		}
		*v = make([]T, n)
	}
	for i := range *v {
		f(&(*v)[i], c)
	}
}
