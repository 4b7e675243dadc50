//go:build linux && amd64

package msb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/oci"
)

// piece is a package of one file that can change after its digest was taken.
type piece struct{ name, file string }

// pieces is a source of such.
type pieces []piece

// Realise implements oci.Source.
func (ps pieces) Realise(context.Context, *oci.Spec, func(string)) (*oci.Closure, error) {
	c := &oci.Closure{Env: map[string]string{"FROM": "zeno"}}
	for _, p := range ps {
		c.Packages = append(c.Packages, oci.Package{Name: p.name, Label: p.name + "-1", Size: 1, Files: func(_ context.Context, yield func(oci.File) error) error {
			st, err := os.Lstat(p.file)
			if err != nil {
				return err
			}
			return yield(oci.File{Name: "opt/" + p.name, Mode: st.Mode(), Size: st.Size(), Path: p.file})
		}})
	}
	return c, nil
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func made(t *testing.T, ps pieces, name string) *oci.Built {
	t.Helper()
	b, err := (&oci.Builder{Nix: ps}).Build(context.Background(), oci.Spec{Name: name, Tag: "1", Packages: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// known gives the digest that msb has for a name.
func known(t *testing.T, tl *tool, ref string) string {
	t.Helper()
	out, errs, err := tl.short(context.Background(), "image", "inspect", ref)
	if err != nil {
		t.Fatalf("%s: %v %s", ref, err, errs)
	}
	_, rest, _ := strings.Cut(out, "Digest:")
	return strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0])
}

// The real msb takes an image straight from its packages: by its own name, with its digest, and of a new version only the
// layers that are new. None of it takes virtualisation.
func TestTheRealProgramPulls(t *testing.T) {
	b, tl := realTool(t)
	ctx := context.Background()
	dir := t.TempDir()
	var ps pieces
	for i := range 4 {
		p := piece{fmt.Sprint("p", i), filepath.Join(dir, fmt.Sprint(i))}
		write(t, p.file, strings.Repeat(p.name, 300_000))
		ps = append(ps, p)
	}
	for _, name := range []string{"zeno-test", "me/zeno-test", "registry.example/me/zeno-test", "localhost:5000/zeno-test"} {
		img := made(t, ps, name)
		s := &Sink{Backend: b, Ref: img.Ref}
		if err := s.Put(ctx, img.Image); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := known(t, tl, img.Ref); got != img.Digest {
			t.Errorf("%s: got digest %s, want %s", name, got, img.Digest)
		}
		t.Logf("%s: %d bytes", name, s.Moved)
	}
	for _, kind := range []string{"gzip", "zstd", "none"} { // as a base may have them
		s := &Sink{Backend: b, Ref: "kinds:" + kind}
		img, err := oci.Save(ctx, made(t, ps, "kinds").Image, kind, t.TempDir(), s)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		} else if got := known(t, tl, s.Ref); got != img.Digest {
			t.Errorf("%s: got digest %s, want %s", kind, got, img.Digest)
		}
	}
	had, err := b.Images(ctx)
	if err != nil || had["zeno-test:1"] == "" || had["registry.example/me/zeno-test:1"] == "" {
		t.Errorf("got %v %v, want the images", had, err)
	}
	write(t, ps[2].file, "new")
	next := made(t, ps, "zeno-test")
	s := &Sink{Backend: b, Ref: next.Ref}
	if err := s.Put(ctx, next.Image); err != nil {
		t.Fatal(err)
	}
	if got := known(t, tl, next.Ref); got != next.Digest || s.Moved > 100_000 {
		t.Errorf("a new version: got digest %s and %d bytes, want %s and only what is new", got, s.Moved, next.Digest)
	}
	if after, err := b.Images(ctx); err != nil || after[short("zeno-test", had["zeno-test:1"])] != "" {
		t.Errorf("got %v %v, want the image before it gone", after, err)
	}
	last := known(t, tl, next.Ref)
	write(t, ps[1].file, strings.Repeat("new1", 300_000))
	bad := made(t, ps, "zeno-test")
	write(t, ps[1].file, strings.Repeat("new2", 300_000))
	if err := (&Sink{Backend: b, Ref: bad.Ref}).Put(ctx, bad.Image); err == nil || !strings.Contains(err.Error(), "p1-1") {
		t.Errorf("a package that changed: got %v, want its name", err)
	}
	if got := known(t, tl, next.Ref); got != last {
		t.Errorf("after it: got %s, want that the name has the image that it had", got)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := (&Sink{Backend: b, Ref: next.Ref}).Put(gone, next.Image); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}
