package journal_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/reflection-dev/zeno/core/journal"
)

// Retention by size keeps the file about as large as it says, keeps the newest, and leaves a chain that verifies. Without
// it the file grows.
func TestRetentionBySize(t *testing.T) {
	const limit = 1 << 20
	fill := func(t *testing.T, bound bool, writers int) (size int64, r journal.Report, oldest uint64) {
		t.Helper()
		ctx := context.Background()
		file := filepath.Join(t.TempDir(), "journal.db")
		s, err := journal.Open(ctx, journal.Config{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		if bound {
			if err := s.SetRetention(ctx, journal.Retention{Bytes: limit}); err != nil {
				t.Fatal(err)
			}
		}
		var all errgroup.Group
		for range writers {
			all.Go(func() error {
				for range 4000 / writers {
					if _, err := s.Append(ctx, journal.Event{Kind: "k", Data: map[string]any{"text": strings.Repeat("x", 1000)}}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := s.Retain(ctx, journal.Retention{}); err != nil { // sweeps
			t.Fatal(err)
		}
		es, err := s.Since(ctx, 0, 1)
		if err != nil || len(es) == 0 {
			t.Fatalf("got %v, %v, want an event", es, err)
		}
		if r, err = s.Verify(ctx, journal.Anchor{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size(), r, es[0].Seq
	}
	if size, _, _ := fill(t, false, 1); size < 4*limit {
		t.Fatalf("got %d bytes without a bound, want more than four times the bound: the test shows nothing", size)
	}
	// Where many write, there is no moment to remove in what was dropped.
	for _, writers := range []int{1, 100} {
		size, r, oldest := fill(t, true, writers)
		if size > limit*2 || size < limit/3 {
			t.Errorf("%d writers: got %d bytes, want about %d", writers, size, limit)
		}
		if r.Broken != nil || r.Dropped == 0 || oldest < 2000 {
			t.Errorf("%d writers: got %+v with %d as the oldest event, want a chain that holds and old segments dropped", writers, r, oldest)
		}
	}
}
