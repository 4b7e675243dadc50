package lisp_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/lisp"
)

var updateErrors = flag.Bool("update-errors", false, "write what the programs of testdata/errors give; then read every line of it")

// TestErrorTexts holds what a person reads when a program fails: testdata/errors/*.txtar has programs, x.joke, and the whole
// text of the error that each ends in, x.want.
func TestErrorTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(files) < 5 {
		t.Fatalf("testdata/errors: got %d files, %v, want all of them", len(files), err)
	}
	rt := lisp.New()
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(archive.Files)%2 != 0 || len(archive.Files) == 0 {
			t.Fatalf("%s: got %d files, want pairs of x.joke and x.want", file, len(archive.Files))
		}
		for i := 0; i < len(archive.Files); i += 2 {
			program, want := archive.Files[i], &archive.Files[i+1]
			name := strings.TrimSuffix(program.Name, ".joke")
			if want.Name != name+".want" {
				t.Fatalf("%s: got %s after %s, want %s.want", file, want.Name, program.Name, name)
			}
			got := errorText(t, rt, string(program.Data))
			if *updateErrors {
				want.Data = []byte(got)
			} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("%s: %s: %s", filepath.Base(file), name, diff)
			}
		}
		if *updateErrors {
			if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// errorText is the error of a program as the command line words it.
func errorText(t *testing.T, rt *lisp.Runtime, src string) string {
	t.Helper()
	env := rt.NewEnv(lisp.EnvConfig{})
	defer env.Close()
	_, err := lisp.NewSession(env).Eval(context.Background(), lisp.Input{Src: src, File: "app.joke"})
	if err == nil {
		t.Fatalf("%s: got no error, want one", src)
	}
	return core.Explain(err) + "\n"
}
