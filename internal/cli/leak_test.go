package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reflection-dev/zeno/internal/noleak"
)

// TestNothingIsLeft runs commands in this process and wants no goroutine after them.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("(+ 1 2)\n(future (loop [] (recur)))\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-e", "(future (deref (promise)))"},
		{"-e", "(future (loop [] (recur)))"},
		{filepath.Join(dir, "in")},
		{},
		{"eval", "-e", "(future (loop [] (recur)))"},
		{"demo"},
		{"--help"},
		{"init", filepath.Join(dir, "home")},
		{"--home", filepath.Join(dir, "home"), "-e", "(tick)"},
	} {
		in, err := os.Open(filepath.Join(dir, "in"))
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		code := Main(args, Std{In: in, Out: out, Err: out, Getenv: func(string) string { return "" }})
		if text, err := os.ReadFile(out.Name()); code != ExitOK || err != nil {
			t.Errorf("%q: got exit code %d, %v, want 0; output %s", args, code, err, text)
		}
		_, _ = in.Close(), out.Close()
		if err := noleak.Find(); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
	}
}
