package ask

import (
	"context"
	"database/sql"
	"time"
)

// pruned is how many questions are looked at in one go: nobody who asks or answers waits for long.
const pruned = 500

// Prune removes questions that nothing more happens to and that were answered, or had their time, before a moment, and what
// is kept of their spawns; with dry it only counts. It leaves a program's question that has a key and an answer, for that
// is given whenever it is asked again, and those of a spawn that has not ended.
func (d *Desk) Prune(ctx context.Context, before time.Time, dry bool) (n int, err error) {
	for after := int64(0); ; after += pruned {
		if err := ctx.Err(); err != nil {
			return n, context.Cause(ctx)
		}
		more := false
		err := d.change(func(ctx context.Context, c *sql.Conn) error {
			if err := c.QueryRowContext(ctx, "SELECT count(*) > 0 FROM asks WHERE id > ?", after+pruned).Scan(&more); err != nil {
				return err
			}
			list, err := read(ctx, c, `id > ? AND id <= ? AND key IS NULL
				AND NOT EXISTS (SELECT 1 FROM spawns WHERE spawns.id = asks.spawn AND ended = 0)`, after, after+pruned)
			if err != nil {
				return err
			}
			for _, a := range list {
				if !a.State.Final(a.Kind) || !a.over().Before(before) {
					continue
				}
				if n++; dry {
					continue
				}
				if err := drop(ctx, c, a); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || !more {
			return n, err
		}
	}
}

// over is when a question was answered or had its time.
func (a Ask) over() time.Time {
	if a.Answered.IsZero() {
		return a.Asked
	}
	return a.Answered
}

func drop(ctx context.Context, c *sql.Conn, a Ask) error {
	id, err := number(a.ID)
	if err != nil {
		return err
	}
	if _, err := c.ExecContext(ctx, "DELETE FROM asks WHERE id = ?", id); err != nil || a.Spawn == "" {
		return err
	}
	_, err = c.ExecContext(ctx, "DELETE FROM spawns WHERE id = ? AND ended = 1 AND NOT EXISTS (SELECT 1 FROM asks WHERE spawn = ?)", a.Spawn, a.Spawn)
	return err
}
