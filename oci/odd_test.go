package oci_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/oci"
)

// TestLayerTwice: an image names a layer twice, as builders do with the empty one. A box gets it once, since an overlay of a
// directory with itself is refused (see sandbox/native), and where it was the upper of the two.
func TestLayerTwice(t *testing.T) {
	s := &oci.Store{Dir: t.TempDir()}
	bottom, twice, between, empty := tarOf(t, dir("d/"), file("d/a", "bottom")), tarOf(t, dir("d/"), file("d/a", "twice")),
		tarOf(t, dir("d/"), file("d/a", "between"), file("d/b", "between")), tarOf(t)
	r, err := load(s, saved(t, "x:1", nil, bottom, empty, twice, empty, between, twice, empty))
	if err != nil {
		t.Fatal(err)
	}
	root, release, err := s.Use("test:1")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if len(r.Layers) != 7 || len(root.Layers) != 4 {
		t.Fatalf("got %d layers on record and %d for a box, want 7 and 4", len(r.Layers), len(root.Layers))
	}
	for n, want := range []string{"bottom", "between", "twice", ""} {
		text, err := os.ReadFile(filepath.Join(root.Layers[n], "d/a"))
		if string(text) != want || (err == nil) != (want != "") {
			t.Errorf("layer %d: got %q %v, want %q", n, text, err, want)
		}
	}
}

// TestNothingRunsOnIt: an image for another machine, and one of no layers, are refused when they are loaded, not by a box.
func TestNothingRunsOnIt(t *testing.T) {
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	layer := tarOf(t, file("a", "a"))
	conf, err := json.Marshal(map[string]any{"architecture": other, "os": "linux", "rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sha(layer)}}})
	if err != nil {
		t.Fatal(err)
	}
	foreign := written(t, tarOf(t, file("l.tar", string(layer)), file("c.json", string(conf)),
		file("manifest.json", `[{"Config":"c.json","RepoTags":["x:1"],"Layers":["l.tar"]}]`)))
	for path, want := range map[string]string{foreign: "got one for " + other + ", want " + runtime.GOARCH, saved(t, "x:1", nil): "got no layers"} {
		s := &oci.Store{Dir: t.TempDir()}
		if _, err := load(s, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if list, err := s.List(); err != nil || len(list) != 0 {
			t.Errorf("list: got %v %v, want none", list, err)
		}
	}
}

// TestSparse: files with holes, in both forms that GNU tar writes, are unpacked with the holes filled in.
func TestSparse(t *testing.T) {
	const size = 3 << 20
	old := sparseGNU("hole", size, "end")
	s := &oci.Store{Dir: t.TempDir()}
	if _, err := load(s, saved(t, "x:1", nil, old)); err != nil {
		t.Fatal(err)
	}
	root, release, err := s.Use("test:1")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	text, err := os.ReadFile(filepath.Join(root.Layers[0], "hole"))
	if err != nil || len(text) != size+3 || string(text[size:]) != "end" || bytes.Trim(text[:size], "\x00") != nil {
		t.Errorf("got %d bytes, %v; want %d with the end last", len(text), err, size+3)
	}
	if _, err := load(&oci.Store{Dir: t.TempDir(), Limits: oci.Limits{Bytes: 1 << 20}}, saved(t, "x:1", nil, old)); err == nil {
		t.Error("a file that is small in the tar and large outside was taken, want the limit")
	}
}

// sparseGNU is a tar of one file in GNU's old form: a hole of the given size, then the end.
func sparseGNU(name string, hole int, end string) []byte {
	var h [512]byte
	octal := func(at, width, n int) {
		text := strconv.FormatInt(int64(n), 8)
		copy(h[at:], strings.Repeat("0", width-1-len(text))+text)
	}
	copy(h[0:], name)
	octal(100, 8, 0o644)
	octal(108, 8, 0)
	octal(116, 8, 0)
	octal(124, 12, len(end)) // in the tar
	octal(136, 12, 1)
	h[156] = tar.TypeGNUSparse
	copy(h[257:], "ustar  \x00")
	octal(386, 12, hole) // where the first piece begins, and its length
	octal(398, 12, len(end))
	octal(483, 12, hole+len(end)) // in all
	copy(h[148:], "        ")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	octal(148, 7, sum)
	h[154], h[155] = 0, ' '
	out := append(h[:], end...)
	return append(out, make([]byte, 512-len(end)+1024)...)
}
