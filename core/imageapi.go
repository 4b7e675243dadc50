package core

import (
	"context"
	"fmt"
	"strings"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/oci"
)

const specKeys = "{:keys [name tag packages env cmd entrypoint workdir user base arch layers compress conflicts fhs]}"

// imageFunctions are the namespace zeno.oci.
func (c *Core) imageFunctions() []value.Builtin {
	i := c.images
	return []value.Builtin{
		bind.Func("build!", "(["+specKeys+"] [spec archive])",
			"Builds the image of a spec as one archive, an OCI layout and a docker-save tar at once, and gives {:ref … :digest … :id … :archive … :layers … :bytes … :warnings […]}. Without a path the archive is kept by zeno.", i.build),
		bind.Func("load!", "([image] [image to] [image to name])",
			"Takes an image (what build! gave, the path of an archive or a layout, a name in a registry) to :native (the default: unpacked for boxes), :msb (boxes that are microVMs) or :registry, there under the name. Gives what build! gives.", i.load),
		bind.Func("build-and-load!", "(["+specKeys+"] [spec to])",
			"Builds the image of a spec and takes it to :native (the default: unpacked for boxes) or :msb, without an archive. :image of a box takes a spec, too.", i.buildAndLoad),
		bind.Func("images", "([])", "Lists the images that boxes can run on: {:name … :digest … :layers […] :bytes … :created …}.", i.list),
		bind.Func("remove!", "([name])", "Takes an image's name away; gc! removes the layers that no other image has.", i.remove),
		bind.Func("gc!", "([])", "Removes layers that no image has. It refuses while a box runs on an image.", i.gc),
	}
}

func (i *images) build(ctx context.Context, spec ImageSpec, to ...string) (ImageResult, error) {
	m, err := i.made()
	if err != nil {
		return ImageResult{}, err
	}
	if len(to) > 1 {
		return ImageResult{}, fmt.Errorf("build!: got %d arguments, want a spec and a path", 1+len(to))
	}
	archive := ""
	if len(to) == 1 {
		archive = to[0]
	}
	return m.Build(ctx, oci.Spec(spec), archive)
}

func (i *images) buildAndLoad(ctx context.Context, spec ImageSpec, to ...string) (ImageResult, error) {
	m, err := i.made()
	if err != nil {
		return ImageResult{}, err
	}
	switch where := strings.Join(append(to, ""), ""); where {
	case "", "native":
		return m.BuildAndLoad(ctx, oci.Spec(spec))
	case "msb":
		b, err := i.c.boxes.msb()
		if err != nil {
			return ImageResult{}, err
		}
		return m.BuildAndLoadMSB(ctx, b, oci.Spec(spec))
	default:
		return ImageResult{}, fmt.Errorf("build-and-load!: got :%s, want :native or :msb", where)
	}
}

// imageArg is what build! gave, or a text.
type imageArg struct{ from string }

// DecodeLisp implements bind.Decoder.
func (a *imageArg) DecodeLisp(t *value.Thread, v value.Value) error {
	if !v.Kind().IsMap() {
		return bind.Decode(t, v, &a.from)
	}
	data, err := bind.Plain(t, v)
	if err != nil {
		return err
	}
	m, _ := data.(map[string]any)
	a.from, _ = m["archive"].(string)
	if a.from == "" {
		return fmt.Errorf("got a map without :archive, want what build! gives, a path or a name")
	}
	return nil
}

func (i *images) load(ctx context.Context, image imageArg, to ...string) (ImageResult, error) {
	m, err := i.made()
	if err != nil {
		return ImageResult{}, err
	}
	where, name := "native", ""
	if len(to) > 0 {
		where = to[0]
	}
	if len(to) > 1 {
		name = to[1]
	}
	switch where {
	case "native":
		return m.Load(ctx, image.from, "", name)
	case "registry":
		if name == "" {
			return ImageResult{}, fmt.Errorf("load!: got :registry without a name, want one such as \"ghcr.io/me/agent:1\"")
		}
		return m.Push(ctx, image.from, "", name, "zstd")
	case "msb":
		b, err := i.c.boxes.msb()
		if err != nil {
			return ImageResult{}, err
		}
		return m.LoadMSB(ctx, b, image.from, "", name)
	}
	return ImageResult{}, fmt.Errorf("load!: got :%s, want :native, :msb or :registry", where)
}

func (i *images) list() ([]oci.Record, error) {
	m, err := i.made()
	if err != nil {
		return nil, err
	}
	return m.Store().List()
}

func (i *images) remove(name string) error {
	m, err := i.made()
	if err != nil {
		return err
	}
	return m.Store().Remove(name)
}

func (i *images) gc(ctx context.Context) (oci.Collected, error) {
	m, err := i.made()
	if err != nil {
		return oci.Collected{}, err
	}
	return m.Store().GC(ctx, false)
}
