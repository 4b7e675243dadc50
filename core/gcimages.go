package core

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/oci"
)

// images removes images that a box's spec or archive gave and that no box used since, archives that build! kept, what a
// build that was killed left, and layers that no image has any more. Images that someone named stay until they are removed
// by name. While a box runs on an image its layers stay all.
func (g *collector) images() {
	dir := filepath.Join(g.state, "oci")
	if _, err := os.Stat(dir); err != nil || g.ctx.Err() != nil {
		return
	}
	store := &oci.Store{Dir: dir}
	gone, err := store.Expire(g.before, g.report.Dry, func(name string) bool {
		return strings.HasPrefix(name, "spec:") || strings.HasPrefix(name, "file:")
	})
	if err != nil {
		g.fail(err)
	}
	g.report.Images += len(gone)
	archives := filepath.Join(dir, "archives")
	for _, e := range g.list(archives) {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && g.old(e) && g.remove(filepath.Join(archives, e.Name()), info.Size()) {
			g.report.Images++
		}
	}
	for _, sub := range []string{"digests", "roots", ""} {
		for _, e := range g.list(filepath.Join(dir, sub)) {
			if g.old(e) && quiet(e) && (sub != "" || strings.HasPrefix(e.Name(), ".new-")) {
				g.remove(filepath.Join(dir, sub, e.Name()), 0)
			}
		}
	}
	g.notes(filepath.Join(dir, "written"))
	c, err := store.GC(g.ctx, g.report.Dry, gone...)
	if err != nil && !errors.Is(err, oci.ErrBusy) {
		g.fail(err)
	}
	g.report.Layers, g.report.Bytes = c.Layers, g.report.Bytes+c.Bytes
}

// quiet tells what no build writes to any more, however young what is kept may be.
func quiet(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > 24*time.Hour
}

// notes removes those of archives that are gone.
func (g *collector) notes(dir string) {
	for _, e := range g.list(dir) {
		file := filepath.Join(dir, e.Name())
		var n struct{ Path string }
		text, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(text, &n) != nil {
			continue
		}
		if _, err := os.Lstat(n.Path); errors.Is(err, fs.ErrNotExist) {
			g.remove(file, 0)
		}
	}
}
