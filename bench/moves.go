package main

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/oci"
)

// layersOfImages is how many layers an image has at most.
const layersOfImages = 60

// storeSource gives the paths of the closure to a builder, without nix.
type storeSource struct {
	root string
	all  []storePath
}

// Realise implements oci.Source.
func (s storeSource) Realise(context.Context, *oci.Spec, func(string)) (*oci.Closure, error) {
	c := &oci.Closure{}
	for _, p := range s.all {
		c.Packages = append(c.Packages, oci.Package{Name: p.short(), Label: p.name, Key: p.path(), Size: int64(p.kib) << 10,
			Files: func(ctx context.Context, yield func(oci.File) error) error { return s.files(ctx, p, yield) }})
	}
	return c, nil
}

func (s storeSource) files(ctx context.Context, p storePath, yield func(oci.File) error) error {
	top := filepath.Join(s.root, p.path())
	return filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		return yield(oci.File{Name: p.path()[1:] + strings.TrimPrefix(at, top), Mode: st.Mode(), Size: st.Size(), Path: at})
	})
}

// layers gives the layers of the closure's image: bytes by digest.
func (b *imageBench) layers(cache string) (map[string]int64, error) {
	built, err := (&oci.Builder{Nix: storeSource{filepath.Join(b.dir, "root"), b.all}, Cache: cache}).Build(context.Background(),
		oci.Spec{Name: "agent", Packages: agentPackages, Layers: layersOfImages})
	if err != nil {
		return nil, err
	}
	defer built.Close()
	out := map[string]int64{}
	for _, l := range built.Layers {
		out[l.DiffID] = l.Size
	}
	return out, nil
}

// moves lets each path of the closure have a new version, one at a time, and counts the bytes of the layers that are new,
// beside those of the path, which no image can do without.
func (b *imageBench) moves() ([]measured, error) {
	cache := filepath.Join(b.dir, "digests")
	before, err := b.layers(cache)
	if err != nil {
		return nil, err
	}
	var moved, popular, least int64
	byNeed := b.byNeed()
	for i := range b.all {
		p := &b.all[i]
		p.rev++
		if err := p.make(filepath.Join(b.dir, "root")); err != nil {
			return nil, err
		}
		after, err := b.layers(cache)
		if err != nil {
			return nil, err
		}
		for id, n := range after {
			if _, had := before[id]; !had {
				moved += n
			}
		}
		own := int64(p.kib) << 10
		least += own
		if rank := slices.Index(byNeed, p.short()); rank < layersOfImages-2 {
			popular += own
		} else {
			for _, q := range byNeed[layersOfImages-2:] {
				popular += b.size(q)
			}
		}
		if err := os.RemoveAll(filepath.Join(b.dir, "root", p.path())); err != nil {
			return nil, err
		}
		p.rev--
	}
	return []measured{
		{"bytes moved by a new version of one path, any one, at 60 layers, beside that path's", float64(moved) / float64(least), 1.1, "x"},
		{"those of layers by popularity (dockerTools): the most needed have their own, the others share one", float64(popular) / float64(least), 0, "x"},
	}, nil
}

func (b *imageBench) size(short string) int64 {
	for _, p := range b.all {
		if p.short() == short {
			return int64(p.kib) << 10
		}
	}
	return 0
}

// byNeed gives the paths by how many others need them.
func (b *imageBench) byNeed() []string {
	count := map[string]int{}
	for _, p := range b.all {
		for _, q := range below(b.all, p.short()) {
			count[q.short()]++
		}
	}
	return slices.SortedStableFunc(maps.Keys(count), func(x, y string) int {
		if count[x] != count[y] {
			return count[y] - count[x]
		}
		return strings.Compare(x, y)
	})
}
