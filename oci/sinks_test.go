package oci_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/oci"
)

// disk is a source whose packages are files of a directory: p0, p1, … Reads counts how often each was asked for.
type disk struct {
	dir   string
	reads map[string]int
}

func newDisk(t *testing.T, sizes ...int) *disk {
	t.Helper()
	d := &disk{dir: t.TempDir(), reads: map[string]int{}}
	for i, n := range sizes {
		d.put(t, fmt.Sprint("p", i), strings.Repeat(fmt.Sprint(i), n))
	}
	return d
}

func (d *disk) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Realise implements oci.Source.
func (d *disk) Realise(context.Context, *oci.Spec, func(string)) (*oci.Closure, error) {
	found, err := os.ReadDir(d.dir)
	c := &oci.Closure{}
	for _, e := range found {
		name := e.Name()
		st, err := os.Stat(filepath.Join(d.dir, name))
		if err != nil {
			return nil, err
		}
		c.Packages = append(c.Packages, oci.Package{Name: name, Label: name + "-1", Key: fmt.Sprint(name, st.ModTime().UnixNano(), st.Size()), Size: st.Size(),
			Files: func(_ context.Context, yield func(oci.File) error) error {
				d.reads[name]++
				return yield(oci.File{Name: "opt/" + name, Mode: 0o644, Size: st.Size(), Path: filepath.Join(d.dir, name)})
			}})
	}
	return c, err
}

func (d *disk) build(t *testing.T, cache, name string) *oci.Built {
	t.Helper()
	b, err := (&oci.Builder{Nix: d, Cache: cache}).Build(context.Background(), oci.Spec{Name: name, Packages: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func save(t *testing.T, b *oci.Built, to oci.Sink) {
	t.Helper()
	if _, err := oci.Save(context.Background(), b.Image, "none", t.TempDir(), to); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// An archive that is the image already is left as it is, of one that is nearly the image only what is new is read; one that
// someone changed is trusted in nothing. Each time its bytes are those of an archive that is written anew.
func TestArchiveAgain(t *testing.T) {
	d := newDisk(t, 200_000, 300_000, 400_000)
	dir, cache := t.TempDir(), t.TempDir()
	to := oci.ArchiveFile{Path: filepath.Join(dir, "i.tar"), Notes: filepath.Join(dir, "notes")}
	put := func(what string, want ...string) {
		t.Helper()
		b := d.build(t, cache, "i")
		clear(d.reads)
		save(t, b, to)
		if got := fmt.Sprint(len(d.reads)); got != fmt.Sprint(len(want)) {
			t.Errorf("%s: read %v, want %v", what, d.reads, want)
		}
		for _, w := range want {
			if d.reads[w] != 1 {
				t.Errorf("%s: read %v, want %v", what, d.reads, want)
			}
		}
		var fresh bytes.Buffer
		save(t, b, oci.Stream{W: &fresh})
		if !bytes.Equal(fresh.Bytes(), read(t, to.Path)) {
			t.Errorf("%s: the archive is not what is written anew", what)
		}
	}
	put("first", "p0", "p1", "p2")
	was, err := os.Stat(to.Path)
	if err != nil {
		t.Fatal(err)
	}
	put("the same")
	if now, err := os.Stat(to.Path); err != nil || !os.SameFile(was, now) || !now.ModTime().Equal(was.ModTime()) {
		t.Errorf("the same: got another file %v", err)
	}
	d.put(t, "p1", "new")
	put("one is new", "p1")
	os.Remove(filepath.Join(d.dir, "p0"))
	put("one is gone")
	text := read(t, to.Path)
	at := bytes.Index(text, []byte("2222222222"))
	f, err := os.OpenFile(to.Path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte("X"), int64(at))
	f.Close()
	os.Chtimes(to.Path, was.ModTime(), was.ModTime()) // its size and its time are as before
	put("someone changed it", "p1", "p2")
	os.Remove(to.Path)
	put("it is gone", "p1", "p2")
	os.RemoveAll(to.Notes)
	put("what was noted is gone", "p1", "p2")
	os.WriteFile(filepath.Join(dir, "other.tar"), read(t, to.Path), 0o600)
	os.Rename(filepath.Join(dir, "other.tar"), to.Path)
	put("another file has its name", "p1", "p2")
}

// A layout directory is what skopeo reads; one with files is refused, and a part of one is not left.
func TestLayoutDir(t *testing.T) {
	d := newDisk(t, 1000, 2000)
	b := d.build(t, "", "i")
	to := oci.LayoutDir{Path: filepath.Join(t.TempDir(), "layout")}
	save(t, b, to)
	a, err := oci.OpenArchive(context.Background(), to.Path, oci.Limits{})
	if err != nil || len(a.Images) != 1 || a.Images[0].Digest != b.Digest {
		t.Fatalf("got %+v %v, want the image", a, err)
	}
	defer a.Close()
	if _, err := oci.Save(context.Background(), b.Image, "none", t.TempDir(), to); err == nil || !strings.Contains(err.Error(), "new or empty") {
		t.Errorf("a directory with files: got %v", err)
	}
	d.put(t, "p1", "changed since its digest was taken")
	part := oci.LayoutDir{Path: filepath.Join(t.TempDir(), "part")}
	if _, err := oci.Save(context.Background(), b.Image, "none", t.TempDir(), part); err == nil || !strings.Contains(err.Error(), "p1-1") {
		t.Errorf("a package that changed: got %v, want its name", err)
	}
	if _, err := os.Stat(part.Path); err == nil {
		t.Error("a part of a layout was left")
	}
	if _, err := exec.LookPath("skopeo"); err != nil {
		need.Skip(t, "skopeo is not installed: .ci/need installs it")
	}
	for _, kind := range []string{"none", "gzip", "zstd"} {
		b := newDisk(t, 1000, 2000).build(t, "", "i")
		to := oci.LayoutDir{Path: filepath.Join(t.TempDir(), "layout")}
		img, err := oci.Save(context.Background(), b.Image, kind, t.TempDir(), to)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("skopeo", "inspect", "oci:"+to.Path).CombinedOutput()
		var seen struct{ Digest string }
		if json.Unmarshal(out, &seen) != nil || seen.Digest != img.Digest {
			t.Errorf("%s: got %s %v, want %s", kind, out, err, img.Digest)
		}
		if out, err := exec.Command("skopeo", "copy", "-q", "--insecure-policy", "oci:"+to.Path, "oci-archive:"+t.TempDir()+"/x.tar").CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", kind, err, out)
		}
	}
}

// during calls f once some bytes were written.
type during struct {
	after int
	f     func()
}

func (d *during) Write(b []byte) (int, error) {
	if d.after -= len(b); d.after < 0 && d.f != nil {
		d.f()
		d.f = nil
	}
	return len(b), nil
}

// A file that changes while an image of it is written, in whatever way, is named.
func TestChangesWhileWritten(t *testing.T) {
	const size = 8 << 20
	for what, change := range map[string]func(file string) error{
		"grows":          func(f string) error { return appendTo(f, "more") },
		"shrinks":        func(f string) error { return os.Truncate(f, 10) },
		"is another":     func(f string) error { return os.WriteFile(f, bytes.Repeat([]byte("z"), size), 0o644) },
		"is gone":        os.Remove,
		"is a link":      func(f string) error { return errors.Join(os.Remove(f), os.Symlink("/etc/passwd", f)) },
		"is a pipe":      func(f string) error { return errors.Join(os.Remove(f), exec.Command("mkfifo", f).Run()) },
		"not to be read": func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o755)) },
	} {
		d := newDisk(t, size, size)
		b := d.build(t, "", "i")
		w := &during{after: size / 2, f: func() {
			if err := change(filepath.Join(d.dir, "p1")); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}}
		if _, err := oci.Save(context.Background(), b.Image, "none", t.TempDir(), oci.Stream{W: w}); err == nil || !strings.Contains(err.Error(), "p1") {
			t.Errorf("%s: got %v, want p1 named", what, err)
		}
	}
	d := newDisk(t, size, size) // without a change there is no error
	save(t, d.build(t, "", "i"), oci.Stream{W: &during{after: size / 2, f: func() {}}})
}

