package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/sandbox/msb"
)

// LoadMSB takes an image into msb: of an archive, a layout directory or a registry, see Load. Layers that msb has are not
// moved, and nothing is unpacked here.
func (i *Images) LoadMSB(ctx context.Context, b *msb.Backend, from, pick, name string) (ImageResult, error) {
	if err := b.CanLoad(ctx); err != nil {
		return ImageResult{}, err
	}
	img, name, done, err := i.open(ctx, from, pick, name)
	if err != nil {
		return ImageResult{}, err
	}
	defer done()
	return i.putMSB(ctx, b, name, img)
}

// BuildAndLoadMSB makes the image of a spec and lets msb take it straight from the packages. No archive is written.
func (i *Images) BuildAndLoadMSB(ctx context.Context, b *msb.Backend, spec oci.Spec) (ImageResult, error) {
	return i.buildMSB(ctx, b, spec, spec.WithDefaults().Ref(), nil)
}

func (i *Images) buildMSB(ctx context.Context, b *msb.Backend, spec oci.Spec, ref string, secrets []string) (ImageResult, error) {
	if err := b.CanLoad(ctx); err != nil {
		return ImageResult{}, err
	}
	spec.Compress = "" // what does not leave this machine is not worth it
	built, err := i.builder(secrets).Build(ctx, spec)
	if err != nil {
		return ImageResult{}, err
	}
	defer built.Close()
	r, err := i.putMSB(ctx, b, ref, built.Image)
	r.Warnings = built.Warnings
	return r, err
}

func (i *Images) putMSB(ctx context.Context, b *msb.Backend, ref string, img *oci.Image) (ImageResult, error) {
	i.say("%s: msb takes it", ref)
	settled, err := i.save(ctx, img, "", &msb.Sink{Backend: b, Ref: ref})
	if err != nil {
		return ImageResult{}, err
	}
	return result(ref, settled), nil
}

// forMSB gives the name in msb of a box's image that is an archive or an image spec: it is taken there at the first use.
func (i *Images) forMSB(ctx context.Context, b *msb.Backend, image string, secrets []string) (string, error) {
	if isPath(image) {
		return i.fileForMSB(ctx, b, image)
	}
	var spec oci.Spec
	if err := json.Unmarshal([]byte(image), &spec); err != nil {
		return "", fmt.Errorf("image: failed to read the spec: %w", err)
	}
	name, err := specName(&spec, secrets)
	if err != nil {
		return "", err
	}
	ref := "zeno/" + strings.ReplaceAll(name, ":", ":v")
	return ref, i.onceForMSB(ctx, b, ref, func() error {
		_, err := i.buildMSB(ctx, b, spec, ref, secrets)
		return err
	})
}

func (i *Images) fileForMSB(ctx context.Context, b *msb.Backend, path string) (string, error) {
	img, _, done, err := i.open(ctx, path, "", "box")
	if err != nil {
		return "", err
	}
	defer done()
	ref := "zeno/file:v" + strings.TrimPrefix(img.ID(), "sha256:")[:32]
	return ref, i.onceForMSB(ctx, b, ref, func() error {
		_, err := i.putMSB(ctx, b, ref, img)
		return err
	})
}

// onceForMSB makes what msb does not have.
func (i *Images) onceForMSB(ctx context.Context, b *msb.Backend, ref string, put func() error) error {
	done, err := i.alone(ctx)
	if err != nil {
		return err
	}
	defer done()
	had, err := b.Images(ctx)
	if err != nil || had[ref] != "" {
		return err
	}
	return put()
}
