// Package registry reads images from and writes them to container registries.
//
// The one invariant: what is pulled is called by a digest, and each layer is checked against it when it is read. Credentials
// are those of docker login (~/.docker/config.json and its helpers); none is written, shown or put into an error.
//
// Start reading at [Pull] and [Sink].
package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/reflection-dev/zeno/oci"
)

// Pull gives an image of a registry. Its layers are fetched when they are read, each up to where that stops.
func Pull(ctx context.Context, ref, arch string, lim oci.Limits) (*oci.Image, error) {
	r, err := name.ParseReference(ref)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	img, err := remote.Image(r, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(shared()), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
	if err != nil {
		return nil, explain(ref, err)
	}
	out, err := taken(img, lim)
	if err != nil {
		return nil, explain(ref, err)
	}
	out.Names = []string{r.Name()}
	return out, nil
}

// taken makes of a remote image one of ours.
func taken(img v1.Image, lim oci.Limits) (*oci.Image, error) {
	raw, err := img.RawConfigFile()
	if err != nil {
		return nil, err
	}
	m, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	d, err := img.Digest()
	if err != nil {
		return nil, err
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) != len(m.Layers) {
		return nil, fmt.Errorf("got %d layers and %d in the manifest", len(layers), len(m.Layers))
	}
	var out []oci.Layer
	for i, l := range layers {
		out = append(out, oci.Layer{Digest: m.Layers[i].Digest.String(), Size: m.Layers[i].Size, MediaType: m.Layers[i].MediaType,
			Open: func(context.Context) (io.ReadCloser, error) {
				r, err := l.Compressed()
				if err != nil {
					return nil, err
				}
				return &download{r, m.Layers[i].Digest}, nil
			}})
	}
	return oci.NewImage(raw, d.String(), out, lim)
}

// download is a layer on its way.
type download struct {
	io.ReadCloser
	digest v1.Hash
}

// Read implements io.Reader.
func (d *download) Read(b []byte) (int, error) {
	n, err := d.ReadCloser.Read(b)
	var slow net.Error
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &slow) {
		err = fmt.Errorf("the download of %s broke off (%w): try again, layers that are whole are kept", d.digest, err)
	}
	return n, err
}

// explain says what to do. Errors of the library carry addresses and no credentials.
func explain(ref string, err error) error {
	var t *transport.Error
	if errors.As(err, &t) {
		switch t.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Errorf("image %s: the registry refused: log in with docker login or podman login --authfile ~/.docker/config.json, or check the name: %w", ref, err)
		case http.StatusNotFound:
			return fmt.Errorf("image %s: %w in the registry: check the name and the tag", ref, oci.ErrNoImage)
		}
	}
	if errors.Is(err, remote.ErrSchema1) {
		return fmt.Errorf("image %s: the registry has it in docker's schema 1 only, which nobody reads any more: push it again with a docker of today", ref)
	}
	return fmt.Errorf("image %s: %w", ref, err)
}

// Sink writes an image to a registry under a name.
type Sink struct{ Ref string }

// Put implements oci.Sink. Layers that are there are not sent; the manifest is sent last.
func (s Sink) Put(ctx context.Context, img *oci.Image) error {
	r, err := name.ParseReference(s.Ref)
	if err != nil {
		return fmt.Errorf("image %s: %w", s.Ref, err)
	}
	given, err := give(ctx, img)
	if err != nil {
		return err
	}
	if err := remote.Write(r, given, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(shared())); err != nil {
		return explain(s.Ref, err)
	}
	return nil
}

// given is a settled image as the library takes it.
type given struct {
	img      *oci.Image
	manifest *v1.Manifest
	raw      []byte
	layers   []v1.Layer
}

func give(ctx context.Context, img *oci.Image) (*given, error) {
	raw, m, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	g := &given{img: img, manifest: m, raw: raw}
	for i, l := range img.Layers {
		g.layers = append(g.layers, &layer{ctx: ctx, layer: l, desc: m.Layers[i]})
	}
	return g, nil
}

func (g *given) Layers() ([]v1.Layer, error)         { return g.layers, nil }
func (g *given) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (g *given) Size() (int64, error)                { return int64(len(g.raw)), nil }
func (g *given) ConfigName() (v1.Hash, error)        { return g.manifest.Config.Digest, nil }
func (g *given) ConfigFile() (*v1.ConfigFile, error) { return &g.img.Config, nil }
func (g *given) RawConfigFile() ([]byte, error)      { return g.img.Raw, nil }
func (g *given) Digest() (v1.Hash, error)            { return v1.NewHash(g.img.Digest) }
func (g *given) Manifest() (*v1.Manifest, error)     { return g.manifest, nil }
func (g *given) RawManifest() ([]byte, error)        { return g.raw, nil }
func (g *given) LayerByDiffID(h v1.Hash) (v1.Layer, error) {
	return g.by(func(l *layer) bool { return l.layer.DiffID == h.String() })
}
func (g *given) LayerByDigest(h v1.Hash) (v1.Layer, error) {
	return g.by(func(l *layer) bool { return l.desc.Digest == h })
}

func (g *given) by(is func(*layer) bool) (v1.Layer, error) {
	for _, l := range g.layers {
		if is(l.(*layer)) {
			return l, nil
		}
	}
	return nil, errors.New("no such layer")
}

type layer struct {
	ctx   context.Context
	layer oci.Layer
	desc  v1.Descriptor
}

func (l *layer) Digest() (v1.Hash, error)             { return l.desc.Digest, nil }
func (l *layer) DiffID() (v1.Hash, error)             { return v1.NewHash(l.layer.DiffID) }
func (l *layer) Size() (int64, error)                 { return l.desc.Size, nil }
func (l *layer) MediaType() (types.MediaType, error)  { return l.desc.MediaType, nil }
func (l *layer) Compressed() (io.ReadCloser, error)   { return l.layer.Open(l.ctx) }
func (l *layer) Uncompressed() (io.ReadCloser, error) { return l.layer.Plain(l.ctx) }
