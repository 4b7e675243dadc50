package journal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// otherChildren are what a child process does that sets itself limits which it cannot lift again.
func otherChildren() map[string]func(file string) {
	return map[string]func(string){"unprivileged": openUnprivileged, "small files": appendSmall}
}

// inChild runs one of them and gives what it said.
func inChild(t *testing.T, what, file string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|0", childJob, file, what))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", what, err, out)
	}
	return string(out)
}

// openUnprivileged opens a journal as a user whom permissions bind.
func openUnprivileged(file string) {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			_, _ = fmt.Println("setuid:", err)
			os.Exit(1)
		}
	}
	s, err := Open(bg, Config{Path: file})
	if err == nil {
		_ = s.Close()
	}
	_, _ = fmt.Printf("%v %v\n", errors.Is(err, ErrReadOnly), err)
	r, err := OpenReader(bg, file)
	if err != nil {
		_, _ = fmt.Println("to read:", err)
		return
	}
	defer func() { _ = r.Close() }()
	rep, err := r.Verify(bg, Anchor{})
	_, _ = fmt.Println("read", rep.Events, rep.Broken, err)
}

// Where nothing may be written, that is said; what is there can be read.
func TestAReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	for d := dir; d != "/" && strings.HasPrefix(d, os.TempDir()) && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil { // the test's own, down from the directory of temporary files
			t.Fatal(err)
		}
	}
	state := filepath.Join(dir, "state")
	file := filepath.Join(state, "journal.db")
	s := openAt(t, file)
	add(t, s, 3, true)
	closeStore(t, s)
	for _, f := range []string{file, file + ".lock"} {
		if err := os.Chmod(f, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(state, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(state, 0o700) })
	got := inChild(t, "unprivileged", file)
	if !strings.HasPrefix(got, "true ") || !strings.Contains(got, "give this user write access") || !strings.Contains(got, "read 3 <nil> <nil>") {
		t.Errorf("got %q, want ErrReadOnly, what to do, and three events that hold", got)
	}
	got = inChild(t, "unprivileged", filepath.Join(state, "new", "journal.db"))
	if !strings.HasPrefix(got, "true ") {
		t.Errorf("a directory that cannot be made: got %q, want ErrReadOnly", got)
	}
}

// appendSmall appends in a process whose files may not grow beyond a bound: the system refuses the write in earnest.
func appendSmall(file string) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 300_000, Max: 300_000}); err != nil {
		_, _ = fmt.Println("setrlimit:", err)
		os.Exit(1)
	}
	s, err := Open(bg, Config{Path: file})
	if err != nil {
		_, _ = fmt.Println("open:", err)
		os.Exit(1)
	}
	n := 0
	for ; err == nil && n < 100_000; n++ {
		_, err = s.Append(bg, Event{Kind: "k", Data: map[string]any{"text": strings.Repeat("x", 1000)}, Durable: true})
	}
	_, _ = fmt.Printf("%d %v %v\n", n-1, errors.Is(err, ErrFull), err)
	_ = s.Close()
}

// A write that the system refuses loses nothing that was acknowledged, and the journal goes on when it is let.
func TestAWriteThatTheSystemRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal.db")
	got := inChild(t, "small files", file)
	var n int
	var full bool
	if _, err := fmt.Sscan(got, &n, &full); err != nil || !full || n < 10 {
		t.Fatalf("got %q, want some events and then ErrFull", got)
	}
	s := openAt(t, file)
	if rep := verified(t, s.Reader, Anchor{}); rep.Events != int64(n) {
		t.Errorf("got %d events, want the %d acknowledged", rep.Events, n)
	}
	add(t, s, 1, true)
}

// A clock that jumps changes neither order nor chain, and retention by age leaves the newest segment whatever it says.
func TestClockJumps(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, func(c *Config) {
		c.SegmentEvents, c.Now = 10, func() time.Time { return now }
		c.Retention = Retention{Age: time.Hour}
	})
	for _, jump := range []time.Duration{-100 * 24 * time.Hour, 200 * 24 * time.Hour, -24 * time.Hour, 0} {
		now = now.Add(jump)
		for range 25 {
			add(t, s, 1, true)
		}
	}
	es := since(t, s, 0, 1000)
	for i := 1; i < len(es); i++ {
		if es[i].Seq != es[i-1].Seq+1 {
			t.Fatalf("event %d follows %d", es[i].Seq, es[i-1].Seq)
		}
	}
	if rep := verified(t, s.Reader, Anchor{}); rep.Events < 10 || rep.To.Seq < 100 {
		t.Errorf("got %+v, want at least the newest segment", rep)
	}
}

// What is accepted is written within a batch's time also while others keep coming, and while the journal sweeps.
func TestABatchIsNotPutOff(t *testing.T) {
	s := open(t, func(c *Config) { c.SegmentEvents, c.Batch = 10, 20*time.Millisecond })
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_, _ = s.Append(bg, event(0, false))
			}
		}
	}()
	defer func() { close(stop); <-done }()
	r := reader(t, s.conf.Path)
	for end := time.Now().Add(2 * time.Minute); len(since(t, r2store{r}, 0, 100)) < 100; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("events that nobody asks for are not written while more come")
		}
	}
}
