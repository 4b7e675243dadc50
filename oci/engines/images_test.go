// Package engines holds the tests in which tools that no one here wrote take our images: one table of tools, run over images
// of each source.
package engines

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/nixflake"
	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/oci/dpkg"
	"github.com/reflection-dev/zeno/oci/nix"
	"github.com/reflection-dev/zeno/oci/registry"
)

// image is one archive that we wrote.
type image struct {
	*oci.Image
	file string
	ref  string // as engines call it
	said string // what it says when it runs
}

// speaks is the command of each image.
var speaks = []string{"/bin/sh", "-c", "echo ran; id -u; pwd"}

const said = "ran\n0\n/work\n"

// sources say how each image is made. Engines copy each layer onto the one below: there are few.
func sources(t *testing.T) map[string]func(t *testing.T) *image {
	return map[string]func(t *testing.T) *image{
		"dpkg": func(t *testing.T) *image {
			need.Program(t, "dpkg-query", "dpkg")
			return build(t, oci.Builder{Host: &dpkg.Source{}}, oci.Spec{Name: "zeno-dpkg", Layers: 5, Entrypoint: speaks[:2], Cmd: speaks[2:], Base: oci.Base{Host: []string{"dash", "coreutils", "ca-certificates"}, Changed: "take"}}, said)
		},
		"nix": func(t *testing.T) *image {
			flake := nixflake.Need(t)
			return build(t, withNix(t), oci.Spec{Name: "zeno-nix", Packages: []string{flake + "#hello", flake + "#sh", flake + "#cacert"}, Cmd: greets(), User: "1000:1000"}, "from-lib\nran\n1000\n/work\n")
		},
		"oci base": func(t *testing.T) *image {
			return onBase(t, oci.Base{OCI: pushed(t, base(t))})
		},
		"tar base": func(t *testing.T) *image {
			file := filepath.Join(t.TempDir(), "base.tar")
			command(t, "skopeo", "copy", "-q", "oci:"+base(t), "docker-archive:"+file+":base:1")
			return onBase(t, oci.Base{Tar: file})
		},
	}
}

func greets() []string { return []string{"/bin/sh", "-c", "hello; " + speaks[2]} }

func withNix(t *testing.T) oci.Builder {
	pull := func(ctx context.Context, name, arch string) (*oci.Image, error) {
		return registry.Pull(ctx, name, arch, oci.Limits{})
	}
	return oci.Builder{Nix: &nix.Source{Env: []string{nixflake.Offline}, Roots: t.TempDir()}, Pull: pull}
}

// onBase puts a package of nix onto a base that others made.
func onBase(t *testing.T, b oci.Base) *image {
	flake := nixflake.Need(t)
	return build(t, withNix(t), oci.Spec{Name: "zeno-based", Packages: []string{flake + "#hello"}, Cmd: greets(), Base: b}, "from-lib\n"+said)
}

// build writes the archive of a spec.
func build(t *testing.T, b oci.Builder, spec oci.Spec, said string) *image {
	t.Helper()
	spec.Tag, spec.Workdir = "1", "/work"
	built, err := b.Build(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(built.Close)
	file := filepath.Join(t.TempDir(), "image.tar")
	saved, err := oci.Save(context.Background(), built.Image, "none", t.TempDir(), oci.ArchiveFile{Path: file})
	must(t, err)
	return &image{Image: saved, file: file, ref: "docker.io/library/" + spec.Ref(), said: said}
}

// base is an image that umoci makes, as Debian's are: /bin is a link, layers are compressed. It gives LAYOUT:TAG.
func base(t *testing.T) string {
	t.Helper()
	shell, err := os.ReadFile(need.Program(t, "busybox", "busybox-static"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root, name := filepath.Join(dir, "root"), filepath.Join(dir, "layout")+":base"
	for _, d := range []string{"usr/bin", "etc", "tmp", "proc", "dev", "sys"} {
		must(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(root, "usr/bin/busybox"), shell, 0o755))
	must(t, os.WriteFile(filepath.Join(root, "etc/passwd"), []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "etc/group"), []byte("root:x:0:\n"), 0o644))
	must(t, os.Symlink("usr/bin", filepath.Join(root, "bin")))
	for _, applet := range []string{"sh", "id", "cat"} {
		must(t, os.Symlink("busybox", filepath.Join(root, "usr/bin", applet)))
	}
	command(t, "umoci", "init", "--layout", filepath.Join(dir, "layout"))
	command(t, "umoci", "new", "--image", name)
	command(t, "umoci", "insert", "--image", name, root, "/")
	command(t, "umoci", "config", "--image", name, "--architecture", "amd64", "--os", "linux", "--config.env", "PATH=/usr/bin:/bin")
	return name
}

// pushed takes a layout's image to a registry of this test, and gives its name there.
func pushed(t *testing.T, from string) string {
	name := registryOf(t) + "/base:1"
	command(t, "skopeo", "copy", "-q", "--dest-tls-verify=false", "oci:"+from, "docker://"+name)
	return name
}

// registryOf starts a registry.
func registryOf(t *testing.T) string {
	srv := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// command runs a program of others and gives what it said.
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
