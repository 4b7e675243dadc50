package corelib_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
)

// TestHostFacts checks what only a trusted environment has: namespaces, input and output, tests. The facts lie in
// ../testdata/host/*.facts, and each has an environment of its own.
func TestHostFacts(t *testing.T) {
	files, err := filepath.Glob("../testdata/host/*.facts")
	if err != nil || len(files) == 0 {
		t.Fatalf("facts: got %d files, %v, want some", len(files), err)
	}
	rt := lisp.New()
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".facts"), func(t *testing.T) {
			t.Parallel()
			for _, f := range readFacts(t, file) {
				checkHost(t, rt, f)
			}
		})
	}
}

const hostAliases = `(require '[clojure.set :as set] '[clojure.walk :as walk] '[clojure.string :as str] '[clojure.edn :as edn]
  '[clojure.pprint :as pp])`

func checkHost(t *testing.T, rt *lisp.Runtime, f fact) {
	t.Helper()
	ctx := context.Background()
	env := rt.NewEnv(lisp.EnvConfig{Out: io.Discard})
	defer env.Close()
	aliases := hostAliases
	if strings.Contains(f.expr, "t/") {
		aliases += "(require (quote [clojure.test :as t]))"
	}
	v, err := env.Eval(ctx, aliases+f.expr, "fact")
	got := ""
	if err == nil {
		got, err = env.Print(ctx, v)
	}
	switch {
	case f.want == "!" && err == nil:
		t.Errorf("%s: got %s, want it to throw", f.expr, got)
	case f.want != "!" && err != nil:
		t.Errorf("%s: got %v, want %s", f.expr, err, f.want)
	case f.want != "!" && got != f.want:
		t.Errorf("%s: got %s, want %s", f.expr, got, f.want)
	}
}
