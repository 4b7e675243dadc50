package nix_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/nixflake"
	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/oci/nix"
)

// real gives a source that calls the real nix, and the test flake.
func real(t *testing.T) (*nix.Source, string) {
	t.Helper()
	flake := nixflake.Need(t)
	return &nix.Source{Env: []string{nixflake.Offline}, Roots: t.TempDir()}, flake
}

func build(t *testing.T, s *nix.Source, spec oci.Spec) (*oci.Built, error) {
	t.Helper()
	spec.Name = "t"
	b, err := (&oci.Builder{Nix: s}).Build(context.Background(), spec)
	if err == nil {
		t.Cleanup(b.Close)
	}
	return b, err
}

// With the real nix: the image has the closure, links where programs look, and one digest for any order and store.
func TestRealNix(t *testing.T) {
	s, flake := real(t)
	names := []string{flake + "#hello", flake + "#sh", flake + "#cacert", flake + "#only-here"}
	one, err := build(t, s, oci.Spec{Packages: names})
	if err != nil {
		t.Fatal(err)
	}
	two, err := build(t, s, oci.Spec{Packages: []string{names[3], names[2], names[1], names[0], names[0]}})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	moved := *s
	moved.Args, moved.Store = []string{"--store", elsewhere}, elsewhere
	three, err := build(t, &moved, oci.Spec{Packages: names})
	if err != nil {
		t.Fatal(err)
	}
	if one.Digest != two.Digest || one.Digest != three.Digest {
		t.Errorf("got digests %s, another order %s, another store %s; want one", one.Digest, two.Digest, three.Digest)
	}
	st := &oci.Store{Dir: t.TempDir()}
	rec, err := st.Load(context.Background(), "t", one.Image)
	if err != nil {
		t.Fatal(err)
	}
	root := merged(t, st, rec)
	out, err := exec.Command("chroot", root, "/usr/bin/env", "hello").CombinedOutput()
	if err != nil || string(out) != "from-lib\n" {
		t.Errorf("in the image: got %q %v", out, err)
	}
	if b, _ := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")); string(b) != "certificate\n" || rec.Env["SSL_CERT_FILE"] == "" {
		t.Errorf("the CA bundle: got %q, %v", b, rec.Env)
	}
	if st, err := os.Lstat(filepath.Join(root, "etc/passwd")); err != nil || !st.Mode().IsRegular() {
		t.Errorf("/etc/passwd: got %v %v, want a file", st, err)
	}
}

