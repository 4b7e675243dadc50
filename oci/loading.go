package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// loading is one load. What it unpacks lies in temp until all of it is on disk.
type loading struct {
	s      *Store
	temp   string
	made   map[string]layerNote // whole layers in temp, by key
	budget *budget
	rec    Record
}

// dir is where a layer is now.
func (l *loading) dir(key string) string {
	if _, ok := l.made[key]; ok {
		return filepath.Join(l.temp, key)
	}
	return filepath.Join(l.s.layers(), key)
}

func (l *loading) all(ctx context.Context, img *Image) error {
	for n, layer := range img.Layers {
		what := fmt.Sprintf("%s: layer %d of %d", l.rec.Name, n+1, len(img.Layers))
		if err := l.layer(ctx, layer, what); err != nil {
			return err
		}
	}
	return nil
}

// layer adds one layer to the record, unpacked.
func (l *loading) layer(ctx context.Context, layer Layer, what string) error {
	key := strings.TrimPrefix(layer.DiffID, "sha256:")
	for _, k := range []string{key, chained(key, l.rec.Layers)} {
		note, err := l.s.note(k)
		if made, ok := l.made[k]; ok {
			note, err = made, nil
		}
		if err != nil {
			continue
		}
		if l.budget.bytes += note.Bytes; l.budget.bytes > l.budget.limits.Bytes {
			return &LimitError{"bytes of the layers, unpacked", l.budget.bytes, l.budget.limits.Bytes}
		}
		l.rec.add(k, note)
		return nil
	}
	l.s.say("%s: unpacking %s", what, or(layer.Label, layer.DiffID[:19]))
	dir := filepath.Join(l.temp, "part")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	before := l.budget.bytes
	u, err := unpack(ctx, layer, dir, l.budget)
	if err != nil {
		return err
	}
	if len(u.implied) > 0 {
		key = chained(key, l.rec.Layers)
		if err := l.follow(dir, u.implied, l.rec.Layers); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, filepath.Join(l.temp, key)); err != nil {
		return err
	}
	l.made[key] = layerNote{Bytes: l.budget.bytes - before, Skipped: u.skipped}
	l.rec.add(key, l.made[key])
	return nil
}

// keep moves what was unpacked to its place, once it is on disk. Of two that unpack the same at once the first stays. The
// note is written last: a layer without one is not there.
func (l *loading) keep() error {
	if len(l.made) == 0 {
		return nil
	}
	if err := settle(l.temp); err != nil {
		return err
	}
	for key, note := range l.made {
		to := filepath.Join(l.s.layers(), key)
		if err := os.Rename(filepath.Join(l.temp, key), to); err != nil && !errors.Is(err, fs.ErrExist) {
			if st, serr := os.Stat(to); serr != nil || !st.IsDir() {
				return err
			}
		}
		text, err := json.Marshal(note)
		if err != nil {
			return err
		}
		if err := replace(l.s.notePath(key), text, false); err != nil {
			return err
		}
	}
	return nil
}

// follow gives directories that a layer fills and does not name what the layers below have there.
func (l *loading) follow(dir string, implied, below []string) error {
	for _, name := range implied {
		for n := len(below) - 1; n >= 0; n-- {
			st, path, err := lookup(l.dir(below[n]), name)
			if missing(err) {
				continue
			}
			if err != nil {
				return err
			}
			if st == nil {
				break // gone: below that there is nothing to take after
			}
			if !st.IsDir() {
				return fmt.Errorf("got files in %s/, which a layer below has as %s, want a layer that names its directories: build it again, or save it with skopeo or docker", name, kind(st))
			}
			if err := takeAfter(filepath.Join(dir, name), path); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

func kind(st fs.FileInfo) string {
	if st.Mode()&fs.ModeSymlink != 0 {
		return "a link"
	}
	return "a file"
}

// lookup gives what the layer in a directory has of a name: nil where it, or a directory above it, is gone or a link.
func lookup(layer, name string) (fs.FileInfo, string, error) {
	root, err := os.OpenRoot(layer)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	parts := strings.Split(name, "/")
	for i := range parts {
		sub := strings.Join(parts[:i+1], "/")
		st, err := root.Lstat(sub)
		if err != nil {
			return nil, "", err
		}
		if st.Mode()&fs.ModeCharDevice != 0 {
			return nil, "", nil
		}
		if !st.IsDir() || i == len(parts)-1 {
			return st, filepath.Join(layer, sub), nil
		}
	}
	return nil, "", fs.ErrNotExist
}
