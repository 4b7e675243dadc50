package journal

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// copyFiles copies a journal as it lies there, with what SQLite has beside it.
func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	for _, ext := range []string{"", "-wal"} {
		b, err := os.ReadFile(from + ext)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+ext, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A log that lost its end, or whose bytes were changed, costs the events that stood there and no other: what is left
// holds, numbers go on where it ends, and an anchor from before tells of the loss, which the chain alone cannot.
func TestALogThatLostItsEnd(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "whole.db"))
	add(t, s, 300, true)
	anchor, err := s.Anchor(bg)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.Stat(s.conf.Path + "-wal")
	if err != nil || wal.Size() < 100_000 {
		t.Fatalf("the log: got %v, %v, want it large", wal, err)
	}
	fewest, most := int64(1<<62), int64(-1)
	for i := range 24 {
		file := filepath.Join(dir, fmt.Sprintf("%d.db", i))
		copyFiles(t, s.conf.Path, file)
		at := rand.Int64N(wal.Size())
		if i%2 == 0 {
			err = os.Truncate(file+"-wal", at)
		} else {
			err = overwrite(file+"-wal", at, []byte("\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5"))
		}
		if err != nil {
			t.Fatal(err)
		}
		damaged, err := Open(bg, Config{Path: file})
		if err != nil {
			t.Fatalf("cut %d at %d: %v", i, at, err)
		}
		rep := verified(t, damaged.Reader, Anchor{})
		fewest, most = min(fewest, rep.Events), max(most, rep.Events)
		if rep.Events < 300 {
			if r, err := damaged.Verify(bg, anchor); err == nil && r.Broken == nil {
				t.Errorf("cut %d: an anchor of event %d: got a journal of %d events that holds, want the loss told", i, anchor.Seq, rep.Events)
			}
		}
		if e := add(t, damaged, 1, true); e.Seq != uint64(rep.Events)+1 {
			t.Errorf("cut %d: got number %d after %d events", i, e.Seq, rep.Events)
		}
		verified(t, damaged.Reader, Anchor{})
		closeStore(t, damaged)
	}
	t.Logf("of 300 events between %d and %d are left", fewest, most)
	if most == 300 && fewest == 300 {
		t.Error("nothing was lost: the test harms nothing")
	}
}

func overwrite(file string, at int64, b []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, at)
	return errors.Join(err, f.Close())
}

// A journal of a gigabyte opens at once, and to read its end, to check all of it and to export it takes little memory.
func TestAGigabyte(t *testing.T) {
	size, text := int64(1<<30), 64<<10
	if testing.Short() {
		size = 64 << 20
	}
	s := open(t, func(c *Config) { c.Retention = Retention{Events: -1} })
	file := s.conf.Path
	body := strings.Repeat("0123456789abcdef", text/16)
	begun := time.Now()
	n := int(size)/text + 1
	for i := range n {
		e := Event{Kind: Call, Role: "worker", Spawn: fmt.Sprintf("s-%d", i%50), Outcome: "ok", Data: map[string]any{"n": i, "text": body}}
		if _, err := s.Append(bg, e); err != nil {
			t.Fatal(err)
		}
		if i%200 == 0 { // what waits is in memory
			if err := s.Flush(bg); err != nil {
				t.Fatal(err)
			}
		}
	}
	closeStore(t, s)
	info, err := os.Stat(file)
	if err != nil || info.Size() < size {
		t.Fatalf("got %v, %v, want a file of %d bytes", info, err, size)
	}
	built := time.Since(begun)
	var opened, tailed, verify, exported time.Duration
	peak := peakHeap(t, func() {
		at := time.Now()
		s = openAt(t, file)
		opened = time.Since(at)
		at = time.Now()
		if es, err := s.Tail(bg, 20); err != nil || len(es) != 20 || es[19].Seq != uint64(n) {
			t.Fatalf("tail: got %d events, %v", len(es), err)
		}
		tailed = time.Since(at)
		at = time.Now()
		if rep := verified(t, s.Reader, Anchor{}); rep.Events != int64(n) {
			t.Fatalf("verify: got %d events, want %d", rep.Events, n)
		}
		verify = time.Since(at)
		at = time.Now()
		if err := s.Export(bg, io.Discard, 0); err != nil {
			t.Fatal(err)
		}
		exported = time.Since(at)
	})
	t.Logf("%d MB: built in %s, opened in %s, its last 20 events in %s, checked in %s, exported in %s; heap grew by at most %d MB",
		info.Size()>>20, built.Round(time.Millisecond), opened.Round(time.Millisecond), tailed.Round(time.Millisecond), verify.Round(time.Millisecond), exported.Round(time.Millisecond), peak>>20)
	if peak > 64<<20 {
		t.Errorf("the heap grew by %d MB, want at most 64: it must not grow with the journal", peak>>20)
	}
	if opened > 5*time.Second && opened > verify/4 {
		t.Errorf("got it open after %s, want at once: it must not be read through", opened)
	}
}

// peakHeap is by how much the heap grew at most while f ran, as seen every few milliseconds.
func peakHeap(t *testing.T, f func()) int64 {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	base, peak := int64(m.HeapAlloc), int64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, int64(m.HeapAlloc)-base)
			}
		}
	}()
	f()
	close(stop)
	<-done
	return peak
}