// merged copies the layers over each other.
func merged(t *testing.T, s *oci.Store, r *oci.Record) string {
	t.Helper()
	root := t.TempDir()
	for _, l := range r.Layers {
		if out, err := exec.Command("cp", "-a", filepath.Join(s.Dir, "layers", l)+"/.", root).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	return root
}

// Each way in which nix fails is one line, with the package's name and what to do.
func TestRealErrors(t *testing.T) {
	s, flake := real(t)
	s.Env[0] += "\ndownload-attempts = 1"
	for name, want := range map[string]string{
		flake + "#helo":                          "did you mean hello",
		flake + "#number":                        "no package",
		flake + "#fails":                         "the reason",
		flake + "#foreign":                       "cannot build for aarch64-linux",
		"git":                                    "no network, or nixpkgs",
		"https://nowhere.invalid/x.tar.gz#hello": "nowhere.invalid/x.tar.gz is not there",
		"/nowhere#x":                             "nix failed",
	} {
		_, err := build(t, s, oci.Spec{Packages: []string{name}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", name, err, want)
		}
	}
	if _, err := build(t, s, oci.Spec{Packages: []string{flake + "#hello", flake + "#clash"}}); err == nil || !strings.Contains(err.Error(), flake+"#hello") || !strings.Contains(err.Error(), flake+"#clash") {
		t.Errorf("a conflict: got %v, want both packages", err)
	}
	if _, err := build(t, s, oci.Spec{Packages: []string{flake + "#hello", flake + "#clash"}, Conflicts: "first"}); err != nil {
		t.Errorf("a conflict, :first: %v", err)
	}
	for want, broken := range map[string]nix.Source{
		"nix-command or flakes switched off": {Program: without(t, "--extra-experimental-features"), Env: []string{"NIX_CONFIG=experimental-features ="}},
		"daemon does not answer":             {Env: append([]string{"NIX_REMOTE=daemon", "NIX_DAEMON_SOCKET_PATH=/nowhere/socket"}, s.Env...)},
	} {
		if _, err := build(t, &broken, oci.Spec{Packages: []string{flake + "#hello"}}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one line with %q", err, want)
		}
	}
	missing := &nix.Source{}
	t.Setenv("PATH", "")
	if _, err := build(t, missing, oci.Spec{Packages: []string{"git"}}); err == nil || !strings.Contains(err.Error(), "nix is not installed") {
		t.Errorf("without nix: got %v", err)
	}
}

// without gives a nix that is not told of an option.
func without(t *testing.T, option string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nix")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n[ \"$1\" = "+option+" ] && shift 2\nexec nix \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// A bare name is a package of the flake that the registry calls nixpkgs.
func TestBareName(t *testing.T) {
	s, flake := real(t)
	registry := filepath.Join(t.TempDir(), "registry.json")
	text := fmt.Sprintf(`{"version":2,"flakes":[{"from":{"type":"indirect","id":"nixpkgs"},"to":{"type":"path","path":%q}}]}`, strings.TrimPrefix(flake, "path:"))
	if err := os.WriteFile(registry, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Args = []string{"--flake-registry", registry}
	named, err := build(t, s, oci.Spec{Packages: []string{"only-here", "nixpkgs#hello"}})
	if err != nil {
		t.Fatal(err)
	}
	addressed, err := build(t, s, oci.Spec{Packages: []string{flake + "#only-here", flake + "#hello"}})
	if err != nil || named.Digest != addressed.Digest {
		t.Errorf("got %s by name and %v %v by address, want one image", named.Digest, addressed, err)
	}
}

// A build that is interrupted leaves no builder.
func TestInterrupted(t *testing.T) {
	s, flake := real(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := (&oci.Builder{Nix: s}).Build(ctx, oci.Spec{Name: "t", Packages: []string{flake + "#slow"}})
		done <- err
	}()
	running := func() bool { return exec.Command("pgrep", "-f", "^busybox sleep 987").Run() == nil }
	for i := 0; !running(); i++ {
		if i > 6000 {
			t.Fatal("the builder did not start")
		}
		time.Sleep(50 * time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	for i := 0; running(); i++ {
		if i > 2400 {
			t.Fatal("the builder runs on")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A package that is not what nix says it is, at the time of writing, is named.
func TestChangedPackage(t *testing.T) {
	s, flake := real(t)
	elsewhere := t.TempDir()
	s.Args, s.Store = []string{"--store", elsewhere}, elsewhere
	b, err := build(t, s, oci.Spec{Packages: []string{flake + "#hello"}, Layers: 2})
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(elsewhere, "nix/store/*-lib-1.0/lib/liba"))
	if len(found) != 1 {
		t.Fatalf("got %v", found)
	}
	os.Chmod(filepath.Dir(found[0]), 0o755)
	os.Chmod(found[0], 0o644)
	os.WriteFile(found[0], []byte("FROM-LIB\n"), 0o644)
	file := filepath.Join(t.TempDir(), "i.tar")
	_, err = oci.Save(context.Background(), b.Image, "none", t.TempDir(), oci.ArchiveFile{Path: file})
	if err == nil || !strings.Contains(err.Error(), "lib-1.0") {
		t.Errorf("got %v, want lib-1.0 named", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a part of an image was left")
	}
}

// Of two packages with one file the one that nix prefers has it, in any order; what is tied is a conflict.
func TestPriorities(t *testing.T) {
	s, flake := real(t)
	for _, c := range []struct{ other, wins string }{{"preferred", "clash-1.0"}, {"unloved", "hello-2.0"}} {
		var digests []string
		for _, names := range [][]string{{"hello", c.other}, {c.other, "hello"}} {
			b, err := build(t, s, oci.Spec{Packages: []string{flake + "#" + names[0], flake + "#" + names[1]}})
			if err != nil {
				t.Fatalf("%v: %v", names, err)
			}
			digests = append(digests, b.Digest)
			st := &oci.Store{Dir: t.TempDir()}
			rec, err := st.Load(context.Background(), "t", b.Image)
			if err != nil {
				t.Fatal(err)
			}
			if to, err := os.Readlink(filepath.Join(merged(t, st, rec), "usr/bin/hello")); err != nil || !strings.Contains(to, c.wins) {
				t.Errorf("%v: got a link to %s %v, want %s", names, to, err, c.wins)
			}
		}
		if digests[0] != digests[1] {
			t.Errorf("%s: got digests %v, want one for both orders", c.other, digests)
		}
	}
	for _, other := range []string{"clash", "odd"} {
		if _, err := build(t, s, oci.Spec{Packages: []string{flake + "#hello", flake + "#" + other}}); err == nil || !strings.Contains(err.Error(), ":conflicts :first") {
			t.Errorf("%s: got %v, want a conflict", other, err)
		}
	}
}

// A collection of nix's garbage takes nothing that an image is still read from, and all of it afterwards.
func TestRootsHoldPackages(t *testing.T) {
	s, flake := real(t)
	elsewhere := t.TempDir()
	s.Args, s.Store = []string{"--store", elsewhere}, elsewhere
	collect := func() {
		t.Helper()
		cmd := exec.Command("nix", "store", "gc", "--store", elsewhere)
		cmd.Env = append(os.Environ(), nixflake.Offline)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	held := func() int {
		found, _ := filepath.Glob(filepath.Join(elsewhere, "nix/store/*-hello-2.0"))
		return len(found)
	}
	b, err := (&oci.Builder{Nix: s}).Build(context.Background(), oci.Spec{Name: "t", Packages: []string{flake + "#hello"}})
	if err != nil {
		t.Fatal(err)
	}
	collect()
	if _, err := oci.Save(context.Background(), b.Image, "none", t.TempDir(), oci.ArchiveFile{Path: filepath.Join(t.TempDir(), "i.tar")}); err != nil || held() != 1 {
		t.Errorf("while the image is open: got %v and %d packages, want it written", err, held())
	}
	b.Close()
	collect()
	if held() != 0 {
		t.Error("after the image was closed its packages are still held")
	}
	if left, _ := os.ReadDir(s.Roots); len(left) != 0 {
		t.Errorf("got %v among the roots, want none", left)
	}
}
