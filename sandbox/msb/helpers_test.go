package msb

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/sandbox"
)

func TestMain(m *testing.M) { noleak.Main(m) }

// fake is a home of msb whose program is testdata/msb.
type fake struct {
	t    testing.TB
	home string
}

func newFake(t testing.TB) *fake {
	t.Helper()
	home := t.TempDir()
	text, err := os.ReadFile("testdata/msb")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "bin", "msb"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	return &fake{t, home}
}

// will makes the fake behave: see testdata/msb.
func (f *fake) will(what, text string) {
	f.t.Helper()
	dir := filepath.Join(f.home, "fake")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, what), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) backend(change ...func(*Config)) *Backend {
	f.t.Helper()
	cfg := Config{Getenv: func(k string) string {
		return map[string]string{"MSB_HOME": f.home, "PATH": os.Getenv("PATH"), "HOME": f.home}[k]
	}}
	for _, c := range change {
		c(&cfg)
	}
	b, err := New(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := b.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return b
}

// call is one call of the fake.
type call struct {
	argv []string
	env  string
}

// calls are those so far, in order, of a command or of all.
func (f *fake) calls(command string) (out []call) {
	f.t.Helper()
	names, err := filepath.Glob(filepath.Join(f.home, "fake", "*.call"))
	if err != nil {
		f.t.Fatal(err)
	}
	sort.Strings(names)
	for _, n := range names {
		argv, err := os.ReadFile(n)
		env, err2 := os.ReadFile(strings.TrimSuffix(n, ".call") + ".env")
		if err != nil || err2 != nil {
			f.t.Fatal(err, err2)
		}
		c := call{strings.Split(strings.TrimSuffix(string(argv), "\n"), "\n"), string(env)}
		if command == "" || c.argv[0] == command {
			out = append(out, c)
		}
	}
	return out
}

// commands are the first words of the calls.
func (f *fake) commands() (out []string) {
	for _, c := range f.calls("") {
		out = append(out, c.argv[0])
	}
	return out
}

// box is a spec that is acceptable.
func box(argv ...string) sandbox.Spec {
	return sandbox.Spec{Name: "a1", Image: "debian:12", Argv: argv, Timeout: time.Minute}
}

func run(t testing.TB, b *Backend, s sandbox.Spec) sandbox.Result {
	t.Helper()
	res, err := b.Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// has tells whether some words follow one another in argv.
func has(argv []string, words ...string) bool {
	for i := range argv {
		if i+len(words) <= len(argv) && slices.Equal(argv[i:i+len(words)], words) {
			return true
		}
	}
	return false
}

// until waits for something to be so.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if so() {
			return
		}
	}
	t.Fatalf("waited two minutes for %s", what)
}
