package oci

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
)

// budget is what the layers of one image may still use.
type budget struct {
	limits  Limits
	bytes   int64 // of tars
	files   int64 // of files: a sparse file is larger than what the tar has of it
	entries int
	names   int64 // bytes: those of directories are held in memory until a layer is done
}

// meanName bounds the bytes of all names together, by the number of entries that there may be.
const meanName = 256

func (b *budget) entry(name string) error {
	if b.entries++; b.entries > b.limits.Entries {
		return &LimitError{"files and directories", int64(b.entries), int64(b.limits.Entries)}
	}
	if b.names += int64(len(name)); b.names > meanName*int64(b.limits.Entries) {
		return &LimitError{"bytes of names", b.names, meanName * int64(b.limits.Entries)}
	}
	return nil
}

// meter hashes and counts a tar as it is read.
type meter struct {
	ctx    context.Context
	r      io.Reader
	hash   hash.Hash
	budget *budget
}

func (m *meter) Read(b []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, context.Cause(m.ctx)
	}
	n, err := m.r.Read(b)
	m.hash.Write(b[:n])
	if m.budget.bytes += int64(n); m.budget.bytes > m.budget.limits.Bytes {
		return 0, &LimitError{"bytes of the layers, unpacked", m.budget.bytes, m.budget.limits.Bytes}
	}
	return n, err
}

// unpacked says what unpacking one layer found.
type unpacked struct {
	implied []string // directories that the tar fills and does not name
	skipped int      // devices and fifos
}

// unpack writes a layer into an empty directory and checks its digest. What is hidden of lower layers is marked as overlayfs
// reads it. After an error the directory holds a part.
func unpack(ctx context.Context, l Layer, dir string, b *budget) (*unpacked, error) {
	stored, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	r, err := plain(&contextReader{ctx, stored})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	m := &meter{ctx: ctx, r: r, hash: sha256.New(), budget: b}
	u := &unpacker{root: root, budget: b, named: map[string]bool{}, dirs: map[string]*tar.Header{}, whiteouts: map[string]bool{}}
	if err := u.all(m); err != nil {
		return nil, err
	}
	if got := "sha256:" + hex.EncodeToString(m.hash.Sum(nil)); got != l.DiffID {
		return nil, fmt.Errorf("layer %s: got content with digest %s: the image is damaged or was changed", l.DiffID, got)
	}
	return u.end()
}

type unpacker struct {
	root      *os.Root
	budget    *budget
	named     map[string]bool        // directories that were seen: true where the tar names them
	dirs      map[string]*tar.Header // modes and times are set at the end: a directory may be closed to us
	whiteouts map[string]bool
	skipped   int
}

func (u *unpacker) all(m *meter) error {
	t := tar.NewReader(m)
	for {
		h, err := t.Next()
		if err == io.EOF {
			_, err = io.Copy(io.Discard, m) // what follows the end is part of the digest
			return err
		}
		if err != nil {
			return fmt.Errorf("failed to read the layer: %w", err)
		}
		if err := u.entry(h, t); err != nil {
			return fmt.Errorf("%s: %w", cut(h.Name), err)
		}
	}
}

const (
	hidden = ".wh."
	opaque = ".wh..wh..opq"
)

func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	if err := u.budget.entry(h.Name); err != nil {
		return err
	}
	name, err := u.clean(h.Name)
	if err != nil {
		return err
	}
	if name == "." {
		if h.Typeflag != tar.TypeDir {
			return fmt.Errorf("got no directory for the root")
		}
		return u.dir(name, h)
	}
	parent, err := u.parent(path.Dir(name))
	if err != nil {
		return err
	}
	base := path.Base(name)
	if rest, ok := strings.CutPrefix(base, hidden); ok {
		return u.hide(parent, base, rest)
	}
	return u.make(path.Join(parent, base), h, r)
}

// clean checks a name. One that would lead out of the image is refused and not bent: no builder writes it.
func (u *unpacker) clean(name string) (string, error) {
	lim := u.budget.limits
	if len(name) > lim.Name {
		return "", &LimitError{"bytes of a name", int64(len(name)), int64(lim.Name)}
	}
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") || strings.IndexByte(clean, 0) >= 0 {
		return "", fmt.Errorf("got a name that leads out of the image")
	}
	if n := strings.Count(clean, "/"); n > lim.Depth {
		return "", &LimitError{"depth of directories", int64(n), int64(lim.Depth)}
	}
	return clean, nil
}

// maxHops bounds the links on the way to one name.
const maxHops = 40

// parent gives the directory of that name without links, as the image's own programs would go there, and makes it where
// the tar does not have it.
func (u *unpacker) parent(dir string) (string, error) {
	if u.named[dir] {
		return dir, nil
	}
	at, hops := ".", 0
	todo := strings.Split(dir, "/")
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		st, err := u.root.Lstat(next)
		switch {
		case missing(err), err == nil && u.whiteouts[next]:
			if err := u.implied(next); err != nil {
				return "", err
			}
			at = next
		case err != nil:
			return "", err
		case st.IsDir():
			at = next
		case st.Mode()&fs.ModeSymlink != 0:
			if hops++; hops > maxHops {
				return "", fmt.Errorf("got a circle of links")
			}
			target, err := u.root.Readlink(next)
			if err != nil {
				return "", err
			}
			if strings.HasPrefix(target, "/") {
				at = "."
			}
			todo = append(strings.Split(target, "/"), todo...)
			if len(todo) > 4096 {
				return "", fmt.Errorf("got links that lead on and on")
			}
		default:
			return "", fmt.Errorf("got a file where a directory is needed: %s", cut(next))
		}
	}
	return at, nil
}

