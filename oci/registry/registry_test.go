package registry_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/reflection-dev/zeno/oci"
	ours "github.com/reflection-dev/zeno/oci/registry"
)

// files is a source of one package with one file.
type files struct{ text string }

func (f files) Realise(context.Context, *oci.Spec, func(string)) (*oci.Closure, error) {
	return &oci.Closure{Packages: []oci.Package{{Name: "p", Label: "p-1", Files: func(_ context.Context, yield func(oci.File) error) error {
		return yield(oci.TextFile("opt/p", f.text))
	}}}}, nil
}

// An image goes to a registry and comes back with its digest, in each compression, and as the base of another.
func TestThereAndBack(t *testing.T) {
	srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	ctx := context.Background()
	pull := func(ctx context.Context, name, arch string) (*oci.Image, error) {
		return ours.Pull(ctx, name, arch, oci.Limits{})
	}
	for _, kind := range []string{"none", "gzip", "zstd"} {
		ref := host + "/p:" + kind
		b := &oci.Builder{Nix: files{"hello"}, Pull: pull}
		built, err := b.Build(ctx, oci.Spec{Name: "p", Packages: []string{"p"}, Compress: kind})
		if err != nil {
			t.Fatal(err)
		}
		sent, err := oci.Save(ctx, built.Image, kind, t.TempDir(), ours.Sink{Ref: ref})
		if err != nil {
			t.Fatal(err)
		}
		got, err := pull(ctx, ref, built.Config.Architecture)
		if err != nil || got.Digest != sent.Digest || got.ID() != built.ID() {
			t.Fatalf("%s: got %v %v, want %s", kind, got, err, sent.Digest)
		}
		s := &oci.Store{Dir: t.TempDir()}
		if _, err := s.Load(ctx, "p", got); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		over, err := (&oci.Builder{Nix: files{"more"}, Pull: pull}).Build(ctx, oci.Spec{Name: "q", Packages: []string{"p"}, Base: oci.Base{OCI: ref}})
		if err != nil || len(over.Layers) != len(built.Layers)+1 { // no accounts on a base

			t.Errorf("%s: a base: got %v %v", kind, over, err)
			continue
		}
		file := filepath.Join(t.TempDir(), "q.tar")
		if _, err := oci.Save(ctx, over.Image, "none", t.TempDir(), oci.ArchiveFile{Path: file}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		a, err := oci.OpenArchive(ctx, file, oci.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(ctx, "q", a.Images[0]); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		a.Close()
	}
	if _, err := pull(ctx, host+"/none:1", "amd64"); !errors.Is(err, oci.ErrNoImage) {
		t.Errorf("got %v, want ErrNoImage", err)
	}
}
