package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Sink takes an image that was settled, to where it is run or kept. After an error nothing of the image is there that
// could be taken for all of it.
type Sink interface {
	Put(ctx context.Context, img *Image) error
}

// Save writes an image to a sink, compressed as kind says; dir is for what cannot be streamed.
func Save(ctx context.Context, img *Image, kind, dir string, to Sink) (*Image, error) {
	settled, release, err := img.Settle(ctx, kind, dir)
	if err != nil {
		return nil, err
	}
	defer release()
	return settled, to.Put(ctx, settled)
}

// meta are the files of an archive that are no layers, and the layers' names.
func (i *Image) meta() (files []File, err error) {
	manifest, err := i.manifest()
	if err != nil {
		return nil, err
	}
	h, err := v1.NewHash(digest(manifest))
	if err != nil {
		return nil, err
	}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	desc := v1.Descriptor{MediaType: types.OCIManifestSchema1, Size: int64(len(manifest)), Digest: h,
		Platform: &v1.Platform{OS: "linux", Architecture: i.Config.Architecture}}
	if len(i.Names) > 0 { // one entry: with more of them tools ask which
		desc.Annotations = map[string]string{refAnnotation: i.Names[0], "io.containerd.image.name": familiar(i.Names[0])}
	}
	index.Manifests = append(index.Manifests, desc)
	type saved struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	s := saved{Config: "blobs/sha256/" + strings.TrimPrefix(i.ID(), "sha256:"), RepoTags: slices.Concat([]string{}, i.Names), Layers: []string{}}
	for _, l := range i.Layers {
		s.Layers = append(s.Layers, "blobs/sha256/"+strings.TrimPrefix(l.Digest, "sha256:"))
	}
	for _, f := range []struct {
		name string
		of   any
	}{{"index.json", index}, {"manifest.json", []saved{s}}} {
		text, err := json.Marshal(f.of)
		if err != nil {
			return nil, err
		}
		files = append(files, TextFile(f.name, string(text)))
	}
	return append(files, TextFile("oci-layout", `{"imageLayoutVersion":"1.0.0"}`), TextFile("blobs/sha256/"+h.Hex, string(manifest)),
		TextFile(s.Config, string(i.Raw))), nil
}

// familiar is a name as containerd wants it: with the registry.
func familiar(name string) string {
	first, _, has := strings.Cut(name, "/")
	switch {
	case has && strings.ContainsAny(first, ".:") || first == "localhost":
		return name
	case has:
		return "docker.io/" + name
	}
	return "docker.io/library/" + name
}

// eachBlob gives every layer once, checked while it is read. What had says that it has is not read.
func eachBlob(ctx context.Context, img *Image, had func(name string, l Layer) (bool, error), put func(name string, l Layer, r io.Reader) error) error {
	seen := map[string]bool{}
	for n, l := range img.Layers {
		if seen[l.Digest] {
			continue
		}
		seen[l.Digest] = true
		name := "blobs/sha256/" + strings.TrimPrefix(l.Digest, "sha256:")
		have, err := had(name, l)
		if err == nil && !have {
			err = readBlob(ctx, l, func(r io.Reader) error { return put(name, l, r) })
		}
		if err != nil {
			return fmt.Errorf("layer %d (%s): %w", n+1, or(l.Label, l.DiffID), err)
		}
	}
	return nil
}

func readBlob(ctx context.Context, l Layer, put func(io.Reader) error) error {
	r, err := l.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	v := newVerifier(ctx, r, l)
	if err := put(v); err != nil {
		return err
	}
	return v.end()
}

func hadNone(string, Layer) (bool, error) { return false, nil }

// LayoutDir is a sink: a directory that is an OCI layout. One that has an image already is refused.
type LayoutDir struct{ Path string }

// Put implements Sink. index.json is written last: without it there is no image.
func (d LayoutDir) Put(ctx context.Context, img *Image) (err error) {
	if entries, err := os.ReadDir(d.Path); err == nil && len(entries) > 0 {
		return fmt.Errorf("image: %s: got a directory with files, want a new or empty one", d.Path)
	}
	blobs := filepath.Join(d.Path, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(filepath.Join(d.Path, "blobs"))
			os.Remove(filepath.Join(d.Path, "oci-layout"))
			os.Remove(d.Path)
		}
	}()
	files, err := img.meta()
	if err != nil {
		return err
	}
	err = eachBlob(ctx, img, hadNone, func(name string, _ Layer, r io.Reader) error {
		f, err := os.OpenFile(filepath.Join(d.Path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	})
	if err != nil {
		return err
	}
	for _, f := range slices.Backward(files) {
		if f.Name == "manifest.json" {
			continue // of docker save, which has no directories
		}
		if err := os.WriteFile(filepath.Join(d.Path, f.Name), f.Text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Stream is a sink: the archive, to a pipe or a connection.
type Stream struct{ W io.Writer }

// Put implements Sink.
func (s Stream) Put(ctx context.Context, img *Image) error { return WriteArchive(ctx, s.W, img) }
