package npmcli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestDirName(t *testing.T) {
	list, _ := packages("omp")
	if got, want := dirName(list), "oh-my-pi-pi-coding-agent18.2.3+bun1.4.5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCacheDirFromEnvironment(t *testing.T) {
	t.Setenv(CacheVar, "/somewhere")
	if got, err := cacheDir(); got != "/somewhere" || err != nil {
		t.Errorf("got %q %v, want /somewhere", got, err)
	}
}

// TestInstallReusesAndCleans uses a stand-in for npm that counts its runs.
func TestInstallReusesAndCleans(t *testing.T) {
	cache := t.TempDir()
	npm := filepath.Join(cache, "npm")
	script := "#!/bin/sh\necho run >> " + cache + "/runs\nmkdir -p \"$3/node_modules/.bin\"\n"
	if err := os.WriteFile(npm, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	list, _ := packages("claude")
	if err := os.MkdirAll(filepath.Join(cache, dirName(list)+".part", "rubbish"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		bin, err := install(t, npm, cache, "claude")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(bin, "..", "..", "rubbish")); err == nil {
			t.Error("what a cut-off install left is still there")
		}
	}
	runs, err := os.ReadFile(filepath.Join(cache, "runs"))
	if err != nil || strings.Count(string(runs), "run") != 1 {
		t.Errorf("npm ran %d times (%v), want once", strings.Count(string(runs), "run"), err)
	}
}

func TestInstallShowsWhyItFailed(t *testing.T) {
	cache := t.TempDir()
	npm := filepath.Join(cache, "npm")
	if err := os.WriteFile(npm, []byte("#!/bin/sh\necho 404 not found; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := install(t, npm, cache, "claude"); err == nil || !strings.Contains(err.Error(), "404 not found") {
		t.Errorf("got %v, want npm's own words", err)
	}
}

// TestClaude installs for real and asks the CLI its version.
func TestClaude(t *testing.T) {
	path := Need(t, "claude")
	program := filepath.Join(strings.Split(path, ":")[0], "claude")
	out, err := exec.Command(program, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2.1.332") {
		t.Errorf("claude --version: got %q %v, want 2.1.332", out, err)
	}
}
