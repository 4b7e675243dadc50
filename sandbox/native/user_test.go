//go:build linux

package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reflection-dev/zeno/internal/need"
)

// ordinary is a user that no one is.
const ordinary = 64321

// Everything is tested twice: as root, and as a user without any right, in a process of its own.
func TestAsAnOrdinaryUser(t *testing.T) {
	need.Full(t, "every test runs once more")
	if os.Geteuid() != 0 {
		need.Skip(t, "only root can become another user; without root every test runs as an ordinary one")
	}
	dir, err := os.MkdirTemp("", "zeno-user-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, ordinary, ordinary); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(filepath.Dir(stage2Path), "native.test")
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(self, text, 0o755); err != nil {
		t.Fatal(err)
	}
	// Two tests need root: to make a set-user-id program, and to have a cgroup to measure by.
	args := []string{"-test.v", "-test.skip", "TestAsAnOrdinaryUser|TestSetUserIDPrograms|TestProcessorsAreBounded"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = dir
	data := filepath.Join(filepath.Dir(stage2Path), "testdata")
	if err := os.CopyFS(data, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "ZENO_TEST_STAGE2="+stage2Path, "ZENO_TEST_DATA="+data, "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	out, err := cmd.CombinedOutput()
	for _, line := range strings.Split(string(out), "\n") {
		if strings.Contains(line, "--- SKIP") {
			t.Log(line)
		}
	}
	if err != nil {
		t.Errorf("as user %d: %v\n%s", ordinary, err, out)
	}
}
