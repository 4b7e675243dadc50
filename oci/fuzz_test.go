package oci_test

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"

	"github.com/reflection-dev/zeno/oci"
)

// FuzzLayer: no layer writes outside of the store, whatever its tar says.
func FuzzLayer(f *testing.F) {
	f.Add(tarOf(f, dir("a"), file("a/b", "x"), link("c", "/a"), file("c/d", "y"), hard("e", "a/b")))
	f.Add(tarOf(f, file("d/.wh.x", ""), file("d/.wh..wh..opq", ""), dir("d/x")))
	f.Add(tarOf(f, link("a", "../.."), file("a/evil", "x"), tar.Header{Name: "n", Typeflag: tar.TypeChar}))
	f.Fuzz(func(t *testing.T, layer []byte) {
		top := t.TempDir()
		s := &oci.Store{Dir: filepath.Join(top, "a/b/c/store"), Limits: oci.Limits{Bytes: 1 << 20, Entries: 1000}}
		_, _ = load(s, saved(t, "x:1", nil, layer))
		for _, d := range []string{top, top + "/a", top + "/a/b", top + "/a/b/c"} {
			if entries, err := os.ReadDir(d); err == nil && len(entries) > 1 {
				t.Fatalf("%s: got %v", d, entries)
			}
		}
	})
}
