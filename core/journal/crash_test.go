package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// childJob holds, in the environment of a child process, the file it is to append to and where it is to be killed:
// FILE|POINT|N kills it when it passes a point of a write for the Nth time; POINT "" leaves that to the parent.
const childJob = "ZENO_JOURNAL_CHILD"

// points are where a crash may come in the middle of a write.
var points = []string{"begin", "event", "written", "commit", "committed", "drop"}

// child appends for ever: it writes a line to stdout for every durable event once that is acknowledged, and around every
// body of work to be done once. Its own end must be a kill.
func child(job string) {
	parts := strings.Split(job, "|")
	if does := otherChildren()[parts[1]]; does != nil {
		does(parts[0])
		os.Exit(0)
	}
	at, err := strconv.Atoi(parts[2])
	if err != nil {
		panic(err)
	}
	conf := Config{Path: parts[0], Batch: time.Millisecond, SegmentEvents: 50, Retention: Retention{Events: 400}}
	conf.OnWrite = func(point string) { // the writer's goroutine only
		if point == parts[1] {
			if at--; at == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
	}
	s, err := Open(bg, conf)
	if err != nil {
		_, _ = fmt.Println("error", err)
		os.Exit(1)
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) } // one write each
	say("ready")
	once := &Once{Marks: s}
	for w := range 4 {
		go func() {
			for i := 0; ; i++ {
				e := event(i, i%3 > 0)
				e.Data["token"] = fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
				e, err := s.Append(bg, e)
				switch {
				case err != nil:
					say("error %v", err)
				case e.Durable:
					say("event %d %s", e.Seq, e.Data["token"])
				}
				if i%5 == 0 {
					key := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
					_, _, err := once.Do(bg, Work{Key: key, Body: func() (string, string) {
						say("body %s", key)
						return MarkDone, `"` + key + `"`
					}})
					if err != nil {
						say("error %v", err)
					}
					say("done %s", key)
				}
			}
		}()
	}
	time.Sleep(10 * time.Minute) // the parent kills long before
	os.Exit(3)
}

// told is what a child said before it died.
type told struct {
	events map[uint64]string // acknowledged: number to token
	bodies map[string]int
	done   map[string]bool
	errs   []string
}

func listen(out io.Reader, killed func()) told {
	t := told{map[uint64]string{}, map[string]int{}, map[string]bool{}, nil}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 1 && words[0] == "ready":
			killed()
		case len(words) == 3 && words[0] == "event":
			seq, _ := strconv.ParseUint(words[1], 10, 64)
			t.events[seq] = words[2]
		case len(words) == 2 && words[0] == "body":
			t.bodies[words[1]]++
		case len(words) == 2 && words[0] == "done":
			t.done[words[1]] = true
		default:
			t.errs = append(t.errs, lines.Text())
		}
	}
	return t
}

// run starts a child and gives what it said until it was killed.
func runChild(t *testing.T, file, point string, n int, after time.Duration) told {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d", childJob, file, point, n))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := listen(out, func() {
		if point == "" {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	})
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("child at %q: got %v, %v, want it killed", point, err, said.errs)
	}
	return said
}

// TestNothingAcceptedIsLost kills processes that append, at every point of a write and at random times. After each: every
// acknowledged event is there and as it was, the chain holds, and no work that began counts as not begun.
func TestNothingAcceptedIsLost(t *testing.T) {
	kills := 300
	if testing.Short() {
		kills = 40
	}
	file := filepath.Join(t.TempDir(), "journal.db")
	var acknowledged, unknown, bodies int
	var last Anchor
	hit := map[string]int{}
	for i := range kills {
		point, n := points[i/2%len(points)], 1+rand.IntN(40)
		if i%2 == 0 {
			point = ""
		} else if point == "drop" {
			n = 1
		}
		said := runChild(t, file, point, n, time.Duration(rand.IntN(30_000))*time.Microsecond)
		if len(said.errs) > 0 {
			t.Fatalf("child: %v", said.errs)
		}
		hit[point]++
		s, err := Open(bg, Config{Path: file, Retention: Retention{Events: -1}})
		if err != nil {
			t.Fatalf("kill %d at %q: %v", i, point, err)
		}
		verified(t, s.Reader, Anchor{})
		acknowledged += checkEvents(t, s, said)
		u, b := checkMarks(t, s, said)
		unknown, bodies = unknown+u, bodies+b
		if a, err := s.Anchor(bg); err != nil || a.Seq < last.Seq {
			t.Fatalf("the journal ended at %d and ends at %d now, %v", last.Seq, a.Seq, err)
		} else {
			last = a
		}
		closeStore(t, s)
		if t.Failed() {
			t.Fatalf("kill %d at %q", i, point)
		}
	}
	t.Logf("%d kills (%v), %d acknowledged events, %d bodies, %d of them unknown, journal ends at %d", kills, hit, acknowledged, bodies, unknown, last.Seq)
	if acknowledged < kills || bodies < kills/2 || unknown == 0 || len(hit) != len(points)+1 {
		t.Errorf("the test saw too little to mean anything")
	}
}

// checkEvents wants every acknowledged event where it was said to be, unless retention dropped it.
func checkEvents(t *testing.T, s *SQLite, said told) int {
	t.Helper()
	all := map[uint64]Event{}
	oldest := uint64(0)
	for _, e := range since(t, s, 0, 1<<30) {
		if oldest == 0 {
			oldest = e.Seq
		}
		all[e.Seq] = e
	}
	n := 0
	for seq, token := range said.events {
		e, ok := all[seq]
		if !ok && seq < oldest {
			continue
		}
		if !ok || e.Data["token"] != token {
			t.Errorf("acknowledged event %d: got %v, %v, want %s", seq, e, ok, token)
		}
		n++
	}
	return n
}

// checkMarks wants a mark for every body that began, done for all that were said to be done, and no body twice.
func checkMarks(t *testing.T, s *SQLite, said told) (unknown, bodies int) {
	t.Helper()
	for key, n := range said.bodies {
		m, ok, err := s.LookMark(bg, key)
		if err != nil || !ok || n != 1 {
			t.Errorf("work %s, which began %d times: got %v, %v, %v, want a mark", key, n, m, ok, err)
		}
		if said.done[key] && (m.State != MarkDone || m.Result != `"`+key+`"`) {
			t.Errorf("work %s, which was done: got %v", key, m)
		}
		if m.State == MarkStarted {
			unknown++
		}
		again, ran, err := (&Once{Marks: s}).Do(bg, Work{Key: key, Body: func() (string, string) {
			t.Errorf("work %s ran twice", key)
			return MarkDone, ""
		}})
		if err != nil || ran || again.State != m.State {
			t.Errorf("work %s again: got %v, %v, %v, want its mark", key, again, ran, err)
		}
	}
	return unknown, len(said.bodies)
}

// Concurrent opening: while one process has the journal, another is told who has it.
func TestAnotherProcessHasIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal.db")
	s := openAt(t, file)
	_, err := Open(bg, Config{Path: file, LockWait: time.Millisecond})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("got %v, want ErrLocked and the process", err)
	}
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { // a restart need not wait for the one before to be gone
		defer wg.Done()
		s2, err := Open(bg, Config{Path: file, LockWait: time.Minute})
		if err != nil {
			t.Error(err)
			return
		}
		_ = s2.Close()
	}()
	time.Sleep(10 * time.Millisecond)
	add(t, s, 1, true)
	closeStore(t, s)
	wg.Wait()
}
