package egress

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// frames is the side of a websocket that comes from a server to which a secret is bound, with secrets hidden in what the
// frames hold. A message is searched as a whole, however it is cut into frames, and cut anew: into frames of what is
// certain, the last at its end, so that nothing of a message waits for the next one. Extensions are not offered to such a
// server, so frames hold their text as it is; what is no such frame ends the connection.
type frames struct {
	io.ReadWriteCloser // of the server; writes go there as they are
	in                 *bufio.Reader
	m                  *matcher
	w                  rewriter // of the message under way

	left    uint64 // bytes of the data frame under way
	within  bool   // a data frame
	final   bool   // it is the last of its message
	message bool   // one is under way
	opcode  byte   // of the next frame to write: 0 where the message has begun
	buf     []byte
	text    []byte
	rest    []byte // made and not yet read
	err     error
}

const (
	frameFinal    = 0x80
	frameReserved = 0x70
	frameMasked   = 0x80
	frameControl  = 0x08 // in opcodes
	frameClose    = 0x8
	framePong     = 0xa
	maxControl    = 125
)

var errFrame = errors.New("websocket: got a frame of the server that cannot be searched for secrets, want one without mask and extension")

func newFrames(m *matcher, conn io.ReadWriteCloser) *frames {
	return &frames{ReadWriteCloser: conn, in: bufio.NewReaderSize(conn, 16<<10), m: m, w: rewriter{m: m}, buf: make([]byte, 16<<10)}
}

func (f *frames) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.rest, f.err = f.step(f.rest[:0])
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// step reads a frame's head, or what is there of its data, and appends what is certain to out.
func (f *frames) step(out []byte) ([]byte, error) {
	if !f.within {
		control, err := f.head()
		if control == nil || err != nil {
			return out, err
		}
		return append(out, control...), nil
	}
	n := 0
	if f.left > 0 {
		var err error
		if n, err = f.in.Read(f.buf[:min(f.left, uint64(len(f.buf)))]); n == 0 && err != nil {
			return out, unexpected(err)
		}
	}
	f.left -= uint64(n)
	f.text = f.w.feed(f.text[:0], f.buf[:n])
	f.within = f.left > 0
	end := !f.within && f.final
	if end {
		f.text = f.w.finish(f.text)
		f.w = rewriter{m: f.m}
		f.message = false
	}
	if len(f.text) == 0 && !end {
		return out, nil
	}
	out = appendFrame(out, f.opcode, end, f.text)
	f.opcode = 0
	return out, nil
}

// head reads the head of a frame; a control frame it reads whole and gives.
func (f *frames) head() (control []byte, err error) {
	var b [8]byte
	if _, err := io.ReadFull(f.in, b[:2]); err != nil {
		return nil, err // between frames: the server ended it
	}
	final, opcode, n := b[0]&frameFinal != 0, b[0]&0xf, uint64(b[1]&^frameMasked)
	if b[0]&frameReserved != 0 || b[1]&frameMasked != 0 {
		return nil, errFrame
	}
	if opcode&frameControl != 0 {
		return f.control(opcode, final, n)
	}
	if opcode > 2 || (opcode == 0) != f.message {
		return nil, errFrame
	}
	if wide := map[uint64]int{126: 2, 127: 8}[n]; wide > 0 {
		clear(b[:])
		if _, err := io.ReadFull(f.in, b[8-wide:]); err != nil {
			return nil, unexpected(err)
		}
		n = binary.BigEndian.Uint64(b[:])
	}
	if opcode != 0 {
		f.opcode = opcode
	}
	f.left, f.within, f.final, f.message = n, true, final, true
	return nil, nil
}

func (f *frames) control(opcode byte, final bool, n uint64) ([]byte, error) {
	if !final || n > maxControl || opcode > framePong {
		return nil, errFrame
	}
	text := f.buf[:n]
	if _, err := io.ReadFull(f.in, text); err != nil {
		return nil, unexpected(err)
	}
	w := rewriter{m: f.m, keep: true} // it may not become longer
	clean := w.finish(w.feed(nil, text))
	return appendFrame(nil, opcode, true, clean), nil
}

func appendFrame(out []byte, opcode byte, final bool, text []byte) []byte {
	if final {
		opcode |= frameFinal
	}
	out = append(out, opcode)
	switch n := len(text); {
	case n < 126:
		out = append(out, byte(n))
	case n < 1<<16:
		out = binary.BigEndian.AppendUint16(append(out, 126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, 127), uint64(n))
	}
	return append(out, text...)
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
