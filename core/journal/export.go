package journal

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The lines of an export: one about the journal, then events in order, and after the last event of a segment its seal.
// The seals of dropped segments stand first. Everything that is hashed is there: see docs/guide/journal.md.
type (
	headerLine struct {
		Format  string `json:"format"`
		Journal string `json:"journal"` // its identity
		After   uint64 `json:"after"`   // the first event is the one after this
		Prev    string `json:"prev"`    // hash of that one
	}
	eventLine struct {
		Seq         uint64          `json:"seq"`
		At          string          `json:"at"`
		Kind        string          `json:"kind"`
		Role        string          `json:"role,omitempty"`
		Spawn       string          `json:"spawn,omitempty"`
		Outcome     string          `json:"outcome,omitempty"`
		Elapsed     time.Duration   `json:"elapsed,omitempty"`
		Data        json.RawMessage `json:"data,omitempty"`
		Gone        string          `json:"gone,omitempty"`
		Salt        string          `json:"salt,omitempty"`
		PayloadHash string          `json:"payload_hash,omitempty"`
		Hash        string          `json:"hash"`
	}
	sealLine struct {
		Segment uint64 `json:"segment"`
		First   uint64 `json:"first"`
		Last    uint64 `json:"last"`
		Sealed  string `json:"sealed"`
		End     string `json:"end"`
		Seal    string `json:"seal"`
		Dropped bool   `json:"dropped,omitempty"`
	}
)

const exportFormat = "zeno-journal-1"

// Export writes the events after a number as JSON Lines. It does not verify them: VerifyExport does.
func (r *Reader) Export(ctx context.Context, w io.Writer, after uint64) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(r.file, err)
	}
	defer func() { _ = tx.Rollback() }()
	out := bufio.NewWriter(w)
	x := &exporter{enc: json.NewEncoder(out)}
	x.enc.SetEscapeHTML(false)
	if err := x.run(ctx, r, tx, after); err != nil {
		return explain(r.file, err)
	}
	return out.Flush()
}

type exporter struct {
	enc      *json.Encoder
	segments []Segment
}

func (x *exporter) run(ctx context.Context, r *Reader, tx *sql.Tx, after uint64) error {
	all, err := segments(ctx, tx, "1")
	if err != nil {
		return err
	}
	start := Anchor{Hash: r.first}
	for _, s := range all {
		if s.Dropped {
			start = Anchor{s.Last, s.End}
		}
	}
	if after > start.Seq {
		found := false
		err := eachRecord(ctx, tx, "e.seq = ?", []any{int64(after)}, func(rec record) error {
			start, found = Anchor{after, rec.hash}, true
			return nil
		})
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("export: got event %d to begin after, which is not there", after)
		}
	}
	if err := x.enc.Encode(headerLine{exportFormat, hex.EncodeToString(r.id), start.Seq, start.Hash.String()}); err != nil {
		return err
	}
	x.segments = all
	if err := x.sealsTo(start.Seq); err != nil {
		return err
	}
	return eachRecord(ctx, tx, "e.seq > ? ORDER BY e.seq", []any{int64(start.Seq)}, x.event)
}

func (x *exporter) sealsTo(seq uint64) error {
	for len(x.segments) > 0 && x.segments[0].Last <= seq {
		s := x.segments[0]
		x.segments = x.segments[1:]
		if err := x.enc.Encode(sealLine{s.ID, s.First, s.Last, timeText(s.Sealed), s.End.String(), s.Seal.String(), s.Dropped}); err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) event(r record) error {
	e := r.event
	l := eventLine{Seq: e.Seq, At: timeText(e.At), Kind: e.Kind, Role: e.Role, Spawn: e.Spawn, Outcome: e.Outcome, Elapsed: e.Elapsed,
		Gone: r.gone.String, Salt: hex.EncodeToString(r.salt), PayloadHash: hex.EncodeToString(r.payloadHash), Hash: r.hash.String()}
	if r.data.Valid {
		l.Data = json.RawMessage(r.data.String)
	}
	if err := x.enc.Encode(l); err != nil {
		return err
	}
	return x.sealsTo(e.Seq)
}

// maxLine bounds a line of an export.
const maxLine = 2*MaxPayload + 1<<16

// VerifyExport checks the chain in what Export wrote. The first line of the export is taken to be right; with an anchor
// that is kept elsewhere, compare Report.To, or the event of its number.
func VerifyExport(in io.Reader) (Report, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<16), maxLine)
	var c exportCheck
	for n := 1; lines.Scan(); n++ {
		if err := c.line(n, lines.Bytes()); err != nil {
			var broken *Broken
			if errors.As(err, &broken) {
				c.report.Broken, err = broken, nil
			}
			c.report.To = c.pos
			return c.report, err
		}
	}
	c.report.To = c.pos
	if err := lines.Err(); err != nil {
		return c.report, fmt.Errorf("export: %w", err)
	}
	return c.report, nil
}

