package spawn

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheHostsProgramOnAnImage: only a program that the box is shown, with what its links lead to, is the host's.
func TestTheHostsProgramOnAnImage(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bin, outside := filepath.Join(dir, "modules", ".bin"), filepath.Join(dir, "outside")
	for _, d := range []string{bin, outside, filepath.Join(dir, "modules", "pkg")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(dir, "modules/pkg/cli"), filepath.Join(outside, "cli")} {
		if err := os.WriteFile(f, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"agent": "../pkg/cli", "leads-out": "../../outside/cli"} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		read []string
		want string
	}{
		{"agent", nil, "agent"},
		{"agent", []string{filepath.Join(dir, "modules")}, filepath.Join(bin, "agent")},
		{"agent", []string{outside, filepath.Join(dir, "modules") + "/"}, filepath.Join(bin, "agent")},
		{"agent", []string{bin}, "agent"},
		{"leads-out", []string{filepath.Join(dir, "modules")}, "leads-out"},
		{"leads-out", []string{dir}, filepath.Join(bin, "leads-out")},
		{"none", []string{dir}, "none"},
	} {
		s := &run{Runner: &Runner{conf: Config{Path: bin}}, req: Request{Box: Box{Read: c.read}}}
		if got := s.shown(c.name); got != c.want {
			t.Errorf("%s with %v: got %s, want %s", c.name, c.read, got, c.want)
		}
	}
}
