package journal

import (
	"context"
	"database/sql"
	"fmt"
)

// load finds where the chain in the file ends, and checks its last event.
func (w *writer) load(ctx context.Context) error {
	first, err := genesisOf(ctx, w.conn)
	if err != nil {
		return err
	}
	w.head, w.open = head{hash: first}, openSegment{id: 1, first: 1, prevSeal: first}
	last, sealed, err := lastSegment(ctx, w.conn)
	if err != nil {
		return err
	}
	if sealed {
		w.head = head{last.Last, last.End, last.Ended}
		w.open = openSegment{id: last.ID + 1, first: last.Last + 1, prevSeal: last.Seal}
	}
	if err := w.loadFloor(ctx); err != nil {
		return err
	}
	return w.loadOpen(ctx, last.Last)
}

// loadFloor finds up to where events were dropped. A process that was killed may have left some of them.
func (w *writer) loadFloor(ctx context.Context) error {
	var floor sql.NullInt64
	err := w.conn.QueryRowContext(ctx, "SELECT max(last) FROM segments WHERE dropped <> 0").Scan(&floor)
	w.floor, w.garbage = uint64(floor.Int64), floor.Valid
	return err
}

// loadOpen finds the end of the open segment, whose events come after sealed.
func (w *writer) loadOpen(ctx context.Context, sealed uint64) error {
	prev := w.head
	err := eachRecord(ctx, w.conn, "e.seq > ? ORDER BY e.seq DESC LIMIT 2", []any{int64(sealed)}, func(r record) error {
		if r.event.Seq > w.head.seq {
			w.head = head{r.event.Seq, r.hash, r.event.At}
			return nil
		}
		prev = head{seq: r.event.Seq, hash: r.hash}
		return nil
	})
	if err != nil || w.head.seq == sealed {
		return err
	}
	err = eachRecord(ctx, w.conn, "e.seq = ?", []any{int64(w.head.seq)}, func(r record) error {
		if why := r.check(prev.seq, prev.hash); why != "" {
			return fmt.Errorf("%w: the last event, %d: %s; %s", ErrDamaged, w.head.seq, why, adviceDamaged)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return eachRecord(ctx, w.conn, "e.seq = ?", []any{int64(w.open.first)}, func(r record) error {
		w.open.since = r.event.At
		return nil
	})
}
