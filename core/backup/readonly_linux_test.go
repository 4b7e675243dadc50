package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/core/backup"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/internal/need"
)

// A home whose file system has become read-only can be copied, and what stands in the write-ahead log of one that was
// killed is in the copy.
func TestAReadOnlyHome(t *testing.T) {
	home := t.TempDir()
	if err := unix.Mount("zeno-test", home, "tmpfs", 0, "size=8m"); err != nil {
		need.Skip(t, "a small file system cannot be mounted (root can): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(home, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ctx := context.Background()
	fresh := filepath.Join(t.TempDir(), "journal.db")
	s, err := journal.Open(ctx, journal.Config{Path: fresh})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Append(ctx, journal.Event{Kind: "k", Durable: true}); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(home, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal"} { // as a kill leaves them
		b, err := os.ReadFile(fresh + end)
		if err != nil || len(b) == 0 {
			t.Fatalf("%s: got %d bytes, %v", end, len(b), err)
		}
		if err := os.WriteFile(filepath.Join(state, "journal.db"+end), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("zeno-test", home, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	r, err := backup.Make(ctx, backup.Config{Home: home, To: to})
	if err != nil || r.Events != 3 {
		t.Fatalf("got %+v %v, want 3 events", r, err)
	}
	left, err := filepath.Glob(filepath.Join(to, "state", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("got %v %v, want the journal and nothing else", left, err)
	}
	if left, _ := filepath.Glob(filepath.Join(to, ".*")); len(left) != 0 {
		t.Errorf("got %v, want nothing left of the copying", left)
	}
}
