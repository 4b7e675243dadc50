package oci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"
)

// Store keeps images unpacked: each layer once, in a directory that is called by its content, shared by every image and box
// that has it. Several processes may use one store at once.
type Store struct {
	Dir      string // made when it is needed, for its owner only
	Limits   Limits
	Progress func(text string) // nil: nobody is told
}

// Record is an image of a store.
type Record struct {
	Name    string            `json:"name" lisp:"name"`
	Digest  string            `json:"digest" lisp:"digest"`                       // of its manifest
	ID      string            `json:"id" lisp:"id"`                               // of its configuration
	Layers  []string          `json:"layers" lisp:"layers"`                       // names of directories, the lowest first
	Env     map[string]string `json:"env,omitempty" lisp:"env,omitempty"`         //
	Cmd     []string          `json:"cmd,omitempty" lisp:"cmd,omitempty"`         // entrypoint and command
	Workdir string            `json:"workdir,omitempty" lisp:"workdir,omitempty"` //
	User    string            `json:"user,omitempty" lisp:"user,omitempty"`
	Bytes   int64             `json:"bytes" lisp:"bytes"` // of its layers as tars
	Created time.Time         `json:"created" lisp:"created"`
	Skipped int               `json:"skipped,omitempty" lisp:"skipped,omitempty"` // devices and fifos that were left out
	Config  json.RawMessage   `json:"config" lisp:"-"`
}

func (s *Store) layers() string { return filepath.Join(s.Dir, "layers") }
func (s *Store) images() string { return filepath.Join(s.Dir, "images") }
func (s *Store) prepare() error {
	for _, d := range []string{s.Dir, s.layers(), s.images()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("images: failed to make %s: %w", d, err)
		}
	}
	return nil
}

func (s *Store) say(format string, args ...any) {
	if s.Progress != nil {
		s.Progress(fmt.Sprintf(format, args...))
	}
}

// Load unpacks an image and gives it a name; one that had the name loses it. Layers that are there are not unpacked again,
// also not those of a load that was cut off.
func (s *Store) Load(ctx context.Context, name string, img *Image) (*Record, error) {
	ref, err := ParseRef(name)
	if err != nil {
		return nil, err
	}
	if err := runnable(img); err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	release, err := s.lock(false)
	if err != nil {
		return nil, err
	}
	defer release()
	temp, err := os.MkdirTemp(s.layers(), tempPrefix)
	if err != nil {
		return nil, err
	}
	defer removeAll(temp)
	l := &loading{s: s, temp: temp, made: map[string]layerNote{}, budget: &budget{limits: s.Limits.WithDefaults()}, rec: RecordOf(img)}
	l.rec.Name, l.rec.Created = ref, time.Now().UTC().Truncate(time.Second)
	err = l.all(ctx, img)
	if kerr := l.keep(); err == nil {
		err = kerr
	}
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	if err := s.write(&l.rec); err != nil {
		return nil, err
	}
	return &l.rec, nil
}

// runnable says why no box of this machine could run on an image.
func runnable(img *Image) error {
	if a := img.Config.Architecture; a != "" && a != runtime.GOARCH {
		return fmt.Errorf("got one for %s, want %s, which this machine is", a, runtime.GOARCH)
	}
	if len(img.Layers) == 0 {
		return errors.New("got no layers, want an image with files")
	}
	return nil
}

// RecordOf says what an image is, without its layers.
func RecordOf(img *Image) Record {
	r := Record{Digest: img.Digest, ID: img.ID(), Config: img.Raw}
	if len(img.Names) > 0 {
		r.Name = img.Names[0]
	}
	r.fill(img)
	return r
}

func (r *Record) fill(img *Image) {
	c := img.Config.Config
	r.Cmd = append(append([]string{}, c.Entrypoint...), c.Cmd...)
	r.Workdir, r.User = c.WorkingDir, c.User
	r.Env = map[string]string{}
	for _, e := range c.Env {
		if k, v, ok := strings.Cut(e, "="); ok && k != "" {
			r.Env[k] = v
		}
	}
}

// layerNote lies beside a layer's directory.
type layerNote struct {
	Bytes   int64 `json:"bytes"`
	Skipped int   `json:"skipped,omitempty"`
}

