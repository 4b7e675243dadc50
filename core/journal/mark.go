package journal

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// markChange is a change of a mark, made by the writer in the transaction of its event.
type markChange struct {
	key, to, result string // to "": forget
	again           bool
}

// apply makes the change unless the mark that is there stands against it.
func (c *markChange) apply(ctx context.Context, w *writer) answer {
	m, ok, err := lookMark(ctx, w.conn, c.key)
	if err != nil {
		return answer{err: err}
	}
	switch c.to {
	case "":
		if !ok {
			return answer{}
		}
		_, err = w.conn.ExecContext(ctx, "DELETE FROM marks WHERE key = ?", c.key)
		return answer{mark: m, changed: true, err: err}
	case MarkStarted:
		if ok && (!c.again || m.State != MarkStarted) {
			return answer{mark: m}
		}
		m = Mark{Key: c.key, State: MarkStarted, Started: w.now()}
	default:
		if !ok || m.State != MarkStarted {
			return answer{}
		}
		m.State, m.Result, m.Ended = c.to, c.result, w.now()
	}
	_, err = w.conn.ExecContext(ctx, "INSERT OR REPLACE INTO marks (key, state, result, started, ended) VALUES (?,?,?,?,?)",
		m.Key, m.State, m.Result, nanos(m.Started), nanos(m.Ended))
	return answer{mark: m, changed: true, err: err}
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func lookMark(ctx context.Context, q querier, key string) (Mark, bool, error) {
	m := Mark{Key: key}
	var started, ended int64
	err := q.QueryRowContext(ctx, "SELECT state, result, started, ended FROM marks WHERE key = ?", key).Scan(&m.State, &m.Result, &started, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return Mark{}, false, nil
	}
	m.Started, m.Ended = fromNanos(started), fromNanos(ended)
	return m, err == nil, err
}

func (s *SQLite) changeMark(ctx context.Context, kind, outcome string, c *markChange) answer {
	e := onceEvent(kind, c.key, outcome)
	e.At = s.conf.Now()
	p, err := newPayload(e.Data)
	if err != nil {
		return answer{err: err}
	}
	return s.ask(ctx, &request{event: clean(e), payload: p, mark: c})
}

// LookMark implements Marker.
func (s *SQLite) LookMark(ctx context.Context, key string) (Mark, bool, error) {
	m, ok, err := lookMark(ctx, s.Reader.db, key)
	return m, ok, explain(s.conf.Path, err)
}

// StartMark implements Marker.
func (s *SQLite) StartMark(ctx context.Context, key string, again bool) (Mark, bool, error) {
	a := s.changeMark(ctx, OnceStarted, "", &markChange{key: key, to: MarkStarted, again: again})
	return a.mark, a.changed, a.err
}

// EndMark implements Marker.
func (s *SQLite) EndMark(ctx context.Context, key, state, result string) error {
	a := s.changeMark(ctx, OnceEnded, state, &markChange{key: key, to: state, result: result})
	if a.err == nil && !a.changed {
		return errNotStarted(key)
	}
	return a.err
}

// ForgetMark implements Marker.
func (s *SQLite) ForgetMark(ctx context.Context, key string) (bool, error) {
	a := s.changeMark(ctx, OnceForgotten, "", &markChange{key: key})
	return a.changed, a.err
}
