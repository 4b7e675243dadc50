package journal

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestCutOff(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j.db")
	s := openAt(t, file)
	say := func(kind, spawn string) {
		t.Helper()
		if _, err := s.Append(bg, Event{Kind: kind, Role: "worker", Spawn: spawn}); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range [][2]string{{SpawnStarted, "a"}, {SpawnStarted, "b"}, {SpawnEnded, "a"}, {SpawnStarted, "c"}, {Eval, "d"}, {SpawnEnded, "e"},
		{SpawnStarted, "a"}, {SpawnEnded, "c"}} {
		say(x[0], x[1])
	}
	if got, err := s.CutOff(bg); err != nil || len(got) != 0 {
		t.Errorf("what began here: got %v, %v, want none", got, err)
	}
	closeStore(t, s)
	s = openAt(t, file)
	say(SpawnStarted, "z")
	got, err := s.CutOff(bg)
	if want := "[{b worker 2} {a worker 7}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v, want %s: a has begun again", got, err, want)
	}
}

// A file of an earlier version is brought forward with its events.
func TestAFileOfTheFirstVersion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j.db")
	old := openAt(t, file, func(c *Config) { c.steps = schema()[:1] })
	add(t, old, 5, true)
	if _, err := old.Append(bg, Event{Kind: SpawnStarted, Spawn: "x"}); err != nil {
		t.Fatal(err)
	}
	end, err := old.Anchor(bg)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, old)
	s := openAt(t, file)
	if rep := verified(t, s.Reader, Anchor{}); rep.To != end {
		t.Errorf("got the end %v, want %v", rep.To, end)
	}
	if got, err := s.CutOff(bg); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	add(t, s, 1, true)
	verified(t, s.Reader, Anchor{})
}
