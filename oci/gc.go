package oci

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Collected is what GC removed, or would remove.
type Collected struct {
	Layers int   `json:"layers" lisp:"layers"`
	Parts  int   `json:"parts" lisp:"parts"` // left by loads that were cut off
	Bytes  int64 `json:"bytes" lisp:"bytes"`
}

// GC removes layers that no image has, and what loads that were cut off left. While a box runs on an image of the store, or
// an image is loaded, it refuses.
func (s *Store) GC(ctx context.Context, dry bool) (Collected, error) {
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
