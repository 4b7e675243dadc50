package deps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"golang.org/x/text/unicode/norm"
)

// count is how much a tree holds.
type count struct {
	files int
	bytes int64
}

// writer puts a commit's files on the disk, judging each name before anything of it is made. The disk may be one that
// knows no case: names that differ in it alone, or in how they write the same letters, are refused.
type writer struct {
	ctx    context.Context
	limits Limits
	store  *fetched
	count
	entries int
}

// extract writes the tree to dir/tree and its hash to dir/hash, in that order.
func (g *fetched) extract(ctx context.Context, dir string, limits Limits) (count, error) {
	w := &writer{ctx: ctx, limits: limits, store: g}
	commit, err := object.GetCommit(g.objects, plumbing.NewHash(g.sha))
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return w.count, errors.New("got no such commit on any branch or tag, want one that the repository has")
	}
	if err != nil {
		return w.count, fmt.Errorf("got a commit that cannot be read: %w", err)
	}
	top := filepath.Join(dir, "tree")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return w.count, err
	}
	if err := w.dir(commit.TreeHash, top, "", 1); err != nil {
		return w.count, err
	}
	hash, err := hashTree(ctx, top, limits)
	if err != nil {
		return w.count, err
	}
	return w.count, os.WriteFile(filepath.Join(dir, "hash"), []byte(hash+"\n"), 0o600)
}

func (w *writer) dir(id plumbing.Hash, target, rel string, depth int) error {
	if depth > w.limits.Depth {
		return fmt.Errorf("%q: got directories %d deep, want at most %d", rel, depth, w.limits.Depth)
	}
	tree, err := object.GetTree(w.store.objects, id)
	if err != nil {
		return fmt.Errorf("%q: got a directory that cannot be read: %w", rel, err)
	}
	if err := os.Mkdir(target, 0o755); err != nil {
		return err
	}
	seen := map[string]string{}
	for _, e := range tree.Entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.entries++; w.entries > w.limits.Files {
			return fmt.Errorf("got more than %d files and directories, want fewer", w.limits.Files)
		}
		if err := checkName(e.Name); err != nil {
			return fmt.Errorf("%q: %w", rel, err)
		}
		key := strings.ToLower(strings.ToUpper(norm.NFC.String(e.Name)))
		if other, ok := seen[key]; ok {
			return fmt.Errorf("%q: got both %q and %q, want names that differ in more than case: on some disks they are one file", rel, other, e.Name)
		}
		seen[key] = e.Name
		if err := w.entry(e, filepath.Join(target, e.Name), strings.TrimPrefix(rel+"/"+e.Name, "/"), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) entry(e object.TreeEntry, target, rel string, depth int) error {
	switch e.Mode {
	case filemode.Dir:
		return w.dir(e.Hash, target, rel, depth+1)
	case filemode.Regular, filemode.Deprecated:
		return w.file(e.Hash, target, rel, 0o444)
	case filemode.Executable:
		return w.file(e.Hash, target, rel, 0o555)
	case filemode.Symlink:
		return fmt.Errorf("%q: got a symbolic link, want files and directories: a link may lead out of the repository", rel)
	case filemode.Submodule:
		return fmt.Errorf("%q: got a submodule, want files and directories: name that repository in :deps instead", rel)
	}
	return fmt.Errorf("%q: got the file mode %s, want files and directories", rel, e.Mode)
}

func (w *writer) file(id plumbing.Hash, target, rel string, mode fs.FileMode) error {
	blob, err := object.GetBlob(w.store.objects, id)
	if err != nil {
		return fmt.Errorf("%q: got a file that cannot be read: %w", rel, err)
	}
	w.files++
	if w.bytes += blob.Size; blob.Size > w.limits.File || w.bytes > w.limits.Total {
		return fmt.Errorf("%q: got %d bytes, %d with the files before, want at most %d in a file and %d in all", rel, blob.Size, w.bytes, w.limits.File, w.limits.Total)
	}
	r, err := blob.Reader()
	if err != nil {
		return fmt.Errorf("%q: got a file that cannot be read: %w", rel, err)
	}
	defer r.Close()
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(r, blob.Size))
	if err == nil && n != blob.Size {
		err = fmt.Errorf("%q: got %d bytes, want %d", rel, n, blob.Size)
	}
	return errors.Join(err, f.Close())
}

// checkName judges a name inside a tree. What it refuses would mean something else to this disk, another one, or Git.
func checkName(name string) error {
	bad := func(why string) error { return fmt.Errorf("got the name %q, %s", name, why) }
	switch low := strings.ToLower(strings.TrimRight(name, ". ")); {
	case name == "" || name == "." || name == "..":
		return bad("which is no file's")
	case len(name) > 255:
		return bad("want at most 255 bytes")
	case !utf8.ValidString(name):
		return bad("want UTF-8")
	case strings.ContainsAny(name, `/\:`):
		return bad(`want none of / \ :`)
	case low == ".git" || low == "git~1" || strings.EqualFold(stripIgnored(name), ".git"):
		return bad("which is Git's own")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) }):
		return bad("want no control characters")
	}
	return nil
}

// stripIgnored takes out the characters that some disks do not see in names.
func stripIgnored(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}

// hashTree gives one hash of all names, contents and execute bits below dir. Anything but files and directories is
// refused; empty directories do not count, as in Git.
func hashTree(ctx context.Context, dir string, limits Limits) (string, error) {
	var files []string
	entries := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch entries++; {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case entries > limits.Files+1:
			return fmt.Errorf("%s: got more than %d files, want those that were fetched", dir, limits.Files)
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s: got no regular file, want one", path)
		}
		files = append(files, path)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("failed to read the cache: %w", err)
	}
	slices.Sort(files)
	sum := sha256.New()
	for _, file := range files {
		if err := hashFile(ctx, sum, dir, file); err != nil {
			return "", fmt.Errorf("failed to read the cache: %w", err)
		}
	}
	return "sha256-" + hex.EncodeToString(sum.Sum(nil)), nil
}

func hashFile(ctx context.Context, sum io.Writer, dir, file string) error {
	rel, err := filepath.Rel(dir, file)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	content := sha256.New()
	if _, err := io.Copy(content, &bounded{ctx: ctx, r: f, left: 1 << 40}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(sum, "%q %v %x\n", filepath.ToSlash(rel), info.Mode()&0o100 != 0, content.Sum(nil))
	return err
}
