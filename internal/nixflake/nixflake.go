// Package nixflake gives tests the real nix, without a daemon or a network, and a flake with packages to build with it.
//
// The one invariant: nothing is fetched. The flake has no inputs, and its builder is the busybox of this machine.
//
// Start reading at [Need].
package nixflake

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/reflection-dev/zeno/internal/need"
)

// Offline is for nix's environment: no daemon, no network, no users of its own for builders.
const Offline = "NIX_CONFIG=experimental-features = nix-command flakes\nbuild-users-group =\nsubstituters =\nsandbox = false\nflake-registry ="

//go:embed flake.nix
var text []byte

// Need makes the flake and gives its address, such as path:/tmp/x. It ends the test where the machine lacks what it takes.
func Need(t testing.TB) string {
	t.Helper()
	need.Program(t, "nix", "nix-bin")
	busybox := need.Program(t, "busybox", "busybox-static")
	if runtime.GOARCH != "amd64" || os.Geteuid() != 0 {
		need.Skip(t, "the flake takes root on amd64")
	}
	return "path:" + write(t, busybox)
}

func write(t testing.TB, busybox string) string {
	t.Helper()
	dir := t.TempDir()
	program, err := os.ReadFile(busybox)
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "bb"), 0o755), os.WriteFile(filepath.Join(dir, "flake.nix"), text, 0o644),
			os.WriteFile(filepath.Join(dir, "bb/busybox"), program, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