func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// A build that is interrupted while it writes leaves no file: neither in place of the archive nor beside it.
func TestInterruptedArchive(t *testing.T) {
	d := newDisk(t, 8<<20, 8<<20)
	b := d.build(t, "", "i")
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(context.Background())
	left := errors.New("interrupted")
	file := filepath.Join(dir, "i.tar")
	os.WriteFile(file, []byte("the archive before"), 0o644)
	pulled := b.Layers[1].Open
	b.Layers[1].Open = func(ctx context.Context) (io.ReadCloser, error) {
		cancel(left)
		return pulled(ctx)
	}
	if _, err := oci.Save(ctx, b.Image, "none", t.TempDir(), oci.ArchiveFile{Path: file}); err == nil {
		t.Error("got no error")
	}
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != 1 || string(read(t, file)) != "the archive before" {
		t.Errorf("got %v %v, want only the archive that was there", found, err)
	}
}

// What a build that was killed left beside an archive goes when the archive is written again, and what one that still runs
// has there stays.
func TestKilledArchive(t *testing.T) {
	d := newDisk(t, 1<<20)
	b := d.build(t, "", "k")
	dir := t.TempDir()
	left, of := filepath.Join(dir, ".k.tar.new-123"), filepath.Join(dir, ".other.tar.new-123")
	for _, file := range []string{left, of} {
		if err := os.WriteFile(file, []byte("a part"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	running, err := os.OpenFile(filepath.Join(dir, ".k.tar.new-9"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if err := syscall.Flock(int(running.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	save(t, b, oci.ArchiveFile{Path: filepath.Join(dir, "k.tar")})
	found, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(found) != 2 || found[0] != running.Name() || found[1] != of {
		t.Errorf("beside the archive: got %v %v, want what still runs and what is another's", found, err)
	}
}
