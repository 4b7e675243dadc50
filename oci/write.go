package oci

import (
	"archive/tar"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"sync"
	"time"
)

// writerVersion is part of every cached digest: raise it when the bytes change that a layer is written as.
const writerVersion = "1"

// mtime is that of everything: 0 makes some programs think that a file has no time.
var mtime = time.Unix(1, 0)

// changedError is content that is not what it was when its digest was taken.
type changedError struct{ path, why string }

func (e *changedError) Error() string { return fmt.Sprintf("%s: %s", e.path, e.why) }

// written is a layer that went through the writer.
type written struct {
	DiffID string   `json:"diff-id"`
	Size   int64    `json:"size"`
	Marks  []string `json:"marks"` // the digest up to the end of each package, to find the one that changed
}

// copyBuffers are shared by layers that are written one after the other.
var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 128<<10); return &b }}

// layerWriter writes one layer. The same files give the same bytes, whatever their owner, times and order were.
type layerWriter struct {
	ctx  context.Context
	tar  *tar.Writer
	hash hash.Hash
	n    int64
	out  io.Writer
	seen map[string]bool
	buf  []byte
}

// Write implements io.Writer for the tar.
func (w *layerWriter) Write(b []byte) (int, error) {
	w.hash.Write(b)
	w.n += int64(len(b))
	if w.out == nil {
		return len(b), nil
	}
	return w.out.Write(b)
}

// writeLayer writes the packages and files to out; nil is nowhere, for the digest only.
func writeLayer(ctx context.Context, out io.Writer, packages []Package, top []File) (*written, error) {
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	w := &layerWriter{ctx: ctx, hash: sha256.New(), out: out, seen: map[string]bool{}, buf: *buf}
	w.tar = tar.NewWriter(w)
	res := &written{}
	for _, p := range packages {
		if err := w.pack(p); err != nil {
			return nil, fmt.Errorf("package %s: %w", p.Label, err)
		}
		res.Marks = append(res.Marks, hex.EncodeToString(w.hash.Sum(nil)[:8]))
	}
	if err := w.files(top); err != nil {
		return nil, err
	}
	if err := w.tar.Close(); err != nil {
		return nil, err
	}
	res.DiffID, res.Size = "sha256:"+hex.EncodeToString(w.hash.Sum(nil)), w.n
	return res, nil
}

func (w *layerWriter) pack(p Package) error {
	var all []File
	if err := p.Files(w.ctx, func(f File) error { all = append(all, f); return nil }); err != nil {
		return err
	}
	return w.files(all)
}

// files writes files in the order of their names, with the directories above them.
func (w *layerWriter) files(all []File) error {
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	for _, f := range all {
		if err := w.ctx.Err(); err != nil {
			return context.Cause(w.ctx)
		}
		if w.seen[f.Name] || f.Name == "." || f.Name == "" {
			continue
		}
		if err := w.above(path.Dir(f.Name)); err != nil {
			return err
		}
		w.seen[f.Name] = true
		if err := w.file(f); err != nil {
			return err
		}
	}
	return nil
}

// above writes the directories of a name that the layer does not have yet, so that it says what each of them is.
func (w *layerWriter) above(dir string) error {
	if dir == "." || w.seen[dir] {
		return nil
	}
	if err := w.above(path.Dir(dir)); err != nil {
		return err
	}
	w.seen[dir] = true
	return w.file(DirFile(dir, 0o755))
}

// dirModes are those of directories that are not 0755. One table, so that every layer says the same.
var dirModes = map[string]int64{"tmp": 0o1777, "var/tmp": 0o1777, "root": 0o700}

func (w *layerWriter) file(f File) error {
	h := &tar.Header{Name: f.Name, ModTime: mtime, Mode: 0o644}
	inStore := strings.HasPrefix(f.Name, "nix/store/")
	switch {
	case f.Mode.IsDir():
		h.Typeflag, h.Name, h.Mode = tar.TypeDir, f.Name+"/", or(dirModes[f.Name], 0o755)
		if inStore {
			h.Mode = 0o555
		}
	case f.Mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.Link, 0o777
	case f.Mode.IsRegular():
		h.Typeflag, h.Size = tar.TypeReg, f.Size
		if f.Path == "" {
			h.Size = int64(len(f.Text))
		}
		if f.Mode&0o111 != 0 {
			h.Mode = 0o755
		}
		if inStore {
			h.Mode &= 0o555
		}
	default:
		return fmt.Errorf("%s: got a %s, want a file, a directory or a link", f.Name, f.Mode.Type())
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	if f.Path == "" {
		_, err := w.tar.Write(f.Text)
		return err
	}
	return w.content(f)
}

// content copies a file of the host, and finds out that it is not what it is said to be.
func (w *layerWriter) content(f File) error {
	in, err := openPlain(f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	var sum hash.Hash
	var to io.Writer = w.tar
	if f.MD5 != "" {
		sum = md5.New()
		to = io.MultiWriter(w.tar, sum)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{to}, io.LimitReader(&contextReader{w.ctx, in}, f.Size), w.buf)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if more, _ := in.Read(w.buf[:1]); n != f.Size || more != 0 {
		return &changedError{f.Path, "changed while it was read: run again when nothing writes there"}
	}
	if sum != nil && hex.EncodeToString(sum.Sum(nil)) != f.MD5 {
		return &changedError{f.Path, "is not what its package shipped: install the package again (apt-get install --reinstall), or take it with :base {:host [...] :changed :take}"}
	}
	return nil
}

// openPlain opens a file that no link and no pipe stands in for.
func openPlain(name string) (*os.File, error) {
	in, err := os.OpenFile(name, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	st, err := in.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &changedError{name, "is no plain file any more"}
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}
