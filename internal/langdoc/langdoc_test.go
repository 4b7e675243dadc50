package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/lisp/compile"
)

func TestMain(m *testing.M) { noleak.Main(m) }

func TestUpToDate(t *testing.T) {
	want, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := document(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("docs/language.md is out of date; go run ./internal/langdoc > docs/language.md: %s", diff)
	}
}

func TestEveryNameIsDocumented(t *testing.T) {
	all, err := collect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if missing := undocumented(all); len(missing) > 0 {
		t.Errorf("got no docstring for %s, want one", strings.Join(missing, " "))
	}
}

// Every name of clojure.core and of Joker's core is here, or left out with a reason, and never both.
func TestEveryNameIsHereOrLeftOut(t *testing.T) {
	all, err := collect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(n namespace) bool { return n.name == "clojure.core" })
	here := map[string]bool{}
	for _, e := range all[i].names {
		here[e.name] = true
	}
	for _, file := range []string{"testdata/clojure-core-names.txt", "testdata/joker-core-names.txt"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Fields(string(b))
		if len(names) < 400 {
			t.Fatalf("%s: got %d names, want all of them", file, len(names))
		}
		for _, name := range names {
			has := here[name] || compile.IsSpecial(name) || helper(name)
			if _, out := compile.LeftOut(name); out && here[name] {
				t.Errorf("%s: got it in the core and among what is left out, want one of the two", name)
			} else if !has && !out {
				t.Errorf("%s: got it neither in the core nor among what is left out", name)
			}
		}
	}
}
