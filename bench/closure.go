package main

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// closureTable is what an agent image needs: name, KiB, files and dependencies of git, curl, node, python, podman, make and
// less with all below them, as Debian 12 has them.
//
//go:embed closure.txt
var closureTable string

// storePath is one path of a nix store that closure makes.
type storePath struct {
	name  string // with the version
	kib   int
	files int
	deps  []string
	rev   int // another one is another path with another file
}

// path is where it is in the store.
func (p storePath) path() string {
	const letters = "0123456789abcdfghijklmnpqrsvwxyz" // nix's
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", p.name, p.rev))
	b := make([]byte, 32)
	for i := range b {
		b[i] = letters[h[i]%32]
	}
	return "/nix/store/" + string(b) + "-" + p.name
}

// short is the name without the version.
func (p storePath) short() string { return p.name[:strings.LastIndexByte(p.name, '-')] }

func closure() ([]storePath, error) {
	var out []storePath
	s := bufio.NewScanner(strings.NewReader(closureTable))
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 3 {
			return nil, fmt.Errorf("closure: got %q, want a name, KiB and files", s.Text())
		}
		kib, err := strconv.Atoi(f[1])
		n, err2 := strconv.Atoi(f[2])
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("closure: %s: %w", f[0], err)
		}
		out = append(out, storePath{name: f[0], kib: kib, files: n, deps: f[3:]})
	}
	return out, s.Err()
}

// fileSizes divides the path's bytes as packages do: a few large files and many small ones.
func (p storePath) fileSizes() []int {
	total := 0.0
	for i := range p.files {
		total += 1 / float64(i+1)
	}
	out := make([]int, p.files)
	for i := range out {
		out[i] = int(float64(p.kib<<10) / float64(i+1) / total)
	}
	return out
}

// make writes the path below root. Half of each file's bytes repeat, so that it compresses as programs do.
func (p storePath) make(root string) error {
	r := rand.New(rand.NewPCG(uint64(len(p.name)), uint64(p.kib)))
	noise := make([]byte, 64<<10)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	clear(noise[32<<10:])
	top := filepath.Join(root, p.path())
	dirs := []string{"bin", "lib", "share"}
	for i, size := range p.fileSizes() {
		dir := filepath.Join(top, dirs[i%3], p.short(), strconv.Itoa(i/40))
		if i%40 < 3 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		text := fmt.Appendf(nil, "%s %d %d\n", p.name, i, p.rev*boolInt(i == p.files-1))
		for len(text) < size {
			text = append(text, noise[:min(len(noise), size-len(text))]...)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"+strconv.Itoa(i)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// below gives the path with all that it needs.
func below(all []storePath, short string) []storePath {
	at := map[string]storePath{}
	for _, p := range all {
		at[p.short()] = p
	}
	seen := map[string]bool{}
	var out []storePath
	for next := []string{short}; len(next) > 0; next = next[1:] {
		p, ok := at[next[0]]
		if !ok || seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		out = append(out, p)
		next = append(next, p.deps...)
	}
	return out
}

// fakeNix writes a program that answers as nix would where the wanted packages are built, so that nix costs next to nothing
// and what is measured is zeno. It knows the two commands that zeno calls.
func fakeNix(file string, all []storePath, wanted []string) error {
	type info struct {
		Path    string `json:"path"`
		NarHash string `json:"narHash"`
		NarSize int    `json:"narSize"`
		Valid   bool   `json:"valid"`
	}
	for _, w := range wanted {
		var infos []info
		for _, p := range below(all, w) {
			infos = append(infos, info{p.path(), fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(p.path()))), p.kib << 10, true})
		}
		built := []any{map[string]any{"outputs": map[string]string{"out": infos[0].Path}}}
		for name, v := range map[string]any{w: built, filepath.Base(infos[0].Path): infos} {
			text, err := json.Marshal(v)
			if err != nil {
				return err
			}
			if err := os.WriteFile(file+"."+name, text, 0o644); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(file, []byte("#!/bin/sh\nfor a; do :; done\ncase \"$*\" in *path-info*) exec cat \"$0.${a##*/}\" ;; esac\nexec cat \"$0.${a##*.}\"\n"), 0o755)
}
