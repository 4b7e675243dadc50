package oci_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/oci"
)

// one is a source of one package with one file.
type one struct{}

func (one) Realise(context.Context, *oci.Spec, func(string)) (*oci.Closure, error) {
	return &oci.Closure{Packages: []oci.Package{{Name: "p", Label: "p-1", Files: func(_ context.Context, yield func(oci.File) error) error {
		return yield(oci.TextFile("opt/p", "ours"))
	}}}}, nil
}

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// On the archive of docker save, whose manifest knows no digests, and on one whose layers are compressed: an archive's
// layers are all stored in one way, and the image has its names.
func TestOnABase(t *testing.T) {
	layer := tarOf(t, file("etc/base", "theirs"))
	layout := func(t *testing.T, kind string) string {
		a, err := oci.OpenArchive(context.Background(), saved(t, "base:1", map[string]any{}, layer), oci.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		dir := filepath.Join(t.TempDir(), "layout")
		if _, err := oci.Save(context.Background(), a.Images[0], kind, t.TempDir(), oci.LayoutDir{Path: dir}); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	var digests []string
	for _, base := range []string{saved(t, "base:1", map[string]any{}, layer), layout(t, "none"), layout(t, "gzip"), layout(t, "zstd")} {
		for _, kind := range []string{"none", "gzip"} {
			b, err := (&oci.Builder{Nix: one{}}).Build(context.Background(), oci.Spec{Name: "over", Packages: []string{"p"}, Compress: kind, Base: oci.Base{Tar: base}})
			if err != nil {
				t.Fatalf("%s: %v", base, err)
			}
			defer b.Close()
			to := filepath.Join(t.TempDir(), "over.tar")
			img, err := oci.Save(context.Background(), b.Image, kind, t.TempDir(), oci.ArchiveFile{Path: to})
			if err != nil {
				t.Fatalf("%s: %v", base, err)
			}
			if want := "over:" + strings.TrimPrefix(img.Digest, "sha256:")[:12]; len(img.Names) != 2 || img.Names[0] != "over:latest" || img.Names[1] != want {
				t.Errorf("got the names %v, want over:latest and %s", img.Names, want)
			}
			for _, l := range img.Layers {
				if kind == "none" && l.Digest != l.DiffID || kind == "gzip" && l.Digest == l.DiffID {
					t.Errorf("%s, %s: got a layer %s of %s", base, kind, l.MediaType, l.DiffID)
				}
			}
			if kind == "none" {
				digests = append(digests, img.Digest)
			}
			s := &oci.Store{Dir: t.TempDir()}
			if _, err := load(s, to); err != nil {
				t.Errorf("%s, %s: %v", base, kind, err)
			}
		}
	}
	for _, d := range digests {
		if d != digests[0] {
			t.Errorf("got the digests %v, want one: the layers are the same, however they are stored", digests)
		}
	}
}

// A compressed layer of a base that is not what the configuration says is refused, and nothing is written.
func TestForeignLayerOfABase(t *testing.T) {
	layer, other := tarOf(t, file("etc/base", "theirs")), zipped(t, tarOf(t, file("etc/base", "others")))
	conf := `{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:` + sha(layer) + `"]}}`
	base := written(t, tarOf(t, file("c.json", conf), file("l.tar", string(other)), file("manifest.json", `[{"Config":"c.json","RepoTags":["base:1"],"Layers":["l.tar"]}]`)))
	b, err := (&oci.Builder{Nix: one{}}).Build(context.Background(), oci.Spec{Name: "over", Packages: []string{"p"}, Base: oci.Base{Tar: base}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	to := filepath.Join(t.TempDir(), "over.tar")
	if _, err := oci.Save(context.Background(), b.Image, "none", t.TempDir(), oci.ArchiveFile{Path: to}); err == nil || !strings.Contains(err.Error(), "want sha256:"+sha(layer)) {
		t.Errorf("got %v, want the digest that differs", err)
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(to), "*")); len(found) != 0 {
		t.Errorf("got %v left, want nothing", found)
	}
}

// The order of packages names another image only where the first wins.
func TestHashOfASpec(t *testing.T) {
	one, two := oci.Spec{Name: "n", Packages: []string{"a", "b"}}, oci.Spec{Name: "n", Packages: []string{"b", "a", "a"}}
	if one.Hash() != two.Hash() {
		t.Error("got two hashes for two orders, want one")
	}
	one.Conflicts, two.Conflicts = "first", "first"
	if one.Hash() == two.Hash() {
		t.Error("got one hash for two orders where the first package wins, want two")
	}
}
