package msb

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/oci/registry"
)

// loadTime bounds a load: msb makes file systems of the layers.
const loadTime = 30 * time.Minute

// loader is the program, tried as far as loading takes it.
func (b *Backend) loader(ctx context.Context) (*tool, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t, err := b.look()
	if err != nil {
		return nil, err
	}
	return t, t.version(ctx)
}

// CanLoad says what is missing for msb to take images. It takes no virtualisation.
func (b *Backend) CanLoad(ctx context.Context) error {
	_, err := b.loader(ctx)
	return err
}

// Sink is an oci.Sink: msb's images. Nothing is written but by msb, which pulls the layers that it does not have from a
// registry in this process.
type Sink struct {
	Backend *Backend
	Ref     string // what the image is called there
	Moved   int64  // bytes of layers that msb took; set by Put
}

// Put implements oci.Sink. msb takes the image under a name with its digest first, which moves the layers that it lacks;
// then the wanted name costs nothing. It is another image's until all of this one is there.
func (s *Sink) Put(ctx context.Context, img *oci.Image) error {
	ref, err := oci.ParseRef(s.Ref)
	if err != nil {
		return err
	}
	t, err := s.Backend.loader(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	if err := s.take(ctx, t, ref, img); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("msb: image %s: %w", ref, err)
	}
	return nil
}

func (s *Sink) take(ctx context.Context, t *tool, ref string, img *oci.Image) error {
	had, err := t.images(ctx)
	if err != nil {
		return err
	}
	name := ref[:strings.LastIndexByte(ref, ':')]
	if had[ref] == img.Digest {
		return nil
	}
	if had[short(name, img.Digest)] != img.Digest {
		if err := s.pull(ctx, t, short(name, img.Digest), img); err != nil {
			return err
		}
	}
	was := had[ref]
	if was == "" {
		return s.pull(ctx, t, ref, img)
	}
	if _, _, err := t.short(ctx, "image", "remove", "-q", ref); err != nil { // a box has it, say
		return s.pull(ctx, t, ref, img, "--force")
	}
	if err := s.pull(ctx, t, ref, img); err != nil {
		return err
	}
	_, _, _ = t.short(ctx, "image", "remove", "-q", short(name, was)) // with layers that no other has, or boxes run on it
	return nil
}

// short is the name of an image by its digest.
func short(name, digest string) string {
	return name + ":" + strings.TrimPrefix(digest, "sha256:")[:12]
}

// pull lets msb pull a name from here. Without --force it moves no layer that msb has, and nothing if msb has the name.
func (s *Sink) pull(ctx context.Context, t *tool, ref string, img *oci.Image, how ...string) error {
	host, path := located(ref)
	reg, err := registry.Serve(img, path)
	if err != nil {
		return err
	}
	d, err := open(host, reg)
	if err != nil {
		return err
	}
	defer d.close()
	ca, err := d.file()
	if err != nil {
		return err
	}
	defer os.Remove(ca)
	_, errs, err := t.finish(ctx, d.env(), append(append([]string{"pull", "-q"}, how...), "--ca-certs", ca, ref)...)
	s.Moved += reg.Bytes()
	if err != nil && reg.Err() != nil { // msb only sees that it was cut off
		return reg.Err()
	}
	if err != nil {
		return fmt.Errorf("msb did not take it: %w: %s", err, clip(errs, 500))
	}
	return nil
}

// images gives the digests of msb's images by their names.
func (t *tool) images(ctx context.Context) (map[string]string, error) {
	out, errs, err := t.short(ctx, "image", "list", "--format", "json")
	if err != nil {
		return nil, fmt.Errorf("failed to list msb's images: %w: %s", err, clip(errs, 500))
	}
	var list []struct{ Reference, Digest string }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("failed to read msb's images: %w", err)
	}
	all := map[string]string{}
	for _, i := range list {
		all[i.Reference] = i.Digest
	}
	return all, nil
}

// located gives the registry that msb would ask for a name, and the name there.
func located(ref string) (host, path string) {
	first, rest, has := strings.Cut(ref, "/")
	if has && (strings.ContainsAny(first, ".:") || first == "localhost") {
		return first, rest
	}
	if !has {
		ref = "library/" + ref
	}
	return "index.docker.io", ref
}

// Images gives the digests of msb's images by their names.
func (b *Backend) Images(ctx context.Context) (map[string]string, error) {
	t, err := b.loader(ctx)
	if err != nil {
		return nil, err
	}
	all, err := t.images(ctx)
	if err != nil {
		return nil, fmt.Errorf("msb: %w", err)
	}
	return all, nil
}
