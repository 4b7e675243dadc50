package journal

import (
	"context"
	"fmt"
	"math"
)

// eventBytes is about what an event takes in the file beside its payload: hashes, salt, indexes.
const eventBytes = 300

// minSegment is how large a segment gets at least before Retention.Bytes seals it.
const minSegment = 64 << 10

// SetRetention replaces Config.Retention: it is applied whenever a segment is sealed from now on.
func (s *SQLite) SetRetention(ctx context.Context, r Retention) error {
	if r.Age < 0 || r.PayloadAge < 0 || r.Bytes < 0 {
		return fmt.Errorf("journal: retention: got a bound below zero, want 0 for none, or more")
	}
	return s.job(ctx, func(context.Context) error {
		s.writer.conf.Retention = r
		return nil
	})
}

// tooLarge tells whether the open segment is to be sealed since the events may only get so large.
func (w *writer) tooLarge() bool {
	b := w.conf.Retention.Bytes
	return b > 0 && w.open.bytes >= max(b/8, minSegment)
}

// excess is how many bytes the events take beyond what r lets them, and 0 where it says nothing. What was dropped and is
// not removed yet does not count: of what the file has in use it has the share that it has of sizeOf, which takes them for
// smaller than they are. times is how much smaller, where that was asked.
func (w *writer) excess(ctx context.Context, r Retention) (over int64, times float64, err error) {
	if r.Bytes <= 0 {
		return 0, 1, nil
	}
	var pages, free, size int64
	for q, into := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &size} {
		if err := w.conn.QueryRowContext(ctx, "PRAGMA "+q).Scan(into); err != nil {
			return 0, 1, err
		}
	}
	used := (pages - free) * size
	if !w.garbage {
		return used - r.Bytes, 1, nil
	}
	garbage, err := w.sizeOf(ctx, 0, w.floor)
	if err != nil {
		return 0, 1, err
	}
	kept, err := w.sizeOf(ctx, w.floor+1, math.MaxInt64)
	if err != nil || kept == 0 {
		return 0, 1, err
	}
	times = float64(used) / float64(garbage+kept)
	return int64(float64(kept)*times) - r.Bytes, times, nil
}

// sizeOf is about what the events from first to last take.
func (w *writer) sizeOf(ctx context.Context, first, last uint64) (int64, error) {
	var n int64
	err := w.conn.QueryRowContext(ctx, `SELECT count(*) * ? + coalesce(sum(octet_length(p.data)), 0)
		FROM events e LEFT JOIN payloads p ON p.seq = e.seq WHERE e.seq BETWEEN ? AND ?`, eventBytes, int64(first), int64(last)).Scan(&n)
	return n, err
}
