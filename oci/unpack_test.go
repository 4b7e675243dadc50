package oci_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/oci"
)

func TestLoadSaved(t *testing.T) {
	s := &oci.Store{Dir: t.TempDir()}
	bottom := tarOf(t, dir("etc/"), file("etc/a", "low"), file("etc/gone", "x"), dir("d/"), file("d/x", "x"), link("run", "/var/run"),
		tar.Header{Name: "usr/bin/s", Typeflag: tar.TypeReg, Mode: 0o4755, Uname: "s"}, dir("tmp"),
		tar.Header{Name: "tmp", Typeflag: tar.TypeDir, Mode: 0o1777}, tar.Header{Name: "dev/null", Typeflag: tar.TypeChar})
	top := tarOf(t, dir("etc"), file("etc/.wh.gone", ""), file("etc/a", "top"), hard("etc/b", "etc/a"), dir("d"), file("d/.wh..wh..opq", ""), file("tmp/made", "y"))
	r, err := load(s, saved(t, "x:1", map[string]any{"Env": []string{"A=b=c"}, "Entrypoint": []string{"/e"}, "Cmd": []string{"f"}, "WorkingDir": "/w"}, bottom, top))
	if err != nil {
		t.Fatal(err)
	}
	if r.Env["A"] != "b=c" || strings.Join(r.Cmd, " ") != "/e f" || r.Workdir != "/w" || r.Skipped != 1 || len(r.Layers) != 2 {
		t.Errorf("got %+v", r)
	}
	root, release, err := s.Use("test:1")
	if err != nil {
		t.Fatal(err)
	}
	low, up := root.Layers[0], root.Layers[1]
	if st, _ := os.Stat(filepath.Join(low, "usr/bin/s")); st.Mode() != 0o755 {
		t.Errorf("setuid: got mode %v, want 0755", st.Mode())
	}
	for _, p := range []string{filepath.Join(low, "tmp"), filepath.Join(up, "tmp")} { // the upper layer only implies it
		if st, err := os.Stat(p); err != nil || st.Mode() != os.ModeDir|os.ModeSticky|0o777 {
			t.Errorf("%s: got %v, want 1777", p, st.Mode())
		}
	}
	if st, err := os.Lstat(filepath.Join(up, "etc/gone")); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("a whiteout: got %v %v", st, err)
	}
	if b, _ := os.ReadFile(filepath.Join(up, "etc/b")); string(b) != "top" {
		t.Errorf("a hard link: got %q", b)
	}
	if _, err := s.GC(context.Background(), false); !errors.Is(err, oci.ErrBusy) {
		t.Errorf("gc under a box: got %v, want ErrBusy", err)
	}
	release()
	if err := s.Remove("test"); !errors.Is(err, oci.ErrNoImage) {
		t.Errorf("got %v, want ErrNoImage", err)
	}
	if err := s.Remove("test:1"); err != nil {
		t.Fatal(err)
	}
	if c, err := s.GC(context.Background(), false); err != nil || c.Layers != 2 {
		t.Errorf("gc: got %+v %v, want 2 layers", c, err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Dir, "layers")); len(left) != 0 {
		t.Errorf("gc left %v", left)
	}
}

