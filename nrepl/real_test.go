package nrepl

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/internal/npmcli"
)

// TestClientOfNpm runs the client that npm has.
func TestClientOfNpm(t *testing.T) {
	path := npmcli.Need(t, "nrepl-client")
	bin, _, _ := strings.Cut(path, string(os.PathListSeparator))
	var node string
	for _, dir := range filepath.SplitList(path) {
		if p := filepath.Join(dir, "node"); node == "" {
			if _, err := os.Stat(p); err == nil {
				node = p
			}
		}
	}
	s := start(t, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join("testdata", "client.js"), port(s.Port()))
	cmd.Env = []string{"PATH=" + path, "NODE_PATH=" + filepath.Dir(bin)}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	want := strings.TrimLeft(`
describe string
eval 3
unicode "λ€𝄞"
out "printed\n" nil|nil
error UnresolvedSymbolException true
load-file 42
ls-sessions true
interrupt interrupted,done
close session-closed,done
`, "\n")
	if err != nil || string(out) != want {
		t.Errorf("got %v\n%s%s, want\n%s", err, out, errs.String(), want)
	}
}
