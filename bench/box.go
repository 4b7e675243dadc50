package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// boxRuns is how often a round runs each side.
const boxRuns = 40

// boxPause lets what the run before left to the kernel end: neither side pays for the other.
const boxPause = 10 * time.Millisecond

// bubblewrap is a box with the namespaces and mounts of ours.
func bubblewrap() []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--ro-bind-try", "/opt", "/opt",
		"--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"}
	for _, f := range []string{"/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/localtime",
		"/etc/protocols", "/etc/services", "/etc/mime.types"} {
		args = append(args, "--ro-bind-try", f, f)
	}
	return append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/work", "--chdir", "/work", "true")
}

// startBox measures `true` in a box, from call to end, beside bubblewrap's and `zeno sandbox run`, each in turn.
func startBox(rounds int) ([]measured, error) {
	if runtime.GOOS != "linux" {
		return nil, nil // boxes are Linux only
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("%w: install it (Debian: apt-get install bubblewrap)", err)
	}
	dir, err := os.MkdirTemp("", "zeno-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bin, stage2, err := buildBoxed(dir)
	if err != nil {
		return nil, err
	}
	var sides []side
	for _, alone := range []bool{false, true} {
		b, err := native.New(native.Config{StateDir: filepath.Join(dir, fmt.Sprint("state", alone)), Stage2: stage2, NoSpare: alone})
		if err != nil {
			return nil, err
		}
		defer b.Close()
		sides = append(sides, side{run: func() error { return inBox(b) }})
	}
	sides = append(sides, side{run: func() error { return exec.Command(bwrap, bubblewrap()...).Run() }},
		side{run: func() error {
			c := exec.Command(bin, "--home", dir, "sandbox", "run", "--", "true")
			c.Env = append(os.Environ(), "HOME="+dir)
			return c.Run()
		}})
	if err := inTurn(sides, boxRuns*rounds); err != nil {
		return nil, err
	}
	row, single, peer, program := sides[0], sides[1], sides[2], sides[3]
	return []measured{
		{"true in a box, runs in a row, beside bubblewrap", row.p50() / peer.p50(), 1, "x"},
		{"true in a box, a single run, beside bubblewrap", single.p50() / peer.p50(), 1, "x"},
		{"that box in a row, start to exit", row.p50(), 0, "ms"},
		{"that box alone, start to exit", single.p50(), 0, "ms"},
		{"bubblewrap, start to exit", peer.p50(), 0, "ms"},
		{"zeno sandbox run -- true, start to exit", program.p50(), 0, "ms"},
		{"least: that box in a row", least(row.ms), 0, "ms"},
		{"least: that box alone", least(single.ms), 0, "ms"},
		{"least: bubblewrap", least(peer.ms), 0, "ms"},
	}, nil
}

// side is one that runs in turn with the others.
type side struct {
	run func() error
	ms  []float64
}

func (s side) p50() float64 { return median(s.ms) }

func least(xs []float64) float64 {
	out := xs[0]
	for _, x := range xs {
		out = min(out, x)
	}
	return out
}

// inTurn runs every side n times, one after the other, and once before that counts.
func inTurn(sides []side, n int) error {
	for i := range n + 1 {
		for j := range sides {
			time.Sleep(boxPause)
			begin := time.Now()
			if err := sides[j].run(); err != nil {
				return err
			}
			if i > 0 {
				sides[j].ms = append(sides[j].ms, float64(time.Since(begin).Microseconds())/1000)
			}
		}
	}
	return nil
}

func inBox(b *native.Backend) error {
	res, err := b.Run(context.Background(), sandbox.Spec{Argv: []string{"true"}})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("true in a box: got %+v, want exit 0", res)
	}
	return err
}

// buildBoxed builds zeno as make does, with what runs inside boxes in it, and that program alone.
func buildBoxed(dir string) (bin, stage2 string, err error) {
	bin, stage2 = filepath.Join(dir, "zeno"), filepath.Join(dir, "stage2")
	for _, args := range [][]string{
		{"-o", stage2, "./sandbox/native/stage2/cmd"}, {"-o", "sandbox/native/stage2.bin", "./sandbox/native/stage2/cmd"},
		{"-tags", "zeno_stage2", "-o", bin, "."},
	} {
		c := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags", "-s -w"}, args...)...)
		c.Dir, c.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("failed to build zeno: %w: %s", err, out)
		}
	}
	return bin, stage2, nil
}
