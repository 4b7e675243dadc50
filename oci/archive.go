package oci

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Archive is a file or a directory with images: what `docker save` or `podman save` write, an OCI layout, or both at once.
type Archive struct {
	files  files
	limits Limits
	Images []*Image
}

// OpenArchive reads what images path holds. The caller closes it; the images' layers can be read until then. A compressed
// archive is unpacked to a temporary file first, which has no name.
func OpenArchive(ctx context.Context, file string, lim Limits) (*Archive, error) {
	a := &Archive{limits: lim.WithDefaults()}
	if err := a.open(ctx, file); err != nil {
		a.Close()
		return nil, fmt.Errorf("image %s: %w", file, err)
	}
	if err := a.find(); err != nil {
		a.Close()
		return nil, fmt.Errorf("image %s: %w", file, err)
	}
	return a, nil
}

// Close closes the file.
func (a *Archive) Close() error {
	if a.files == nil {
		return nil
	}
	return a.files.Close()
}

func (a *Archive) open(ctx context.Context, file string) error {
	st, err := os.Stat(file)
	if err != nil {
		return err
	}
	if st.IsDir() {
		root, err := os.OpenRoot(file)
		if err != nil {
			return err
		}
		a.files = dirFiles{root}
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	if f, err = a.seekable(ctx, f, st.Mode().IsRegular()); err != nil {
		return err
	}
	t, err := indexTar(ctx, f)
	if err != nil {
		return err
	}
	a.files = t
	return nil
}

// seekable gives f, or a temporary file with what f holds where it is compressed or a pipe.
func (a *Archive) seekable(ctx context.Context, f *os.File, regular bool) (*os.File, error) {
	b := bufio.NewReader(f)
	if head, _ := b.Peek(4); regular && !compressed(head) {
		_, err := f.Seek(0, io.SeekStart)
		return f, err
	}
	defer f.Close()
	r, err := plain(b)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := os.CreateTemp("", "zeno-image-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(t.Name()); err != nil { // it goes with this process, however that ends
		t.Close()
		return nil, err
	}
	n, err := io.Copy(t, &contextReader{ctx, io.LimitReader(r, a.limits.Bytes+1)})
	if err == nil && n > a.limits.Bytes {
		err = &LimitError{"bytes of the archive", n, a.limits.Bytes}
	}
	if err == nil {
		_, err = t.Seek(0, io.SeekStart)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func compressed(head []byte) bool {
	return len(head) >= 2 && (head[0] == 0x1f && head[1] == 0x8b || head[0] == 0x28 && head[1] == 0xb5)
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

// find fills in Images: by manifest.json, which has the names, else by index.json.
func (a *Archive) find() error {
	err := a.findSaved()
	if missing(err) {
		err = a.findLayout()
	}
	if missing(err) {
		return fmt.Errorf("got neither a manifest.json nor an index.json, want what docker save, podman save, skopeo copy or zeno image build write")
	}
	if err == nil && len(a.Images) == 0 {
		err = fmt.Errorf("got no image for linux/%s", runtime.GOARCH)
	}
	return err
}

// findSaved reads manifest.json of docker save.
func (a *Archive) findSaved() error {
	text, err := small(a.files, "manifest.json", a.limits.Meta)
	if err != nil {
		return err
	}
	var list []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("failed to read manifest.json: %w", err)
	}
	for _, e := range list {
		raw, err := small(a.files, e.Config, a.limits.Meta)
		if err != nil {
			return plainError(err)
		}
		layers := make([]Layer, 0, min(len(e.Layers), a.limits.Layers))
		for _, name := range e.Layers {
			layers = append(layers, a.layer(name))
		}
		img, err := newImage(raw, layers, a.limits)
		if err != nil {
			return err
		}
		img.Names = e.RepoTags
		a.Images = append(a.Images, img)
	}
	a.manifestDigests()
	return nil
}

// plainError is err without fs.ErrNotExist: a file that metadata names is missing, the metadata is not.
func plainError(err error) error { return fmt.Errorf("failed to read what the archive names: %v", err) }

func (a *Archive) layer(name string) Layer {
	return Layer{Open: func(context.Context) (io.ReadCloser, error) {
		r, _, err := a.files.open(name)
		return r, err
	}}
}

// manifestDigests gives images that stand in index.json too the digest of their manifest.
func (a *Archive) manifestDigests() {
	text, err := small(a.files, "index.json", a.limits.Meta)
	if err != nil {
		return
	}
	var index v1.IndexManifest
	if json.Unmarshal(text, &index) != nil {
		return
	}
	for _, d := range index.Manifests {
		raw, err := a.blob(d.Digest)
		if err != nil {
			continue
		}
		var m v1.Manifest
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		for _, img := range a.Images {
			if img.ID() == m.Config.Digest.String() {
				img.Digest = d.Digest.String()
			}
		}
	}
}

// findLayout reads index.json of an OCI layout.
func (a *Archive) findLayout() error {
	text, err := small(a.files, "index.json", a.limits.Meta)
	if err != nil {
		return err
	}
	return a.index(text, nil, 0)
}

const refAnnotation = "org.opencontainers.image.ref.name"

func (a *Archive) index(text []byte, names []string, depth int) error {
	var index v1.IndexManifest
	if err := json.Unmarshal(text, &index); err != nil {
		return fmt.Errorf("failed to read the index: %w", err)
	}
	for _, d := range index.Manifests {
		if p := d.Platform; p != nil && (p.OS != "linux" || p.Architecture != runtime.GOARCH) {
			continue
		}
		named := names
		for _, key := range []string{"io.containerd.image.name", refAnnotation} {
			if n := d.Annotations[key]; n != "" {
				named = []string{n}
				break
			}
		}
		raw, err := a.blob(d.Digest)
		if err != nil {
			return err
		}
		if d.MediaType.IsIndex() {
			if depth >= 4 {
				return fmt.Errorf("got indexes more than 4 deep")
			}
			if err := a.index(raw, named, depth+1); err != nil {
				return err
			}
			continue
		}
		if err := a.manifest(raw, d.Digest.String(), named); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) manifest(raw []byte, digest string, names []string) error {
	if len(a.Images) >= 1000 {
		return &LimitError{"images of the archive", int64(len(a.Images) + 1), 1000}
	}
	var m v1.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("failed to read manifest %s: %w", digest, err)
	}
	if !m.Config.MediaType.IsConfig() {
		return nil // an artefact, no image
	}
	conf, err := a.blob(m.Config.Digest)
	if err != nil {
		return err
	}
	var layers []Layer
	for _, l := range m.Layers {
		layer := a.layer(blobName(l.Digest))
		layer.Size, layer.Digest, layer.MediaType = l.Size, l.Digest.String(), l.MediaType
		layers = append(layers, layer)
	}
	img, err := newImage(conf, layers, a.limits)
	if err != nil {
		return err
	}
	img.Digest, img.Names = digest, names
	a.Images = append(a.Images, img)
	return nil
}

func blobName(h v1.Hash) string { return filepath.ToSlash(filepath.Join("blobs", h.Algorithm, h.Hex)) }

// blob reads metadata that is called by its digest, and checks that.
func (a *Archive) blob(h v1.Hash) ([]byte, error) {
	if h.Algorithm != "sha256" || !isHex(h.Hex) {
		return nil, fmt.Errorf("digest: got %q, want sha256", h)
	}
	b, err := small(a.files, blobName(h), a.limits.Meta)
	if err != nil {
		return nil, plainError(err)
	}
	if got := digest(b); got != h.String() {
		return nil, fmt.Errorf("blob %s: got content with digest %s", h, got)
	}
	return b, nil
}

// Pick gives the image of that name; "" is the only one.
func (a *Archive) Pick(name string) (*Image, error) {
	if name == "" {
		if len(a.Images) == 1 {
			return a.Images[0], nil
		}
		return nil, fmt.Errorf("image: got an archive with %d images, want the name of one: %v", len(a.Images), a.names())
	}
	for _, i := range a.Images {
		for _, n := range i.Names {
			if ref, err := ParseRef(n); err == nil && (ref == name || n == name) {
				return i, nil
			}
		}
	}
	return nil, fmt.Errorf("image %s: %w in the archive, which has %v", name, ErrNoImage, a.names())
}

func (a *Archive) names() []string {
	out := []string{}
	for _, i := range a.Images {
		out = append(out, i.Names...)
	}
	return out
}
