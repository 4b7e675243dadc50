package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
)

// TestInEmacs: the prompt is Emacs' inferior Lisp, as it comes, without a package; also that of `zeno connect`.
func TestInEmacs(t *testing.T) {
	emacs := need.Program(t, "emacs", "emacs-nox")
	zeno, home := filepath.Join(shellDir(t), "zeno"), t.TempDir()
	here := zeno + " --home " + home
	run := func(command string) {
		cmd := exec.CommandContext(t.Context(), emacs, "-Q", "--batch", "-l", filepath.Join("testdata", "emacs.el"))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8", "ZENO_COMMAND=" + command}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	run(here)
	daemon := exec.Command(zeno, "--home", home, "--daemon")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patienceOfTests); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(home, ".nrepl-port")); err == nil {
			break
		}
	}
	run(here + " connect")
	_ = daemon.Process.Signal(os.Interrupt) // Wait tells
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon: %v", err)
	}
}
