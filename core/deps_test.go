package core_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
)

// What deps.edn says of paths decides where namespaces are found; what is wrong in it is reported, and the rest still comes
// up.
func TestDepsEdn(t *testing.T) {
	for _, tt := range []struct{ name, deps, want, report string }{
		{"none", "", ":src", ""},
		{"paths", `{:paths ["lib"] :aliases {:dev {}}}`, ":lib", ""},
		{"no paths", `{}`, ":src", ""},
		{"not EDN", `{:paths [`, ":src", "deps.edn:1:9"},
		{"not a map", `[1 2]`, ":src", "got a vector, want a map"},
		{"not strings", `{:paths [1]}`, ":src", ":paths 0: got 1 (integer), want a string"},
		{"a library that is not there", `{:paths ["lib"] :deps {a/b {:local/root "x"}}}`, ":lib", "deps: a/b: :local/root:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("src/where.joke", "(ns where) (def here :src)")
			write("lib/where.joke", "(ns where) (def here :lib)")
			write(home.InitFile, "(require 'where)")
			if tt.deps != "" {
				write("deps.edn", tt.deps)
			}
			h, _ := home.Resolve(dir, os.Getenv)
			var errs bytes.Buffer
			c, err := core.New(core.Config{Home: h, Err: &errs})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			if err := c.Boot(context.Background()); (err != nil) != (tt.report != "") {
				t.Errorf("boot: got %v, want an error: %v", err, tt.report != "")
			}
			if got := eval(t, c, "where/here"); got != tt.want {
				t.Errorf("the namespace: got %s, want %s", got, tt.want)
			}
			if !strings.Contains(errs.String(), tt.report) {
				t.Errorf("report: got %q, want it to hold %q", errs.String(), tt.report)
			}
		})
	}
}
