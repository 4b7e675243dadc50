package home

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSourceBesideAFile: on a root lies a file that is called as the first part of a library's name, as the program zeno
// does beside a script of its user's. It hides nothing.
func TestSourceBesideAFile(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(first, "zeno"):           "a program",
		filepath.Join(second, "zeno/own.joke"): "(ns zeno.own)",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := &Home{Dir: t.TempDir(), Paths: []string{first, second}}
	if src, _, ok, err := h.Source("zeno.own"); err != nil || !ok || src != "(ns zeno.own)" {
		t.Errorf("zeno.own: got %q %v %v, want that of the second root", src, ok, err)
	}
	if _, _, ok, err := h.Source("zeno.grant"); err != nil || ok {
		t.Errorf("zeno.grant: got %v %v, want none, and no error", ok, err)
	}
}
