package nix

import (
	"errors"
	"strings"
	"testing"
)

const (
	a = "/nix/store/rv7h60pmri1ad3mfffd54w2q7v1lf2nr-hello-2.0"
	b = "/nix/store/s3q6ang9cygnxbb9q5zijydhb8qj8ic5-lib-1.0"
)

func TestInfosOfEveryVersion(t *testing.T) {
	for version, text := range map[string]string{
		"2.8":          `[{"path":"` + a + `","narHash":"sha256:1","narSize":10,"references":["` + b + `"],"valid":true},{"path":"` + b + `","narHash":"sha256:2","narSize":20}]`,
		"2.26":         `{"` + a + `":{"narHash":"sha256-1=","narSize":10,"ca":null},"` + b + `":{"narHash":"sha256-2=","narSize":20}}`,
		"2.34":         `{"version":2,"storeDir":"/nix/store","info":{"` + a[11:] + `":{"narHash":"sha256-1=","narSize":10},"` + b[11:] + `":{"narHash":"sha256-2=","narSize":20}}}`,
		"hash objects": `{"version":3,"info":{"` + a[11:] + `":{"narHash":{"algorithm":"sha256","hash":"1"},"narSize":10},"` + b[11:] + `":{"narHash":{"algorithm":"sha256","hash":"2"},"narSize":20}}}`,
	} {
		got, err := parseInfos([]byte(text))
		if err != nil || len(got) != 2 || got[a].NarSize != 10 || got[b].NarSize != 20 || got[a].NarHash == got[b].NarHash || got[a].NarHash == "" {
			t.Errorf("%s: got %v %v", version, got, err)
		}
	}
	for what, text := range map[string]string{
		"invalid, 2.8":     `[{"path":"` + a + `","valid":false}]`,
		"invalid, 2.26":    `{"` + a + `":null}`,
		"invalid, 2.34":    `{"version":2,"info":{"` + a[11:] + `":null}}`,
		"out of the store": `{"/etc/passwd":{"narHash":"x","narSize":1}}`,
		"dots":             `{"/nix/store/../../etc/rv7h60pmri1ad3mfffd54w2q7v1lf2nr-x":{"narHash":"x","narSize":1}}`,
		"not json":         `error: x`,
		"null entry":       `[null]`,
	} {
		if got, err := parseInfos([]byte(text)); err == nil {
			t.Errorf("%s: got %v, want an error", what, got)
		}
	}
}

