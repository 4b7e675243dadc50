package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/reflection-dev/zeno/internal/need"
)

// TestInEmacs: the prompt is Emacs' inferior Lisp, as it comes, without a package.
func TestInEmacs(t *testing.T) {
	emacs := need.Program(t, "emacs", "emacs-nox")
	cmd := exec.CommandContext(t.Context(), emacs, "-Q", "--batch", "-l", filepath.Join("testdata", "emacs.el"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8",
		"ZENO_COMMAND=" + filepath.Join(shellDir(t), "zeno") + " --home " + t.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
