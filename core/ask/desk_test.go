package ask_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/internal/noleak"
)

func TestMain(m *testing.M) { noleak.Main(m) }

var bg = context.Background()

func open(t testing.TB, path string, change ...func(*ask.Config)) *ask.Desk {
	t.Helper()
	conf := ask.Config{Path: path, Poll: 10 * time.Millisecond}
	for _, f := range change {
		f(&conf)
	}
	d, err := ask.Open(bg, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "state", "asks.db") }

func put(t testing.TB, d *ask.Desk, a ask.Ask) ask.Ask {
	t.Helper()
	if a.Kind == "" {
		a.Kind = ask.Question
	}
	if a.Text == "" {
		a.Text = "q"
	}
	a, err := d.Ask(bg, a, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestOneAnswerCounts: of many answers at once, through two desks as of two processes, one is taken; the others are told.
func TestOneAnswerCounts(t *testing.T) {
	path := file(t)
	one, two := open(t, path), open(t, path)
	a := put(t, one, ask.Ask{})
	var taken atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			d := []*ask.Desk{one, two}[i%2]
			switch _, err := d.Answer(bg, a.ID, fmt.Sprint("answer ", i), fmt.Sprint("p", i)); {
			case err == nil:
				taken.Add(1)
			case !errors.Is(err, ask.ErrClosed):
				t.Errorf("got %v, want a second answer refused", err)
			}
		})
	}
	wg.Wait()
	if taken.Load() != 1 {
		t.Errorf("got %d answers taken, want 1", taken.Load())
	}
}

// TestAnotherProcessIsSeen: who waits at one desk hears of a change made at another.
func TestAnotherProcessIsSeen(t *testing.T) {
	path := file(t)
	here, there := open(t, path), open(t, path)
	a := put(t, here, ask.Ask{})
	go func() {
		time.Sleep(50 * time.Millisecond)
		if _, err := there.Answer(bg, a.ID, "Ünïcode ✓ 日本", "ann"); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	got, err := here.Wait(ctx, a.ID, func(a ask.Ask) bool { return a.State == ask.Answered })
	if err != nil || got.Answer != "Ünïcode ✓ 日本" || got.By != "ann" {
		t.Errorf("got %+v %v", got, err)
	}
}

// TestAChangeBeforeTheFirstLookIsSeen: another process answers before this one has looked for the first time whether the file
// changed. That was missed, and its agent never went on.
func TestAChangeBeforeTheFirstLookIsSeen(t *testing.T) {
	path := file(t)
	there := open(t, path)
	a := put(t, there, ask.Ask{})
	here := open(t, path, func(c *ask.Config) { c.Poll = 300 * time.Millisecond })
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	looked := make(chan struct{})
	var once sync.Once
	go func() {
		<-looked
		if _, err := there.Answer(bg, a.ID, "soon", "ann"); err != nil {
			t.Error(err)
		}
	}()
	got, err := here.Wait(ctx, a.ID, func(a ask.Ask) bool {
		once.Do(func() { close(looked) })
		return a.State == ask.Answered
	})
	if err != nil || got.Answer != "soon" {
		t.Errorf("got %+v %v, want the answer", got, err)
	}
}

// TestACancelledWaitHarmsNobody: the one connection outlives every caller's context.
func TestACancelledWaitHarmsNobody(t *testing.T) {
	d := open(t, file(t))
	a := put(t, d, ask.Ask{})
	for range 50 {
		ctx, cancel := context.WithTimeout(bg, time.Millisecond)
		_, _ = d.Wait(ctx, a.ID, func(ask.Ask) bool { return false })
		_, _ = d.Get(ctx, a.ID)
		_, _ = d.Inbox(ctx)
		cancel()
	}
	if _, err := d.Answer(bg, a.ID, "yes", "ann"); err != nil {
		t.Errorf("after cancelled waits: got %v", err)
	}
}

// TestBounds: one open question a spawn, so many in all.
func TestBounds(t *testing.T) {
	d := open(t, file(t), func(c *ask.Config) { c.MaxOpen = 2 })
	put(t, d, ask.Ask{Spawn: "s1"})
	for _, a := range []ask.Ask{{Kind: ask.Question, Text: "q", Spawn: "s1"}} {
		if _, err := d.Ask(bg, a, 0, nil); !errors.Is(err, ask.ErrFull) {
			t.Errorf("a second one of a spawn: got %v, want it refused", err)
		}
	}
	put(t, d, ask.Ask{Spawn: "s2"})
	if _, err := d.Ask(bg, ask.Ask{Kind: ask.Question, Text: "q", Spawn: "s3"}, 0, nil); !errors.Is(err, ask.ErrFull) {
		t.Errorf("one too many: got %v, want it refused", err)
	}
	if _, err := d.Ask(bg, ask.Ask{Kind: ask.Question, Text: "q"}, -1, nil); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a negative timeout: got %v, want it refused", err)
	}
}