func TestAttributes(t *testing.T) {
	for in, want := range map[string]string{
		"git":                     "nixpkgs#legacyPackages.x86_64-linux.git",
		"git.lib":                 "nixpkgs#legacyPackages.x86_64-linux.git.lib",
		"github:o/r#x":            "github:o/r#packages.x86_64-linux.x github:o/r#legacyPackages.x86_64-linux.x",
		"./d#":                    "./d#packages.x86_64-linux.default ./d#legacyPackages.x86_64-linux.default",
		"f#packages.i686-linux.x": "f#packages.i686-linux.x",
	} {
		if got := strings.Join(attributes(in, "x86_64-linux"), " "); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

const drv = "/nix/store/qf6y1n6xizjv85n4940qnh79lkc45nyh-fails-1.0.drv"

// What versions say that are not installed here: each class of errors as 2.26 and 2.34 word it.
func TestClassify(t *testing.T) {
	for _, c := range []struct{ what, stderr, want string }{
		{"no attribute", "error: flake 'flake:nixpkgs' does not provide attribute 'packages.aarch64-linux.gti', 'legacyPackages.aarch64-linux.gti' or 'gti'\n       Did you mean one of git or gta?", "no such package for aarch64-linux in nixpkgs (did you mean one of git or gta?)"},
		{"no derivation", "error: expected flake output attribute 'legacyPackages.aarch64-linux.lib' to be a derivation or path but found a set: { add = «lambda»; «460 attributes elided» }", "is no package"},
		{"no derivation, up to 2.22", "error: flake output attribute 'legacyPackages.aarch64-linux.lib' is not a derivation or path", "is no package"},
		{"build failed, 2.26", "error: builder for '" + drv + "' failed with exit code 1;\n       last 1 log lines:\n       > why\n       For full logs, run:\n         nix log " + drv, "failed to build fails-1.0: why; `nix log " + drv + "`"},
		{"build failed, 2.34", "error: Cannot build '" + drv + "'.\n       Reason: builder failed with exit code 1.\n       Output paths:\n         /nix/store/x\n       Last 1 log lines:\n       > why\n       For full logs, run:\n         nix log " + drv, "failed to build fails-1.0: why; `nix log " + drv + "`"},
		{"dependency failed, 2.34", "error: Cannot build '" + drv + "'.\n       Reason: 1 dependency failed.\n       Output paths:\n         /nix/store/x", "failed to build fails-1.0"},
		{"no network", "warning: unable to download 'https://api.github.com/repos/NixOS/nixpkgs/commits/HEAD': Timeout was reached (28); retrying in 661 ms (attempt 2/5)\nerror:\n       … while fetching the input 'github:NixOS/nixpkgs'\n\n       error: unable to download 'https://api.github.com/repos/NixOS/nixpkgs/commits/HEAD': Could not resolve hostname (6) Could not resolve host: api.github.com", "no network, or nixpkgs is not there: nix could not download it: unable to download 'https://api.github.com/"},
		{"no such repository", "error:\n       … while fetching the input 'github:o/r'\n\n       error: unable to download 'https://api.github.com/repos/o/r/commits/HEAD': HTTP error 404", "HTTP error 404"},
		{"wrong system, 2.26", "error: a 'riscv64-linux' with features {} is required to build '" + drv + "', but I am a 'x86_64-linux' with features {benchmark, big-parallel}", "cannot build for riscv64-linux"},
		{"wrong system, 2.34", "error: Cannot build '" + drv + "'.\n       Reason: required system or feature not available\n       Required system: 'riscv64-linux' with features {}\n       Current system: 'x86_64-linux' with features {benchmark}", "cannot build for riscv64-linux"},
		{"features off", "error: experimental Nix feature 'nix-command' is disabled; add '--extra-experimental-features nix-command' to enable it", "switched off"},
		{"no flake", "error: cannot find flake 'flake:x' in the flake registries", "knows no flake"},
		{"no daemon", "error: cannot connect to socket at '/nix/var/nix/daemon-socket/socket': Connection refused", "daemon"},
		{"refused", "error:\n       … while evaluating the attribute 'drvPath'\n\n       error: Package ‘x-1.0’ in /nix/store/y/x.nix:1 has an unfree license (‘unfree’), refusing to evaluate.\n\n       a) To temporarily allow", "nix refuses it: Package ‘x-1.0’"},
		{"a cache is down, and the error is another", "warning: unable to download 'https://cache.example.org/nix-cache-info': Couldn't connect to server (7); retrying in 300 ms\nwarning: error: cannot connect to socket at '/x'\nerror: attribute 'y' missing", "nix failed: attribute 'y' missing"},
		{"what is not known", "error: something new", "nix failed: something new"},
		{"nothing", "", "nix failed: exit status 1"},
	} {
		got := classify("pkg", "aarch64-linux", c.stderr, errors.New("exit status 1")).Error()
		if !strings.Contains(got, c.want) || !strings.HasPrefix(got, "package pkg: ") || strings.Contains(got, "\n") {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}

func TestStem(t *testing.T) {
	for in, want := range map[string]string{"git-2.44.1": "git", "git-2.44.1-doc": "git-doc", "python3.11-foo-1": "python3.11-foo", "x": "x"} {
		if got := stem(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// FuzzInfos: nothing that nix could say makes it panic or gives a path out of the store.
func FuzzInfos(f *testing.F) {
	f.Add([]byte(`[{"path":"` + a + `","narHash":"x","narSize":1}]`))
	f.Add([]byte(`{"version":2,"info":{"` + a[11:] + `":{"narHash":"x"}}}`))
	f.Add([]byte(`{"` + b + `":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseInfos(text)
		for p := range got {
			if err == nil && !inStore(p) {
				t.Fatalf("got %q", p)
			}
		}
	})
}

// FuzzOutputs: the same of what nix says that it built.
func FuzzOutputs(f *testing.F) {
	f.Add([]byte(`[{"drvPath":"/nix/store/x.drv","outputs":{"out":"` + a + `","lib":"` + b + `"}}]`))
	f.Add([]byte(`[{"outputs":{"out":null}}]`))
	f.Add([]byte(`["` + a + `"]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := outputs("p", text)
		if err == nil && len(got) == 0 {
			t.Fatal("got nothing and no error")
		}
		for _, p := range got {
			if !inStore(p) {
				t.Fatalf("got %q", p)
			}
		}
	})
}
