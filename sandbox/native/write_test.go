//go:build linux

package native_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// What is written in the last moment before the end is found too, in a volume and in a directory of the caller.
func TestDiskIsCountedAtTheEnd(t *testing.T) {
	b := backend(t)
	for _, where := range []string{"volume", "directory"} {
		give := func(bound int64) func(*sandbox.Spec) {
			return func(s *sandbox.Spec) {
				s.Disk, s.Volume = bound, "v"
				if where == "directory" {
					dir := t.TempDir()
					s.Volume, s.Write, s.Dir = "", []string{dir}, dir
				}
			}
		}
		const script = `head -c 3145728 /dev/zero > f; head -c 3145728 /dev/zero > g`
		if res := sh(t, b, script, give(8<<20)); res.KilledBy != "" || res.Status != "ok" {
			t.Errorf("%s: 6 MiB under a bound of 8: got %s, killed by %q, want ok", where, res.Status, res.KilledBy)
		}
		if res := sh(t, b, script, give(4<<20)); res.KilledBy != sandbox.KilledDisk || res.Status != "killed" {
			t.Errorf("%s: 6 MiB under a bound of 4: got %s, killed by %q, want it killed by disk", where, res.Status, res.KilledBy)
		}
	}
}

// A volume that is full already ends the box at once, be it before it was told what to be.
func TestFullVolume(t *testing.T) {
	b := backend(t)
	full := func(s *sandbox.Spec) { s.Disk, s.Volume = 8<<20, "v" }
	if res := sh(t, b, `head -c 6291456 /dev/zero > f`, full); res.KilledBy != "" {
		t.Fatalf("got killed by %q, want the volume filled", res.KilledBy)
	}
	for range 50 {
		res := sh(t, b, `sleep 100`, func(s *sandbox.Spec) { s.Disk, s.Volume = 4<<20, "v" })
		if res.KilledBy != sandbox.KilledDisk || res.Status != "killed" {
			t.Fatalf("got %s, killed by %q, want it killed by disk", res.Status, res.KilledBy)
		}
	}
}

// That another process frees as much as the box writes hides nothing.
func TestDiskIsCountedWhereOthersFree(t *testing.T) {
	b := backend(t)
	top := t.TempDir()
	dir, ballast := filepath.Join(top, "given"), filepath.Join(top, "ballast")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, 64<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(ballast, os.O_WRONLY, 0); err == nil {
		_ = unix.Fallocate(int(f.Fd()), 0, 0, 2<<30) // more, where it costs nothing: others write here too
		f.Close()
	}
	freed := make(chan error, 1)
	go func() {
		var err error
		for range 24_000 {
			if _, err = os.Stat(filepath.Join(dir, "f1")); err == nil {
				err = os.Truncate(ballast, 0)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		freed <- err
	}()
	res := sh(t, b, `i=0; while [ $i -lt 64 ]; do head -c 262144 /dev/zero > f$i; i=$((i+1)); sleep 0.05; done; sleep 20`, func(s *sandbox.Spec) {
		s.Write, s.Dir, s.Disk = []string{dir}, dir, 4<<20
	})
	if err := <-freed; err != nil {
		t.Fatal(err)
	}
	if res.KilledBy != sandbox.KilledDisk || res.Exit == 0 {
		t.Errorf("got exit %d, killed by %q, want it killed by disk before it ended", res.Exit, res.KilledBy)
	}
}
