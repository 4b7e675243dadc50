package engines

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/oci/registry"
)

// engine is a tool that takes an archive, keeps its digest, and runs it if it runs anything.
type engine struct {
	name string
	take func(t *testing.T, i *image)
}

func engines(t *testing.T) []engine {
	return []engine{
		{"skopeo", skopeo},
		{"umoci and runc", runc},
		{"podman", podman},
		{"containerd", containerd(t)},
		{"crane", crane},
		{"a registry", throughRegistry},
		{"msb", msb},
	}
}

// Every engine takes the image of every source.
func TestEveryEngineTakesEveryImage(t *testing.T) {
	need.Full(t, "it runs six engines on four images")
	if os.Geteuid() != 0 {
		need.Skip(t, "engines take root")
	}
	for program, debian := range map[string]string{"skopeo": "skopeo", "umoci": "umoci", "runc": "runc", "podman": "podman", "containerd": "containerd", "ctr": "containerd"} {
		need.Program(t, program, debian)
	}
	all := engines(t)
	for name, source := range sources(t) {
		t.Run(name, func(t *testing.T) {
			i := source(t)
			for _, e := range all {
				t.Run(e.name, func(t *testing.T) { e.take(t, i) })
			}
		})
	}
}

func skopeo(t *testing.T, i *image) {
	var seen struct{ Digest, Architecture, Os string }
	if err := json.Unmarshal([]byte(command(t, "skopeo", "inspect", "oci-archive:"+i.file)), &seen); err != nil || seen.Digest != i.Digest {
		t.Errorf("an OCI archive: got %+v %v, want the digest %s", seen, err, i.Digest)
	}
	if seen.Architecture != "amd64" || seen.Os != "linux" {
		t.Errorf("got %+v, want amd64 and linux", seen)
	}
	dir := t.TempDir()
	command(t, "skopeo", "copy", "-q", "--preserve-digests", "oci-archive:"+i.file, "oci:"+dir+"/layout:x") // else it compresses layers
	if got := strings.TrimSpace(command(t, "skopeo", "inspect", "--format", "{{.Digest}}", "oci:"+dir+"/layout:x")); got != i.Digest {
		t.Errorf("a copy: got the digest %s, want %s", got, i.Digest)
	}
	command(t, "skopeo", "copy", "-q", "docker-archive:"+i.file, "dir:"+dir+"/dir") // reads every layer
}

func runc(t *testing.T, i *image) {
	dir := t.TempDir()
	command(t, "skopeo", "copy", "-q", "oci-archive:"+i.file, "oci:"+dir+"/layout:x")
	command(t, "umoci", "unpack", "--image", dir+"/layout:x", dir+"/bundle")
	text, err := os.ReadFile(dir + "/bundle/config.json")
	must(t, err)
	var conf map[string]any
	must(t, json.Unmarshal(text, &conf))
	process := conf["process"].(map[string]any)
	process["terminal"], process["rlimits"] = false, nil
	text, err = json.Marshal(conf)
	must(t, err)
	must(t, os.WriteFile(dir+"/bundle/config.json", text, 0o600))
	if out := command(t, "runc", "--root", dir+"/state", "run", "--bundle", dir+"/bundle", "zeno-test"); out != i.said {
		t.Errorf("got %q, want %q", out, i.said)
	}
}

