package journal

import "context"

// Begun is a spawn that the record says has begun and does not say has ended.
type Begun struct {
	Spawn, Role string
	Seq         uint64 // of the event that says so
}

// CutOff lists the spawns that had begun and not ended when this process opened the file, and still have not, in the order
// they began. An earlier process was killed in them: one process at a time has the file.
func (s *SQLite) CutOff(ctx context.Context) ([]Begun, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	rows, err := s.Reader.db.QueryContext(ctx, `
SELECT e.spawn, e.role, e.seq FROM events e JOIN (
	SELECT spawn, max(CASE kind WHEN 'spawn/started' THEN seq ELSE 0 END) AS begun, max(CASE kind WHEN 'spawn/ended' THEN seq ELSE 0 END) AS ended
	FROM events INDEXED BY events_of_spawns WHERE kind IN ('spawn/started', 'spawn/ended') GROUP BY spawn
) l ON e.seq = l.begun WHERE l.begun > l.ended AND l.begun <= ? ORDER BY e.seq`, s.opened)
	if err != nil {
		return nil, explain(s.conf.Path, err)
	}
	defer func() { _ = rows.Close() }()
	var out []Begun
	for rows.Next() {
		var b Begun
		if err := rows.Scan(&b.Spawn, &b.Role, &b.Seq); err != nil {
			return nil, explain(s.conf.Path, err)
		}
		out = append(out, b)
	}
	return out, explain(s.conf.Path, rows.Err())
}
