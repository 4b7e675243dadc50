package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
)

// building is `zeno image build`, started.
type building struct {
	t    *testing.T
	cmd  *exec.Cmd
	said bytes.Buffer
	home string
	out  string // the directory of the archive
}

// startBuild builds a spec; path stands before PATH.
func startBuild(t *testing.T, spec, path string) *building {
	t.Helper()
	b := &building{t: t, home: t.TempDir(), out: t.TempDir()}
	file := filepath.Join(t.TempDir(), "spec.joke")
	if err := errors.Join(os.WriteFile(file, []byte(spec), 0o600), os.WriteFile(filepath.Join(b.home, "init.joke"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	b.cmd = exec.Command(filepath.Join(shellDir(t), "zeno"), "--home", b.home, "image", "build", file, "-o", filepath.Join(b.out, "i.tar"))
	b.cmd.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
	b.cmd.Stdout, b.cmd.Stderr = &b.said, &b.said
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return b
}

// when waits until something is so, or the build has ended.
func (b *building) when(what string, so func() bool) {
	b.t.Helper()
	for range 12000 {
		if so() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.cmd.Process.Kill()
	b.cmd.Wait()
	b.t.Fatalf("waited for %s: %s", what, b.said.String())
}

// interrupt ends it and looks for what it left.
func (b *building) interrupt(sig os.Signal, code int) {
	b.t.Helper()
	if err := b.cmd.Process.Signal(sig); err != nil {
		b.t.Fatal(err)
	}
	b.cmd.Wait()
	if got := b.cmd.ProcessState.ExitCode(); got != code {
		b.t.Errorf("exit code: got %d, want %d: %s", got, code, b.said.String())
	}
	for _, dir := range []string{b.out, filepath.Join(b.home, "state/oci/roots")} {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			b.t.Errorf("%s: left %v", dir, left)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(b.home, "state/oci/.new-*")); len(left) > 0 {
		b.t.Errorf("left %v", left)
	}
}

// Debian packages of this host: the archive is being written when the build is interrupted, and no part of it is left.
func TestInterruptedBuild(t *testing.T) {
	need.Full(t, "it writes an image of some 100 MB")
	if _, err := os.Stat("/var/lib/dpkg/status"); err != nil {
		need.Skip(t, "this is no Debian")
	}
	for sig, code := range map[os.Signal]int{os.Interrupt: ExitInterrupted, syscall.SIGTERM: ExitTerminated} {
		b := startBuild(t, `{:name "a" :base {:host ["dash" "coreutils"] :changed :take}}`, "/nowhere")
		b.when("a part of the archive", func() bool {
			parts, _ := filepath.Glob(filepath.Join(b.out, ".*.new-*"))
			return len(parts) > 0
		})
		b.interrupt(sig, code)
	}
}

// nix is interrupted, not killed, which would leave its builders; zeno waits for it.
func TestInterruptedNix(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\ntrap 'sleep 0.3; echo interrupted >" + dir + "/ended; exit 1' INT\necho $$ >" + dir + "/part; mv " + dir + "/part " + dir + "/began\nwhile :; do sleep 0.1; done\n"
	if err := os.WriteFile(filepath.Join(dir, "nix"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for sig, code := range map[os.Signal]int{os.Interrupt: ExitInterrupted, syscall.SIGTERM: ExitTerminated} {
		os.Remove(filepath.Join(dir, "began"))
		os.Remove(filepath.Join(dir, "ended"))
		b := startBuild(t, `{:name "a" :packages ["git"]}`, dir)
		b.when("nix", func() bool { _, err := os.Stat(filepath.Join(dir, "began")); return err == nil })
		b.interrupt(sig, code)
		if text, err := os.ReadFile(filepath.Join(dir, "ended")); err != nil || strings.TrimSpace(string(text)) != "interrupted" {
			t.Errorf("%v: got %q %v, want nix interrupted and waited for", sig, text, err)
		}
	}
}

// Every spec of the guide is one.
func TestSpecsOfTheGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guide/images.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, block := range strings.Split(string(text), "```") {
		spec, ok := strings.CutPrefix(block, "clojure\n{")
		if i%2 == 0 || !ok {
			continue
		}
		n++
		file := filepath.Join(t.TempDir(), "spec.joke")
		if err := os.WriteFile(file, []byte("{"+spec), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (&imageBuild{Spec: file}).read(&app{}); err != nil {
			t.Errorf("{%s: %v", spec, err)
		}
	}
	if n < 5 {
		t.Errorf("got %d specs, want 5", n)
	}
}
