package core_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/internal/need"
)

// diary is a log that can be read meanwhile.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (d *diary) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(b)
}

// take gives what was written since.
func (d *diary) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.text.Reset()
	return d.text.String()
}

// smallFlake is a flake with a shell, and a program that prints what says.
func smallFlake(t *testing.T, dir, says string) {
	t.Helper()
	text := `{
  outputs = { self }: let
    make = name: script: derivation {
      inherit name; system = "x86_64-linux"; builder = "${./bb}/busybox"; args = [ "sh" "-c" script ]; busybox = "${./bb}/busybox";
    };
  in {
    packages.x86_64-linux = rec {
      sh = make "sh-1.0" "$busybox mkdir -p $out/bin; $busybox cp $busybox $out/bin/busybox; for p in sh env cat; do $busybox ln -s busybox $out/bin/$p; done";
      hello = make "hello-1.0" "$busybox mkdir -p $out/bin; echo '#!${sh}/bin/sh' >$out/bin/hello; echo 'echo SAYS' >>$out/bin/hello; $busybox chmod +x $out/bin/hello";
    };
  };
}
`
	text = strings.Replace(text, "SAYS", says, 1)
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "bb"), 0o755), os.WriteFile(filepath.Join(dir, "bb/busybox"), busybox, 0o755),
		os.WriteFile(filepath.Join(dir, "flake.nix"), []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// A box's profile names packages of nix: the image is built at the first use, which is told of, and found at the next. When
// the flake's content changed it is another image.
func TestABoxOfNixPackages(t *testing.T) {
	for _, p := range []string{"nix", "busybox"} {
		if _, err := exec.LookPath(p); err != nil || runtime.GOARCH != "amd64" || os.Geteuid() != 0 {
			need.Skip(t, "this takes root on amd64 and %s", p)
		}
	}
	t.Setenv("NIX_CONFIG", "experimental-features = nix-command flakes\nbuild-users-group =\nsubstituters =\nsandbox = false\nflake-registry =")
	dir := t.TempDir()
	smallFlake(t, dir, "first")
	var log diary
	c := boxing(t, func(conf *core.Config) { conf.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	src := `(let [r (zeno.sandbox/run {:image {:packages ["path:` + dir + `#hello" "path:` + dir + `#sh"] :env {"A" "b"}} :argv ["/usr/bin/env" "sh" "-c" "hello; echo $A"]})] (str (:out r) (:err r)))`
	for _, step := range []struct {
		what, says string
		built      bool
	}{{"first", "first", true}, {"again", "first", false}, {"the flake changed", "second", true}} {
		if step.what == "the flake changed" {
			smallFlake(t, dir, step.says)
		}
		log.take()
		v, err := c.Eval(context.Background(), src)
		if err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if got := v.Text(); got != step.says+"\nb\n" {
			t.Errorf("%s: got %q", step.what, got)
		}
		said := log.take()
		for _, part := range []string{"realising path:", "reading hello-1.0", "unpacking hello-1.0"} {
			if strings.Contains(said, part) != step.built {
				t.Errorf("%s: progress has %q: %v, want %v: %s", step.what, part, !step.built, step.built, said)
			}
		}
	}
}
