package confine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/internal/confine"
)

const dirVar, scriptVar = "ZENO_CONFINE_TEST_DIR", "ZENO_CONFINE_TEST_SCRIPT"

// TestMain is the confined process where it is told so.
func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVar); dir != "" {
		err := confine.Exec([]string{dir}, "/bin/sh", []string{"sh", "-c", os.Getenv(scriptVar)}, os.Environ())
		os.Stderr.WriteString(err.Error())
		os.Exit(99)
	}
	os.Exit(m.Run())
}

// Everything that changes the file system works inside and fails outside, also for a command of a command; without the
// rules the same commands change the outside.
func TestExec(t *testing.T) {
	for _, script := range []string{
		`echo x >"$D/new"`, `echo x >>"$D/old"`, `: >"$D/old"`, `rm "$D/old"`, `mv "$D/old" "$D/moved"`, `mkdir "$D/dir"`,
		`rmdir "$D/empty"`, `ln -s x "$D/link"`, `ln "$D/old" "$D/hard"`, `mkfifo "$D/fifo"`, `sh -c 'sh -c "echo x >\"$D/deep\""'`,
		`cp "$D/old" "$D/copy"`, `mv "$D/old" "$D/empty/old"`,
	} {
		for _, inside := range []bool{true, false} {
			in, out := t.TempDir(), t.TempDir()
			d := out
			if inside {
				d = in
			}
			for _, dir := range []string{in, out} {
				_ = os.Mkdir(filepath.Join(dir, "empty"), 0o700)
				_ = os.WriteFile(filepath.Join(dir, "old"), []byte("old"), 0o600)
			}
			run := func(confined string) (string, error) {
				cmd := exec.Command(os.Args[0])
				if confined == "" {
					cmd = exec.Command("/bin/sh", "-c", script)
				}
				cmd.Env = append(os.Environ(), dirVar+"="+confined, scriptVar+"="+script, "D="+d)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			text, err := run(in)
			if cmd := err; cmd != nil && strings.Contains(text, "confine:") {
				t.Fatal(text)
			}
			if (err == nil) != inside {
				t.Errorf("%s, inside %v: got %v %s", script, inside, err, text)
			}
			if !inside {
				if text, err := run(""); err != nil { // the harm, without the rules
					t.Errorf("%s, unconfined: got %v %s", script, err, text)
				}
			}
		}
	}
}

func TestDevNull(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dirVar+"="+t.TempDir(), scriptVar+"=echo x >/dev/null && cat /etc/passwd >/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("got %v %s", err, out)
	}
}
