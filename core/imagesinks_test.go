package core_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	images "github.com/google/go-containerregistry/pkg/registry"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

// shellImage is an archive whose image has a shell.
func shellImage(t *testing.T) string {
	t.Helper()
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		need.Skip(t, "busybox-static is not installed")
	}
	return savedImage(t, tarText(t, tarEntry{name: "bin/", kind: tar.TypeDir}, tarEntry{name: "bin/sh", text: string(busybox)}))
}

func localRegistry(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(images.New(images.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

// An image goes to a registry, compressed, and is pulled from there to run.
func TestPulledImageRuns(t *testing.T) {
	file := shellImage(t)
	c := boxing(t)
	host := localRegistry(t)
	for _, e := range []struct{ src, want string }{
		{`(:ref (zeno.oci/load! "` + file + `" :registry "` + host + `/made:1"))`, host + "/made:1"},
		{`(:ref (zeno.oci/load! "` + host + `/made:1" :native "pulled:1"))`, "pulled:1"},
		{`(:out (zeno.sandbox/run {:image "pulled:1"}))`, "default\n"},
		{`(:ref (zeno.oci/load! "` + host + `/made:1"))`, host + "/made:1"},
		{`(:out (zeno.sandbox/run {:image "` + host + `/made:1" :argv ["/bin/sh" "-c" "echo $FROM"]}))`, "image\n"},
	} {
		v, err := c.Eval(context.Background(), e.src)
		if err != nil {
			t.Fatalf("%s: %v", e.src, err)
		}
		if got := v.Text(); got != e.want {
			t.Errorf("%s: got %q, want %q", e.src, got, e.want)
		}
	}
	if _, err := exec.LookPath("skopeo"); err != nil {
		need.Skip(t, "skopeo is not installed: .ci/need installs it")
	}
	raw, err := exec.Command("skopeo", "inspect", "--raw", "--tls-verify=false", "docker://"+host+"/made:1").Output()
	if err != nil || !strings.Contains(string(raw), "application/vnd.oci.image.layer.v1.tar+zstd") {
		t.Errorf("got %s %v, want layers in zstd", raw, err)
	}
}

// Images go into the real msb: from an archive, from a registry, and from a spec. None of it takes virtualisation.
func TestImagesOfMSB(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		need.Skip(t, "the pinned msb is for linux/amd64")
	}
	bin := filepath.Join(npmcli.Modules(t, "msb"), "@superradcompany", "microsandbox-linux-x64-gnu", "bin")
	file := shellImage(t)
	short, err := os.MkdirTemp("/tmp", "zm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	t.Setenv("MSB_HOME", short)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	c := boxing(t)
	host := localRegistry(t)
	for _, e := range []struct{ src, want string }{
		{`(:ref (zeno.oci/load! "` + file + `" :msb))`, "made:1"},
		{`(:ref (zeno.oci/load! "` + file + `" :msb "other:2"))`, "other:2"},
		{`(:ref (zeno.oci/load! "` + file + `" :registry "` + host + `/made:1"))`, host + "/made:1"},
		{`(:ref (zeno.oci/load! "` + host + `/made:1" :msb))`, host + "/made:1"},
		{`(:ref (zeno.oci/build-and-load! {:name "over" :base {:tar "` + file + `"} :env {"A" "b"}} :msb))`, "over:latest"},
	} {
		v, err := c.Eval(context.Background(), e.src)
		if err != nil {
			t.Errorf("%s: %v", e.src, err)
		} else if got := v.Text(); got != e.want {
			t.Errorf("%s: got %q, want %q", e.src, got, e.want)
		}
	}
	list := exec.Command(filepath.Join(bin, "msb"), "image", "list", "-q")
	out, err := list.Output()
	for _, want := range []string{"made:1", "other:2", host + "/made:1", "over:latest"} {
		if !strings.Contains("\n"+string(out), "\n"+want+"\n") {
			t.Errorf("got %s %v, want %s", out, err, want)
		}
	}
	for src, want := range map[string]string{
		`(zeno.oci/load! "` + file + `" :other)`:                                           ":native, :msb or :registry",
		`(zeno.oci/build-and-load! {:name "over" :base {:tar "` + file + `"}} :registry)`:  ":native or :msb",
		`(zeno.oci/build-and-load! {:name "over" :base {:host ["no-such-package"]}} :msb)`: "no-such-package",
	} {
		if _, err := c.Eval(context.Background(), src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %s", src, err, want)
		}
	}
}

// gc removes images that a box's archive gave and no box used since, with their layers, and archives of build!; what was
// named stays. A dry run tells the same and removes nothing.
func TestGCOfImages(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	c, err := core.New(core.Config{Home: h, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	ctx := context.Background()
	kept := &core.Images{Dir: filepath.Join(dir, "state", "oci")}
	boxes, named := savedImage(t, tarText(t, tarEntry{name: "a", text: "of a box"})), savedImage(t, tarText(t, tarEntry{name: "b", text: "of a name"}))
	if _, release, err := kept.Root(ctx, boxes, nil); err != nil {
		t.Fatal(err)
	} else {
		release()
	}
	if _, err := kept.Load(ctx, named, "", "named:1"); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(kept.Dir, "archives", "x.tar")
	note := filepath.Join(kept.Dir, "written", "x.json")
	root := filepath.Join(kept.Dir, "roots", "roots-1")
	for _, d := range []string{archive, note, root + "/x"} {
		os.MkdirAll(filepath.Dir(d), 0o700)
	}
	text, _ := json.Marshal(map[string]any{"path": archive})
	os.WriteFile(archive, []byte("archive"), 0o600)
	os.WriteFile(note, text, 0o600)
	run := func(dry bool) core.GCReport {
		t.Helper()
		r, err := c.GC(ctx, control.By{}, core.GCOptions{Keep: time.Hour, Dry: dry})
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(r.Errors, err)
		}
		return r
	}
	if r := run(false); r.Images != 0 || r.Layers != 0 {
		t.Errorf("got %+v, want what is young to stay", r)
	}
	old := time.Now().Add(-48 * time.Hour)
	filepath.Walk(kept.Dir, func(path string, _ os.FileInfo, _ error) error { return os.Chtimes(path, old, old) })
	for _, dry := range []bool{true, false} {
		if r := run(dry); r.Images != 2 || r.Layers != 1 {
			t.Errorf("dry %v: got %+v, want 2 images and 1 layer", dry, r)
		}
	}
	for _, p := range []string{archive, note, root} {
		if _, err := os.Stat(p); err == nil && p != note {
			t.Errorf("%s is there", p)
		}
	}
	if all, err := kept.Store().List(); err != nil || len(all) != 1 || all[0].Name != "named:1" {
		t.Errorf("got %v %v, want named:1", all, err)
	}
	if r := run(false); r.Layers != 0 {
		t.Errorf("again: got %+v", r)
	}
	if _, err := os.Stat(note); err == nil {
		t.Error("the note of an archive that is gone is there")
	}
	if _, release, err := kept.Root(ctx, "named:1", nil); err != nil {
		t.Error(err)
	} else {
		release()
	}
}
