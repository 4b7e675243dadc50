package ask

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// What is looked for every second does not take longer for each spawn that ever asked: its index is made where an older
// file lacks it, and used.
func TestSpawnsThatHaveEndedAreNotLookedAt(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "asks.db")
	old, err := Open(ctx, Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.conn.ExecContext(ctx, "DROP INDEX spawns_open"); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := Open(ctx, Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for query, args := range map[string][]any{waiting: nil, stranded: {Expired, Withdrawn}} {
		rows, err := d.conn.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var a, b, c int
			var line string
			if err := rows.Scan(&a, &b, &c, &line); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, line)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(plan, "; ")
		for _, line := range plan {
			if strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "spawns_open") {
				t.Errorf("%s: got the plan %q, want no table looked through", query, got)
			}
		}
		if !strings.Contains(got, "spawns_open") || strings.Contains(got, "asks_by_state") {
			t.Errorf("%s: got the plan %q, want the index of the open ones, and the questions of each", query, got)
		}
	}
}
