package journal

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestOnce(t *testing.T) {
	stores(t, func(t *testing.T, s interface {
		Store
		Watcher
		Marker
	}) {
		o := &Once{Marks: s}
		var runs atomic.Int64
		work := Work{Key: "k", Body: func() (string, string) {
			runs.Add(1)
			return MarkDone, "42"
		}}
		var wg sync.WaitGroup
		var ran atomic.Int64
		for range 50 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				m, did, err := o.Do(bg, work)
				if err != nil || m.State != MarkDone || m.Result != "42" {
					t.Errorf("got %v, %v, want done with 42", m, err)
				}
				if did {
					ran.Add(1)
				}
			}()
		}
		wg.Wait()
		if runs.Load() != 1 || ran.Load() != 1 {
			t.Errorf("50 callers: the work ran %d times and %d were told that they ran it, want 1", runs.Load(), ran.Load())
		}
		failed := Work{Key: "f", Body: func() (string, string) { return MarkFailed, `"no luck"` }}
		for i := range 2 {
			if m, did, err := o.Do(bg, failed); err != nil || m.State != MarkFailed || did != (i == 0) {
				t.Errorf("failed work, call %d: got %v, %v, %v", i, m, did, err)
			}
		}
		if ok, err := s.ForgetMark(bg, "k"); err != nil || !ok {
			t.Errorf("forget: got %v, %v", ok, err)
		}
		if ok, err := s.ForgetMark(bg, "k"); err != nil || ok {
			t.Errorf("forget again: got %v, %v", ok, err)
		}
		if _, did, err := o.Do(bg, work); err != nil || !did {
			t.Errorf("after forgetting: got %v, %v, want the work to run", did, err)
		}
		var kinds []string
		for _, e := range since(t, s, 0, 100) {
			kinds = append(kinds, e.Kind+" "+e.Outcome)
		}
		want := "once/started ,once/ended done,once/started ,once/ended failed,once/forgotten ,once/started ,once/ended done"
		if got := strings.Join(kinds, ","); got != want {
			t.Errorf("events: got %s, want %s", got, want)
		}
		for _, key := range []string{"", strings.Repeat("k", MaxKey+1)} {
			if _, _, err := o.Do(bg, Work{Key: key, Body: work.Body}); err == nil || !strings.Contains(err.Error(), "once: got a key of") {
				t.Errorf("a key of %d bytes: got %v", len(key), err)
			}
		}
		if err := s.EndMark(bg, "never", MarkDone, ""); err == nil {
			t.Error("an end without a start: got no error")
		}
	})
}

// Work that did not come to an end is unknown, in this process and in the next, until somebody decides.
func TestUnknownWork(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j.db")
	s := openAt(t, file)
	o := &Once{Marks: s}
	func() {
		defer func() { _ = recover() }()
		_, _, _ = o.Do(bg, Work{Key: "panics", Body: func() (string, string) { panic("limit") }})
	}()
	if m, ran, err := o.Do(bg, Work{Key: "cancelled", Body: func() (string, string) { return "", "" }}); err != nil || !ran || m.State != MarkStarted {
		t.Errorf("cancelled: got %v, %v, %v, want it to stay started", m, ran, err)
	}
	closeStore(t, s)
	s = openAt(t, file)
	o = &Once{Marks: s}
	never := func() (string, string) { t.Error("work ran twice"); return MarkDone, "" }
	for _, key := range []string{"panics", "cancelled"} {
		if m, ran, err := o.Do(bg, Work{Key: key, Body: never}); err != nil || ran || m.State != MarkStarted || m.Started.IsZero() {
			t.Errorf("%s: got %v, %v, %v, want it unknown", key, m, ran, err)
		}
	}
	decide := func(state string) func(Mark) (string, string) {
		return func(m Mark) (string, string) {
			if m.Key != "panics" || m.State != MarkStarted || m.Started.IsZero() {
				t.Errorf("decide: got %v, want the mark", m)
			}
			return state, "7"
		}
	}
	if m, _, err := o.Do(bg, Work{Key: "panics", Body: never, OnUnknown: decide("")}); err != nil || m.State != MarkStarted {
		t.Errorf("undecided: got %v, %v, want it to stay unknown", m, err)
	}
	for range 2 { // the second finds it done
		if m, _, err := o.Do(bg, Work{Key: "panics", Body: never, OnUnknown: decide(MarkDone)}); err != nil || m.State != MarkDone || m.Result != "7" {
			t.Errorf("decided: got %v, %v, want done with 7", m, err)
		}
	}
}

func TestWaitingForWorkEndsWithTheContext(t *testing.T) {
	o := &Once{Marks: &Memory{}}
	begun, end := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = o.Do(bg, Work{Key: "k", Body: func() (string, string) {
			close(begun)
			<-end
			return MarkDone, ""
		}})
	}()
	<-begun
	ctx, cancel := context.WithCancelCause(bg)
	cancel(errors.New("no time"))
	if _, _, err := o.Do(ctx, Work{Key: "k"}); err == nil || !strings.Contains(err.Error(), "no time") {
		t.Errorf("got %v, want the cause", err)
	}
	close(end)
	<-done
}

// Where the start cannot be recorded the work does not run; where its end cannot, it is unknown and the caller is told.
func TestWorkThatCannotBeRecorded(t *testing.T) {
	s := open(t, func(c *Config) { c.maxPages = 1000 })
	o := &Once{Marks: s}
	_, ran, err := o.Do(bg, Work{Key: "end", Body: func() (string, string) {
		setPages(t, s, 1) // the file may not grow from here on
		return MarkDone, strings.Repeat("x", 100_000)
	}})
	if !errors.Is(err, ErrFull) || !ran || !strings.Contains(err.Error(), "the work has run") {
		t.Errorf("end: got %v, %v, want ErrFull and what that means", ran, err)
	}
	if m, ran, err := o.Do(bg, Work{Key: "end"}); err != nil || ran || m.State != MarkStarted {
		t.Errorf("afterwards: got %v, %v, %v, want it unknown", m, ran, err)
	}
	var full error
	for i := 0; full == nil && i < 1000; i++ {
		key := strings.Repeat("k", 1000) + string(rune('a'+i%26)) + strings.Repeat("i", i/26)
		_, _, full = o.Do(bg, Work{Key: key[:min(len(key), MaxKey)], Body: func() (string, string) { return MarkDone, "" }})
	}
	if !errors.Is(full, ErrFull) {
		t.Errorf("start: got %v, want ErrFull", full)
	}
	ran = false
	_, _, err = o.Do(bg, Work{Key: strings.Repeat("z", MaxKey), Body: func() (string, string) { ran = true; return MarkDone, "" }})
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "nothing was done") || ran {
		t.Errorf("start: got %v and ran %v, want ErrFull and no work", err, ran)
	}
	if _, _, err := o.Do(bg, Work{Key: "long", Body: func() (string, string) { return MarkDone, strings.Repeat("x", MaxResult+1) }}); err == nil {
		t.Error("a long result: got no error")
	}
}
