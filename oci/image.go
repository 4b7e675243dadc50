package oci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is an image that can be read: a configuration and layers, the lowest first.
type Image struct {
	Names  []string // that its archive gives it; may be empty
	Digest string   // of its manifest, "sha256:…"; where there is none, that of the configuration
	Raw    []byte   // the configuration as it is hashed
	Config v1.ConfigFile
	Layers []Layer
	ref    string // of one that was built: Names are made of it and the digest
}

// Layer is one layer of an image that can be read.
type Layer struct {
	DiffID    string // sha256:… of the tar without compression
	Digest    string // sha256:… of what Open gives; "" where unknown
	MediaType types.MediaType
	Size      int64  // of what Open gives; 0 where unknown
	Label     string // what is in it, for people
	checked   bool   // what Open gives fails where it is not what Digest says
	// Open gives the tar, compressed or not: readers find out.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// ID is the digest of the configuration, which names every layer: what docker calls the image's id.
func (i *Image) ID() string { return digest(i.Raw) }

func digest(b []byte) string {
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:])
}

// newImage checks that configuration and layers belong together.
func newImage(raw []byte, layers []Layer, lim Limits) (*Image, error) {
	i := &Image{Raw: raw, Layers: layers, Digest: digest(raw)}
	if err := json.Unmarshal(raw, &i.Config); err != nil {
		return nil, fmt.Errorf("image: failed to read the configuration: %w", err)
	}
	ids := i.Config.RootFS.DiffIDs
	if len(ids) != len(layers) {
		return nil, fmt.Errorf("image: got %d layers and %d digests of layers in the configuration, want as many", len(layers), len(ids))
	}
	if len(layers) > lim.Layers {
		return nil, &LimitError{"layers", int64(len(layers)), int64(lim.Layers)}
	}
	if os := i.Config.OS; os != "" && os != "linux" {
		return nil, fmt.Errorf("image: got one for %s, want linux", os)
	}
	for n, id := range ids {
		if id.Algorithm != "sha256" || !isHex(id.Hex) {
			return nil, fmt.Errorf("image: digest of layer %d: got %q, want sha256", n, id)
		}
		layers[n].DiffID = id.String()
	}
	return i, nil
}

// Expressions are made when they are first used: a program that uses no image does not pay for them.
var refForm = form(`^(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]{1,5})?/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$`)

func form(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}

// isHex tells a sha256 in hex.
func isHex(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

// ParseRef gives a name with its tag: "zeno-agent" is "zeno-agent:latest".
func ParseRef(s string) (string, error) {
	if len(s) > 255 || !refForm().MatchString(s) {
		return "", fmt.Errorf("image: name: got %q, want one such as zeno-agent:base or ghcr.io/me/agent:1", cut(s))
	}
	if !strings.Contains(s[strings.LastIndexByte(s, '/')+1:], ":") {
		s += ":latest"
	}
	return s, nil
}

func cut(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// ErrNoImage is the cause of errors about a name that is not there.
var ErrNoImage = errors.New("no such image")

// NewImage makes an image of a configuration and layers that were read elsewhere, and checks that they belong together.
func NewImage(config []byte, digest string, layers []Layer, lim Limits) (*Image, error) {
	i, err := newImage(config, layers, lim.WithDefaults())
	if err == nil && digest != "" {
		i.Digest = digest
	}
	return i, err
}
