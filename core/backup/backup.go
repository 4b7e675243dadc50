// Package backup copies a home while a zeno serves it.
//
//	report, err := backup.Make(ctx, backup.Config{Home: dir, To: target})
//
// The copy is a home itself: the program, and of the state all but caches, sockets, locks and the admin token. A target
// that ends in .tar.gz or .tgz is one file, anything else a directory.
//
// The invariant: where Make succeeds, the target is whole, and each database in it is as it was at one moment, with its
// journal verified; where it fails, there is no target. Databases are copied after the files that they speak of, and files
// that came meanwhile after that: a copy may hold a delivery that its journal says was handled, but never lacks one that
// was not.
//
// Start with Make.
package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/core/journal"
)

// Config says what to copy and where to.
type Config struct {
	Home    string // the home's directory
	To      string // a new or empty directory, or a new file .tar.gz
	Journal string // the name of the journal in the state directory; "": journal.db
}

// Report is what was copied.
type Report struct {
	To        string   `json:"to"`
	Files     int      `json:"files"`
	Bytes     int64    `json:"bytes"` // before compression
	Databases []string `json:"databases"`
	Events    int64    `json:"events"` // of the journal
	Anchor    string   `json:"anchor"` // its end
	Skipped   []string `json:"skipped,omitempty"`
}

// leftOut are names in the state directory that are of no use elsewhere, can be made again, or are a secret of this place.
var leftOut = []string{"admin.token", "control.sock", "daemon.pid", "deps", "cache", "oci"}

// Make copies the home.
func Make(ctx context.Context, conf Config) (Report, error) {
	if conf.Journal == "" {
		conf.Journal = "journal.db"
	}
	home, err := filepath.Abs(conf.Home)
	if err != nil {
		return Report{}, fmt.Errorf("backup: %w", err)
	}
	to, err := filepath.Abs(conf.To)
	if err != nil {
		return Report{}, fmt.Errorf("backup: %w", err)
	}
	c := &copier{ctx: ctx, home: home, to: to, journal: conf.Journal, done: map[string]bool{}, report: Report{To: to, Databases: []string{}}}
	if err := c.target(); err != nil {
		return Report{}, err
	}
	defer func() { _ = os.RemoveAll(c.part) }() // gone already where all went well
	if err := c.run(); err != nil {
		return Report{}, fmt.Errorf("backup: %w", err)
	}
	return c.report, nil
}

type copier struct {
	ctx               context.Context
	home, to, journal string
	part              string // where it is put together, beside the target
	archive           bool
	done              map[string]bool // relative paths
	databases         []string
	report            Report
}

// target checks the target and makes the directory beside it.
func (c *copier) target() error {
	c.archive = strings.HasSuffix(c.to, ".tar.gz") || strings.HasSuffix(c.to, ".tgz")
	if ext := filepath.Ext(c.to); !c.archive && slices.Contains([]string{".tar", ".gz", ".zip", ".zst", ".xz", ".bz2"}, ext) {
		return fmt.Errorf("backup: got the target %s, want a file that ends in .tar.gz, or a directory", c.to)
	}
	if rel, err := filepath.Rel(c.home, c.to); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("backup: got the target %s within the home, want a place outside: the next backup would hold this one", c.to)
	}
	entries, err := os.ReadDir(c.to)
	switch {
	case err == nil && !c.archive && len(entries) > 0:
		return fmt.Errorf("backup: got the directory %s, which is not empty, want a new or an empty one", c.to)
	case err == nil && c.archive, err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("backup: got %s, which is there already, want a new name", c.to)
	}
	if c.part, err = os.MkdirTemp(filepath.Dir(c.to), ".zeno-backup-"); err != nil { // 0700
		return fmt.Errorf("backup: failed to begin beside %s: %w", c.to, err)
	}
	return nil
}