func podman(t *testing.T, i *image) {
	dir := short(t)
	args := func(more ...string) []string {
		return append([]string{"--root", dir + "/root", "--runroot", dir + "/run", "--cgroup-manager", "cgroupfs", "--events-backend", "file", "--storage-driver", "vfs"}, more...)
	}
	command(t, "podman", args("load", "-q", "-i", i.file)...)
	if out := command(t, "podman", args("image", "inspect", "--format", "{{.Digest}}", i.ref)...); strings.TrimSpace(out) != i.Digest {
		t.Errorf("got digest %s, want %s", out, i.Digest)
	}
	out := command(t, "podman", args("run", "--rm", "--pull", "never", "--network", "none", "--runtime", "runc", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", i.ref)...)
	if !strings.HasSuffix(out, i.said) { // warnings stand before
		t.Errorf("got %q, want %q", out, i.said)
	}
}

// containerd starts one for all images.
func containerd(t *testing.T) func(*testing.T, *image) {
	dir := short(t)
	conf := "version = 2\nroot = \"" + dir + "/root\"\nstate = \"" + dir + "/state\"\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\n  address = \"" + dir + "/c\"\n"
	must(t, os.WriteFile(dir+"/config.toml", []byte(conf), 0o600))
	daemon := exec.Command("containerd", "-c", dir+"/config.toml", "-l", "error")
	must(t, daemon.Start())
	t.Cleanup(func() { daemon.Process.Signal(os.Interrupt); daemon.Wait() })
	for i := 0; exec.Command("ctr", "-a", dir+"/c", "version").Run() != nil; i++ {
		if i > 3000 {
			t.Fatal("containerd did not come up")
		}
		time.Sleep(100 * time.Millisecond)
	}
	return func(t *testing.T, i *image) {
		ctr := func(args ...string) string { return command(t, "ctr", append([]string{"-a", dir + "/c"}, args...)...) }
		ctr("images", "import", "--snapshotter", "native", i.file)
		if out := ctr("images", "ls", "name=="+i.ref); !strings.Contains(out, i.ref) || !strings.Contains(out, i.Digest) {
			t.Errorf("got %s, want %s %s", out, i.ref, i.Digest)
		}
		if out := ctr("run", "--rm", "--snapshotter", "native", i.ref, "zeno-test"); out != i.said {
			t.Errorf("got %q, want %q", out, i.said)
		}
		ctr("images", "rm", "--sync", i.ref)
	}
}

// short gives a directory whose path is: sockets lie in it.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ze")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// craneAt runs crane from its Go module, at the version of the library in go.mod.
func craneAt(t *testing.T, args ...string) string {
	version := strings.TrimSpace(command(t, "go", "list", "-m", "-f", "{{.Version}}", "github.com/google/go-containerregistry"))
	return command(t, "go", append([]string{"run", "github.com/google/go-containerregistry/cmd/crane@" + version}, args...)...)
}

func crane(t *testing.T, i *image) {
	if out := craneAt(t, "validate", "--tarball", i.file); !strings.Contains(out, "PASS") {
		t.Errorf("got %s, want PASS", out)
	}
}

// throughRegistry pushes it; crane, which is not ours, reads it there, and skopeo pulls it. crane takes every layer that it
// validates for gzip.
func throughRegistry(t *testing.T, i *image) {
	a, err := oci.OpenArchive(context.Background(), i.file, oci.Limits{})
	must(t, err)
	defer a.Close()
	host := registryOf(t)
	for _, kind := range []string{"none", "zstd", "gzip"} {
		name := host + "/zeno-test:" + kind
		sent, err := oci.Save(context.Background(), a.Images[0], kind, t.TempDir(), registry.Sink{Ref: name})
		must(t, err)
		if kind == "none" && sent.Digest != i.Digest {
			t.Errorf("without compression: got digest %s, want %s", sent.Digest, i.Digest)
		}
		check := []string{"validate", "--insecure", "--remote", name}
		if kind != "gzip" {
			check = append(check, "--fast")
		}
		if out := craneAt(t, check...); !strings.Contains(out, "PASS") {
			t.Errorf("%s: got %s, want PASS", kind, out)
		}
		if out := strings.TrimSpace(craneAt(t, "digest", "--insecure", name)); out != sent.Digest {
			t.Errorf("%s: got the digest %s, want %s", kind, out, sent.Digest)
		}
		out := filepath.Join(t.TempDir(), "export.tar")
		craneAt(t, "export", "--insecure", name, out)
		if files := command(t, "tar", "-tf", out); !strings.Contains(files, "etc/passwd\n") {
			t.Errorf("%s: exported %s, want /etc/passwd among it", kind, files)
		}
		command(t, "skopeo", "copy", "-q", "--src-tls-verify=false", "docker://"+name, "dir:"+filepath.Join(t.TempDir(), kind))
	}
}
