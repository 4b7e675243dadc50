package budget

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// store is the file: sums by scope and quarter, the starts of the last hour, and what the operator has taken away. Every
// write is a transaction that the system has when it returns, so that a kill of zeno loses none; a crash of the machine may
// lose those of the last seconds.
type store struct {
	db *sql.DB
}

// schema lists the steps from an empty file to the tables of today, see core/journal's. The number taken is user_version.
func schema() []string {
	return []string{`
CREATE TABLE used (
	scope  TEXT    NOT NULL, -- "" the instance, else a role
	bucket INTEGER NOT NULL, -- quarters of an hour since 1970
	tokens INTEGER NOT NULL,
	usd    INTEGER NOT NULL, -- nanodollars
	wall   INTEGER NOT NULL, -- nanoseconds
	evals  INTEGER NOT NULL,
	calls  INTEGER NOT NULL,
	spawns INTEGER NOT NULL,
	PRIMARY KEY (scope, bucket)
) STRICT, WITHOUT ROWID;
CREATE TABLE starts (role TEXT NOT NULL, at INTEGER NOT NULL, spawn TEXT NOT NULL) STRICT; -- at: nanoseconds since 1970
CREATE INDEX starts_by_role ON starts (role, at);
CREATE TABLE holds (
	who    TEXT    NOT NULL, -- "role/…" or "spawn/…"
	name   TEXT    NOT NULL, -- of the capability
	until  INTEGER NOT NULL, -- nanoseconds since 1970, the end of a lease; 0: revoked
	why    TEXT    NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (who, name)
) STRICT, WITHOUT ROWID;
`}
}

// advice says what to do about a file that cannot be opened: where the disk is at fault the file is not.
func advice(err error) string {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case lib.SQLITE_FULL, lib.SQLITE_IOERR:
			return "the disk refuses: look at its space, its limits and its health; the next spawn tries again"
		case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN:
			return "give this user write access to it and its directory; the next spawn tries again"
		}
	}
	return "mend it, or move it away and counting begins anew"
}

// openStore opens the file at path, or makes it; "" keeps everything in memory.
func openStore(ctx context.Context, path string) (*store, error) {
	dsn := "file::memory:"
	if path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would make it readable by others
		if err != nil {
			return nil, fmt.Errorf("budget: failed to open the record of what was used: %w", err)
		}
		_ = f.Close()
		dsn = (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	}
	db, err := sql.Open("sqlite", dsn+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("budget: %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	s := &store{db}
	if err := s.migrate(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("budget: %s: %w; while it cannot be read no spawn starts: %s", path, err, advice(err))
	}
	return s, nil
}

func (s *store) migrate(ctx context.Context) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		steps := schema()
		if version > len(steps) {
			return fmt.Errorf("got version %d of its tables, want at most %d; use the zeno that wrote it, or a later one", version, len(steps))
		}
		for ; version < len(steps); version++ {
			if _, err := tx.ExecContext(ctx, steps[version]); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
		return err
	})
}

// tx runs f in a transaction that may write from its beginning.
func (s *store) tx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// spot is a row of used.
type spot struct {
	scope  string
	bucket int64
}

// add puts deltas to what is there. It reads, adds and writes, since SQLite's own + does not stop at most.
func (s *store) add(ctx context.Context, tx *sql.Tx, deltas map[spot]Amount) error {
	for at, d := range deltas {
		have, err := rowAt(ctx, tx, at)
		if err != nil {
			return err
		}
		n := have.plus(d)
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO used VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, at.scope, at.bucket,
			n.Tokens, int64(n.USD), int64(n.Wall), n.Evals, n.Calls, n.Spawns); err != nil {
			return err
		}
	}
	return nil
}

func rowAt(ctx context.Context, tx *sql.Tx, at spot) (a Amount, err error) {
	err = tx.QueryRowContext(ctx, `SELECT tokens, usd, wall, evals, calls, spawns FROM used WHERE scope = ? AND bucket = ?`,
		at.scope, at.bucket).Scan(&a.Tokens, &a.USD, &a.Wall, &a.Evals, &a.Calls, &a.Spawns)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return a, err
}

// load reads what a scope has used, by quarter.
func (s *store) load(ctx context.Context, scope string) (map[int64]Amount, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT bucket, tokens, usd, wall, evals, calls, spawns FROM used WHERE scope = ?`, scope)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int64]Amount{}
	for rows.Next() {
		var n int64
		var a Amount
		if err := rows.Scan(&n, &a.Tokens, &a.USD, &a.Wall, &a.Evals, &a.Calls, &a.Spawns); err != nil {
			return nil, err
		}
		out[n] = a
	}
	return out, rows.Err()
}

// version changes when another process has written.
func (s *store) version(ctx context.Context) (n int64, err error) {
	err = s.db.QueryRowContext(ctx, "PRAGMA data_version").Scan(&n)
	return n, err
}

// start takes one of the role's starts in the hour that ends now. Where there is none, full is how many it has, and next
// when there is one again.
func (s *store) start(ctx context.Context, tx *sql.Tx, role, spawn string, now time.Time, limit int) (full int, next time.Time, err error) {
	n := now.UnixNano()
	// A start from the future means that the clock was set back: it counts as one of now, and ages like any other.
	if _, err := tx.ExecContext(ctx, `UPDATE starts SET at = ? WHERE at > ?`, n, n); err != nil {
		return 0, next, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM starts WHERE at <= ?`, n-int64(time.Hour)); err != nil {
		return 0, next, err
	}
	var count int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM starts WHERE role = ?`, role).Scan(&count); err != nil {
		return 0, next, err
	}
	if count < limit {
		_, err := tx.ExecContext(ctx, `INSERT INTO starts VALUES (?, ?, ?)`, role, n, spawn)
		return 0, next, err
	}
	var oldest int64
	if err := tx.QueryRowContext(ctx, `SELECT at FROM starts WHERE role = ? ORDER BY at LIMIT 1 OFFSET ?`, role, count-limit).Scan(&oldest); err != nil {
		return 0, next, err
	}
	return count, time.Unix(0, oldest).Add(time.Hour), nil
}

// starts counts those of the last hour, by role.
func (s *store) starts(ctx context.Context, now time.Time) (map[string]int, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT role, count(*) FROM starts WHERE at > ? GROUP BY role`, now.Add(-time.Hour).UnixNano())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var role string
		var n int
		if err := rows.Scan(&role, &n); err != nil {
			return nil, err
		}
		out[role] = n
	}
	return out, rows.Err()
}

// keep is how long sums keep their quarter; older ones are one sum. No period but Ever looks further back.
const keep = 400 * 24 * time.Hour

// prune folds the sums of long ago into one row a scope.
func (s *store) prune(ctx context.Context, now time.Time) error {
	old := bucket(now.Add(-keep))
	return s.tx(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT scope, bucket, tokens, usd, wall, evals, calls, spawns FROM used WHERE bucket < ? AND bucket > 0`, old)
		if err != nil {
			return err
		}
		sums := map[spot]Amount{}
		for rows.Next() {
			var at spot
			var a Amount
			if err := rows.Scan(&at.scope, &at.bucket, &a.Tokens, &a.USD, &a.Wall, &a.Evals, &a.Calls, &a.Spawns); err != nil {
				_ = rows.Close()
				return err
			}
			at.bucket = 0
			sums[at] = sums[at].plus(a)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(sums) == 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM used WHERE bucket < ? AND bucket > 0`, old); err != nil {
			return err
		}
		return s.add(ctx, tx, sums)
	})
}

func (s *store) close() error { return s.db.Close() }
