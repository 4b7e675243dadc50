package ask

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// applicationID marks the file as one of questions: "zenq" in ASCII.
const applicationID = 0x7a656e71

// version is that of the tables; a later zeno may have a greater one.
const version = 1

const schema = `
CREATE TABLE asks (
	id    INTEGER PRIMARY KEY AUTOINCREMENT,
	state TEXT NOT NULL,
	kind  TEXT NOT NULL,
	spawn TEXT NOT NULL,
	key   TEXT,              -- of a program's question while it stands
	data  TEXT NOT NULL      -- JSON of an Ask
) STRICT;
CREATE UNIQUE INDEX asks_by_key ON asks (key) WHERE key IS NOT NULL;
CREATE INDEX asks_by_state ON asks (state);
CREATE INDEX asks_by_spawn ON asks (spawn) WHERE spawn <> '';
CREATE TABLE spawns (
	id    TEXT PRIMARY KEY,
	data  TEXT NOT NULL,     -- JSON of a Spawn
	ended INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE steps (         -- what the journal has not yet
	seq  INTEGER PRIMARY KEY AUTOINCREMENT,
	data TEXT NOT NULL       -- JSON of a Step
) STRICT;
`

// indexes came later; they are made where they are missing, and an older zeno keeps them. Of all spawns that ever asked a
// few have not ended: they are looked for every second.
const indexes = `CREATE INDEX IF NOT EXISTS spawns_open ON spawns (id) WHERE ended = 0`

// openFile opens or makes the file.
func openFile(ctx context.Context, path string) (*sql.DB, *sql.Conn, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite itself would make it readable to all
	if err != nil {
		return nil, nil, err
	}
	if err := f.Close(); err != nil {
		return nil, nil, err
	}
	q := url.Values{"_pragma": {"busy_timeout(5000)", "synchronous(FULL)", "secure_delete(ON)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err == nil {
		err = prepare(ctx, conn)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, conn, nil
}

// writeAhead turns the log on. Of two processes that make the file at once one is refused, without the wait that
// busy_timeout is for: it tries again.
func writeAhead(ctx context.Context, conn *sql.Conn) error {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, err := conn.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		var refused interface{ Code() int }
		const busy = 5 // SQLITE_BUSY; the rest of the code tells more
		if !errors.As(err, &refused) || refused.Code()&0xff != busy || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

func prepare(ctx context.Context, conn *sql.Conn) error {
	if err := writeAhead(ctx, conn); err != nil {
		return err
	}
	return inTx(ctx, conn, func() error {
		var app, have int
		if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
			return err
		}
		if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
			return err
		}
		switch {
		case app == 0 && have == 0:
			_, err := conn.ExecContext(ctx, fmt.Sprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d", schema, applicationID, version))
			if err != nil {
				return err
			}
		case app != applicationID:
			return errors.New("got a database of another program; move it away and a new one is made")
		case have > version:
			return fmt.Errorf("got version %d of its tables, want at most %d; use the zeno that wrote it, or a later one", have, version)
		}
		_, err := conn.ExecContext(ctx, indexes)
		return err
	})
}

// inTx runs f in a transaction that may write from its beginning.
func inTx(ctx context.Context, conn *sql.Conn, f func() error) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		if _, err = conn.ExecContext(ctx, "COMMIT"); err == nil {
			return nil
		}
	}
	_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // there may be nothing left to roll back
	return err
}

// read gives the questions that where, a condition with its arguments, selects, oldest first.
func read(ctx context.Context, conn *sql.Conn, where string, args ...any) ([]Ask, error) {
	rows, err := conn.QueryContext(ctx, "SELECT id, data FROM asks WHERE "+where+" ORDER BY id", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Ask
	for rows.Next() {
		var n int64
		var data string
		if err := rows.Scan(&n, &data); err != nil {
			return nil, err
		}
		var a Ask
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			return nil, fmt.Errorf("%s: got a record that does not read: %w", name(n), err)
		}
		a.ID = name(n)
		out = append(out, a)
	}
	return out, rows.Err()
}

func insert(ctx context.Context, conn *sql.Conn, a *Ask) error {
	res, err := conn.ExecContext(ctx, "INSERT INTO asks (state, kind, spawn, key, data) VALUES (?,?,?,?,'{}')", a.State, a.Kind, a.Spawn, keyOf(*a))
	if err != nil {
		return err
	}
	n, err := res.LastInsertId()
	if err != nil {
		return err
	}
	a.ID = name(n)
	return write(ctx, conn, *a)
}

func write(ctx context.Context, conn *sql.Conn, a Ask) error {
	n, err := number(a.ID)
	if err != nil {
		return err
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "UPDATE asks SET state = ?, key = ?, data = ? WHERE id = ?", a.State, keyOf(a), string(data), n)
	return err
}

// keyOf is the key under which a question is found again. One that failed gives its key back: the next call asks anew.
func keyOf(a Ask) any {
	if a.Key == "" || a.State == Expired || a.State == Withdrawn {
		return nil
	}
	return a.Key
}

// Step is one change of a question, for the journal.
type Step struct {
	At  time.Time `json:"at"`
	Ask Ask       `json:"ask"` // as it was after the change
}

func logStep(ctx context.Context, conn *sql.Conn, s Step) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "INSERT INTO steps (data) VALUES (?)", string(data))
	return err
}
