package deps_test

import (
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core/home/deps"
)

// with runs git with something on its stdin.
func (r repo) with(in string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// object writes an object of any content.
func (r repo) object(kind, content string) string {
	return r.with(content, "hash-object", "-t", kind, "-w", "--literally", "--stdin")
}

// treeOf is the content of a tree object with one entry of any name.
func treeOf(t *testing.T, mode, name, sha string) string {
	var id [20]byte
	if _, err := hex.Decode(id[:], []byte(sha)); err != nil {
		t.Fatal(err)
	}
	return mode + " " + name + "\x00" + string(id[:])
}

// Repositories that mean harm are refused before any of it is written; each says why.
func TestHostileTrees(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "r"))
	r.commit("src/r.joke", "(ns r)")
	blob := r.object("blob", "x")
	one := func(mode, name string) string {
		return r.git("commit-tree", r.object("tree", treeOf(t, mode, name, blob)), "-m", "x")
	}
	sub := r.object("tree", treeOf(t, "100644", "f", blob))
	deep := sub
	for range 30 {
		deep = r.object("tree", treeOf(t, "40000", "d", deep))
	}
	bomb := sub
	for range 20 { // each holds the one before twice: a million directories in 20 objects
		bomb = r.object("tree", treeOf(t, "40000", "a", bomb)+treeOf(t, "40000", "b", bomb))
	}
	for _, tt := range []struct{ name, commit, want string }{
		{"climbs", one("100644", ".."), "no file's"},
		{"dot", one("100644", "."), "no file's"},
		{"slash", one("100644", "../../x"), "want none of"},
		{"backslash", one("100644", `..\x`), "want none of"},
		{"stream", one("100644", "x:y"), "want none of"},
		{"git", one("100644", ".git"), "Git's own"},
		{"GIT", one("40000", ".GiT"), "Git's own"},
		{"short git", one("100644", "git~1"), "Git's own"},
		{"hidden git", one("100644", ".g\u200cit"), "Git's own"},
		{"trailing dots", one("100644", ".git. ."), "Git's own"},
		{"control", one("100644", "a\x1b[2J"), "control characters"},
		{"not UTF-8", one("100644", "a\xff"), "UTF-8"},
		{"long", one("100644", strings.Repeat("n", 256)), "255 bytes"},
		{"symlink", one("120000", "l"), "symbolic link"},
		{"submodule", one("160000", "s"), "submodule"},
		{"case", r.git("commit-tree", r.object("tree", treeOf(t, "100644", "A.joke", blob)+treeOf(t, "100644", "a.joke", blob)), "-m", "x"), "more than case"},
		{"normal forms", r.git("commit-tree", r.object("tree", treeOf(t, "100644", "e\u0301", blob)+treeOf(t, "100644", "\u00e9", blob)), "-m", "x"), "more than case"},
		{"twice", r.git("commit-tree", r.object("tree", treeOf(t, "100644", "a", blob)+treeOf(t, "100644", "a", blob)), "-m", "x"), "more than case"},
		{"deep", r.git("commit-tree", deep, "-m", "x"), "deep"},
		{"bomb", r.git("commit-tree", bomb, "-m", "x"), "files and directories"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.git("update-ref", "refs/heads/bad", tt.commit)
			h := newHome(t, `{:deps {acme/r {:git/url "`+r.dir+`" :git/sha "`+tt.commit+`"}}}`)
			h.limits.Depth = 25
			h.refused("acme/r", tt.want)
		})
	}
	ok := one("100755", "fine name.joke")
	r.git("update-ref", "refs/heads/bad", ok)
	newHome(t, `{:deps {acme/r {:git/url "`+r.dir+`" :git/sha "`+ok+`"}}}`).want()
}

// Each limit ends a fetch that is within all others; without that limit it works.
func TestLimits(t *testing.T) {
	root := t.TempDir()
	url := serve(t, root, nil)
	r := newRepo(t, filepath.Join(root, "r"))
	sha := r.commit("src/a", strings.Repeat("a", 100000), "src/b", strings.Repeat("b", 100000), "src/c", "c", "d/d", "d")
	for _, where := range []string{url + "/r/.git", r.dir} {
		edn := `{:deps {acme/r {:git/url "` + where + `" :git/sha "` + sha + `"}}}`
		for _, tt := range []struct {
			limits deps.Limits
			want   string
		}{
			{deps.Limits{Pack: 200}, "the transfer: got more than"},
			{deps.Limits{File: 99999}, "100000 bytes"},
			{deps.Limits{Total: 150000}, "150000 in all"},
			{deps.Limits{Total: 20000}, "objects of more than"},
			{deps.Limits{Files: 3}, "3 files"},
			{deps.Limits{Depth: 1}, "deep"},
		} {
			h := newHome(t, edn)
			h.limits = tt.limits
			h.refused(tt.want)
			h.limits = deps.Limits{}
			h.want()
		}
	}
}
