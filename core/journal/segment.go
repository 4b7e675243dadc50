package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Segment is a run of events that was sealed: nothing is added to it. Its seal is chained to that of the segment before,
// so that it stands for its events after they were dropped.
type Segment struct {
	ID          uint64
	First, Last uint64    // events
	Ended       time.Time // time of the last event
	Sealed      time.Time
	End         Hash // of the last event
	Seal        Hash
	Dropped     bool // its events are gone
}

// Retention says what may go. Zero fields take the defaults; there is always a newest sealed segment left.
type Retention struct {
	// Events is how many are kept, counted in whole segments. 0: 5,000,000; negative: all.
	Events int64
	// Age is how old the last event of a segment may get. It trusts the clock. 0: no bound.
	Age time.Duration
	// Bytes is how large the events may get, as the file holds them. 0: no bound. Segments are sealed early where this asks
	// for it, so that what is dropped at once is about an eighth.
	Bytes int64
	// PayloadAge is how old payloads may get; the events stay. 0: as old as their events.
	PayloadAge time.Duration
}

// DefaultRetainedEvents is how many events a zero Retention keeps.
const DefaultRetainedEvents = 5_000_000

func (r Retention) events() int64 {
	if r.Events == 0 {
		return DefaultRetainedEvents
	}
	return r.Events
}

const segmentColumns = "id, first, last, ended, sealed, end, seal, dropped <> 0"

func scanSegment(row interface{ Scan(...any) error }) (Segment, error) {
	var s Segment
	var ended, sealed int64
	var end, seal []byte
	if err := row.Scan(&s.ID, &s.First, &s.Last, &ended, &sealed, &end, &seal, &s.Dropped); err != nil {
		return s, err
	}
	s.Ended, s.Sealed = time.Unix(0, ended).UTC(), time.Unix(0, sealed).UTC()
	if len(end) != len(s.End) || len(seal) != len(s.Seal) {
		return s, fmt.Errorf("segment %d: got hashes of %d and %d bytes, want %d", s.ID, len(end), len(seal), len(s.End))
	}
	copy(s.End[:], end)
	copy(s.Seal[:], seal)
	return s, nil
}

