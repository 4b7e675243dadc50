// Package bencode reads and writes the encoding that nREPL messages travel in: byte strings (3:abc), integers (i42e),
// lists (l…e) and dictionaries (d…e).
//
// The invariant: what a peer announces costs nothing until it has come. A length prefix allocates no memory, nesting is
// bounded, and so are the bytes and the items of one message; a text that breaks a rule is an *Error, after which the
// stream is not to be read again, since there is no telling where the next message starts.
//
// In Go the four are string, int64, []any and Dict. Start reading at Decoder.Next and Append.
package bencode

import "fmt"

// Dict is a dictionary.
type Dict = map[string]any

// Limits bounds one message. A zero field means its default.
type Limits struct {
	Bytes int // of the whole message; default 32 MiB
	Depth int // of nesting; default 256
	Items int // strings, integers, lists and dictionaries; default 100,000
}

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 32 << 20
	}
	if l.Depth <= 0 {
		l.Depth = 256
	}
	if l.Items <= 0 {
		l.Items = 100_000
	}
	return l
}

// Error is a text that is no bencode, or more of it than the limits allow.
type Error struct {
	Offset  int // in the message, in bytes
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("bencode: byte %d: %s", e.Offset, e.Message) }
