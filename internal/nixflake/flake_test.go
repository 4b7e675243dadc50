package nixflake

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflection-dev/zeno/internal/need"
)

const root = "../.."

// project is the project's own flake, over the nixpkgs of testdata.
type project struct {
	flake string
	args  []string
}

// The flake's modules have the hash that it says: it drifts with every new import of a dependency.
func TestVendorHash(t *testing.T) {
	need.Full(t, "it copies all dependencies")
	need.Program(t, "nix", "nix-bin")
	dir := filepath.Join(t.TempDir(), "vendor")
	run(t, root, "go", "mod", "vendor", "-o", dir)
	want := strings.TrimSpace(nix(t, "hash", "path", dir))
	text, err := os.ReadFile(filepath.Join(root, "flake.nix"))
	if err != nil {
		t.Fatal(err)
	}
	if line := fmt.Sprintf("vendorHash = %q;", want); !strings.Contains(string(text), line) {
		got := regexp.MustCompile(`vendorHash = .*`).Find(text)
		t.Errorf("flake.nix: got %s, want %s: dependencies changed, put it there", got, line)
	}
}

// The flake gives a package, an app and a shell, for each system.
func TestProjectFlake(t *testing.T) {
	p := open(t)
	p.nix(t, "flake", "check", "--no-build")
	for _, system := range []string{"x86_64-linux", "aarch64-linux", "x86_64-darwin", "aarch64-darwin"} {
		var given struct {
			Pname, Version, VendorHash string
			Tags                       []string
		}
		p.eval(t, &given, "packages."+system+".default.given", "g: { inherit (g) pname version vendorHash tags; }")
		if given.Pname != "zeno" || given.Version != "dev" || !strings.HasPrefix(given.VendorHash, "sha256-") || !slices.Equal(given.Tags, []string{"zeno_stage2"}) {
			t.Errorf("%s: package: got %+v", system, given)
		}
		var app struct{ Type, Program string }
		p.eval(t, &app, "apps."+system+".default", "a: a")
		var out string
		p.eval(t, &out, "packages."+system+".zeno.outPath", "a: a")
		if app.Type != "app" || app.Program != out+"/bin/zeno" {
			t.Errorf("%s: app: got %+v, want %s/bin/zeno", system, app, out)
		}
		var tools []string
		p.eval(t, &tools, "devShells."+system+".default.given.packages", "map (p: p.name)")
		want := []string{"go", "gopls", "gnumake", "git", "curl", "openssl", "nodejs", "python3", "tmux", "zsh", "fish"}
		if strings.HasSuffix(system, "-linux") {
			want = append(want, "nix", "bubblewrap", "iproute2", "util-linux", "skopeo", "umoci", "runc", "podman", "containerd")
		}
		if diff := cmp.Diff(want, tools); diff != "" {
			t.Errorf("%s: shell (-want +got):\n%s", system, diff)
		}
	}
}

// `nix run` builds the program from the modules with the hash, and runs it.
func TestNixRun(t *testing.T) {
	need.Full(t, "it builds the program")
	p := open(t)
	if out := p.nix(t, "run", "", "--", "version"); !strings.HasPrefix(out, "zeno dev (go") {
		t.Errorf("got %q, want the version", out)
	}
	if out := p.nix(t, "run", "", "--", "-e", "(+ 40 2)"); out != "42\n" {
		t.Errorf("got %q, want 42", out)
	}
}

// open copies the project: what is not of it, such as builds, is not taken into the store.
func open(t *testing.T) *project {
	t.Helper()
	need.Program(t, "nix", "nix-bin")
	if os.Geteuid() != 0 {
		need.Skip(t, "nix without a daemon takes root")
	}
	dir, stub := t.TempDir(), t.TempDir()
	copyTree(t, root, dir)
	copyTree(t, "testdata/nixpkgs", stub)
	goenv := strings.Split(strings.TrimSpace(run(t, root, "go", "env", "GOMODCACHE", "GOCACHE", "GOROOT")), "\n")
	host := fmt.Sprintf("{ GOMODCACHE = %q; GOCACHE = %q; PATH = \"%s/bin:/usr/local/bin:/usr/bin:/bin\"; }\n", goenv[0], goenv[1], goenv[2])
	if err := os.WriteFile(filepath.Join(stub, "host.nix"), []byte(host), 0o644); err != nil {
		t.Fatal(err)
	}
	return &project{flake: "path:" + dir, args: []string{"--override-input", "nixpkgs", "path:" + stub, "--no-write-lock-file"}}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", ".cache"}, rel):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular() || filepath.Ext(path) == ".bin":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// eval gives what an attribute is after a function was applied to it.
func (p *project) eval(t *testing.T, to any, attr, apply string) {
	t.Helper()
	text := p.nix(t, "eval", "#"+attr, "--json", "--apply", apply)
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%s: %v: %s", attr, err, text)
	}
}

// nix calls it with the flake: what the command is for is below it.
func (p *project) nix(t *testing.T, command string, args ...string) string {
	t.Helper()
	all := []string{command}
	if command == "flake" {
		all, args = append(all, args[0]), append([]string{""}, args[1:]...)
	}
	all = append(append(all, p.flake+args[0]), p.args...)
	return nix(t, append(all, args[1:]...)...)
}

func nix(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, "", "nix", args...)
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), Offline)
	cmd.WaitDelay = 15 * time.Second
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, errs.String())
	}
	return string(out)
}
