package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/oci/dpkg"
	"github.com/reflection-dev/zeno/oci/nix"
	"github.com/reflection-dev/zeno/oci/registry"
	"github.com/reflection-dev/zeno/sandbox"
)

// Images builds, keeps and moves container images. It implements sandbox.Images. Several processes may use one directory.
type Images struct {
	Dir      string            // state/oci of a home
	Progress func(text string) // nil: nobody is told

	once     sync.Once
	building chan struct{} // one load or build for a box at a time: the second finds what the first made
}

// alone waits until no other builds.
func (i *Images) alone(ctx context.Context) (done func(), err error) {
	i.once.Do(func() { i.building = make(chan struct{}, 1) })
	select {
	case i.building <- struct{}{}:
		return func() { <-i.building }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Store gives the unpacked images.
func (i *Images) Store() *oci.Store {
	return &oci.Store{Dir: i.Dir, Progress: i.Progress}
}

func (i *Images) builder(secrets []string) *oci.Builder {
	pull := func(ctx context.Context, name, arch string) (*oci.Image, error) {
		return registry.Pull(ctx, name, arch, oci.Limits{})
	}
	return &oci.Builder{Host: &dpkg.Source{}, Nix: &nix.Source{Roots: filepath.Join(i.Dir, "roots")}, Pull: pull, Cache: filepath.Join(i.Dir, "digests"),
		Secrets: secrets, Progress: i.Progress}
}

// ImageResult is an image that was made or moved.
type ImageResult struct {
	Ref      string   `json:"ref" lisp:"ref"`
	Digest   string   `json:"digest" lisp:"digest"`
	ID       string   `json:"id" lisp:"id"`
	Archive  string   `json:"archive,omitempty" lisp:"archive,omitempty"`
	Layers   int      `json:"layers" lisp:"layers"`
	Bytes    int64    `json:"bytes" lisp:"bytes"`
	Warnings []string `json:"warnings,omitempty" lisp:"warnings,omitempty"`
}

// Build makes the image of a spec as one archive; to "" is one of the store's own.
func (i *Images) Build(ctx context.Context, spec oci.Spec, to string) (ImageResult, error) {
	spec = spec.WithDefaults()
	if to == "" {
		to = filepath.Join(i.Dir, "archives", spec.Hash()[:32]+".tar")
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return ImageResult{}, err
		}
	}
	return i.BuildTo(ctx, spec, to, oci.ArchiveFile{Path: to, Notes: filepath.Join(i.Dir, "written")})
}

// BuildTo is Build with another sink; to is what people and the result call it.
func (i *Images) BuildTo(ctx context.Context, spec oci.Spec, to string, sink oci.Sink) (ImageResult, error) {
	spec = spec.WithDefaults()
	built, err := i.builder(nil).Build(ctx, spec)
	if err != nil {
		return ImageResult{}, err
	}
	defer built.Close()
	i.say("%s: writing", spec.Ref())
	img, err := i.save(ctx, built.Image, spec.Compress, sink)
	if err != nil {
		return ImageResult{}, err
	}
	r := result(spec.Ref(), img)
	r.Archive, r.Warnings = to, built.Warnings
	return r, nil
}

func (i *Images) save(ctx context.Context, img *oci.Image, kind string, to oci.Sink) (*oci.Image, error) {
	if err := os.MkdirAll(i.Dir, 0o700); err != nil {
		return nil, err
	}
	return oci.Save(ctx, img, kind, i.Dir, to)
}

func (i *Images) say(format string, args ...any) {
	if i.Progress != nil {
		i.Progress(fmt.Sprintf(format, args...))
	}
}

func result(ref string, img *oci.Image) ImageResult {
	r := ImageResult{Ref: ref, Digest: img.Digest, ID: img.ID(), Layers: len(img.Layers)}
	for _, l := range img.Layers {
		r.Bytes += l.Size
	}
	return r
}

// BuildAndLoad makes the image of a spec and unpacks it for the native backend. No archive is written.
func (i *Images) BuildAndLoad(ctx context.Context, spec oci.Spec) (ImageResult, error) {
	return i.buildAs(ctx, spec, spec.WithDefaults().Ref(), nil)
}

func (i *Images) buildAs(ctx context.Context, spec oci.Spec, name string, secrets []string) (ImageResult, error) {
	spec.Compress = "" // layers are unpacked
	built, err := i.builder(secrets).Build(ctx, spec)
	if err != nil {
		return ImageResult{}, err
	}
	defer built.Close()
	rec, err := i.Store().Load(ctx, name, built.Image)
	if err != nil {
		return ImageResult{}, err
	}
	r := result(rec.Name, built.Image)
	r.Warnings = built.Warnings
	return r, nil
}

// Load unpacks an image for the native backend: of an archive or a layout directory, or of a registry. pick is which one of
// the archive, name what it is to be called; "" is what it is called there.
func (i *Images) Load(ctx context.Context, from, pick, name string) (ImageResult, error) {
	img, name, done, err := i.open(ctx, from, pick, name)
	if err != nil {
		return ImageResult{}, err
	}
	defer done()
	rec, err := i.Store().Load(ctx, name, img)
	if err != nil {
		return ImageResult{}, err
	}
	r := result(rec.Name, img)
	r.Bytes = rec.Bytes
	return r, nil
}

// open finds an image, and its name where that is "". It can be read until done.
func (i *Images) open(ctx context.Context, from, pick, name string) (img *oci.Image, called string, done func(), err error) {
	if !isPath(from) && !exists(from) {
		i.say("%s: pulling", from)
		img, err = registry.Pull(ctx, from, oci.Spec{}.WithDefaults().Arch, oci.Limits{})
		if name == "" {
			name = strings.SplitN(from, "@", 2)[0]
		}
		return img, name, func() {}, err
	}
	a, err := oci.OpenArchive(ctx, from, oci.Limits{})
	if err != nil {
		return nil, "", nil, err
	}
	img, err = a.Pick(pick)
	if err != nil {
		a.Close()
		return nil, "", nil, fmt.Errorf("%s: %w", from, err)
	}
	if name == "" && len(img.Names) > 0 {
		name = img.Names[0]
	}
	if name == "" {
		a.Close()
		return nil, "", nil, fmt.Errorf("image %s: got an archive without a name, want one: --name NAME, :name", from)
	}
	return img, name, func() { a.Close() }, nil
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// Push writes an image of an archive to a registry, compressed as kind says.
func (i *Images) Push(ctx context.Context, from, pick, ref, kind string) (ImageResult, error) {
	a, err := oci.OpenArchive(ctx, from, oci.Limits{})
	if err != nil {
		return ImageResult{}, err
	}
	defer a.Close()
	img, err := a.Pick(pick)
	if err != nil {
		return ImageResult{}, fmt.Errorf("%s: %w", from, err)
	}
	i.say("%s: pushing", ref)
	if img, err = i.save(ctx, img, kind, registry.Sink{Ref: ref}); err != nil {
		return ImageResult{}, err
	}
	return result(ref, img), nil
}

// Root implements sandbox.Images.
func (i *Images) Root(ctx context.Context, image string, secrets []string) (sandbox.Root, func(), error) {
	name, err := i.named(ctx, image, secrets)
	if err != nil {
		return sandbox.Root{}, nil, err
	}
	root, release, err := i.Store().Use(name)
	if err != nil {
		return sandbox.Root{}, nil, err
	}
	return sandbox.Root{Layers: root.Layers, Env: root.Env, Workdir: root.Workdir, Cmd: root.Cmd, User: numeric(root.User)}, release, nil
}

// named gives the name of an image that is loaded: it loads or builds the one that is a path or a spec.
func (i *Images) named(ctx context.Context, image string, secrets []string) (string, error) {
	switch {
	case strings.HasPrefix(image, "{"):
		var spec oci.Spec
		if err := json.Unmarshal([]byte(image), &spec); err != nil {
			return "", fmt.Errorf("image: failed to read the spec: %w", err)
		}
		return i.built(ctx, spec, secrets)
	case isPath(image):
		return i.file(ctx, image)
	}
	return image, nil
}

// built builds the image of a spec where it is not there. It is called by its spec and by the state of what it is built
// from, as far as that is a file: after an upgrade of the host's packages it is another image.
func (i *Images) built(ctx context.Context, spec oci.Spec, secrets []string) (string, error) {
	name, err := specName(&spec, secrets)
	if err != nil {
		return "", err
	}
	done, err := i.alone(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if _, release, err := i.Store().Use(name); err == nil {
		release()
		return name, nil
	}
	_, err = i.buildAs(ctx, spec, name, secrets)
	return name, err
}

// specName is what the image of a box's spec is called.
func specName(spec *oci.Spec, secrets []string) (string, error) {
	if spec.Name == "" {
		spec.Name = "box"
	}
	full := spec.WithDefaults()
	return "spec:" + spec.Hash()[:32] + state(*spec), full.Validate(secrets)
}

// state tells states of the files that a spec builds from apart: of the host's packages, an archive, flakes in directories.
// What stands behind the name of a flake or a registry is not asked for: that takes a network.
func state(spec oci.Spec) string {
	out := ""
	file := spec.Base.Tar
	if len(spec.Base.Host) > 0 {
		file = dpkg.StatusFile
	}
	if st, err := os.Stat(file); file != "" && err == nil { // else building says what is wrong
		out = fmt.Sprintf("-%x-%x", st.ModTime().UnixNano(), st.Size())
	}
	if h := flakeState(spec.Packages); h != "" {
		out += "-" + h
	}
	return out
}

// maxFlake is how many files of flakes are looked at.
const maxFlake = 20_000

// flakeState changes with the files of flakes that are directories; "" where there is none.
func flakeState(packages []string) string {
	dirs := map[string]bool{}
	for _, p := range packages {
		flake, _, named := strings.Cut(p, "#")
		flake, _, _ = strings.Cut(strings.TrimPrefix(flake, "path:"), "?")
		if named && (isPath(flake) || flake == "." || flake == "..") {
			dirs[flake] = true
		}
	}
	if len(dirs) == 0 {
		return ""
	}
	h, n := sha256.New(), 0
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		_ = filepath.WalkDir(d, func(path string, e fs.DirEntry, err error) error {
			if n++; err != nil || n > maxFlake {
				return fs.SkipAll
			}
			if e.IsDir() && e.Name() == ".git" {
				return fs.SkipDir
			}
			if st, err := e.Info(); err == nil && !e.IsDir() {
				fmt.Fprintf(h, "%q %d %d %v\n", path, st.ModTime().UnixNano(), st.Size(), st.Mode())
			}
			return nil
		})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// file loads the image of an archive where it is not there. It is called by its content.
func (i *Images) file(ctx context.Context, path string) (string, error) {
	a, err := oci.OpenArchive(ctx, path, oci.Limits{})
	if err != nil {
		return "", err
	}
	defer a.Close()
	img, err := a.Pick("")
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	name := "file:" + strings.TrimPrefix(img.ID(), "sha256:")[:32]
	done, err := i.alone(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if _, release, err := i.Store().Use(name); err == nil {
		release()
		return name, nil
	}
	_, err = i.Store().Load(ctx, name, img)
	return name, err
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

// images are those of the instance, made at the first use.
type images struct {
	c    *Core
	made func() (*Images, error)
}

func newImages(c *Core) *images {
	return &images{c: c, made: sync.OnceValues(func() (*Images, error) {
		state, err := c.state()
		if err != nil {
			return nil, err
		}
		return &Images{Dir: filepath.Join(state, "oci"), Progress: func(text string) { c.conf.Log.Info("image", "text", text) }}, nil
	})}
}

// Root implements sandbox.Images.
func (i *images) Root(ctx context.Context, image string, secrets []string) (sandbox.Root, func(), error) {
	m, err := i.made()
	if err != nil {
		return sandbox.Root{}, nil, err
	}
	return m.Root(ctx, image, secrets)
}
