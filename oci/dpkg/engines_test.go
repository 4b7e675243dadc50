package dpkg_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/oci"
	ours "github.com/reflection-dev/zeno/oci/registry"
)

const (
	said = "ran\n0\n/work\n"
	ref  = "docker.io/library/zeno-test:1"
)

// Engines load the image with its digest and run it.
func TestEnginesRunIt(t *testing.T) {
	need.Full(t, "it runs three container engines")
	if os.Geteuid() != 0 {
		need.Skip(t, "engines take root")
	}
	programs(t, "dpkg-query", "skopeo", "umoci", "runc", "podman", "containerd", "ctr")
	file, built := archive(t, "", oci.Spec{Name: "zeno-test", Tag: "1", Base: oci.Base{Host: []string{"dash", "coreutils"}, Changed: "take"}, Workdir: "/work", Layers: 5, // engines copy each layer onto the one below
		Cmd: []string{"/bin/sh", "-c", "echo ran; id -u; pwd"}})
	t.Run("runc", func(t *testing.T) { runc(t, file) })
	t.Run("podman", func(t *testing.T) { podman(t, file, built.Digest) })
	t.Run("containerd", func(t *testing.T) { containerd(t, file, built.Digest) })
	t.Run("registry", func(t *testing.T) { throughRegistry(t, file, built.Digest) })
}

func runc(t *testing.T, file string) {
	dir := t.TempDir()
	command(t, "skopeo", "copy", "-q", "oci-archive:"+file, "oci:"+dir+"/layout:x")
	command(t, "umoci", "unpack", "--image", dir+"/layout:x", dir+"/bundle")
	text, err := os.ReadFile(dir + "/bundle/config.json")
	if err != nil {
		t.Fatal(err)
	}
	var conf map[string]any
	if err := json.Unmarshal(text, &conf); err != nil {
		t.Fatal(err)
	}
	process := conf["process"].(map[string]any)
	process["terminal"], process["rlimits"] = false, nil
	text, _ = json.Marshal(conf)
	os.WriteFile(dir+"/bundle/config.json", text, 0o600)
	if out := command(t, "runc", "--root", dir+"/state", "run", "--bundle", dir+"/bundle", "zeno-test"); out != said {
		t.Errorf("got %q, want %q", out, said)
	}
}

func podman(t *testing.T, file, digest string) {
	dir := t.TempDir()
	args := func(more ...string) []string {
		return append([]string{"--root", dir + "/root", "--runroot", dir + "/run", "--cgroup-manager", "cgroupfs", "--events-backend", "file", "--storage-driver", "vfs"}, more...)
	}
	command(t, "podman", args("load", "-q", "-i", file)...)
	if out := command(t, "podman", args("image", "inspect", "--format", "{{.Digest}}", ref)...); strings.TrimSpace(out) != digest {
		t.Errorf("got digest %s, want %s", out, digest)
	}
	out := command(t, "podman", args("run", "--rm", "--pull", "never", "--network", "none", "--runtime", "runc", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", ref)...)
	if !strings.HasSuffix(out, said) { // warnings stand before
		t.Errorf("got %q, want %q", out, said)
	}
}

func containerd(t *testing.T, file, digest string) {
	dir, err := os.MkdirTemp("", "zeno-ctr-") // the path of its socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	conf := "version = 2\nroot = \"" + dir + "/root\"\nstate = \"" + dir + "/state\"\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\n  address = \"" + dir + "/c\"\n"
	os.WriteFile(dir+"/config.toml", []byte(conf), 0o600)
	daemon := exec.Command("containerd", "-c", dir+"/config.toml", "-l", "error")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { daemon.Process.Signal(os.Interrupt); daemon.Wait() })
	ctr := func(args ...string) string { return command(t, "ctr", append([]string{"-a", dir + "/c"}, args...)...) }
	for i := 0; exec.Command("ctr", "-a", dir+"/c", "version").Run() != nil; i++ {
		if i > 300 {
			t.Fatal("containerd did not come up")
		}
		time.Sleep(100 * time.Millisecond)
	}
	ctr("images", "import", "--snapshotter", "native", file)
	if out := ctr("images", "ls"); !strings.Contains(out, ref) || !strings.Contains(out, digest) {
		t.Errorf("got %s, want %s %s", out, ref, digest)
	}
	if out := ctr("run", "--rm", "--snapshotter", "native", ref, "zeno-test"); out != said {
		t.Errorf("got %q, want %q", out, said)
	}
}

// throughRegistry pushes it, and skopeo, which is not ours, pulls it.
func throughRegistry(t *testing.T, file, digest string) {
	srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer srv.Close()
	a, err := oci.OpenArchive(context.Background(), file, oci.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	name := strings.TrimPrefix(srv.URL, "http://") + "/zeno-test:1"
	for _, kind := range []string{"none", "zstd"} {
		sent, err := oci.Save(context.Background(), a.Images[0], kind, t.TempDir(), ours.Sink{Ref: name})
		if err != nil {
			t.Fatal(err)
		}
		if kind == "none" && sent.Digest != digest {
			t.Errorf("without compression: got digest %s, want %s", sent.Digest, digest)
		}
		command(t, "skopeo", "copy", "-q", "--src-tls-verify=false", "docker://"+name, "dir:"+filepath.Join(t.TempDir(), kind))
	}
}
