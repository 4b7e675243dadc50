package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/noleak"
)

var bg = context.Background()

// TestMain makes the test binary a process that appends until it is killed, when crash_test.go starts it so.
func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		child(job)
	}
	noleak.Main(m)
}

// open opens a journal in a directory of the test's own.
func open(t testing.TB, change ...func(*Config)) *SQLite {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "state", "journal.db"), change...)
}

func openAt(t testing.TB, file string, change ...func(*Config)) *SQLite {
	t.Helper()
	conf := Config{Path: file}
	for _, f := range change {
		f(&conf)
	}
	s, err := Open(bg, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t testing.TB, s *SQLite) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// add appends n events, durable or not, and gives the last.
func add(t testing.TB, s Store, n int, durable bool) Event {
	t.Helper()
	var last Event
	for i := range n {
		var err error
		last, err = s.Append(bg, event(i, durable))
		if err != nil {
			t.Fatal(err)
		}
	}
	return last
}

func event(i int, durable bool) Event {
	return Event{Kind: Call, Role: "r", Spawn: fmt.Sprintf("s-%d", i%3), Outcome: "ok", Elapsed: time.Duration(i) * time.Microsecond,
		Data: map[string]any{"name": "f", "n": i, "text": "a <b> \u2028 \"c\"\n"}, Durable: durable}
}

// verified wants a chain that holds, and gives the report.
func verified(t testing.TB, r *Reader, from Anchor) Report {
	t.Helper()
	rep, err := r.Verify(bg, from)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Broken != nil {
		t.Fatalf("verify: %v", rep.Broken)
	}
	return rep
}

func since(t testing.TB, s Store, after uint64, max int) []Event {
	t.Helper()
	es, err := s.Since(bg, after, max)
	if err != nil {
		t.Fatal(err)
	}
	return es
}
