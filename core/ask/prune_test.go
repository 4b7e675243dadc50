package ask_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/ask"
)

// Prune removes what is over and old, with its spawn; what waits, what may be asked for again, what is young and what
// belongs to a spawn that has not ended stays. The numbers go on.
func TestPrune(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := open(t, file(t), func(c *ask.Config) { c.Now = func() time.Time { return now } })
	of := func(a ask.Ask, ended bool) ask.Ask {
		t.Helper()
		a.Text = "q"
		var sp *ask.Spawn
		if a.Spawn != "" {
			sp = &ask.Spawn{ID: a.Spawn, Ended: ended}
		}
		a, err := d.Ask(bg, a, 300*24*time.Hour, sp)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	become := func(a ask.Ask, s ask.State) ask.Ask {
		t.Helper()
		if _, ok, err := d.Move(bg, a.ID, func(a *ask.Ask) bool { a.State, a.Answered = s, now; return true }, ask.Asked); err != nil || !ok {
			t.Fatal(ok, err)
		}
		return a
	}
	gone := []ask.Ask{
		become(of(ask.Ask{Kind: ask.Question, Spawn: "done"}, true), ask.Resumed),
		become(of(ask.Ask{Kind: ask.Program}, false), ask.Answered),
		become(of(ask.Ask{Kind: ask.Approval, Spawn: "expired"}, true), ask.Expired),
	}
	stay := []ask.Ask{
		of(ask.Ask{Kind: ask.Question, Spawn: "waits"}, false),
		become(of(ask.Ask{Kind: ask.Question, Spawn: "works"}, false), ask.Resumed),
		become(of(ask.Ask{Kind: ask.Question, Spawn: "answered"}, false), ask.Answered),
		become(of(ask.Ask{Kind: ask.Question, Spawn: "unknown"}, false), ask.Unknown),
		become(of(ask.Ask{Kind: ask.Program, Key: "[:ship]"}, false), ask.Answered),
	}
	for i := range 1200 { // more than are looked at in one go
		gone = append(gone, become(of(ask.Ask{Kind: ask.Question, Spawn: fmt.Sprint("many", i)}, true), ask.Resumed))
	}
	now = now.Add(100 * 24 * time.Hour)
	young := become(of(ask.Ask{Kind: ask.Question, Spawn: "young"}, true), ask.Resumed)
	stay = append(stay, young)
	for _, dry := range []bool{true, false} {
		if n, err := d.Prune(bg, now.Add(-time.Hour), dry); err != nil || n != len(gone) {
			t.Fatalf("dry %v: got %d %v, want %d", dry, n, err, len(gone))
		}
	}
	for i, a := range slices.Concat(gone, stay) {
		_, err := d.Get(bg, a.ID)
		if want := i < len(gone); errors.Is(err, ask.ErrNotFound) != want {
			t.Errorf("%s of %q: got %v, want it gone: %v", a.ID, a.Spawn, err, want)
		}
		if a.Spawn == "" {
			continue
		}
		if _, ok, err := d.Spawn(bg, a.Spawn); err != nil || ok == (i < len(gone)) {
			t.Errorf("spawn %s: got %v %v", a.Spawn, ok, err)
		}
	}
	if n, err := d.Prune(bg, now.Add(-time.Hour), false); err != nil || n != 0 {
		t.Errorf("again: got %d %v, want nothing left to remove", n, err)
	}
	if _, err := d.Prune(bg, now.Add(time.Hour), false); err != nil {
		t.Fatal(err)
	}
	if a := of(ask.Ask{Kind: ask.Question}, false); a.ID == young.ID {
		t.Errorf("a new question: got the number of a removed one, %s", a.ID)
	}
}
