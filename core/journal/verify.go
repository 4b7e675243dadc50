package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Report is what Verify found.
type Report struct {
	From, To Anchor // what was checked: the events after From, up to To
	Events   int64  // checked
	Segments int64  // seals checked
	Dropped  int64  // of them, whose events were dropped
	Expired  int64  // payloads that are gone: expired
	Redacted int64  // payloads that are gone: redacted
	Broken   *Broken
}

// Broken is the first thing that does not hold.
type Broken struct {
	Seq     uint64 // of the event; 0: see Segment
	Segment uint64
	Why     string
}

// Error words it.
func (b *Broken) Error() string {
	if b.Seq == 0 {
		return fmt.Sprintf("segment %d: %s", b.Segment, b.Why)
	}
	return fmt.Sprintf("event %d: %s", b.Seq, b.Why)
}

// check tells what is wrong with a record that should follow prev, or "".
func (r record) check(prevSeq uint64, prev Hash) string {
	e := r.event
	switch {
	case e.Seq != prevSeq+1:
		return fmt.Sprintf("follows event %d: what was between them is missing", prevSeq)
	case !r.hashOK:
		return "has a hash of the wrong length"
	case eventHash(prev, &e, r.payloadHash) != r.hash:
		return "was changed, or what stood before it was: its hash does not fit"
	case len(r.payloadHash) == 0 && r.payloadThere:
		return "was recorded without data, and has some"
	case len(r.payloadHash) > 0 && !r.payloadThere:
		return "lacks its data, with no word of why"
	case r.data.Valid && !bytes.Equal(payloadHash(r.salt, []byte(r.data.String)), r.payloadHash):
		return "has other data than was recorded"
	case r.payloadThere && !r.data.Valid && r.gone.String == "":
		return "lacks its data, with no word of why"
	}
	return ""
}

// Verify checks the chain after the anchor from, which is taken to be right: the zero Anchor checks all. Report.Broken is
// nil where everything holds; an error says that the check could not be made.
func (r *Reader) Verify(ctx context.Context, from Anchor) (Report, error) {
	if err := r.settle(ctx); err != nil {
		return Report{}, err
	}
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // one moment of the journal
	if err != nil {
		return Report{}, explain(r.file, err)
	}
	defer func() { _ = tx.Rollback() }()
	v := &verifier{reader: r, tx: tx, prevSeal: r.first, pos: Anchor{Hash: r.first}}
	v.report.From = from
	if from.Seq == 0 {
		v.report.From.Hash = r.first
	}
	err = v.run(ctx, from)
	v.report.To = v.pos
	var broken *Broken
	if errors.As(err, &broken) {
		v.report.Broken, err = broken, nil
	}
	return v.report, explain(r.file, err)
}

type verifier struct {
	reader   *Reader
	tx       *sql.Tx
	report   Report
	segments []Segment // not yet passed
	prevSeal Hash
	pos      Anchor // the last event that holds
}

func (v *verifier) run(ctx context.Context, from Anchor) error {
	var err error
	if v.segments, err = segments(ctx, v.tx, "1"); err != nil {
		return err
	}
	if err := v.seals(); err != nil {
		return err
	}
	if from.Seq > 0 {
		if err := v.start(ctx, from); err != nil {
			return err
		}
	}
	err = eachRecord(ctx, v.tx, "e.seq > ? ORDER BY e.seq", []any{int64(v.pos.Seq)}, v.event)
	if errors.Is(explain(v.reader.file, err), ErrDamaged) {
		return &Broken{Seq: v.pos.Seq + 1, Why: "cannot be read: " + err.Error()}
	}
	if err != nil {
		return err
	}
	if len(v.segments) > 0 {
		return &Broken{Seq: v.pos.Seq + 1, Why: fmt.Sprintf("is missing: segment %d was sealed with events up to %d", v.segments[0].ID, v.segments[0].Last)}
	}
	return nil
}

// seals checks the chain of seals. Where events were dropped, the seals stand for them.
func (v *verifier) seals() error {
	last := uint64(0)
	for i, s := range v.segments {
		switch {
		case s.ID != uint64(i+1):
			return &Broken{Segment: uint64(i + 1), Why: "is missing"}
		case s.First != last+1 || s.Last < s.First:
			return &Broken{Segment: s.ID, Why: fmt.Sprintf("has events %d to %d, and the one before ends at %d", s.First, s.Last, last)}
		case sealHash(v.prevSeal, s) != s.Seal:
			return &Broken{Segment: s.ID, Why: "was changed, or one before it was: its seal does not fit"}
		case s.Dropped && v.report.Dropped < int64(i):
			return &Broken{Segment: s.ID, Why: "was dropped although an older one is kept"}
		}
		if s.Dropped {
			v.report.Dropped++
			v.pos = Anchor{s.Last, s.End}
		}
		v.prevSeal, last = s.Seal, s.Last
		v.report.Segments++
	}
	v.segments = v.segments[v.report.Dropped:]
	return nil
}

// start goes to the event of an anchor.
func (v *verifier) start(ctx context.Context, from Anchor) error {
	if from.Seq < v.pos.Seq {
		return fmt.Errorf("anchor: got event %d, which was dropped with everything up to %d; want a later anchor, or none", from.Seq, v.pos.Seq)
	}
	got := v.pos // an anchor at the end of what was dropped is checked by the seal
	if from.Seq > v.pos.Seq {
		end, err := v.reader.end(ctx, v.tx)
		if err != nil {
			return err
		}
		if from.Seq > end.Seq {
			return &Broken{Seq: from.Seq, Why: fmt.Sprintf("is missing: the anchor names it, and the journal ends at %d", end.Seq)}
		}
		got = Anchor{Seq: from.Seq}
		err = eachRecord(ctx, v.tx, "e.seq = ?", []any{int64(from.Seq)}, func(r record) error {
			got.Hash = r.hash
			return nil
		})
		if err != nil {
			return err
		}
	}
	if got.Hash != from.Hash {
		return &Broken{Seq: from.Seq, Why: "is not the one that the anchor names: the journal was rewritten, or the anchor is of another"}
	}
	v.pos = from
	for len(v.segments) > 0 && v.segments[0].Last <= from.Seq {
		v.segments = v.segments[1:]
	}
	return nil
}

func (v *verifier) event(r record) error {
	if why := r.check(v.pos.Seq, v.pos.Hash); why != "" {
		return &Broken{Seq: r.event.Seq, Why: why}
	}
	v.pos = Anchor{r.event.Seq, r.hash}
	v.report.Events++
	switch r.gone.String {
	case "redacted":
		v.report.Redacted++
	case "expired":
		v.report.Expired++
	}
	if len(v.segments) > 0 && v.segments[0].Last == v.pos.Seq {
		if s := v.segments[0]; s.End != v.pos.Hash {
			return &Broken{Segment: s.ID, Why: fmt.Sprintf("was sealed with another event %d", s.Last)}
		}
		v.segments = v.segments[1:]
	}
	return nil
}
