package journal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
)

// applicationID marks a SQLite file as a journal: "zeno" in ASCII.
const applicationID = 0x7a656e6f

// idSize is how many random bytes tell one journal from another.
const idSize = 16

// schema lists the steps from an empty file to the tables of today; the number of steps that were taken is the file's
// user_version. A step that was released is never changed: a new one is added.
func schema() []string {
	return []string{`
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE events (
	seq          INTEGER PRIMARY KEY,
	at           INTEGER NOT NULL, -- nanoseconds since 1970, UTC
	kind         TEXT    NOT NULL,
	role         TEXT    NOT NULL,
	spawn        TEXT    NOT NULL,
	outcome      TEXT    NOT NULL,
	elapsed      INTEGER NOT NULL, -- nanoseconds
	payload_hash BLOB    NOT NULL, -- empty: the event has no payload
	hash         BLOB    NOT NULL
) STRICT;
CREATE INDEX events_by_spawn ON events (spawn, seq) WHERE spawn <> '';
CREATE TABLE payloads (
	seq  INTEGER PRIMARY KEY,
	salt BLOB,
	data TEXT,                     -- JSON; NULL: gone
	gone TEXT NOT NULL DEFAULT ''  -- why: expired, redacted
) STRICT;
CREATE TABLE segments (
	id      INTEGER PRIMARY KEY,
	first   INTEGER NOT NULL,
	last    INTEGER NOT NULL,
	ended   INTEGER NOT NULL,      -- time of the last event
	sealed  INTEGER NOT NULL,
	end     BLOB    NOT NULL,      -- hash of the last event
	seal    BLOB    NOT NULL,
	dropped INTEGER NOT NULL DEFAULT 0, -- when its events were dropped
	expired INTEGER NOT NULL DEFAULT 0  -- when its payloads were
) STRICT;
CREATE TABLE marks (
	key     TEXT PRIMARY KEY,
	state   TEXT    NOT NULL,
	result  TEXT    NOT NULL,
	started INTEGER NOT NULL,
	ended   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`, `
CREATE INDEX events_of_spawns ON events (spawn, kind, seq) WHERE kind IN ('spawn/started', 'spawn/ended');
`}
}

// querier is a connection or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// checkVersion tells which steps a file has taken. fresh: it is empty.
func checkVersion(ctx context.Context, q querier, steps int) (version int, fresh bool, err error) {
	var app, tables int
	if err := q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, false, err
	}
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, false, err
	}
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, false, err
	}
	switch {
	case app == 0 && version == 0 && tables == 0:
		return 0, true, nil
	case app != applicationID:
		return 0, false, fmt.Errorf("%w: got a database of another program; move it away and a new journal is made", ErrForeign)
	case version > steps:
		return 0, false, fmt.Errorf("%w: got version %d of its tables, want at most %d; use the zeno that wrote it, or a later one", ErrNewer, version, steps)
	}
	return version, false, nil
}

// migrate brings a file to the version of steps, each step in a transaction of its own.
func migrate(ctx context.Context, c *sql.Conn, steps []string) error {
	version, fresh, err := checkVersion(ctx, c, len(steps))
	if err != nil {
		return err
	}
	if fresh { // only an empty file can take this
		if _, err := c.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	}
	for ; version < len(steps); version++ {
		err := inTx(ctx, c, func() error {
			if _, err := c.ExecContext(ctx, steps[version]); err != nil {
				return err
			}
			if version == 0 {
				id := make([]byte, idSize)
				_, _ = rand.Read(id) // never fails
				if _, err := c.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('id', ?)", id); err != nil {
					return err
				}
			}
			_, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version+1))
			return err
		})
		if err != nil {
			return fmt.Errorf("failed to bring the tables to version %d: %w", version+1, err)
		}
	}
	return nil
}

// inTx runs f in a transaction on c that may write from its beginning.
func inTx(ctx context.Context, c *sql.Conn, f func() error) error {
	if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		if _, err = c.ExecContext(ctx, "COMMIT"); err == nil {
			return nil
		}
	}
	// Some errors have rolled back already; then this one says that there is no transaction.
	if _, rerr := c.ExecContext(ctx, "ROLLBACK"); rerr != nil && !noTransaction(rerr) {
		err = errors.Join(err, rerr)
	}
	return err
}
