package spawn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSessionCopy(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	rest := strings.Repeat("x", 3*maxHead) + "/old/home"
	for name, text := range map[string]string{
		"a.jsonl": "{}\n{\"cwd\":\"/old/home/run\"}\n" + rest, "sub/b.db": "/old/home", "empty.jsonl": "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	c := sessionCopy{from: from, to: to, rest: 1 << 20, rehome: "*.jsonl", oldRoot: "/old/home", newRoot: "/new/longer/home"}
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a.jsonl": "{}\n{\"cwd\":\"/new/longer/home/run\"}\n" + rest, "sub/b.db": "/old/home", "empty.jsonl": "",
	} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %.60q %v, want %.60q", name, got, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(to, "link")); err == nil {
		t.Error("a link was copied")
	}
	c = sessionCopy{from: from, to: t.TempDir(), rest: 100}
	if err := c.run(); err == nil || !strings.Contains(err.Error(), "MaxSession") {
		t.Errorf("got %v, want the limit", err)
	}
}
