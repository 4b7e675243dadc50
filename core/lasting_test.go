package core_test

import (
	"os"
	"path/filepath"
	"testing"
)

// What could not be opened is tried again: nobody has to start zeno anew when the disk has room again.
func TestWhatPassesIsTriedAgain(t *testing.T) {
	c, _ := start(t, budgeted)
	state := filepath.Join(c.Home().Dir, "state")
	for _, file := range []string{"budget.db", "asks.db"} {
		if err := os.MkdirAll(filepath.Join(state, file), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	spawn := `(:status (run {} (fn [_] "done")))`
	ask := `(try (deref (future (zeno.ask/ask "Now?" {:key [:k] :timeout "1ms" :default "no"}))) (catch Error e :failed))`
	want(t, c, spawn, `:refused`)
	want(t, c, ask, `:failed`)
	for _, file := range []string{"budget.db", "asks.db"} {
		if err := os.Remove(filepath.Join(state, file)); err != nil {
			t.Fatal(err)
		}
	}
	want(t, c, spawn, `:ok`)
	want(t, c, ask, `"no"`)
}
