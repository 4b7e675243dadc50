package dpkg_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/oci/dpkg"
)

// programs are what a test runs; .ci/need installs them.
func programs(t *testing.T, names ...string) {
	t.Helper()
	for _, p := range names {
		if _, err := exec.LookPath(p); err != nil {
			need.Skip(t, "%s is not installed: .ci/need installs it", p)
		}
	}
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// archive builds the packages of this host into a file.
func archive(t *testing.T, cache string, spec oci.Spec) (string, *oci.Built) {
	t.Helper()
	b := &oci.Builder{Host: &dpkg.Source{}, Cache: cache}
	start := time.Now()
	built, err := b.Build(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(built.Close)
	t.Logf("planned and hashed in %v: %d layers, warnings %q", time.Since(start), len(built.Layers), built.Warnings)
	file := filepath.Join(t.TempDir(), "image.tar")
	start = time.Now()
	if _, err := oci.Save(context.Background(), built.Image, spec.WithDefaults().Compress, t.TempDir(), oci.ArchiveFile{Path: file}); err != nil {
		t.Fatal(err)
	}
	st, _ := os.Stat(file)
	t.Logf("written in %v: %d MB", time.Since(start), st.Size()>>20)
	return file, built
}

// What others wrote takes the image of this host's packages: the digest stays, the programs run.
func TestOtherToolsTakeIt(t *testing.T) {
	programs(t, "dpkg-query", "skopeo", "umoci")
	file, built := archive(t, "", oci.Spec{Name: "zeno-test", Tag: "1", Base: oci.Base{Host: []string{"dash", "coreutils", "ca-certificates"}}, Workdir: "/work", Layers: 20,
		Cmd: []string{"/bin/sh"}})
	var seen struct{ Digest, Name string }
	if err := json.Unmarshal([]byte(command(t, "skopeo", "inspect", "oci-archive:"+file)), &seen); err != nil || seen.Digest != built.Digest {
		t.Errorf("skopeo of an OCI archive: got digest %s %v, want %s", seen.Digest, err, built.Digest)
	}
	command(t, "skopeo", "inspect", "docker-archive:"+file)
	layout := filepath.Join(t.TempDir(), "layout")
	command(t, "skopeo", "copy", "oci-archive:"+file, "oci:"+layout+":x")
	bundle := filepath.Join(t.TempDir(), "bundle")
	args := []string{"unpack", "--image", layout + ":x", bundle}
	if os.Geteuid() != 0 {
		args = append(args, "--rootless")
	}
	command(t, "umoci", args...)
	root := filepath.Join(bundle, "rootfs")
	if os.Geteuid() == 0 {
		if out := command(t, "chroot", root, "/bin/sh", "-c", "cat /etc/passwd | head -1; ls -ld /tmp | cut -c1-10; head -1 /etc/pki/tls/certs/ca-bundle.crt"); out != "root:x:0:0:root:/root:/bin/sh\ndrwxrwxrwt\n-----BEGIN CERTIFICATE-----\n" {
			t.Errorf("in the image: got %q", out)
		}
	}
}

// The same packages give the same digest: for another user, in another run, in another order.
func TestSameDigest(t *testing.T) {
	programs(t, "dpkg-query")
	spec := oci.Spec{Name: "zeno-test", Base: oci.Base{Host: []string{"dash", "coreutils"}}, Layers: 10}
	build := func() string {
		b, err := (&oci.Builder{Host: &dpkg.Source{}}).Build(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		return b.Digest
	}
	if os.Getenv("ZENO_TEST_DIGEST") != "" {
		os.Stdout.WriteString("digest " + build() + "\n")
		return
	}
	want := build()
	spec.Base.Host = []string{"coreutils", "dash", "dash"}
	if got := build(); got != want {
		t.Errorf("another order: got %s, want %s", got, want)
	}
	if os.Geteuid() != 0 {
		return
	}
	dir := t.TempDir() // where another user can run it
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chmod(dir, 0o755)
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "test")
	if err := os.WriteFile(exe, text, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run", "^TestSameDigest$")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "ZENO_TEST_DIGEST=1", "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "digest "+want) {
		t.Errorf("another user: got %v %s, want %s", err, out, want)
	}
}
