package oci

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Collected is what GC removed, or would remove.
type Collected struct {
	Layers int   `json:"layers" lisp:"layers"`
	Parts  int   `json:"parts" lisp:"parts"` // left by loads that were cut off
	Bytes  int64 `json:"bytes" lisp:"bytes"`
}

// Expire takes names away from images that no box used since a time, of those whose name is meant. GC then removes the
// layers.
func (s *Store) Expire(before time.Time, dry bool, meant func(name string) bool) (gone []string, err error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		st, err := os.Stat(s.imagePath(r.Name))
		if err != nil || st.ModTime().After(before) || !meant(r.Name) {
			continue
		}
		if !dry {
			if err := os.Remove(s.imagePath(r.Name)); err != nil {
				return gone, err
			}
		}
		gone = append(gone, r.Name)
	}
	return gone, nil
}

// used notes that a box runs on an image: see Expire.
func (s *Store) used(name string) {
	now := time.Now()
	_ = os.Chtimes(s.imagePath(name), now, now) // another's store: what it forgets can be built again
}

// GC removes layers that no image has, and what loads that were cut off left. While a box runs on an image of the store, or
// an image is loaded, it refuses. Images that are without are counted as none, for a dry run.
func (s *Store) GC(ctx context.Context, dry bool, without ...string) (Collected, error) {
	var c Collected
	if _, err := os.Stat(s.layers()); missing(err) {
		return c, nil
	}
	release, err := s.lock(true)
	if err != nil {
		return c, err
	}
	defer release()
	images, err := s.List()
	if err != nil {
		return c, err
	}
	used := map[string]bool{}
	for _, i := range images {
		if slices.Contains(without, i.Name) {
			continue
		}
		for _, l := range i.Layers {
			used[l] = true
		}
	}
	entries, err := os.ReadDir(s.layers())
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		if used[strings.TrimSuffix(e.Name(), ".json")] {
			continue
		}
		path := filepath.Join(s.layers(), e.Name())
		c.Bytes += sizeOf(path)
		if strings.HasPrefix(e.Name(), tempPrefix) {
			c.Parts++
		} else if e.IsDir() {
			c.Layers++
		}
		if dry {
			continue
		}
		if e.IsDir() { // the note first: what is half removed is not there
			os.Remove(path + ".json")
		}
		if err := removeAll(path); err != nil {
			return c, err
		}
	}
	return c, nil
}

func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if st, err := d.Info(); err == nil && st.Mode().IsRegular() {
			n += st.Size()
		}
		return nil
	})
	return n
}