// Names and links that lead out: each is first shown to lead out for a program that takes the tar at its word.
func TestNothingLeadsOut(t *testing.T) {
	outside := t.TempDir()
	for name, entries := range map[string][]tar.Header{
		"dotdot":          {file("../../evil", "x")},
		"deep dotdot":     {dir("a"), file("a/../../evil", "x")},
		"hard link out":   {hard("h", "../../etc/passwd"), file("h", "x")},
		"hard link away":  {hard("h", "/etc/passwd")},
		"circle":          {link("a", "b"), link("b", "a"), file("a/x", "x")},
		"file as dir":     {file("f", "x"), file("f/x", "x")},
		"whiteout of dot": {file("d/.wh...", "")},
		"no whiteout":     {file("d/.wh.", "")},
		"replaced":        {dir("d"), file("d/x", "x"), file("d", "x")},
		"root as a file":  {file(".", "x")},
	} {
		s := &oci.Store{Dir: t.TempDir()}
		if _, err := load(s, saved(t, "x:1", nil, tarOf(t, entries...))); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if left, _ := os.ReadDir(filepath.Join(s.Dir, "layers")); len(left) != 0 {
			t.Errorf("%s: a refused image left %v", name, left)
		}
	}
	for name, entries := range map[string][]tar.Header{
		"absolute link": {link("d", outside), file("d/evil", "x")},
		"link up":       {link("d", "../../../../../../../.."+outside), file("d/evil", "x")},
		"link by link":  {link("a", "/"), link("b", "a/"+outside[1:]), file("b/evil", "x")},
		"over a link":   {link("evil", filepath.Join(outside, "evil")), file("evil", "x")},
	} {
		naive := t.TempDir()
		takeAtItsWord(t, naive, entries)
		if _, err := os.Lstat(filepath.Join(outside, "evil")); err != nil {
			t.Errorf("%s: the attack does nothing without the guard", name)
		}
		os.Remove(filepath.Join(outside, "evil"))
		s := &oci.Store{Dir: t.TempDir()}
		if _, err := load(s, saved(t, "x:1", nil, tarOf(t, entries...))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(filepath.Join(outside, "evil")); err == nil {
			t.Errorf("%s: wrote outside of the image", name)
		}
		os.Remove(filepath.Join(outside, "evil"))
	}
}

func takeAtItsWord(t *testing.T, root string, entries []tar.Header) {
	t.Helper()
	for _, h := range entries {
		p := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeSymlink {
			os.Symlink(h.Linkname, p)
		} else {
			os.WriteFile(p, []byte(h.Uname), 0o644)
		}
	}
}

func TestImageLimits(t *testing.T) {
	big := tarOf(t, file("big", strings.Repeat("x", 1<<20)))
	many := tarOf(t, file("a", ""), file("b", ""), file("c", ""))
	long := tarOf(t, file(strings.Repeat("d/", 40)+"f", ""))
	var names []tar.Header // few, but of directories of long ones, which are held in memory
	for i := range 50 {
		names = append(names, dir(strings.Repeat(strings.Repeat("n", 200)+"/", 15)+string(rune('a'+i))))
	}
	for _, c := range []struct {
		what  string
		lim   oci.Limits
		layer []byte
	}{
		{"bytes", oci.Limits{Bytes: 1 << 19}, big},
		{"entries", oci.Limits{Entries: 2}, many},
		{"names", oci.Limits{Entries: 200}, tarOf(t, names...)},
		{"depth", oci.Limits{Depth: 8}, long},
		{"name", oci.Limits{Name: 20}, long},
	} {
		path := saved(t, "x:1", nil, c.layer)
		if _, err := load(&oci.Store{Dir: t.TempDir()}, path); err != nil {
			t.Errorf("%s: without the limit: %v", c.what, err)
		}
		var over *oci.LimitError
		if _, err := load(&oci.Store{Dir: t.TempDir(), Limits: c.lim}, path); !errors.As(err, &over) {
			t.Errorf("%s: got %v, want a LimitError", c.what, err)
		}
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(make([]byte, 8<<20))
	w.Close()
	var over *oci.LimitError
	if _, err := oci.OpenArchive(context.Background(), written(t, z.Bytes()), oci.Limits{Bytes: 1 << 20}); !errors.As(err, &over) {
		t.Errorf("a bomb: got %v, want a LimitError", err)
	}
}

// A layer that is not what the configuration says is refused, whatever else is right.
func TestChangedLayer(t *testing.T) {
	layer := tarOf(t, file("f", "right"))
	path := saved(t, "x:1", nil, layer)
	text, _ := os.ReadFile(path)
	os.WriteFile(path, bytes.Replace(text, []byte("right"), []byte("wrong"), 1), 0o600)
	if _, err := load(&oci.Store{Dir: t.TempDir()}, path); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("got %v, want one that says it was changed", err)
	}
}

// A load that is cancelled leaves nothing that counts, and the next one succeeds.
func TestCancelledLoad(t *testing.T) {
	s := &oci.Store{Dir: t.TempDir()}
	a, err := oci.OpenArchive(context.Background(), saved(t, "x:1", nil, tarOf(t, file("a", strings.Repeat("x", 1<<20)))), oci.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Load(ctx, "a", a.Images[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if all, _ := s.List(); len(all) != 0 {
		t.Errorf("got %v", all)
	}
	if _, err := s.Load(context.Background(), "a", a.Images[0]); err != nil {
		t.Error(err)
	}
}
