package corelib_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
)

// A fact is an expression and what it gives, or ! where it throws. Facts lie in ../testdata/*.facts, two lines each.
type fact struct{ expr, want string }

func readFacts(t *testing.T, file string) []fact {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []fact
	expr := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		want, isWant := strings.CutPrefix(line, "→ ")
		switch {
		case isWant:
			out = append(out, fact{expr, want})
		case line != "" && !strings.HasPrefix(line, ";"):
			expr = line
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s: got no facts, want some", file)
	}
	return out
}

func TestFacts(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.facts")
	if err != nil || len(files) == 0 {
		t.Fatalf("facts: got %d files, %v, want some", len(files), err)
	}
	rt := lisp.New()
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".facts"), func(t *testing.T) {
			t.Parallel()
			for _, f := range readFacts(t, file) {
				check(t, rt, f)
			}
		})
	}
}

// check evaluates a fact in an isolate of its own: what holds there holds under limits.
func check(t *testing.T, rt *lisp.Runtime, f fact) {
	t.Helper()
	const aliases = `(require '[clojure.set :as set] '[clojure.walk :as walk] '[clojure.zip :as zip] '[clojure.string :as str])`
	iso := rt.NewIsolate(lisp.Limits{})
	iso.Eval(context.Background(), aliases)
	res := iso.Eval(context.Background(), f.expr)
	switch {
	case f.want == "!" && res.Err == nil:
		t.Errorf("%s: got %s, want it to throw", f.expr, res.Value)
	case f.want == "!" && strings.HasPrefix(res.Err.Kind, "limit"):
		t.Errorf("%s: got %v, want an exception", f.expr, res.Err)
	case f.want != "!" && res.Err != nil:
		t.Errorf("%s: got %v, want %s", f.expr, res.Err, f.want)
	case f.want != "!" && res.Value != f.want:
		t.Errorf("%s: got %s, want %s", f.expr, res.Value, f.want)
	}
}