// segments gives those that cond selects, oldest first.
func segments(ctx context.Context, q querier, cond string, args ...any) ([]Segment, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+segmentColumns+" FROM segments WHERE "+cond+" ORDER BY id", args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []Segment
	for rows.Next() {
		s, err := scanSegment(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

func lastSegment(ctx context.Context, q querier) (Segment, bool, error) {
	s, err := scanSegment(q.QueryRowContext(ctx, "SELECT "+segmentColumns+" FROM segments ORDER BY id DESC LIMIT 1"))
	if err == sql.ErrNoRows {
		return s, false, nil
	}
	return s, err == nil, err
}

// seal ends the open segment at the head, within the writer's transaction.
func (w *writer) seal(ctx context.Context) error {
	s := Segment{ID: w.open.id, First: w.open.first, Last: w.head.seq, Ended: w.head.at, Sealed: w.now(), End: w.head.hash}
	s.Seal = sealHash(w.open.prevSeal, s)
	_, err := w.conn.ExecContext(ctx, "INSERT INTO segments (id, first, last, ended, sealed, end, seal) VALUES (?,?,?,?,?,?,?)",
		s.ID, s.First, s.Last, s.Ended.UnixNano(), s.Sealed.UnixNano(), s.End[:], s.Seal[:])
	if err != nil {
		return err
	}
	w.open = openSegment{id: s.ID + 1, first: s.Last + 1, prevSeal: s.Seal}
	return nil
}

// retain drops what r lets go: whole sealed segments, oldest first, and payloads.
func (w *writer) retain(ctx context.Context, r Retention) error {
	kept, err := segments(ctx, w.conn, "dropped = 0")
	if err != nil || len(kept) == 0 {
		return err
	}
	now := w.now()
	over, times, err := w.excess(ctx, r)
	if err != nil {
		return err
	}
	for _, s := range kept[:len(kept)-1] {
		size := int64(0)
		if over > 0 {
			if size, err = w.sizeOf(ctx, s.First, s.Last); err != nil {
				return err
			}
		}
		tooMany := r.events() > 0 && int64(w.head.seq-s.Last) >= r.events()
		tooOld := r.Age > 0 && now.Sub(s.Ended) > r.Age
		if !tooMany && !tooOld && over <= 0 {
			break
		}
		over -= int64(float64(size) * times)
		if err := w.drop(ctx, s); err != nil {
			return err
		}
	}
	if r.PayloadAge > 0 {
		return w.expire(ctx, now.Add(-r.PayloadAge))
	}
	return nil
}

// drop marks a segment as dropped. From then on its events do not count; sweep removes them.
func (w *writer) drop(ctx context.Context, s Segment) error {
	err := w.transact(ctx, func() error {
		if _, err := w.conn.ExecContext(ctx, "UPDATE segments SET dropped = ? WHERE id = ?", w.now().UnixNano(), s.ID); err != nil {
			return err
		}
		return w.addOwn(ctx, Dropped, map[string]any{"segment": s.ID, "first": s.First, "last": s.Last, "seal": s.Seal.String()})
	})
	if err == nil {
		w.floor, w.garbage = s.Last, true
	}
	return err
}

// sweepSize is how many events are removed at a time: whoever waits for the writer waits no longer than that takes.
const sweepSize = 500

// sweep removes some of the events that were dropped, oldest first, and tells whether there are more.
func (w *writer) sweep(ctx context.Context) (more bool, err error) {
	var first sql.NullInt64
	if err := w.conn.QueryRowContext(ctx, "SELECT min(seq) FROM events").Scan(&first); err != nil {
		return false, err
	}
	if !first.Valid || uint64(first.Int64) > w.floor {
		w.garbage = false
		return false, nil
	}
	last := min(uint64(first.Int64)+sweepSize-1, w.floor)
	err = inTx(ctx, w.conn, func() error {
		for _, q := range []string{"DELETE FROM payloads WHERE seq <= ?", "DELETE FROM events WHERE seq <= ?"} {
			if _, err := w.conn.ExecContext(ctx, q, int64(last)); err != nil {
				return err
			}
		}
		w.fail("drop")
		return nil
	})
	w.garbage = err == nil && last < w.floor
	return w.garbage, err
}

// vacuum gives some of the free pages at the end of the file back, and tells whether there are more. Without it they are
// used again.
func (w *writer) vacuum(ctx context.Context) (more bool, err error) {
	before, after := 0, 0
	if err := w.conn.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&before); err != nil || before == 0 {
		return false, err
	}
	if _, err := w.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", sweepSize)); err != nil {
		return false, err
	}
	err = w.conn.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&after)
	return after > 0 && after < before, err
}

// expire removes the payloads of sealed segments that ended before then.
func (w *writer) expire(ctx context.Context, then time.Time) error {
	old, err := segments(ctx, w.conn, "dropped = 0 AND expired = 0 AND ended < ?", then.UnixNano())
	for _, s := range old {
		err = w.transact(ctx, func() error {
			_, err := w.conn.ExecContext(ctx, "UPDATE payloads SET data = NULL, salt = NULL, gone = 'expired' WHERE seq BETWEEN ? AND ? AND data IS NOT NULL", s.First, s.Last)
			if err != nil {
				return err
			}
			if _, err := w.conn.ExecContext(ctx, "UPDATE segments SET expired = ? WHERE id = ?", w.now().UnixNano(), s.ID); err != nil {
				return err
			}
			return w.addOwn(ctx, Expired, map[string]any{"segment": s.ID, "first": s.First, "last": s.Last})
		})
		if err != nil {
			return err
		}
	}
	return err
}

// redact removes the payloads of events, and what the file still holds of them.
func (w *writer) redact(ctx context.Context, seqs []uint64, why string) error {
	err := w.transact(ctx, func() error {
		list := make([]any, 0, len(seqs))
		for _, seq := range seqs {
			res, err := w.conn.ExecContext(ctx, "UPDATE payloads SET data = NULL, salt = NULL, gone = 'redacted' WHERE seq = ?", seq)
			if err != nil {
				return err
			}
			if n, _ := res.RowsAffected(); n == 0 {
				return fmt.Errorf("journal: redact: got event %d, which has no payload or is not there; nothing was redacted", seq)
			}
			list = append(list, seq)
		}
		return w.addOwn(ctx, Redacted, map[string]any{"events": list, "why": why})
	})
	if err != nil {
		return err
	}
	// The old pages are in the write-ahead log until it is emptied. Whoever reads meanwhile keeps it from that.
	var busy, pages, moved int
	if err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return fmt.Errorf("journal: redact: the payloads are gone from the record, but a reader kept the write-ahead log from being emptied; call it again when nobody reads")
	}
	return nil
}