func (r *Record) add(key string, n layerNote) {
	r.Layers = append(r.Layers, key)
	r.Bytes += n.Bytes
	r.Skipped += n.Skipped
}

// chained is the key of a layer that says nothing of a directory it fills: what that directory is depends on those below.
func chained(key string, below []string) string {
	h := sha256.Sum256([]byte(key + "\n" + strings.Join(below, "\n")))
	return "c" + hex.EncodeToString(h[:])
}

const tempPrefix = ".new-"

func (s *Store) notePath(key string) string { return filepath.Join(s.layers(), key+".json") }

// note says that a layer is there, whole.
func (s *Store) note(key string) (n layerNote, err error) {
	text, err := os.ReadFile(s.notePath(key))
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(s.layers(), key))
	}
	return n, err
}

// replace writes a file so that a reader sees the old or the new; where sync is set, after a loss of power too.
func replace(path string, text []byte, sync bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func (s *Store) imagePath(ref string) string {
	h := sha256.Sum256([]byte(ref))
	return filepath.Join(s.images(), hex.EncodeToString(h[:16])+".json")
}

func (s *Store) write(r *Record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return replace(s.imagePath(r.Name), text, true)
}

// Get gives the image of that name.
func (s *Store) Get(name string) (*Record, error) {
	ref, err := ParseRef(name)
	if err != nil {
		return nil, err
	}
	r, err := readRecord(s.imagePath(ref))
	if missing(err) {
		return nil, fmt.Errorf("image %s: %w: load one with `zeno image load FILE --name %s`; `zeno image ls` lists them", ref, ErrNoImage, ref)
	}
	return r, err
}

func readRecord(path string) (*Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("images: failed to read %s: %w", path, err)
	}
	for _, l := range r.Layers {
		if !isKey(l) {
			return nil, fmt.Errorf("images: %s: layer: got %q, want a digest", path, cut(l))
		}
	}
	return &r, nil
}

// isKey tells names of layers: see chained.
func isKey(k string) bool { return isHex(k) || k != "" && k[0] == 'c' && isHex(k[1:]) }

// List gives the images, by name.
func (s *Store) List() ([]Record, error) {
	found, err := filepath.Glob(filepath.Join(s.images(), "[0-9a-f]*.json"))
	if err != nil {
		return nil, err
	}
	out := []Record{}
	for _, f := range found {
		r, err := readRecord(f)
		if missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, *r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

// Remove takes an image's name away. GC removes the layers that no other has.
func (s *Store) Remove(name string) error {
	r, err := s.Get(name)
	if err != nil {
		return err
	}
	return os.Remove(s.imagePath(r.Name))
}

// Root is an image as a box takes it: see sandbox.Root.
type Root struct {
	Layers  []string // directories, the lowest first
	Env     map[string]string
	Workdir string
	Cmd     []string
	User    string
}

// Use gives an image for a box. Until release is called, GC leaves the store alone.
func (s *Store) Use(name string) (root Root, release func(), err error) {
	if _, err := os.Stat(s.images()); err != nil {
		_, err := s.Get(name)
		return Root{}, nil, err
	}
	if release, err = s.lock(false); err != nil {
		return Root{}, nil, err
	}
	r, err := s.Get(name)
	if err == nil {
		root, err = s.root(r)
	}
	if err != nil {
		release()
		return Root{}, nil, err
	}
	s.used(r.Name)
	return root, release, nil
}

func (s *Store) root(r *Record) (Root, error) {
	out := Root{Env: r.Env, Workdir: r.Workdir, Cmd: r.Cmd, User: r.User}
	for n, l := range r.Layers {
		// Images name a layer twice, such as the empty one. An overlay takes a directory once: the upper of the two says all that
		// the lower says.
		if slices.Contains(r.Layers[n+1:], l) {
			continue
		}
		if _, err := s.note(l); err != nil {
			return out, fmt.Errorf("image %s: layer %s is missing or a part: load it again: %w", r.Name, l[:12], err)
		}
		out.Layers = append(out.Layers, filepath.Join(s.layers(), l))
	}
	return out, nil
}
