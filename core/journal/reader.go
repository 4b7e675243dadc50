package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Reader reads a journal's file, also while another process writes it. It is safe for concurrent use.
type Reader struct {
	db    *sql.DB
	file  string
	first Hash                            // what stands before the first event
	id    []byte                          // of the journal
	flush func(ctx context.Context) error // before every read; nil: nothing waits
}

// OpenReader opens the file of a journal for reading.
func OpenReader(ctx context.Context, file string) (*Reader, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("journal: %s: %w; nothing has been recorded in this home yet", file, ErrMissing)
	}
	return newReader(ctx, file)
}

// readers is how many reads go on at once.
const readers = 4

func newReader(ctx context.Context, file string) (*Reader, error) {
	r, err := tryReader(ctx, file, url.Values{"mode": {"ro"}})
	if errors.Is(err, ErrReadOnly) {
		// Where nothing may be written beside the file, and nothing is there, no other process changes it either.
		if _, serr := os.Stat(file + "-wal"); errors.Is(serr, fs.ErrNotExist) {
			return tryReader(ctx, file, url.Values{"mode": {"ro"}, "immutable": {"1"}})
		}
	}
	return r, err
}

func tryReader(ctx context.Context, file string, params url.Values) (*Reader, error) {
	db, err := sql.Open("sqlite", dsn(file, params, "query_only(1)"))
	if err != nil {
		return nil, explain(file, err)
	}
	db.SetMaxOpenConns(readers)
	r := &Reader{db: db, file: file}
	if err := r.identify(ctx); err != nil {
		_ = db.Close()
		return nil, explain(file, err)
	}
	return r, nil
}

func (r *Reader) identify(ctx context.Context) error {
	conn, err := r.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, fresh, err := checkVersion(ctx, conn, len(schema()))
	switch {
	case err != nil:
		return err
	case fresh:
		return fmt.Errorf("%w: the file is empty", ErrForeign)
	}
	if r.id, err = idOf(ctx, conn); err != nil {
		return err
	}
	r.first = genesis(r.id)
	return nil
}

func idOf(ctx context.Context, q querier) ([]byte, error) {
	var id []byte
	err := q.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'id'").Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: its identity is gone", ErrDamaged)
	}
	return id, err
}

func genesisOf(ctx context.Context, q querier) (Hash, error) {
	id, err := idOf(ctx, q)
	return genesis(id), err
}

// Close closes the file.
func (r *Reader) Close() error { return r.db.Close() }

// record is an event as it is in the file.
type record struct {
	event        Event // without Data
	payloadHash  []byte
	hash         Hash
	hashOK       bool
	salt         []byte
	data         sql.NullString
	gone         sql.NullString // why there is no data
	payloadThere bool           // a row, with or without data
}

const recordColumns = `e.seq, e.at, e.kind, e.role, e.spawn, e.outcome, e.elapsed, e.payload_hash, e.hash, p.salt, p.data, p.gone`

// eachRecord calls f with the events that cond selects, as they are in the file.
func eachRecord(ctx context.Context, q querier, cond string, args []any, f func(record) error) error {
	rows, err := q.QueryContext(ctx, "SELECT "+recordColumns+" FROM events e LEFT JOIN payloads p ON p.seq = e.seq WHERE "+cond, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r record
		var at int64
		var hash []byte
		e := &r.event
		if err := rows.Scan(&e.Seq, &at, &e.Kind, &e.Role, &e.Spawn, &e.Outcome, &e.Elapsed, &r.payloadHash, &hash, &r.salt, &r.data, &r.gone); err != nil {
			return err
		}
		e.At = time.Unix(0, at).UTC()
		r.hashOK = copy(r.hash[:], hash) == len(hash) && len(hash) == len(r.hash)
		r.payloadThere = r.gone.Valid
		if err := f(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// full is the event with its data. Data that is gone is missing.
func (r record) full() (Event, error) {
	e := r.event
	if !r.data.Valid {
		return e, nil
	}
	var err error
	if e.Data, err = parsePayload([]byte(r.data.String)); err != nil {
		return e, fmt.Errorf("%w: event %d: %w", ErrDamaged, e.Seq, err)
	}
	return e, nil
}

// kept leaves out what was dropped and is not yet removed.
const kept = "e.seq > (SELECT coalesce(max(last), 0) FROM segments WHERE dropped <> 0) AND "

// settle writes what waits. What cannot be written at the moment is reported elsewhere and does not keep anyone from
// reading the rest.
func (r *Reader) settle(ctx context.Context) error {
	if r.flush == nil {
		return nil
	}
	if err := r.flush(ctx); errors.Is(err, ErrClosed) || ctx.Err() != nil {
		return err
	}
	return nil
}

// events gives what cond selects.
func (r *Reader) events(ctx context.Context, cond string, args ...any) ([]Event, error) {
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	var out []Event
	err := eachRecord(ctx, r.db, kept+cond, args, func(rec record) error {
		e, err := rec.full()
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, explain(r.file, err)
	}
	return out, nil
}

// Since implements Store.
func (r *Reader) Since(ctx context.Context, after uint64, max int) ([]Event, error) {
	return r.events(ctx, "e.seq > ? ORDER BY e.seq LIMIT ?", int64(after), max0(max))
}

// Tail gives the newest events, at most max, oldest first.
func (r *Reader) Tail(ctx context.Context, max int) ([]Event, error) {
	out, err := r.events(ctx, "1 ORDER BY e.seq DESC LIMIT ?", max0(max))
	slices.Reverse(out)
	return out, err
}

// Show gives the events of one spawn with a greater Seq than after, oldest first, at most max.
func (r *Reader) Show(ctx context.Context, spawn string, after uint64, max int) ([]Event, error) {
	return r.events(ctx, "e.spawn = ? AND e.spawn <> '' AND e.seq > ? ORDER BY e.seq LIMIT ?", spawn, int64(after), max0(max))
}

// max0 keeps SQLite from taking a negative limit for none.
func max0(n int) int { return max(n, 0) }
