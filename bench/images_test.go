package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The closure is whole, and each division has each path once in as many layers as allowed.
func TestDivisions(t *testing.T) {
	all, err := closure()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range all {
		known[p.short()] = true
	}
	for _, p := range all {
		for _, d := range p.deps {
			if !known[d] {
				t.Errorf("%s: needs %s, which is not there", p.name, d)
			}
		}
		if sizes := p.fileSizes(); len(sizes) != p.files || slices.Max(sizes) > p.kib<<10 {
			t.Errorf("%s: got %d files of at most %d bytes", p.name, len(sizes), slices.Max(sizes))
		}
	}
	for name, divide := range map[string]func([]storePath) ([][]storePath, error){"zeno": layers, "popularity": popular} {
		got, err := divide(all)
		seen := map[string]int{}
		for _, l := range got {
			for _, p := range l {
				seen[p.name]++
			}
		}
		if err != nil || len(got) >= layersOfImages || len(seen) != len(all) {
			t.Errorf("%s: got %d layers with %d paths %v, want fewer than %d with %d", name, len(got), len(seen), err, layersOfImages, len(all))
		}
	}
}

// What a change moves is never less than what changed, and with a layer for each path no more.
func TestMoved(t *testing.T) {
	all := []storePath{{name: "a-1", kib: 10}, {name: "b-1", kib: 20, deps: []string{"a"}}}
	each := func(all []storePath) ([][]storePath, error) { return [][]storePath{all[:1], all[1:]}, nil }
	one := func(all []storePath) ([][]storePath, error) { return [][]storePath{all}, nil }
	for _, c := range []struct {
		divide  func([]storePath) ([][]storePath, error)
		changed change
		want    float64
	}{{each, alone, 1}, {one, alone, 2}, {each, withAbove(all), 1}, {one, withAbove(all), 1.2}} { // 60 of 30; 60 of 50
		if got, err := moved(all, c.divide, c.changed); err != nil || got != c.want {
			t.Errorf("got %v %v, want %v", got, err, c.want)
		}
	}
	if got := best(all, 2); got != 1 {
		t.Errorf("best of two layers: got %v, want 1", got)
	}
	if got := best(all, 1); got != 2 {
		t.Errorf("best of one layer: got %v, want 2", got)
	}
}

// The stand-in answers the two calls that zeno makes, with another path after a bump.
func TestFakeNix(t *testing.T) {
	all := []storePath{{name: "a-1", kib: 1, files: 2}, {name: "b-1", kib: 1, files: 1, deps: []string{"a"}}}
	file := filepath.Join(t.TempDir(), "nix")
	ask := func(args ...string) string {
		t.Helper()
		if err := fakeNix(file, all, []string{"b"}); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(file, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
		return string(out)
	}
	first := all[1].path()
	if out := ask("build", "--json", "nixpkgs#legacyPackages.x86_64-linux.b"); !strings.Contains(out, first) {
		t.Errorf("build: got %s, want %s", out, first)
	}
	if out := ask("path-info", "--json", "-r", first); !strings.Contains(out, first) || !strings.Contains(out, all[0].path()) {
		t.Errorf("path-info: got %s", out)
	}
	all[1].rev++
	if out := ask("build", "--json", "x#legacyPackages.x86_64-linux.b"); strings.Contains(out, first) {
		t.Errorf("after a bump: got %s", out)
	}
	root := t.TempDir()
	if err := all[0].make(root); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(root, all[0].path(), "bin/a/0/f0")); err != nil || st.Size() == 0 {
		t.Errorf("got %v %v, want a file", st, err)
	}
}
