package ask

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// Spawn is what it takes to go on with a spawn that waits for an answer, and how it ended.
type Spawn struct {
	ID      string          `json:"id"`
	Request json.RawMessage `json:"request"`          // without secrets
	Agent   string          `json:"agent,omitempty"`  // of a scripted one: the name of the var that holds it
	Lost    string          `json:"lost,omitempty"`   // why it cannot go on after a restart; "": it can
	Calls   map[string]int  `json:"calls,omitempty"`  // capability calls made so far, by name
	Asks    int             `json:"asks"`             // questions asked so far
	Budget  json.RawMessage `json:"budget,omitempty"` // what is left of it
	Ended   bool            `json:"ended"`
	Result  json.RawMessage `json:"result,omitempty"` // of the last run
}

func saveSpawn(ctx context.Context, c *sql.Conn, s Spawn) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = c.ExecContext(ctx, "INSERT OR REPLACE INTO spawns (id, data, ended) VALUES (?,?,?)", s.ID, string(data), s.Ended)
	return err
}

// Spawn gives what is kept of a spawn; ok is false where that is nothing, since it never asked.
func (d *Desk) Spawn(ctx context.Context, id string) (s Spawn, ok bool, err error) {
	ctx = context.WithoutCancel(ctx)
	err = d.with(func(c *sql.Conn) error {
		s, ok, err = getSpawn(ctx, c, id)
		return err
	})
	return s, ok, err
}

func getSpawn(ctx context.Context, c *sql.Conn, id string) (s Spawn, ok bool, err error) {
	var data string
	switch err := c.QueryRowContext(ctx, "SELECT data FROM spawns WHERE id = ?", id).Scan(&data); {
	case errors.Is(err, sql.ErrNoRows):
		return s, false, nil
	case err != nil:
		return s, false, err
	}
	err = json.Unmarshal([]byte(data), &s)
	return s, err == nil, err
}

// ChangeSpawn changes what is kept of a spawn, where anything is.
func (d *Desk) ChangeSpawn(ctx context.Context, id string, f func(*Spawn)) error {
	return d.change(func(ctx context.Context, c *sql.Conn) error {
		s, ok, err := getSpawn(ctx, c, id)
		if err != nil || !ok {
			return err
		}
		f(&s)
		return saveSpawn(ctx, c, s)
	})
}

// Waiting lists the spawns that are not at their end.
func (d *Desk) Waiting(ctx context.Context) ([]string, error) {
	return d.spawnIDs(ctx, waiting)
}

// Stranded lists the spawns that are not at their end, and whose question expired or was taken back.
func (d *Desk) Stranded(ctx context.Context) ([]string, error) {
	return d.spawnIDs(ctx, stranded, Expired, Withdrawn)
}

// What lists spawns. Both must not look at those that have ended.
const (
	waiting  = "SELECT id FROM spawns WHERE ended = 0 ORDER BY id"
	stranded = "SELECT s.id FROM spawns s WHERE s.ended = 0 AND EXISTS (SELECT 1 FROM asks a WHERE a.spawn = s.id AND a.spawn <> '' AND a.state IN (?, ?)) ORDER BY s.id"
)

func (d *Desk) spawnIDs(ctx context.Context, query string, args ...any) (ids []string, err error) {
	ctx = context.WithoutCancel(ctx)
	err = d.with(func(c *sql.Conn) error {
		rows, err := c.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return rows.Err()
	})
	return ids, err
}

// WaitSpawn returns what is kept of a spawn once it has ended.
func (d *Desk) WaitSpawn(ctx context.Context, id string) (Spawn, error) {
	for {
		changed := d.Changed()
		s, ok, err := d.Spawn(ctx, id)
		if err != nil || !ok || s.Ended {
			return s, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, context.Cause(ctx)
		}
	}
}
