package core_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
)

// Reload takes in what changed and what uses it, in order, and leaves the rest alone.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The names sort against their use: a uses m, m uses z.
	write("src/z.joke", `(ns z) (defmacro twice [x] (list '+ x x))`)
	write("src/m.joke", `(ns m (:require [z :refer [twice]])) (defn f [x] (twice x))`)
	write("src/a.joke", `(ns a (:require [m :as m])) (def four (m/f 2))`)
	write("src/other.joke", `(ns other) (def state (atom 0))`)
	write(home.InitFile, `(require '[a] '[other]) (defonce boots (atom 0)) (swap! boots inc) (def version 1)`)
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	c, err := core.New(core.Config{Home: h})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	t.Cleanup(func() {
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := c.Boot(ctx); err != nil {
		t.Fatal(core.Explain(err))
	}
	reload := func(want ...string) {
		t.Helper()
		if got, err := c.Reload(ctx); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	eval(t, c, `(swap! other/state inc)`)
	reload("init.joke")
	write("src/z.joke", `(ns z) (defmacro twice [x] (list '* 10 x))`)
	// The harm: loading init.joke again alone changes nothing, since what it requires is loaded.
	if got := eval(t, c, `(require 'a) a/four`); got != "4" {
		t.Errorf("without reload: got %s, want 4", got)
	}
	write(home.InitFile, `(require '[a] '[other]) (defonce boots (atom 0)) (swap! boots inc) (def version 2)`)
	reload("z", "m", "a", "init.joke")
	if got := eval(t, c, `[a/four @other/state @boots version]`); got != "[20 1 3 2]" {
		t.Errorf("got %s, want [20 1 3 2]", got)
	}
	reload("init.joke")

	write("src/m.joke", `(ns m (:require [z :refer [twice]])) (defn f [x] (oops x))`)
	for range 2 { // until it is mended
		if got, err := c.Reload(ctx); err == nil || len(got) != 0 || !strings.Contains(err.Error(), "m did not load") || !strings.Contains(err.Error(), "m.joke:1:") {
			t.Errorf("broken: got %q, %v", got, err)
		}
	}
	if got := eval(t, c, `a/four`); got != "20" {
		t.Errorf("after a failure: got %s, want what was", got)
	}
	write("src/m.joke", `(ns m (:require [z :refer [twice]])) (defn f [x] (inc (twice x)))`)
	reload("m", "a", "init.joke")
	if got := eval(t, c, `a/four`); got != "21" {
		t.Errorf("mended: got %s, want 21", got)
	}
}

func TestReloadWantsAHome(t *testing.T) {
	c, err := core.New(core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	if _, err := c.Reload(context.Background()); err == nil || !strings.Contains(err.Error(), "got no home") {
		t.Errorf("got %v, want that there is none", err)
	}
}