// TestStepsAreKeptUntilTaken: a step that the journal could not take is there the next time, in its place.
func TestStepsAreKeptUntilTaken(t *testing.T) {
	d := open(t, file(t))
	a := put(t, d, ask.Ask{})
	if _, err := d.Answer(bg, a.ID, "yes", "ann"); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	if err := d.Forward(bg, func(ask.Step) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	var got []string
	for range 2 {
		if err := d.Forward(bg, func(s ask.Step) error { got = append(got, string(s.Ask.State)); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(got, " ") != "asked answered" {
		t.Errorf("got %v, want each step once, in order", got)
	}
}

// TestExpiry: with the default, with silence of an approval, without either; and an answer that comes too late.
func TestExpiry(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	d := open(t, file(t), func(c *ask.Config) { c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now } })
	blue := "blue"
	a := put(t, d, ask.Ask{Default: &blue})
	b := put(t, d, ask.Ask{})
	c := put(t, d, ask.Ask{Kind: ask.Approval, Call: &ask.Call{Name: "pay!", Args: "(1)"}})
	if got, next, err := d.Expire(bg); len(got) != 0 || !next.Equal(now.Add(time.Hour)) || err != nil {
		t.Errorf("before its time: got %v %v %v", got, next, err)
	}
	mu.Lock()
	now = now.Add(2 * time.Hour)
	mu.Unlock()
	if _, err := d.Answer(bg, b.ID, "late", "ann"); err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("a late answer: got %v, want it refused before anything has expired it", err)
	}
	if got, _, err := d.Expire(bg); len(got) != 3 || err != nil {
		t.Fatalf("got %v %v, want three", got, err)
	}
	for id, want := range map[string]string{a.ID: "answered blue (default)", b.ID: "expired  ", c.ID: "answered no (default)"} {
		q, err := d.Get(bg, id)
		if got := fmt.Sprintf("%s %s %s", q.State, q.Answer, q.By); got != want || err != nil {
			t.Errorf("%s: got %s (%v), want %s", id, got, err, want)
		}
	}
}

// TestFilesThatAreNotOurs are refused as they are.
func TestFilesThatAreNotOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "asks.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := ask.Open(bg, ask.Config{Path: path}); err == nil {
		t.Error("a text file: got it opened, want it refused")
		_ = d.Close()
	} else if !strings.Contains(err.Error(), "moved away") {
		t.Errorf("a text file: got %v, want what to do about it", err)
	}
	if b, _ := os.ReadFile(path); !strings.HasPrefix(string(b), "this is no database") {
		t.Error("the file was changed")
	}
}

// TestOneLeads: of two processes one resumes spawns.
func TestOneLeads(t *testing.T) {
	path := file(t)
	one, two := open(t, path), open(t, path)
	release, ok, err := one.Lead()
	if !ok || err != nil {
		t.Fatalf("got %v %v", ok, err)
	}
	if _, ok, _ := two.Lead(); ok {
		t.Error("got two that lead, want one")
	}
	release()
	if again, ok, _ := two.Lead(); ok {
		again()
	} else {
		t.Error("got nobody that leads after the first let go")
	}
}

// TestTexts: what the agent and the person read.
func TestTexts(t *testing.T) {
	q := ask.Ask{ID: "Q-7", Kind: ask.Approval, Attempt: 2, Call: &ask.Call{Name: "pay!", Args: `(42 "x")`}, Answer: ask.Yes, Outcome: "=> 1"}
	if got := q.Call.Form(); got != `(pay! 42 "x")` {
		t.Errorf("form: got %s", got)
	}
	if got := q.Prompt(); !strings.HasPrefix(got, "[zeno Q-7/2] A human approved your call, and it was made, once: (pay! 42") {
		t.Errorf("prompt: got %s", got)
	}
	q.Outcome = ask.NotMade + "why"
	if got := q.Prompt(); !strings.Contains(got, "but it was not made") {
		t.Errorf("prompt: got %s", got)
	}
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprintf("(call %d)", i)
	}
	if got := q.Notice(many, 5); !strings.Contains(got, "(call 49)") || strings.Contains(got, "(call 50)") || !strings.Contains(got, "and 15 more") {
		t.Errorf("notice: got %s", got)
	}
	if got := (ask.Ask{Text: strings.Repeat("é\n", 500)}).Line(); len([]rune(got)) > 170 || strings.Contains(got, "\n") {
		t.Errorf("line: got %d runes", len([]rune(got)))
	}
}