func (c *copier) run() error {
	for _, step := range []func() error{c.files, c.copyDatabases, c.files, c.verify} {
		if err := step(); err != nil {
			return err
		}
	}
	if c.archive {
		file := c.part + ".gz"
		defer func() { _ = os.Remove(file) }()
		if err := pack(c.ctx, c.part, file); err != nil {
			return err
		}
		return os.Rename(file, c.to)
	}
	if err := os.Remove(c.to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(c.part, c.to)
}

// files copies what was not copied yet, and notes the databases.
func (c *copier) files() error {
	return filepath.WalkDir(c.home, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err != nil {
			return err
		}
		if err := c.ctx.Err(); err != nil {
			return context.Cause(c.ctx)
		}
		rel, err := filepath.Rel(c.home, path)
		if err != nil || rel == "." {
			return err
		}
		if skip(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return c.one(path, rel, d)
	})
}

// skip tells whether rel is left out.
func skip(rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	name := parts[len(parts)-1]
	if parts[0] != "state" {
		return len(parts) == 1 && name == ".nrepl-port"
	}
	switch {
	case len(parts) == 2 && slices.Contains(leftOut, name), strings.HasPrefix(name, ".part-"), strings.HasPrefix(name, ".token-"):
		return true
	case len(parts) > 2:
		return false
	}
	for _, end := range []string{".lock", "-wal", "-shm", "-journal"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

func (c *copier) one(path, rel string, d fs.DirEntry) error {
	to := filepath.Join(c.part, rel)
	switch {
	case d.IsDir():
		return os.MkdirAll(to, 0o700)
	case filepath.Dir(rel) == "state" && strings.HasSuffix(rel, ".db"):
		if !slices.Contains(c.databases, rel) {
			c.databases = append(c.databases, rel)
		}
		return nil
	case c.done[rel]:
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		link, err := os.Readlink(path)
		if err != nil {
			return gone(err)
		}
		c.done[rel] = true
		c.report.Files++
		return os.Symlink(link, to)
	case !d.Type().IsRegular():
		c.report.Skipped = append(c.report.Skipped, rel)
		c.done[rel] = true
		return nil
	}
	n, err := copyFile(path, to)
	if err != nil {
		return gone(err)
	}
	c.done[rel] = true
	c.report.Files++
	c.report.Bytes += n
	return nil
}

// gone takes a file that is removed meanwhile for one that was never there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func copyFile(from, to string) (int64, error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, in)
	return n, errors.Join(err, out.Sync(), out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// copyDatabases copies each as it is at one moment, while others write it.
func (c *copier) copyDatabases() error {
	for _, rel := range c.databases {
		to := filepath.Join(c.part, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := c.copyDatabase(filepath.Join(c.home, rel), to); err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
		info, err := os.Stat(to)
		if err != nil {
			return err
		}
		c.report.Files++
		c.report.Bytes += info.Size()
		c.report.Databases = append(c.report.Databases, filepath.Base(rel))
	}
	return nil
}

// copyDatabase copies one. On a file system that is read-only, as a failing disk becomes, SQLite cannot open it in its place;
// nobody writes it there either, so its files are copied as they are and opened elsewhere.
func (c *copier) copyDatabase(from, to string) error {
	if !errors.Is(unix.Access(filepath.Dir(from), unix.W_OK), unix.EROFS) {
		return vacuumInto(c.ctx, from, to)
	}
	part, err := os.MkdirTemp(c.part, ".database-")
	if err != nil {
		return err
	}
	whole := filepath.Join(part, "db")
	_, err = copyFile(from, whole)
	if _, werr := copyFile(from+"-wal", whole+"-wal"); !errors.Is(werr, fs.ErrNotExist) {
		err = errors.Join(err, werr)
	}
	if err == nil {
		err = vacuumInto(c.ctx, whole, to)
	}
	return errors.Join(err, os.RemoveAll(part))
}

// vacuumInto has SQLite write a copy from one read transaction. The writer is not held up.
func vacuumInto(ctx context.Context, from, to string) error {
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: from, RawQuery: q.Encode()}).String())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return fmt.Errorf("failed to copy the database: %w", err)
	}
	f, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Sync(), f.Close())
}

// verify checks the chain of the journal's copy.
func (c *copier) verify() error {
	file := filepath.Join(c.part, "state", c.journal)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing has been recorded
	}
	r, err := journal.OpenReader(c.ctx, file)
	if err != nil {
		return err
	}
	rep, err := r.Verify(c.ctx, journal.Anchor{})
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("the journal's copy: %w", err)
	}
	if rep.Broken != nil {
		return fmt.Errorf("the journal does not hold, and neither would its copy: %w; `zeno journal verify` says more", rep.Broken)
	}
	c.report.Events, c.report.Anchor = rep.Events, rep.To.String()
	for _, end := range []string{"-wal", "-shm"} { // of the check
		if err := os.Remove(file + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
