package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Builder makes images from specs.
type Builder struct {
	// Nix and Host are where Packages and Base.Host come from; nil: this program has no such source.
	Nix, Host Source
	// Pull gives the image of Base.OCI; nil: no registry can be reached.
	Pull func(ctx context.Context, name, arch string) (*Image, error)
	// Cache is a directory for digests of layers; "": every layer is read for its digest.
	Cache    string
	Secrets  []string // names that no environment may have
	Limits   Limits
	Progress func(text string)
}

// Built is an image that was made. Its layers are read from the packages when they are opened. Where layers are to be
// compressed, or the base's are, its Digest is the configuration's until it is saved.
type Built struct {
	*Image
	Ref      string
	Warnings []string
	release  []func()
}

// Close frees the packages: the image cannot be read after.
func (b *Built) Close() {
	for _, f := range slices.Backward(b.release) {
		f()
	}
	b.release = nil
}

func (b *Builder) say(format string, args ...any) {
	if b.Progress != nil {
		b.Progress(fmt.Sprintf(format, args...))
	}
}

// Build makes the image of a spec. Nothing is written but the cache of digests: a sink does that.
func (b *Builder) Build(ctx context.Context, spec Spec) (*Built, error) {
	spec = spec.WithDefaults()
	if err := spec.Validate(b.Secrets); err != nil {
		return nil, err
	}
	m := &making{b: b, spec: &spec, out: &Built{Image: &Image{}, Ref: spec.Ref()}}
	if err := m.all(ctx); err != nil {
		m.out.Close()
		return nil, fmt.Errorf("image %s: %w", spec.Ref(), err)
	}
	return m.out, nil
}

// making is one build.
type making struct {
	b    *Builder
	spec *Spec
	out  *Built
	conf v1.ConfigFile
	env  map[string]string
	path []string
}

func (m *making) all(ctx context.Context) error {
	m.conf = v1.ConfigFile{Architecture: m.spec.Arch, OS: "linux", RootFS: v1.RootFS{Type: "layers"}, Created: v1.Time{Time: time.Unix(1, 0).UTC()}}
	m.env = map[string]string{}
	if err := m.base(ctx); err != nil {
		return err
	}
	closures, err := m.realise(ctx)
	if err != nil {
		return err
	}
	if err := m.layers(ctx, closures); err != nil {
		return err
	}
	return m.config()
}

// base starts from another image.
func (m *making) base(ctx context.Context) error {
	var img *Image
	switch {
	case m.spec.Base.Tar != "":
		a, err := OpenArchive(ctx, m.spec.Base.Tar, m.b.Limits)
		if err != nil {
			return err
		}
		m.out.release = append(m.out.release, func() { a.Close() })
		if img, err = a.Pick(""); err != nil {
			return err
		}
	case m.spec.Base.OCI != "":
		if m.b.Pull == nil {
			return errors.New(":base :oci: got a name in a registry, and this program reaches none")
		}
		var err error
		m.b.say("%s: pulling %s", m.spec.Ref(), m.spec.Base.OCI)
		if img, err = m.b.Pull(ctx, m.spec.Base.OCI, m.spec.Arch); err != nil {
			return err
		}
	default:
		return nil
	}
	if a := img.Config.Architecture; a != "" && a != m.spec.Arch {
		return fmt.Errorf(":base: got an image for %s, want %s", a, m.spec.Arch)
	}
	m.conf.Config = img.Config.Config
	m.conf.RootFS.DiffIDs = slices.Clone(img.Config.RootFS.DiffIDs)
	m.out.Layers = slices.Clone(img.Layers)
	for _, e := range m.conf.Config.Env {
		if k, v, ok := strings.Cut(e, "="); ok {
			m.env[k] = v
		}
	}
	return nil
}

func (m *making) realise(ctx context.Context) ([]*Closure, error) {
	var out []*Closure
	for _, s := range []struct {
		wanted  bool
		source  Source
		missing string
	}{
		{len(m.spec.Base.Host) > 0, m.b.Host, ":base :host: this program takes no packages of the host"},
		{len(m.spec.Packages) > 0, m.b.Nix, ":packages: this program does not call nix; :base {:host […]} takes Debian packages of this host"},
	} {
		if !s.wanted {
			continue
		}
		if s.source == nil {
			return nil, errors.New(s.missing)
		}
		c, err := s.source.Realise(ctx, m.spec, func(t string) { m.b.say("%s: %s", m.spec.Ref(), t) })
		if err != nil {
			return nil, err
		}
		if c.Release != nil {
			m.out.release = append(m.out.release, c.Release)
		}
		m.out.Warnings = append(m.out.Warnings, c.Warnings...)
		maps.Copy(m.env, c.Env)
		m.path = append(slices.Clone(c.Path), m.path...)
		out = append(out, c)
	}
	return out, nil
}

// layers plans and hashes. Of the layers that may be added one is for what belongs to no package.
func (m *making) layers(ctx context.Context, closures []*Closure) error {
	var packages []Package
	var top []File
	for _, c := range closures {
		packages = append(packages, c.Packages...)
		top = append(append([]File{}, c.Top...), top...) // of two with one name the later source's counts
	}
	top = append(top, m.ownFiles(len(closures) > 0)...)
	if m.spec.Layers == 1 {
		return m.layer(ctx, packages, top)
	}
	for _, bucket := range plan(packages, m.spec.Layers-1) {
		if err := m.layer(ctx, bucket, nil); err != nil {
			return err
		}
	}
	if len(top) == 0 {
		return nil
	}
	return m.layer(ctx, nil, top)
}

