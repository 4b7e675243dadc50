//go:build linux

package native_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reflection-dev/zeno/sandbox"
)

// TestDirectoriesOfTheCaller: what Spec.Write names is written to at the same path, and nothing beside it; Disk bounds
// what is added, not what was there.
func TestDirectoriesOfTheCaller(t *testing.T) {
	b := backend(t)
	top := t.TempDir()
	dir := filepath.Join(top, "given")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old"), make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "beside"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	give := func(s *sandbox.Spec) { s.Write, s.Dir, s.Disk = []string{dir}, dir, 4<<20 }
	res := sh(t, b, `pwd; stat -c %s old; echo new > new; ls `+top+`; echo x > `+top+`/beside 2>/dev/null; sleep 0.3`, give)
	if want := dir + "\n8388608\ngiven\n"; res.Out != want || res.KilledBy != "" {
		t.Errorf("got %q killed by %q, want %q", res.Out, res.KilledBy, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "new")); err != nil || string(text) != "new\n" {
		t.Errorf("on the host: got %q %v", text, err)
	}
	if text, _ := os.ReadFile(filepath.Join(top, "beside")); string(text) != "x" {
		t.Errorf("beside it: got %q, want it untouched", text)
	}
	res = sh(t, b, `i=0; while [ $i -lt 64 ]; do head -c 262144 /dev/zero > f$i; i=$((i+1)); sleep 0.05; done`, give)
	if res.KilledBy != sandbox.KilledDisk {
		t.Errorf("16 MiB under a bound of 4: got killed by %q, want disk", res.KilledBy)
	}
}
