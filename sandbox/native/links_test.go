//go:build linux

package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// A link that a box made in a directory of the host leads no other box out of it, nor after a restart of zeno; one that
// the caller made elsewhere, or that stays inside, does.
func TestALinkOfABoxLeadsNoOtherOut(t *testing.T) {
	state, top := t.TempDir(), t.TempDir()
	for d := top; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	work, secret, mine := filepath.Join(top, "work"), filepath.Join(top, "secret"), filepath.Join(top, "mine")
	for _, d := range []string{work, secret} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(secret, "key"), []byte("key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, mine); err != nil {
		t.Fatal(err)
	}
	again := func() *native.Backend { return backend(t, func(c *native.Config) { c.StateDir = state }) }
	read := func(path string) (sandbox.Result, error) {
		return again().Run(context.Background(), sandbox.Spec{Argv: []string{"ls", path}, Read: []string{path}})
	}
	make := "mkdir -p " + work + "/in; ln -s " + secret + " " + work + "/out; ln -s ../secret " + work + "/up; ln -s in " + work + "/near; ln -s out " + work + "/far"
	if out, err := again().Run(context.Background(), sandbox.Spec{Argv: []string{"sh", "-c", make}, Volume: "v"}); err != nil {
		t.Fatal(out, err)
	}
	if err := os.Symlink(secret, filepath.Join(work, "out")); err != nil { // the harm, while no box is known to have made it
		t.Fatal(err)
	}
	if res, err := read(filepath.Join(work, "out")); err != nil || res.Out != "key\n" {
		t.Errorf("a link of the caller's: got %+v %v, want it followed", res, err)
	}
	os.Remove(filepath.Join(work, "out"))
	res, err := again().Run(context.Background(), sandbox.Spec{Argv: []string{"sh", "-c", make}, Write: []string{work}})
	if err != nil || res.Exit != 0 {
		t.Fatal(res, err)
	}
	for _, name := range []string{"out", "up", "far", "out/key"} {
		path := work + "/" + name
		var bad *sandbox.FieldError
		if res, err := read(path); !errors.As(err, &bad) || bad.Field != ":read 0" || !strings.Contains(err.Error(), secret) {
			t.Errorf("read %s: got %+v %v, want it refused and the target named", name, res, err)
		}
		if res, err := again().Run(context.Background(), sandbox.Spec{Argv: []string{"true"}, Write: []string{path}}); !errors.As(err, &bad) || bad.Field != ":work 0" {
			t.Errorf("write %s: got %+v %v, want it refused", name, res, err)
		}
	}
	// The file that remembers them is made short again where it has become long, and forgets none that is there.
	if err := os.WriteFile(filepath.Join(state, "given"), []byte(fmt.Sprintf("%s%q\n", strings.Repeat("\"/no/such/directory\"\n", 60000), work)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := again().Run(context.Background(), sandbox.Spec{Argv: []string{"true"}, Write: []string{secret}}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(state, "given")); err != nil || len(text) > 1000 || !strings.Contains(string(text), work) || !strings.Contains(string(text), secret) {
		t.Errorf("got %d bytes %v, want the two directories", len(text), err)
	}
	for _, path := range []string{work + "/near", mine, work} {
		if res, err := read(path); err != nil || res.Exit != 0 {
			t.Errorf("%s: got %+v %v, want it shown", path, res, err)
		}
	}
}

// What a box that lives puts in the place of what another is to be shown, at whatever moment, is not shown.
func TestLinksThatChangeWhileABoxStarts(t *testing.T) {
	b := backend(t)
	work, secret := t.TempDir(), t.TempDir()
	for _, top := range []string{work, secret} {
		for d := top; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
			os.Chmod(d, 0o755)
		}
	}
	if err := os.WriteFile(filepath.Join(secret, "key"), []byte("key"), 0o644); err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(context.Background(), sandbox.Spec{Write: []string{work}, Dir: work, Stdout: signal(started), Timeout: 5 * time.Minute, Argv: []string{"sh", "-c", swap + secret}})
	}()
	<-started
	shown := 0
	for range 150 {
		res, err := b.Run(context.Background(), sandbox.Spec{Argv: []string{"ls", work + "/d"}, Read: []string{work + "/d"}})
		if strings.Contains(res.Out, "key") {
			t.Fatalf("got %+v, want nothing of what the link leads to", res)
		}
		if err == nil && res.Out == "sub\n" {
			shown++
		}
	}
	t.Logf("%d of 150 were shown the directory, the others were refused", shown)
	if err := os.WriteFile(filepath.Join(work, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	<-ended
}
