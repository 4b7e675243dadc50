package journal

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stores are the two, which must behave alike.
func stores(t *testing.T, test func(t *testing.T, s interface {
	Store
	Watcher
	Marker
})) {
	t.Run("sqlite", func(t *testing.T) { test(t, open(t)) })
	t.Run("memory", func(t *testing.T) { test(t, &Memory{}) })
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	stores(t, func(t *testing.T, s interface {
		Store
		Watcher
		Marker
	}) {
		at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("x", 3600))
		in := Event{At: at, Kind: Eval, Role: "r", Spawn: "s-1", Outcome: "ok", Elapsed: 1500 * time.Microsecond,
			Data: map[string]any{"n": int64(42), "f": 1.5, "s": "x\x00y", "list": []any{"a", nil, true}, "map": map[string]any{"k": int64(1)}}}
		if _, err := s.Append(bg, in); err != nil {
			t.Fatal(err)
		}
		durable := in
		durable.Durable, durable.Data = true, nil
		got, err := s.Append(bg, durable)
		if err != nil || got.Seq != 2 {
			t.Errorf("a durable event: got number %d, %v, want 2", got.Seq, err)
		}
		in.Seq, durable.Seq = 1, 2
		es := since(t, s, 0, 10)
		for i := range es {
			es[i].Durable = false
		}
		durable.Durable = false
		if diff := cmp.Diff([]Event{in, durable}, es); diff != "" {
			t.Error(diff)
		}
		if es := since(t, s, 1, 10); len(es) != 1 || es[0].Seq != 2 {
			t.Errorf("after 1: got %v, want event 2", es)
		}
		if es := since(t, s, 0, 1); len(es) != 1 || es[0].Seq != 1 {
			t.Errorf("at most 1: got %v, want event 1", es)
		}
		if es := since(t, s, 0, -1); len(es) != 0 {
			t.Errorf("at most -1: got %v, want none", es)
		}
	})
}

func TestWatchersSeeEverythingInOrder(t *testing.T) {
	stores(t, func(t *testing.T, s interface {
		Store
		Watcher
		Marker
	}) {
		var seen []uint64
		stop := s.Watch(func(e Event) { seen = append(seen, e.Seq) })
		add(t, s, 100, false)
		add(t, s, 1, true)
		add(t, s, 5, false)
		stop()
		add(t, s, 1, true)
		if len(seen) != 106 {
			t.Fatalf("got %d events, want 106: those accepted before stop, and no more", len(seen))
		}
		for i, seq := range seen {
			if seq != uint64(i+1) {
				t.Fatalf("event %d: got number %d, want %d", i, seq, i+1)
			}
		}
	})
}

func TestAJournalGoesOnWhereItEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j.db")
	s := openAt(t, file)
	add(t, s, 7, false)
	closeStore(t, s)
	if _, err := s.Append(bg, event(0, false)); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: got %v, want ErrClosed", err)
	}
	if _, err := s.Since(bg, 0, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("since after close: got %v, want ErrClosed", err)
	}
	s = openAt(t, file)
	if e := add(t, s, 1, true); e.Seq != 8 {
		t.Errorf("got number %d, want 8", e.Seq)
	}
	if rep := verified(t, s.Reader, Anchor{}); rep.Events != 8 {
		t.Errorf("verified %d events, want 8", rep.Events)
	}
}

func TestTailAndShow(t *testing.T) {
	s := open(t)
	add(t, s, 10, false)
	es, err := s.Tail(bg, 2)
	if err != nil || len(es) != 2 || es[0].Seq != 9 || es[1].Seq != 10 {
		t.Errorf("tail: got %v, %v, want events 9 and 10", es, err)
	}
	es, err = s.Show(bg, "s-1", 2, 10)
	if err != nil || len(es) != 2 || es[0].Seq != 5 || es[1].Seq != 8 {
		t.Errorf("show: got %v, %v, want events 5 and 8", es, err)
	}
	if es, err := s.Show(bg, "", 0, 10); err != nil || len(es) != 0 {
		t.Errorf("show of no spawn: got %v, %v, want none", es, err)
	}
}

func TestTheFileIsPrivate(t *testing.T) {
	s := open(t)
	add(t, s, 1, true)
	dir := filepath.Dir(s.conf.Path)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: got %v, %v, want 0700", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 3 {
		t.Fatalf("got %v, %v, want the file, its log and its lock", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want 0600", e.Name(), info.Mode(), err)
		}
	}
}

func TestEventsThatAreRefused(t *testing.T) {
	s := open(t)
	for name, e := range map[string]Event{
		"no kind":     {},
		"a channel":   {Kind: "k", Data: map[string]any{"c": make(chan int)}},
		"no number":   {Kind: "k", Data: map[string]any{"c": math.NaN()}},
		"a long text": {Kind: "k", Data: map[string]any{"c": strings.Repeat("x", MaxPayload)}},
		"a far time":  {Kind: "k", At: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if _, err := s.Append(bg, e); err == nil || !strings.Contains(err.Error(), "event: got ") {
			t.Errorf("%s: got %v, want an error that says what was got", name, err)
		}
	}
	if es := since(t, s, 0, 10); len(es) != 0 {
		t.Errorf("got %v, want nothing recorded", es)
	}
	if e, err := s.Append(bg, Event{Kind: "k\xff", Durable: true}); err != nil || e.Kind != "k\uFFFD" {
		t.Errorf("a broken text: got %q, %v, want it mended", e.Kind, err)
	}
	verified(t, s.Reader, Anchor{})
}

// Many write at once: every event is there once, each writer's in its order.
func TestManyWriters(t *testing.T) {
	s := open(t, func(c *Config) { c.SegmentEvents = 100 })
	const writers, each = 16, 100
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				e := event(i, i%10 == w%10)
				e.Data = map[string]any{"writer": w, "i": i}
				if _, err := s.Append(bg, e); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	next := map[int64]int64{}
	es := since(t, s, 0, writers*each+1)
	for _, e := range es {
		w, i := e.Data["writer"].(int64), e.Data["i"].(int64)
		if i != next[w] {
			t.Fatalf("writer %d: got its event %d, want %d", w, i, next[w])
		}
		next[w]++
	}
	if rep := verified(t, s.Reader, Anchor{}); len(es) != writers*each || rep.Events != writers*each || rep.Segments < 2 {
		t.Errorf("got %d events, %d verified in %d segments, want %d in several", len(es), rep.Events, rep.Segments, writers*each)
	}
}

func TestACancelledAppendIsNotRecorded(t *testing.T) {
	block := make(chan struct{})
	entered := make(chan struct{}, 1)
	s := open(t, func(c *Config) {
		c.OnWrite = func(point string) {
			if point == "begin" {
				select {
				case entered <- struct{}{}:
				default:
				}
				<-block
			}
		}
	})
	go func() { _, _ = s.Append(bg, event(0, true)) }()
	<-entered
	for range queueSize {
		if _, err := s.Append(bg, event(0, false)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancelCause(bg)
	cancel(errors.New("no time"))
	if _, err := s.Append(ctx, event(0, false)); err == nil || !strings.Contains(err.Error(), "no time") {
		t.Errorf("got %v, want the cause", err)
	}
	close(block)
	if es := since(t, s, 0, 2*queueSize); len(es) != queueSize+1 {
		t.Errorf("got %d events, want %d", len(es), queueSize+1)
	}
}
