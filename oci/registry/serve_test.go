package registry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/oci"
	ours "github.com/reflection-dev/zeno/oci/registry"
)

// onDisk is a source of packages that are one file each, and counts how often they are read.
type onDisk struct {
	files []string
	mu    sync.Mutex
	reads map[string]int
}

// count gives how many were read since the last call.
func (d *onDisk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer clear(d.reads)
	return len(d.reads)
}

func (d *onDisk) Realise(context.Context, *oci.Spec, func(string)) (*oci.Closure, error) {
	c := &oci.Closure{}
	for _, f := range d.files {
		name := filepath.Base(f)
		c.Packages = append(c.Packages, oci.Package{Name: name, Label: name + "-1", Files: func(_ context.Context, yield func(oci.File) error) error {
			d.mu.Lock()
			d.reads[name]++
			d.mu.Unlock()
			st, err := os.Stat(f)
			if err != nil {
				return err
			}
			return yield(oci.File{Name: "opt/" + name, Mode: 0o644, Size: st.Size(), Path: f})
		}})
	}
	return c, nil
}

// A built image is served without being written anywhere: a layer is read when it is asked for, and clients that others
// wrote take it with its digest.
func TestServe(t *testing.T) {
	d := &onDisk{reads: map[string]int{}}
	dir := t.TempDir()
	for i := range 3 {
		f := filepath.Join(dir, fmt.Sprint("p", i))
		if err := os.WriteFile(f, []byte(strings.Repeat("x", 100_000*(i+1))), 0o644); err != nil {
			t.Fatal(err)
		}
		d.files = append(d.files, f)
	}
	ctx := context.Background()
	built, err := (&oci.Builder{Nix: d}).Build(ctx, oci.Spec{Name: "agent", Tag: "1", Packages: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	defer built.Close()
	h, err := ours.Serve(built.Image, "me/agent:1")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	ask := func(method, path string) (int, string) {
		t.Helper()
		req, _ := http.NewRequest(method, srv.URL+path, nil)
		res, err := srv.Client().Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return res.StatusCode, err.Error()
		}
		return res.StatusCode, string(text)
	}
	d.count()
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/v2/", 200}, {"GET", "/v2/me/agent/manifests/1", 200}, {"HEAD", "/v2/me/agent/manifests/" + built.Digest, 200}, {"GET", "/v2/me/agent/blobs/" + built.ID(), 200},
		{"HEAD", "/v2/me/agent/blobs/" + built.Layers[0].Digest, 200}, {"GET", "/v2/me/agent/manifests/2", 404}, {"GET", "/v2/other/manifests/1", 404}, {"GET", "/", 404},
		{"GET", "/v2/me/agent/blobs/sha256:" + strings.Repeat("0", 64), 404}, {"GET", "/v2/me/agent/blobs/../../../../etc/passwd", 404}, {"GET", "/v2/me/agent/tags/list", 404},
		{"POST", "/v2/me/agent/blobs/uploads/", 405}, {"DELETE", "/v2/me/agent/manifests/1", 405}, {"GET", "/v2/me/agent/blobs/" + strings.Repeat("x", 2000), 404},
	} {
		if got, text := ask(c.method, c.path); got != c.want {
			t.Errorf("%s %.60s: got %d %.100s, want %d", c.method, c.path, got, text, c.want)
		}
	}
	if n := d.count(); n != 0 || h.Bytes() != 0 {
		t.Errorf("before a layer was asked for: read %d packages, sent %d bytes", n, h.Bytes())
	}
	if status, text := ask("GET", "/v2/me/agent/blobs/"+built.Layers[0].Digest); status != 200 || int64(len(text)) != built.Layers[0].Size {
		t.Errorf("a layer: got %d and %d bytes, want %d", status, len(text), built.Layers[0].Size)
	}
	if n := d.count(); n != 1 {
		t.Errorf("a layer: got %d packages read, want 1", n)
	}
	pulled, err := ours.Pull(ctx, strings.TrimPrefix(srv.URL, "http://")+"/me/agent:1", built.Config.Architecture, oci.Limits{})
	if err != nil || pulled.Digest != built.Digest {
		t.Fatalf("got %v %v, want %s", pulled, err, built.Digest)
	}
	s := &oci.Store{Dir: t.TempDir()}
	if _, err := s.Load(ctx, "agent", pulled); err != nil {
		t.Error(err)
	}
	if err := h.Err(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(d.files[1], []byte(strings.Repeat("y", 200_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	bad := built.Layers[1]
	if !strings.Contains(bad.Label, "p1") {
		t.Fatalf("got the layer %s", bad.Label)
	}
	if _, text := ask("GET", "/v2/me/agent/blobs/"+bad.Digest); int64(len(text)) >= bad.Size {
		t.Error("a package that changed: got the whole layer")
	}
	if err := h.Err(); err == nil || !strings.Contains(err.Error(), "p1-1") {
		t.Errorf("a package that changed: got %v, want its name", err)
	}
	if _, err := exec.LookPath("skopeo"); err != nil {
		need.Skip(t, "skopeo is not installed: .ci/need installs it")
	}
	os.WriteFile(d.files[1], []byte(strings.Repeat("x", 200_000)), 0o644)
	to := filepath.Join(t.TempDir(), "layout")
	out, err := exec.Command("skopeo", "copy", "-q", "--insecure-policy", "--src-tls-verify=false", "docker://"+strings.TrimPrefix(srv.URL, "http://")+"/me/agent:1", "oci:"+to+":1").CombinedOutput()
	if err != nil {
		t.Errorf("skopeo: %v %s", err, out)
	}
}
