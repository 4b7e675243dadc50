package journal

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxPayload bounds the data of one event, in bytes of its JSON.
const MaxPayload = 1 << 20

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String is the hash in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what String wrote.
func ParseHash(s string) (Hash, error) {
	var h Hash
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("hash: got %q, want %d hexadecimal digits", s, 2*len(h))
	}
	copy(h[:], b)
	return h, nil
}

// netstrings is the canonical encoding of what is hashed: each field as its length in decimal digits, a colon, its bytes
// and a comma. No two lists of fields have the same encoding.
type netstrings []byte

func (n netstrings) bytes(b []byte) netstrings {
	n = strconv.AppendInt(n, int64(len(b)), 10)
	n = append(append(n, ':'), b...)
	return append(n, ',')
}

func (n netstrings) text(s string) netstrings {
	n = strconv.AppendInt(n, int64(len(s)), 10)
	n = append(append(n, ':'), s...)
	return append(n, ',')
}

func (n netstrings) number(i int64) netstrings { return n.text(strconv.FormatInt(i, 10)) }

func (n netstrings) sum() Hash { return sha256.Sum256(n) }

// payload is the data of an event as it is kept: the JSON and the salt that keeps anyone from guessing at data that was
// redacted by its hash. An event without data has neither, and an empty hash.
type payload struct {
	data, salt []byte
	hash       []byte // SHA-256, or empty
}

func payloadHash(salt, data []byte) []byte {
	h := make(netstrings, 0, len(data)+64).text("zeno/payload/1").bytes(salt).bytes(data).sum()
	return h[:]
}

// saltSize is how many random bytes each payload is hashed with.
const saltSize = 16

func newPayload(data map[string]any) (payload, error) {
	if len(data) == 0 {
		return payload{}, nil
	}
	text, err := canonicalJSON(data)
	if err != nil {
		return payload{}, fmt.Errorf("event: got data that is no plain data: %w", err)
	}
	if len(text) > MaxPayload {
		return payload{}, fmt.Errorf("event: got %d bytes of data, want at most %d; keep the bulk elsewhere and record where", len(text), MaxPayload)
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	return payload{data: text, salt: salt, hash: payloadHash(salt, text)}, nil
}

// canonicalJSON has keys in the order of their bytes, no space, and no escapes beyond what JSON asks for.
func canonicalJSON(data map[string]any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// parsePayload gives integers as int64 and other numbers as float64.
func parsePayload(text []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var data map[string]any
	if err := dec.Decode(&data); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	numbers(data)
	return data, nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = numbers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = numbers(x)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

// timeText is how a time is hashed and exported.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// eventHash is the hash of an event in its place: that of its predecessor is part of it, and so is that of its payload.
func eventHash(prev Hash, e *Event, payloadHash []byte) Hash {
	return make(netstrings, 0, 256).text("zeno/event/1").bytes(prev[:]).number(int64(e.Seq)).text(timeText(e.At)).
		text(e.Kind).text(e.Role).text(e.Spawn).text(e.Outcome).number(int64(e.Elapsed)).bytes(payloadHash).sum()
}

// genesis stands before the first event of the journal id.
func genesis(id []byte) Hash { return netstrings(nil).text("zeno/journal/1").bytes(id).sum() }

// sealHash chains the segments, whatever becomes of their events. prev is the seal of the segment before, or genesis.
func sealHash(prev Hash, s Segment) Hash {
	return netstrings(nil).text("zeno/seal/1").bytes(prev[:]).number(int64(s.ID)).number(int64(s.First)).number(int64(s.Last)).
		text(timeText(s.Sealed)).bytes(s.End[:]).sum()
}

// clean makes the texts of e such that they are the same after export and import.
func clean(e Event) Event {
	for _, s := range []*string{&e.Kind, &e.Role, &e.Spawn, &e.Outcome} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	e.At = e.At.Round(0).UTC()
	return e
}
