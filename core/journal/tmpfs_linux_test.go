package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/internal/need"
)

// On a disk that is full in earnest: what was acknowledged is there, what was not is refused, and when there is room again
// the journal goes on, what waited included.
func TestADiskThatIsFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("zeno-test", dir, "tmpfs", 0, "size=1m"); err != nil {
		need.Skip(t, "a small file system cannot be mounted (root can): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	var h heard
	s := openAt(t, filepath.Join(dir, "j.db"), func(c *Config) { c.OnError = h.hear })
	n := 0
	var full error
	for ; full == nil && n < 10_000; n++ {
		_, full = s.Append(bg, Event{Kind: "k", Data: map[string]any{"text": fmt.Sprint(n, strings.Repeat("x", 1000))}, Durable: true})
	}
	n--
	if !errors.Is(full, ErrFull) || !strings.Contains(full.Error(), "free space") || n < 20 {
		t.Fatalf("after %d events: got %v, want ErrFull and what to do", n, full)
	}
	if _, err := s.Append(bg, Event{Kind: "late", Data: map[string]any{"text": strings.Repeat("y", 1000)}}); err != nil {
		t.Fatalf("an event that nobody waits for: %v", err)
	}
	if es := since(t, s, 0, 10_000); len(es) != n {
		t.Errorf("reading meanwhile: got %d events, want the %d acknowledged", len(es), n)
	}
	verified(t, s.Reader, Anchor{})
	if err := unix.Mount("zeno-test", dir, "tmpfs", unix.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	add(t, s, 1, true)
	es := since(t, s, 0, 10_000)
	if len(es) != n+2 || es[n].Kind != "late" {
		t.Errorf("with room again: got %d events, want %d, the one that waited before the new one", len(es), n+2)
	}
	verified(t, s.Reader, Anchor{})
	if errs := h.all(); len(errs) != 2 || !errors.Is(errs[0], ErrFull) || errs[1] != nil {
		t.Errorf("the operator heard %v, want ErrFull and that it works again", errs)
	}
}
