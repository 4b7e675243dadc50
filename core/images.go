package core

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/sandbox"
)

// images are the instance's container images; it implements sandbox.Images.
type images struct {
	c     *Core
	store func() (*oci.Store, error)
}

func newImages(c *Core) *images {
	i := &images{c: c}
	i.store = sync.OnceValues(func() (*oci.Store, error) {
		state, err := c.state()
		if err != nil {
			return nil, err
		}
		return &oci.Store{Dir: filepath.Join(state, "oci"), Progress: i.progress}, nil
	})
	return i
}

// Images gives the store of the instance's images.
func (c *Core) Images() (*oci.Store, error) { return c.images.store() }

func (i *images) progress(text string) { i.c.conf.Log.Info("image", "text", text) }

// Root implements sandbox.Images.
func (i *images) Root(ctx context.Context, image string) (sandbox.Root, func(), error) {
	s, err := i.store()
	if err != nil {
		return sandbox.Root{}, nil, err
	}
	name := image
	if isPath(image) {
		r, err := i.loadFile(ctx, s, image, "", "")
		if err != nil {
			return sandbox.Root{}, nil, err
		}
		name = r.Name
	}
	root, release, err := s.Use(name)
	if err != nil {
		return sandbox.Root{}, nil, err
	}
	return sandbox.Root{Layers: root.Layers, Env: root.Env, Workdir: root.Workdir, Cmd: root.Cmd, User: numeric(root.User)}, release, nil
}

// isPath tells a path from a name: names have no such beginning.
func isPath(image string) bool {
	return strings.HasPrefix(image, "/") || strings.HasPrefix(image, "./") || strings.HasPrefix(image, "../")
}

// numeric is the user of an image as a box takes it; a name is looked up by nobody, so it is root of the box.
func numeric(user string) int {
	first, _, _ := strings.Cut(user, ":")
	n, err := strconv.Atoi(first)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// loadFile unpacks an image of an archive. Without a name it is called by its digest, so that it is found again.
func (i *images) loadFile(ctx context.Context, s *oci.Store, file, pick, name string) (*oci.Record, error) {
	a, err := oci.OpenArchive(ctx, file, s.Limits)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	img, err := a.Pick(pick)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if name == "" {
		name = "file:" + strings.TrimPrefix(img.ID(), "sha256:")[:32]
		if r, err := s.Get(name); err == nil && r.ID == img.ID() {
			return r, nil
		}
	}
	return s.Load(ctx, name, img)
}
