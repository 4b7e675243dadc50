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

// What versions say that are not installed here.
func TestClassify(t *testing.T) {
	for _, c := range []struct{ stderr, want string }{
		{"error: flake 'x' does not provide attribute 'packages.x86_64-linux.gti'\n       Did you mean one of git or gta?", "did you mean one of git or gta"},
		{"error: Cannot build '/nix/store/qf6y1n6xizjv85n4940qnh79lkc45nyh-fails-1.0.drv'.\n Reason: builder failed with exit code 1.\n Last 1 log lines:\n       > why\n For full logs, run:\n nix log /nix/store/qf6y1n6xizjv85n4940qnh79lkc45nyh-fails-1.0.drv", "fails-1.0: why"},
		{"error: a 'aarch64-linux' with features {} is required to build '/nix/store/x.drv', but I am a 'x86_64-linux'", "cannot build"},
		{"error: experimental Nix feature 'nix-command' is disabled", "switched off"},
		{"error: cannot find flake 'flake:x' in the flake registries", "knows no flake"},
		{"error: cannot connect to socket at '/nix/var/nix/daemon-socket/socket': Connection refused", "daemon"},
		{"error: expected flake output attribute 'x' to be a derivation or path but found a set", "nix failed"},
	} {
		got := classify("pkg", "aarch64-linux", c.stderr, errors.New("exit status 1")).Error()
		if !strings.Contains(got, c.want) || !strings.Contains(got, "pkg") || strings.Contains(got, "\n") {
			t.Errorf("%s: got %s, want %s", c.stderr, got, c.want)
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
