//go:build linux

package native_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// stage2Path is the program as `make` builds it.
var stage2Path string

// early is what packages of a large program open while they are initialised: stage two within it has to live with that.
var early, errEarly = net.Listen("tcp", "127.0.0.1:0")

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == stage2.Word {
		stage2.Main()
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "zeno-native-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	if stage2Path = os.Getenv("ZENO_TEST_STAGE2"); stage2Path != "" { // this is TestAsAnOrdinaryUser's run
		return m.Run()
	}
	stage2Path = filepath.Join(dir, "stage2")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", stage2Path, "./stage2/cmd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building stage two: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func backend(t testing.TB, change ...func(*native.Config)) *native.Backend {
	t.Helper()
	cfg := native.Config{StateDir: t.TempDir(), Stage2: stage2Path}
	for _, c := range change {
		c(&cfg)
	}
	b, err := native.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// sh runs a shell script in a box.
func sh(t testing.TB, b *native.Backend, script string, change ...func(*sandbox.Spec)) sandbox.Result {
	t.Helper()
	s := sandbox.Spec{Argv: []string{"sh", "-c", script}, Timeout: 3 * time.Minute}
	for _, c := range change {
		c(&s)
	}
	res, err := b.Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