type exportCheck struct {
	report   Report
	pos      Anchor
	prevSeal Hash
}

func (c *exportCheck) line(n int, text []byte) error {
	var l struct {
		headerLine
		eventLine
		sealLine
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("export: line %d: %w", n, err)
	}
	switch {
	case n == 1:
		return c.header(l.headerLine)
	case l.Seal != "":
		return c.seal(l.sealLine)
	}
	r, err := l.record()
	if err != nil {
		return fmt.Errorf("export: line %d: %w", n, err)
	}
	if why := r.check(c.pos.Seq, c.pos.Hash); why != "" {
		return &Broken{Seq: r.event.Seq, Why: why}
	}
	c.pos = Anchor{r.event.Seq, r.hash}
	c.report.Events++
	switch r.gone.String {
	case "redacted":
		c.report.Redacted++
	case "expired":
		c.report.Expired++
	}
	return nil
}

func (c *exportCheck) header(l headerLine) error {
	if l.Format != exportFormat {
		return fmt.Errorf("export: got the format %q, want %s; its first line is missing or it is no export", l.Format, exportFormat)
	}
	id, err := hex.DecodeString(l.Journal)
	if err != nil {
		return fmt.Errorf("export: got the identity %q, want hexadecimal digits", l.Journal)
	}
	prev, err := ParseHash(l.Prev)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	c.prevSeal = genesis(id)
	if l.After == 0 && prev != c.prevSeal {
		return &Broken{Seq: 1, Why: "does not begin this journal"}
	}
	c.pos = Anchor{l.After, prev}
	c.report.From = c.pos
	return nil
}

func (c *exportCheck) seal(l sealLine) error {
	at, err := time.Parse(time.RFC3339Nano, l.Sealed)
	if err != nil {
		return &Broken{Segment: l.Segment, Why: "has no time"}
	}
	s := Segment{ID: l.Segment, First: l.First, Last: l.Last, Sealed: at, Dropped: l.Dropped}
	if s.End, err = ParseHash(l.End); err == nil {
		s.Seal, err = ParseHash(l.Seal)
	}
	if err != nil {
		return &Broken{Segment: s.ID, Why: err.Error()}
	}
	if sealHash(c.prevSeal, s) != s.Seal {
		return &Broken{Segment: s.ID, Why: "was changed, or one before it was: its seal does not fit"}
	}
	if s.Last == c.pos.Seq && s.End != c.pos.Hash {
		return &Broken{Segment: s.ID, Why: fmt.Sprintf("was sealed with another event %d", s.Last)}
	}
	c.prevSeal = s.Seal
	c.report.Segments++
	if s.Dropped {
		c.report.Dropped++
	}
	return nil
}

func (l eventLine) record() (record, error) {
	at, err := time.Parse(time.RFC3339Nano, l.At)
	if err != nil {
		return record{}, fmt.Errorf("event %d: got the time %q, want RFC 3339", l.Seq, l.At)
	}
	r := record{event: Event{Seq: l.Seq, At: at.UTC(), Kind: l.Kind, Role: l.Role, Spawn: l.Spawn, Outcome: l.Outcome, Elapsed: l.Elapsed}}
	if r.hash, err = ParseHash(l.Hash); err != nil {
		return r, err
	}
	r.hashOK = true
	if r.payloadHash, err = hex.DecodeString(l.PayloadHash); err != nil {
		return r, err
	}
	if r.salt, err = hex.DecodeString(l.Salt); err != nil {
		return r, err
	}
	r.payloadThere = l.Data != nil || l.Gone != ""
	r.gone = sql.NullString{String: l.Gone, Valid: r.payloadThere}
	if l.Data != nil {
		r.data = sql.NullString{String: string(bytes.TrimSpace(l.Data)), Valid: true}
	}
	return r, nil
}
