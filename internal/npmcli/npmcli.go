// Package npmcli brings the real agent CLIs and MCP clients to tests: pinned npm packages, each in a prefix of its own
// below a cache directory, installed once and found again.
//
// The invariant: a test that needs a CLI either has the pinned version or does not run. Where npm is missing it
// is skipped, and with ZENO_CI=1 it fails, since a skip nobody sees proves nothing.
//
// Start reading at Need.
package npmcli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
)

// CacheVar is the environment variable that names the cache directory; the default is zeno-test below the user's.
const CacheVar = "ZENO_TEST_CACHE"

// installTimeout bounds one npm install; the largest package is some hundred megabytes.
const installTimeout = 10 * time.Minute

// packages lists, for each CLI, what is installed into its prefix. Every CLI runs with node in front of its PATH: the
// distribution's own may be too old.
func packages(cli string) ([]string, bool) {
	pinned := map[string][]string{
		"node":            {"node@22"},
		"claude":          {"@anthropic-ai/claude-code@2.1.332"},
		"omp":             {"@oh-my-pi/pi-coding-agent@18.2.3", "bun@1.4.5"},
		"codex":           {"@openai/codex@0.171.0"},
		"gemini":          {"@google/gemini-cli@0.61.0"},
		"opencode":        {"opencode-ai@1.18.33"},
		"pi":              {"@earendil-works/pi-coding-agent@1.6.0"},
		"mcp-inspector":   {"@modelcontextprotocol/inspector@2.12.0"},
		"nrepl-client":    {"nrepl-client@0.3.0"},
		"msb":             {"@superradcompany/microsandbox-linux-x64-gnu@0.6.18"},
		"mcp-conformance": {"@modelcontextprotocol/conformance@0.2.0-alpha.12"}, // 0.1 has no scenarios of the stateless revision
	}
	list, ok := pinned[cli]
	return list, ok
}

// Need returns a PATH on which the named CLI and node 22 come first, after installing what is missing. It ends the test
// where that cannot be done.
func Need(t testing.TB, cli string) string {
	t.Helper()
	if _, known := packages(cli); !known || cli == "node" {
		t.Fatalf("npmcli: got %q, want claude, omp, nrepl-client, mcp-inspector or mcp-conformance", cli)
	}
	need.Full(t, "it installs from npm")
	npm, cache := tools(t)
	var path []string
	for _, name := range []string{cli, "node"} {
		bin, err := install(t, npm, cache, name)
		if err != nil {
			t.Fatal(err)
		}
		path = append(path, bin)
	}
	return strings.Join(append(path, "/usr/local/bin", "/usr/bin", "/bin"), string(os.PathListSeparator))
}

// Node returns the program node 22: the distribution's own may be older.
func Node(t testing.TB) string {
	t.Helper()
	need.Full(t, "it installs from npm")
	npm, cache := tools(t)
	bin, err := install(t, npm, cache, "node")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin, "node")
}

// Modules returns the node_modules directory that holds the named package, for one that has no program of npm's making.
func Modules(t testing.TB, name string) string {
	t.Helper()
	need.Full(t, "it installs from npm")
	npm, cache := tools(t)
	bin, err := install(t, npm, cache, name)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(bin)
}

// tools gives npm and the directory it installs into.
func tools(t testing.TB) (npm, cache string) {
	t.Helper()
	npm = need.Program(t, "npm", "npm")
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return npm, cache
}

func cacheDir() (string, error) {
	if dir := os.Getenv(CacheVar); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache directory: %w; set %s", err, CacheVar)
	}
	return filepath.Join(dir, "zeno-test"), nil
}

// install returns the directory of the CLI's programs. A prefix is complete once it has its final name, so a run that was
// cut off leaves nothing that looks installed; a lock keeps test binaries that run at once from installing twice.
func install(t testing.TB, npm, cache, cli string) (string, error) {
	t.Helper()
	list, _ := packages(cli)
	prefix := filepath.Join(cache, dirName(list))
	bin := filepath.Join(prefix, "node_modules", ".bin")
	if _, err := os.Stat(prefix); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("failed to make the cache directory: %w", err)
	}
	unlock, err := lock(filepath.Join(cache, ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(prefix); err == nil {
		return bin, nil
	}
	fmt.Fprintf(os.Stderr, "npmcli: installing %s from npm into %s\n", strings.Join(list, " "), prefix)
	part := prefix + ".part"
	if err := os.RemoveAll(part); err != nil {
		return "", fmt.Errorf("failed to clear %s: %w", part, err)
	}
	if err := npmInstall(npm, part, list); err != nil {
		return "", err
	}
	if err := os.Rename(part, prefix); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("failed to finish %s: %w", prefix, err)
	}
	return bin, nil
}

// npmInstall installs by package name and version.
func npmInstall(npm, prefix string, list []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	args := append([]string{"install", "--prefix", prefix, "--no-audit", "--no-fund"}, list...)
	cmd := exec.CommandContext(ctx, npm, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("failed to install %s: %w\n%s", strings.Join(list, " "), err, tail(out, 2000))
	}
	return nil
}

func tail(b []byte, n int) []byte {
	return b[max(0, len(b)-n):]
}

// dirName turns a package list into one directory name.
func dirName(list []string) string {
	return strings.NewReplacer("/", "-", "@", "").Replace(strings.Join(list, "+"))
}

// lock waits for the exclusive lock on path and returns its release.
func lock(path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("failed to open the install lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("failed to take the install lock: %w", err)
	}
	return func() { _ = file.Close() }, nil
}
