package oci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	mediaPlain  = types.OCIUncompressedLayer
	mediaGzip   = types.OCILayer
	mediaZstd   = types.OCILayerZStd
	mediaConfig = types.OCIConfigJSON
)

// manifest names configuration and layers by their digests, which must be known.
func (i *Image) manifest() ([]byte, error) {
	conf, err := v1.NewHash(i.ID())
	if err != nil {
		return nil, err
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Config: v1.Descriptor{MediaType: mediaConfig, Size: int64(len(i.Raw)), Digest: conf}}
	for n, l := range i.Layers {
		h, err := v1.NewHash(l.Digest)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", n, err)
		}
		m.Layers = append(m.Layers, v1.Descriptor{MediaType: l.MediaType, Size: l.Size, Digest: h})
	}
	return json.Marshal(m)
}

// Settle gives the image with what its layers are stored as known: compressed where kind is gzip or zstd and they are not,
// all plain where it is none, since tools take an archive's layers for what the first is, and as they are where it is "".
// What has to be written for that is in dir, which release removes.
func (i *Image) Settle(ctx context.Context, kind, dir string) (img *Image, release func(), err error) {
	out := *i
	out.Layers = make([]Layer, len(i.Layers))
	temp, err := os.MkdirTemp(dir, tempPrefix)
	if err != nil {
		return nil, nil, err
	}
	release = func() { os.RemoveAll(temp) }
	for n, l := range i.Layers {
		if err := l.identify(ctx); err != nil {
			release()
			return nil, nil, fmt.Errorf("layer %s: %w", l.DiffID, err)
		}
		if l, err = l.stored(ctx, kind, filepath.Join(temp, fmt.Sprint(n))); err != nil {
			release()
			return nil, nil, fmt.Errorf("layer %s: %w", l.DiffID, err)
		}
		out.Layers[n] = l
	}
	if err := out.name(); err != nil {
		release()
		return nil, nil, err
	}
	return &out, release, nil
}

// name gives the image its digest, which all layers' make. One that was built has it among its names.
func (i *Image) name() error {
	raw, err := i.manifest()
	if err != nil {
		return err
	}
	i.Digest = digest(raw)
	if i.ref != "" {
		name := i.ref[:strings.LastIndexByte(i.ref, ':')]
		i.Names = []string{i.ref, name + ":" + strings.TrimPrefix(i.Digest, "sha256:")[:12]}
	}
	return nil
}

// stored gives the layer as kind says; what has to be written for that is the file.
func (l Layer) stored(ctx context.Context, kind, file string) (Layer, error) {
	switch {
	case kind == "":
	case kind == "none" && l.MediaType != mediaPlain:
		return l.expand(ctx, file)
	case kind != "none" && l.MediaType == mediaPlain:
		return l.compress(ctx, kind, file)
	}
	return l, nil
}

// expand writes the layer without its compression to a file, and checks that it is the one it is called.
func (l Layer) expand(ctx context.Context, file string) (Layer, error) {
	r, err := l.Plain(ctx)
	if err != nil {
		return l, err
	}
	defer r.Close()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return l, err
	}
	defer f.Close()
	most := Limits{}.WithDefaults().Bytes
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(&contextReader{ctx, r}, most+1))
	if err != nil {
		return l, err
	}
	if n > most {
		return l, &LimitError{"bytes of a layer, unpacked", n, most}
	}
	if got := "sha256:" + hex.EncodeToString(h.Sum(nil)); got != l.DiffID {
		return l, fmt.Errorf("got content with digest %s, want %s", got, l.DiffID)
	}
	l.Digest, l.Size, l.MediaType = l.DiffID, n, mediaPlain
	l.Open = func(context.Context) (io.ReadCloser, error) { return os.Open(file) }
	return l, f.Close()
}

// identify finds out what a layer is stored as, where its archive did not say.
func (l *Layer) identify(ctx context.Context) error {
	if l.Digest != "" && l.Size > 0 {
		switch l.MediaType {
		case types.DockerLayer:
			l.MediaType = mediaGzip
		case types.DockerUncompressedLayer:
			l.MediaType = mediaPlain
		}
		return nil
	}
	r, err := l.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	h := sha256.New()
	var head [4]byte
	k, err := io.ReadFull(r, head[:])
	if err != nil && err != io.ErrUnexpectedEOF {
		return err
	}
	h.Write(head[:k])
	n, err := io.Copy(h, &contextReader{ctx, r})
	if err != nil {
		return err
	}
	l.Digest, l.Size, l.MediaType = "sha256:"+hex.EncodeToString(h.Sum(nil)), n+int64(k), mediaPlain
	if compressed(head[:]) {
		if l.MediaType = mediaGzip; head[0] != 0x1f {
			l.MediaType = mediaZstd
		}
	}
	return nil
}

// compress writes the layer, compressed at the fastest level, to a file.
func (l Layer) compress(ctx context.Context, kind, file string) (Layer, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return l, err
	}
	defer f.Close()
	h := sha256.New()
	both := io.MultiWriter(f, h)
	var z io.WriteCloser
	if l.MediaType = mediaGzip; kind == "zstd" {
		l.MediaType = mediaZstd
		z, err = zstd.NewWriter(both, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	} else {
		z, err = gzip.NewWriterLevel(both, gzip.BestSpeed)
	}
	if err != nil {
		return l, err
	}
	r, err := l.Open(ctx)
	if err != nil {
		return l, err
	}
	defer r.Close()
	if _, err := io.Copy(z, r); err != nil {
		return l, err
	}
	if err := z.Close(); err != nil {
		return l, err
	}
	st, err := f.Stat()
	if err != nil {
		return l, err
	}
	l.Digest, l.Size = "sha256:"+hex.EncodeToString(h.Sum(nil)), st.Size()
	l.Open = func(context.Context) (io.ReadCloser, error) { return os.Open(file) }
	return l, f.Close()
}

// Manifest gives the manifest of a settled image, as it is hashed and as it is read.
func (i *Image) Manifest() ([]byte, *v1.Manifest, error) {
	raw, err := i.manifest()
	if err != nil {
		return nil, nil, err
	}
	var m v1.Manifest
	return raw, &m, json.Unmarshal(raw, &m)
}

// Plain gives the tar without compression.
func (l Layer) Plain(ctx context.Context) (io.ReadCloser, error) {
	r, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	p, err := plain(r)
	if err != nil {
		r.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{p, closers{p, r}}, nil
}

type closers [2]io.Closer

func (c closers) Close() error { return errors.Join(c[0].Close(), c[1].Close()) }
