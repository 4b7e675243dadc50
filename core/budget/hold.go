package budget

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// Hold is what the operator has said about one capability of a role or of a spawn: that it is revoked, or until when it
// may be called. It binds beside the grant, which is not changed.
type Hold struct {
	Who   Who
	Name  string
	Until time.Time // the end of a lease; zero: revoked
	Why   string
	At    time.Time
}

// Who is a role or a spawn; one of the two is empty.
type Who struct{ Role, Spawn string }

func (w Who) String() string {
	if w.Spawn != "" {
		return "spawn/" + w.Spawn
	}
	return "role/" + w.Role
}

type holdKey struct {
	who  Who
	name string
}

// SetHold keeps a hold, durably.
func (l *Ledger) SetHold(ctx context.Context, h Hold) error {
	until := int64(0)
	if !h.Until.IsZero() {
		until = h.Until.UnixNano()
	}
	err := l.flush(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?, ?)`, h.Who.String(), h.Name, until, h.Why, h.At.UnixNano())
		return err
	})
	if err != nil {
		return fmt.Errorf("failed to write it down: %w", err)
	}
	l.mu.Lock()
	l.holds[holdKey{h.Who, h.Name}] = h
	l.mu.Unlock()
	return nil
}

// DropHold ends a hold, and tells whether there was one.
func (l *Ledger) DropHold(ctx context.Context, who Who, name string) (bool, error) {
	err := l.flush(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM holds WHERE who = ? AND name = ?`, who.String(), name)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("failed to write it down: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, had := l.holds[holdKey{who, name}]
	delete(l.holds, holdKey{who, name})
	return had, nil
}

// HoldOn gives what holds for a capability of a spawn: its own, else its role's.
func (l *Ledger) HoldOn(role, spawn, name string) (Hold, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, ok := l.holds[holdKey{Who{Spawn: spawn}, name}]; ok {
		return h, true
	}
	h, ok := l.holds[holdKey{Who{Role: role}, name}]
	return h, ok
}

// Holds lists all.
func (l *Ledger) Holds() []Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Hold, 0, len(l.holds))
	for _, h := range l.holds {
		out = append(out, h)
	}
	return out
}

// Now is the ledger's clock.
func (l *Ledger) Now() time.Time { return l.conf.Now() }

// EndSpawn forgets the holds of a spawn that will not come back.
func (l *Ledger) EndSpawn(ctx context.Context, spawn string) error {
	who := Who{Spawn: spawn}
	l.mu.Lock()
	had := false
	for k := range l.holds {
		if k.who == who {
			had = true
			delete(l.holds, k)
		}
	}
	l.mu.Unlock()
	if !had {
		return nil
	}
	return l.flush(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM holds WHERE who = ?`, who.String())
		return err
	})
}

func (l *Ledger) loadHolds(ctx context.Context) error {
	rows, err := l.store.db.QueryContext(ctx, `SELECT who, name, until, why, at FROM holds`)
	if err != nil {
		return err
	}
	defer rows.Close()
	holds := map[holdKey]Hold{}
	for rows.Next() {
		var who string
		var h Hold
		var until, at int64
		if err := rows.Scan(&who, &h.Name, &until, &h.Why, &at); err != nil {
			return err
		}
		h.At = time.Unix(0, at)
		if until != 0 {
			h.Until = time.Unix(0, until)
		}
		if spawn, ok := strings.CutPrefix(who, "spawn/"); ok {
			h.Who.Spawn = spawn
		} else {
			h.Who.Role = strings.TrimPrefix(who, "role/")
		}
		holds[holdKey{h.Who, h.Name}] = h
	}
	l.mu.Lock()
	l.holds = holds
	l.mu.Unlock()
	return rows.Err()
}
