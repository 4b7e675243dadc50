//go:build linux

package native_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/volume"
)

// swap puts a directory and a link to a directory of the host in each other's place, as fast as it can.
const swap = `python3 -c '
import ctypes, os, sys
os.makedirs("real/sub"); os.symlink(sys.argv[1], "link"); os.rename("real", "d")
c = ctypes.CDLL(None)
print("go", flush=True)
while not os.path.exists("stop"): c.renameat2(-100, b"d", -100, b"link", 2)' `

// What zeno does in a volume while a box changes it under its hands leads it nowhere else.
func TestRacesInAVolumeLeadNowhere(t *testing.T) {
	target := t.TempDir()
	if err := os.MkdirAll(filepath.Join(target, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	keep := filepath.Join(target, "sub", "keep")
	if err := os.WriteFile(keep, make([]byte, 8<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	b := backend(t)
	started, ended := make(chan struct{}), make(chan sandbox.Result, 1)
	go func() {
		res, err := b.Run(context.Background(), sandbox.Spec{Volume: "v", Stdout: signal(started), Disk: 4 << 20, Timeout: 10 * time.Minute, Argv: []string{"sh", "-c", swap + target}})
		if err != nil {
			t.Error(err)
		}
		ended <- res
	}()
	<-started
	dir := b.Volumes().Path("v")
	byPath, counts := 0, 0
	for begin := time.Now(); time.Since(begin) < 2*time.Second; counts++ {
		if bytes, _, err := volume.Usage(dir, 1<<40); bytes >= 8<<20 || err != nil {
			t.Fatalf("a count of the volume: got %d bytes %v, want it to stay in there", bytes, err)
		}
		for _, name := range []string{"d", "link"} { // the harm: who looks first and goes by the name then is led out
			if st, err := os.Lstat(filepath.Join(dir, name)); err != nil || !st.IsDir() {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, name, "sub", "keep")); err == nil {
				byPath++
			}
		}
	}
	if byPath == 0 {
		t.Logf("in %d counts the race was never won", counts)
	}
	if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if res := <-ended; res.KilledBy != "" {
		t.Errorf("got %+v, want it left alone: what it links to is not its own", res)
	}
	if err := b.Volumes().Remove("v"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Errorf("a file of the host was removed: %v", err)
	}
}
