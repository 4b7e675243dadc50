package secret_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

func TestMain(m *testing.M) { noleak.Main(m) }

const canary = "canary-77e1-value"

func Example() {
	v, err := secret.Env{Lookup: func(string) (string, bool) { return "s3cret-value", true }}.Resolve(context.Background(), "TOKEN")
	fmt.Println(v, err, len(v.Reveal()))
	// Output: [secret] <nil> 12
}

// Whatever prints a Value prints no part of it; a plain string would be there.
func TestAValueDoesNotShowItself(t *testing.T) {
	v, err := secret.New(canary)
	if err != nil {
		t.Fatal(err)
	}
	type holder struct {
		Open   secret.Value
		closed secret.Value
		P      *secret.Value
	}
	h := holder{v, v, &v}
	shown := func(x any) string {
		var b bytes.Buffer
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", x)
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "v", x)
		j, err := json.Marshal(x)
		fmt.Fprintf(&b, "%s %v %v %+v %#v %s %q %x %X %d %t", j, err, x, x, x, x, x, x, x, x, x)
		return b.String() + fmt.Errorf("it: %v", x).Error()
	}
	for _, x := range []any{v, &v, h, &h, []secret.Value{v}, map[string]secret.Value{"a": v}, map[secret.Value]int{v: 1}} {
		if s := shown(x); strings.Contains(s, canary) || strings.Contains(s, fmt.Sprintf("%x", canary)) || strings.Contains(s, fmt.Sprintf("%X", canary)) {
			t.Errorf("%T: %s", x, s)
		}
	}
	if !strings.Contains(shown(canary), canary) {
		t.Fatal("a plain string is not shown: the test sees nothing")
	}
	if err := gob.NewEncoder(&bytes.Buffer{}).Encode(v); err == nil {
		t.Error("a gob was made of it")
	}
	if v.Reveal() != canary || v.IsZero() || !(secret.Value{}).IsZero() || (secret.Value{}).Reveal() != "" {
		t.Error("Reveal does not give the text")
	}
}

func TestBounds(t *testing.T) {
	for n, ok := range map[int]bool{0: false, 7: false, 8: true, secret.MaxBytes: true, secret.MaxBytes + 1: false} {
		text := strings.Repeat("k", n)
		if _, err := secret.New(text); (err == nil) != ok || err != nil && n > 0 && strings.Contains(err.Error(), "kk") {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
}

func TestResolvers(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	env := func(k string) (string, bool) {
		return map[string]string{"TOKEN": canary, "EMPTY": "", "SHORT": "short12"}[k], k != "NONE"
	}
	sh := func(script string) secret.Exec { return secret.Exec{Argv: []string{"sh", "-c", script}} }
	for _, c := range []struct {
		name    string
		from    secret.Resolver
		want    string // of the error; empty: the canary
		missing bool
	}{
		{"TOKEN", secret.Env{Lookup: env}, "", false},
		{"OTHER", secret.Env{Var: "TOKEN", Lookup: env}, "", false},
		{"NONE", secret.Env{Lookup: env}, "NONE is not set", true},
		{"EMPTY", secret.Env{Lookup: env}, "EMPTY is not set", true},
		{"SHORT", secret.Env{Lookup: env}, "secret SHORT: secret: got a value of 7 bytes", false},
		{"A", secret.File{Path: file("a", canary+"\n")}, "", false},
		{"A", secret.File{Path: file("b", canary+"\r\n")}, "", false},
		{"A", secret.File{Path: file("c", canary)}, "", false},
		{"A", secret.File{Path: file("d", canary+"\n\n")}, "another", false},
		{"A", secret.File{Path: file("e", strings.Repeat("x", 1<<20))}, "want 8 to 16384", false},
		{"A", secret.File{Path: filepath.Join(dir, "none")}, "does not exist", true},
		{"A", secret.File{Path: dir}, "failed to read", false},
		{"A", sh("echo " + canary), "", false},
		{"A", sh("exit 3"), "exit status 3", true},
		{"A", sh("true"), "printed nothing", true},
		{"A", sh("yes xxxxxxxxxxxxxxx | head -c 2000000"), "want 8 to 16384", false},
		{"A", secret.Exec{Argv: []string{"/nosuch"}}, "/nosuch", true},
		{"A", secret.Exec{}, "got no command", false},
		{"A", secret.Exec{Argv: []string{"sh", "-c", "sleep 100"}, Timeout: 50 * time.Millisecond}, "did not end within", false},
	} {
		v, err := c.from.Resolve(ctx, c.name)
		if c.want == "another" { // the rest of the text is the value's own
			if err != nil || v.Reveal() != canary+"\n" {
				t.Errorf("%+v: got %v", c.from, err)
			}
			continue
		}
		if c.want == "" && (err != nil || v.Reveal() != canary) {
			t.Errorf("%T: got %v", c.from, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, secret.ErrMissing) != c.missing) {
			t.Errorf("%T: got %v, want %q", c.from, err, c.want)
		}
	}
}

// What a command printed before it failed is in no error.
func TestAFailingCommandTellsNothing(t *testing.T) {
	_, err := secret.Exec{Argv: []string{"sh", "-c", "echo " + canary + "; echo " + canary + " >&2; exit 1"}}.Resolve(context.Background(), "A")
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}