func (u *unpacker) implied(name string) error {
	if err := u.budget.entry(name); err != nil {
		return err
	}
	gone := u.whiteouts[name]
	if err := u.clear(name); err != nil {
		return err
	}
	if err := u.root.Mkdir(name, 0o755); err != nil {
		return err
	}
	if gone {
		u.named[name] = true // nothing of below is left that it could take after
		return u.opaque(name)
	}
	u.named[name] = false
	return nil
}

// clear removes what an earlier entry of the same name made.
func (u *unpacker) clear(name string) error {
	err := u.root.Remove(name)
	if err == nil || missing(err) {
		delete(u.whiteouts, name)
		delete(u.named, name)
		delete(u.dirs, name)
		return nil
	}
	if st, serr := u.root.Lstat(name); serr == nil && st.IsDir() {
		return fmt.Errorf("got a second entry in place of a directory with files, want one")
	}
	return err
}

func (u *unpacker) make(name string, h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeDir {
		return u.dir(name, h)
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeLink, tar.TypeSymlink: // the reader fills the holes in
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		u.skipped++
		return nil
	default:
		return fmt.Errorf("got a tar entry of type %q, want a file, a directory or a link", h.Typeflag)
	}
	if h.Typeflag == tar.TypeLink {
		return u.link(name, h.Linkname)
	}
	if err := u.clear(name); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeSymlink {
		if len(h.Linkname) > u.budget.limits.Name {
			return &LimitError{"bytes of a link", int64(len(h.Linkname)), int64(u.budget.limits.Name)}
		}
		if err := u.root.Symlink(h.Linkname, name); err != nil {
			return err
		}
		return u.own(name, h)
	}
	return u.file(name, h, r)
}

func (u *unpacker) file(name string, h *tar.Header, r io.Reader) error {
	b := u.budget
	if b.files += h.Size; b.files > b.limits.Bytes || b.files < 0 {
		return &LimitError{"bytes of the files", b.files, b.limits.Bytes}
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := u.own(name, h); err != nil {
		return err
	}
	if err := u.root.Chmod(name, fs.FileMode(h.Mode&0o777)); err != nil {
		return err
	}
	return u.times(name, h)
}

func (u *unpacker) dir(name string, h *tar.Header) error {
	st, err := u.root.Lstat(name)
	if err != nil && !missing(err) {
		return err
	}
	if err != nil || !st.IsDir() {
		gone := u.whiteouts[name]
		if err := u.clear(name); err != nil {
			return err
		}
		if err := u.root.Mkdir(name, 0o755); err != nil {
			return err
		}
		if gone {
			if err := u.opaque(name); err != nil {
				return err
			}
		}
	}
	u.named[name] = true
	u.dirs[name] = h
	return nil
}

// link makes a hard link to a file of the same layer.
func (u *unpacker) link(name, target string) error {
	clean, err := u.clean(target)
	if err != nil {
		return err
	}
	dir, err := u.parent(path.Dir(clean))
	if err != nil {
		return err
	}
	clean = path.Join(dir, path.Base(clean))
	if clean == name {
		return nil
	}
	st, err := u.root.Lstat(clean)
	if err != nil || st.IsDir() || u.whiteouts[clean] {
		return fmt.Errorf("got a hard link to %s, which is no file of the same layer", cut(target))
	}
	if err := u.clear(name); err != nil {
		return err
	}
	return u.root.Link(clean, name)
}

// hide marks what lower layers have as gone.
func (u *unpacker) hide(dir, base, name string) error {
	if base == opaque {
		return u.opaque(dir)
	}
	if strings.HasPrefix(name, hidden) {
		return nil // of AUFS, which hid its own files so
	}
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("got a whiteout of no file")
	}
	name = path.Join(dir, name)
	if st, err := u.root.Lstat(name); err == nil {
		if st.IsDir() { // this layer's own; below it nothing is left
			return u.opaque(name)
		}
		return nil
	}
	u.whiteouts[name] = true
	return u.whiteout(name)
}

// end sets what directories are to be, the innermost first.
func (u *unpacker) end() (*unpacked, error) {
	names := make([]string, 0, len(u.dirs))
	for n := range u.dirs {
		names = append(names, n)
	}
	sort.Sort(sort.Reverse(sort.StringSlice(names)))
	for _, n := range names {
		h := u.dirs[n]
		err := u.own(n, h)
		if err == nil {
			err = u.root.Chmod(n, dirMode(h.Mode))
		}
		if err == nil {
			err = u.times(n, h)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cut(n), err)
		}
	}
	out := &unpacked{skipped: u.skipped}
	for n, named := range u.named {
		if !named {
			out.implied = append(out.implied, n)
		}
	}
	sort.Strings(out.implied)
	return out, nil
}

// dirMode keeps the sticky bit, which /tmp needs.
func dirMode(mode int64) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	if mode&0o1000 != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// maxID is the highest user of a box; others are nobody.
const maxID = 65535

func id(n int) int {
	if n < 0 || n > maxID {
		return 65534
	}
	return n
}

// own gives the entry its owner in the box. Only root can; else all of it is the caller's, and so the box's user's.
func (u *unpacker) own(name string, h *tar.Header) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return u.root.Lchown(name, id(h.Uid), id(h.Gid))
}

func (u *unpacker) times(name string, h *tar.Header) error {
	return u.root.Chtimes(name, h.ModTime, h.ModTime)
}

// removeAll deletes a directory that may be closed to its owner.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path.Join(dir, p), 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