// ownFiles are those that the spec itself asks for.
func (m *making) ownFiles(rooted bool) []File {
	var out []File
	if m.spec.Workdir != "" && m.spec.Workdir != "/" {
		out = append(out, DirFile(m.spec.Workdir[1:], 0o755))
	}
	if rooted && m.spec.Base.OCI == "" && m.spec.Base.Tar == "" {
		out = append(out, accounts(m.spec.User, m.spec.Workdir)...)
		out = append(out, DirFile("tmp", 0o1777), DirFile("var/tmp", 0o1777), DirFile("root", 0o700), DirFile("run", 0o755),
			DirFile("proc", 0o755), DirFile("sys", 0o755), DirFile("dev", 0o755))
	}
	return out
}

// accounts are real files: some engines refuse links there.
func accounts(user, workdir string) []File {
	passwd := "root:x:0:0:root:/root:/bin/sh\n"
	group := "root:x:0:\ntty:x:5:\n"
	if uid, gid, both := strings.Cut(user, ":"); user != "" && uid != "0" {
		if !both {
			gid = uid
		}
		passwd += fmt.Sprintf("agent:x:%s:%s::%s:/bin/sh\n", uid, gid, or(workdir, "/"))
		group += fmt.Sprintf("agent:x:%s:\n", gid)
	}
	return []File{TextFile("etc/passwd", passwd+"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"),
		TextFile("etc/group", group+"nogroup:x:65534:\n"), TextFile("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")}
}

// layer adds a layer, by its cached digest or by reading it.
func (m *making) layer(ctx context.Context, packages []Package, top []File) error {
	cache := m.b.cache()
	key := layerKey(packages, top)
	w := cache.get(key)
	if w == nil {
		if len(packages) > 0 {
			m.b.say("%s: reading %s", m.spec.Ref(), labels(packages))
		}
		var err error
		if w, err = writeLayer(ctx, nil, packages, top); err != nil {
			return err
		}
		cache.put(key, w)
	}
	id, err := v1.NewHash(w.DiffID)
	if err != nil {
		return err
	}
	m.conf.RootFS.DiffIDs = append(m.conf.RootFS.DiffIDs, id)
	m.out.Layers = append(m.out.Layers, Layer{DiffID: w.DiffID, Digest: w.DiffID, Size: w.Size, MediaType: mediaPlain, Label: labels(packages), checked: true,
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			return m.open(ctx, packages, top, w, func() { cache.forget(key) }), nil
		}})
	return nil
}

func (b *Builder) cache() *digestCache {
	if b.Cache == "" {
		return nil
	}
	return &digestCache{b.Cache}
}

// labels names a few packages.
func labels(packages []Package) string {
	if len(packages) == 0 {
		return "links and accounts"
	}
	if len(packages) == 1 {
		return packages[0].Label
	}
	return fmt.Sprintf("%s and %d more", packages[0].Label, len(packages)-1)
}

// open writes the layer once more, into a pipe. If that gives other bytes, it says which package changed.
func (m *making) open(ctx context.Context, packages []Package, top []File, was *written, forget func()) io.ReadCloser {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		now, err := writeLayer(ctx, w, packages, top)
		if err == nil && now.DiffID != was.DiffID {
			forget()
			err = differs(packages, was, now)
		}
		var changed *changedError
		if errors.As(err, &changed) {
			forget()
		}
		w.CloseWithError(err)
	}()
	return &layerReader{PipeReader: r, end: func() { cancel(); r.Close(); <-done }}
}

type layerReader struct {
	*io.PipeReader
	end func()
}

func (l *layerReader) Close() error { l.end(); return nil }

func differs(packages []Package, was, now *written) error {
	for i := range min(len(was.Marks), len(now.Marks), len(packages)) {
		if was.Marks[i] != now.Marks[i] {
			return &changedError{"package " + packages[i].Label, "changed since its digest was taken: build again"}
		}
	}
	return &changedError{"layer " + was.DiffID, "changed since its digest was taken: build again"}
}

// config puts the spec over what the base and the sources say.
func (m *making) config() error {
	c := &m.conf.Config
	if p := m.searchPath(); p != "" {
		m.env["PATH"] = p
	}
	maps.Copy(m.env, m.spec.Env)
	c.Env = nil
	for _, k := range slices.Sorted(maps.Keys(m.env)) {
		c.Env = append(c.Env, k+"="+m.env[k])
	}
	c.WorkingDir, c.User = or(m.spec.Workdir, c.WorkingDir), or(m.spec.User, c.User)
	if len(m.spec.Entrypoint) > 0 {
		c.Entrypoint, c.Cmd = m.spec.Entrypoint, nil
	}
	if len(m.spec.Cmd) > 0 {
		c.Cmd = m.spec.Cmd
	}
	raw, err := json.Marshal(m.conf)
	if err != nil {
		return err
	}
	img, err := newImage(raw, m.out.Layers, m.b.Limits.WithDefaults())
	if err != nil {
		return err
	}
	img.ref, img.Names = m.out.Ref, []string{m.out.Ref}
	m.out.Image = img
	if m.spec.Compress != "none" || !img.plain() {
		return nil // its digest is known when its layers are stored
	}
	return img.name()
}

// plain tells that no layer will be stored in another way.
func (i *Image) plain() bool {
	return !slices.ContainsFunc(i.Layers, func(l Layer) bool { return l.Digest == "" || l.MediaType != mediaPlain })
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// searchPath is "" where the base's stays.
func (m *making) searchPath() string {
	based := m.env["PATH"]
	if len(m.path) == 0 {
		return based
	}
	return strings.Join(m.path, ":") + ":" + or(based, defaultPath)
}
