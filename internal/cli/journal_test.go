package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/journal"
)

// What an agent wrote cannot steer the terminal that shows it.
func TestEventsAreHarmless(t *testing.T) {
	e := journal.Event{Seq: 1, Kind: "eval", Role: "r\x1b[2J", Outcome: "ok", Data: map[string]any{"code": "\x1b]0;x\x07 \u009b1m \u202e é\n"}}
	got := eventPrinter{width: 0}.line(e)
	if strings.ContainsAny(got, "\x1b\x07\u009b\u202e\n") || !strings.Contains(got, "é") || !strings.Contains(got, `r\u001b[2J`) {
		t.Errorf("got %q, want no control characters and the rest", got)
	}
	if long := (eventPrinter{width: 5}).line(e); !strings.HasSuffix(long, `{"cod…`) {
		t.Errorf("got %q, want five characters of data", long)
	}
}

// tail --follow shows what another zeno records, while it records it.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	s, err := journal.Open(context.Background(), journal.Config{Path: filepath.Join(dir, "state", core.JournalFile)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	add := func(kind string) {
		if _, err := s.Append(context.Background(), journal.Event{Kind: kind, Durable: true}); err != nil {
			t.Fatal(err)
		}
	}
	add("before")
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer discard(out)
	a := newApp(Std{Out: out, Err: os.Stderr, In: os.Stdin, Getenv: func(string) string { return "" }})
	defer a.signals.stop()
	a.home = dir
	done := make(chan error, 1)
	go func() { done <- (&journalTail{Lines: 1, Follow: true}).Run(a) }()
	wait := func(text string) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if b, _ := os.ReadFile(out.Name()); bytes.Contains(b, []byte(text)) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("no %q within 30 s", text)
			}
		}
	}
	wait("before")
	add("while")
	wait("while")
	a.signals.exit(0)
	if err := <-done; err != nil {
		t.Errorf("after the end: %v", err)
	}
}
