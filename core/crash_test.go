package core_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
)

// crashes is one home, served by one child after the other.
type crashes struct {
	t     *testing.T
	dir   string
	said  map[string]map[string]int // by the first word: what, and how often, over all children
	hits  map[string]int            // kills by point
	ends  journal.Anchor
	body  string        // that the child runs in a box; "-": none
	again []string      // keys that the next child asks for again
	slow  time.Duration // how many times as long the children live
}

// run starts a child and gives the lines it said until it was killed.
func (k *crashes) run(job crashJob, after time.Duration, until ...func() bool) []string {
	k.t.Helper()
	self, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	job.Home = k.dir
	b, err := json.Marshal(job)
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), crashChild+"="+string(b), "ZENO_HOME="+k.dir)
	errs := &buffer{}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	late := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var lines []string
	ready := false
	for sc := bufio.NewScanner(out); sc.Scan(); {
		line := sc.Text()
		if line == "ready" {
			ready = true
			defer time.AfterFunc(after, func() { _ = cmd.Process.Kill() }).Stop()
			for _, f := range until {
				ended := make(chan struct{})
				defer func() { <-ended }()
				go func() {
					defer close(ended)
					for begun := time.Now(); time.Since(begun) < after && !f(); {
					}
					_ = cmd.Process.Kill()
				}()
			}
			continue
		}
		lines = append(lines, line)
	}
	_ = cmd.Wait()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		k.t.Fatalf("child of %+v: got %v, want it killed: %q\n%s", job, cmd.ProcessState, lines, errs.String())
	}
	if !ready && job.Point == "" {
		k.t.Fatalf("child of %+v: got no start within five minutes: %s", job, errs.String())
	}
	return lines
}

// take counts what a child said. fresh is what this one said.
func (k *crashes) take(lines []string) (fresh map[string]map[string]bool) {
	k.t.Helper()
	fresh = map[string]map[string]bool{}
	for _, l := range lines {
		w := strings.Fields(l)
		if len(w) < 2 || w[0] == "error" {
			k.t.Fatalf("a child said %q", l)
		}
		if k.said[w[0]] == nil {
			k.said[w[0]] = map[string]int{}
		}
		if fresh[w[0]] == nil {
			fresh[w[0]] = map[string]bool{}
		}
		k.said[w[0]][w[1]]++
		fresh[w[0]][w[1]] = true
	}
	return fresh
}

// check looks at what a killed child left.
func (k *crashes) check(fresh map[string]map[string]bool) {
	k.t.Helper()
	ctx := context.Background()
	waitFor(k.t, "the end of the CLIs and their guards", func() bool {
		return len(processesWith("HOME="+k.dir))+len(processesWith("ZENO_HOME="+k.dir)) == 0
	})
	waitFor(k.t, "the end of what ran in a box", func() bool { return k.body == "-" || !sleeps(k.body) })
	s, err := journal.Open(ctx, journal.Config{Path: filepath.Join(k.dir, "state", core.JournalFile), LockWait: time.Minute, Retention: journal.Retention{Events: -1}})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	rep, err := s.Verify(ctx, k.ends)
	if err != nil || rep.Broken != nil {
		k.t.Fatalf("the chain: got %v, %v, want it whole", rep.Broken, err)
	}
	k.ends = rep.To
	k.agents(s, fresh)
	k.again = nil
	for key := range fresh["body"] {
		m, ok, err := s.LookMark(ctx, fmt.Sprintf("%q", key))
		if err != nil || !ok {
			k.t.Errorf("work %s, whose body ran: got no mark, %v", key, err)
		}
		if !fresh["once"][key] {
			k.again = append(k.again, key)
		} else if m.State != journal.MarkDone {
			k.t.Errorf("work %s, which was done: got %s", key, m.State)
		}
	}
	for key := range fresh["once"] {
		if len(k.again) < 5 {
			k.again = append(k.again, key)
		}
	}
}

// sleeps tells whether a process sleeps for so many seconds.
func sleeps(seconds string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), "sleep\x00"+seconds) {
			return true
		}
	}
	return false
}

// agents wants every acknowledged end of an agent, and every acknowledged effect, in the record.
func (k *crashes) agents(s *journal.SQLite, fresh map[string]map[string]bool) {
	k.t.Helper()
	for _, x := range []struct {
		said  string
		kinds []string
	}{{"spawn", []string{journal.SpawnStarted, journal.SpawnEnded}}, {"call", []string{journal.SpawnStarted, journal.Intent, journal.Call}},
		{"effect", []string{journal.Intent}}, {"asked", []string{journal.SpawnStarted, journal.SpawnEnded}}} {
		for id := range fresh[x.said] {
			es, err := s.Show(context.Background(), id, 0, 100)
			if err != nil {
				k.t.Fatal(err)
			}
			var got []string
			for _, e := range es {
				got = append(got, e.Kind)
			}
			for _, kind := range x.kinds {
				if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+kind+" ") {
					k.t.Errorf("%s %s was said, and the journal has no %s: %v", x.said, id, kind, got)
				}
			}
		}
	}
}

// kill lets one child work until it is killed, and checks what it left.
func (k *crashes) kill(gen int) {
	k.t.Helper()
	k.body = "-"
	if gen%8 == 3 {
		k.body = fmt.Sprint(1_000_000_000 + rand.IntN(1_000_000_000))
	}
	job := crashJob{Args: append([]string{fmt.Sprint("g", gen), k.body}, k.again...)}
	switch gen % 4 {
	case 0:
	case 1:
		job.Point, job.N = askPoints()[gen/4%len(askPoints())], 1+rand.IntN(2)
	default:
		job.Point, job.N = journalPoints()[gen/2%len(journalPoints())], 1+rand.IntN(80)
	}
	after := time.Duration(rand.IntN(400)) * time.Millisecond * k.slow
	if job.Point != "" {
		after = 3 * time.Second * k.slow // where its point does not come
	}
	asked := k.again
	fresh := k.take(k.run(job, after))
	k.hits[job.Point]++
	k.check(fresh)
	if len(fresh["once"])+len(fresh["effect"]) > 0 { // it came as far as the work of this generation
		for _, key := range asked {
			if k.said["unknown"][key] == 0 && k.said["again"][key] == 0 {
				k.t.Errorf("work %s, asked for again: got no answer", key)
			}
		}
	}
}

// sawAll tells whether the children came as far as all that the test is about.
func (k *crashes) sawAll() bool {
	for _, word := range []string{"once", "body", "spawn", "call", "asked", "again"} {
		if len(k.said[word]) == 0 {
			return false
		}
	}
	return len(k.said["box"])+len(k.said["nobox"]) > 0
}

// end starts a last child that begins nothing, and waits until what was cut off has come to its end.
func (k *crashes) end() {
	k.t.Helper()
	settled := func() bool { // seen twice, a second apart: the record follows
		for range 2 {
			time.Sleep(time.Second)
			if d, err := ask.Open(context.Background(), ask.Config{Path: filepath.Join(k.dir, "state", core.AsksFile)}); err == nil {
				open, err := d.In(context.Background(), ask.Asked, ask.Answered, ask.Calling, ask.Resuming)
				waiting, werr := d.Waiting(context.Background())
				unknown, uerr := d.In(context.Background(), ask.Unknown)
				_ = d.Close()
				if err != nil || werr != nil || uerr != nil || len(open) > 0 || len(waiting) > len(unknown) {
					return false
				}
			}
		}
		return true
	}
	k.body = "-"
	k.check(k.take(k.run(crashJob{Args: append([]string{"end", k.body}, k.again...)}, 5*time.Minute, settled)))
	d, err := ask.Open(context.Background(), ask.Config{Path: filepath.Join(k.dir, "state", core.AsksFile)})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	open, err := d.In(context.Background(), ask.Asked, ask.Answered, ask.Calling, ask.Resuming)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, q := range open {
		k.t.Errorf("question %s of %s: got %s (%s) after the last start, want it settled or unknown", q.ID, q.Spawn, q.State, q.Note)
	}
	unknown := map[string]bool{}
	list, err := d.In(context.Background(), ask.Unknown)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, q := range list {
		unknown[q.Spawn] = true
	}
	s, err := journal.Open(context.Background(), journal.Config{Path: filepath.Join(k.dir, "state", core.JournalFile)})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	left, err := s.CutOff(context.Background())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, b := range left {
		if !unknown[b.Spawn] {
			k.t.Errorf("spawn %s: got a beginning (event %d) and no end in the record", b.Spawn, b.Seq)
		}
	}
	if rep, err := s.Verify(context.Background(), journal.Anchor{}); err != nil || rep.Broken != nil {
		k.t.Errorf("the whole chain: got %v, %v", rep.Broken, err)
	}
	k.t.Logf("%d questions are unknown and wait for the operator", len(list))
}

// TestNothingIsLostByKills kills a zeno under load at every point of a write of the journal, at every point of the way of a
// question, and at random times. After each: what was acknowledged is in the record, the chain holds, nothing that was to
// be done once was done twice, no CLI or guard is left; and in the end everything that was cut off has come to an end.
func TestNothingIsLostByKills(t *testing.T) {
	kills, homes := 304, 4
	if testing.Short() {
		kills, homes = 24, 2
	}
	for h := range homes {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			t.Parallel()
			k := &crashes{t: t, dir: t.TempDir(), slow: 1, said: map[string]map[string]int{}, hits: map[string]int{}}
			if err := os.WriteFile(filepath.Join(k.dir, home.InitFile), []byte(hardWork), 0o600); err != nil {
				t.Fatal(err)
			}
			gen := 0
			kill := func() {
				k.kill(gen + h)
				if t.Failed() {
					t.Fatalf("kill %d (%v)", gen, k.hits)
				}
				gen++
			}
			for range kills / homes {
				kill()
			}
			for k.slow = 5; !k.sawAll() && k.slow <= 40; k.slow *= 2 { // on a slow machine they come less far
				for range 4 {
					kill()
				}
			}
			k.end()
			for _, once := range []string{"body", "effect", "paid", "resumed"} {
				for what, n := range k.said[once] {
					if n != 1 {
						t.Errorf("%s %s: got it %d times, want once", once, what, n)
					}
				}
			}
			sum := map[string]int{}
			for word, m := range k.said {
				sum[word] = len(m)
			}
			t.Logf("killed %v; said %v; journal ends at %d", k.hits, sum, k.ends.Seq)
			if sum["box"] == 0 && sum["nobox"] == 0 {
				t.Error("got no body in a box before a kill: the test saw too little to mean anything")
			}
			for _, word := range []string{"once", "body", "spawn", "call", "asked", "again"} {
				if sum[word] == 0 {
					t.Errorf("got no %q: the test saw too little to mean anything", word)
				}
			}
		})
	}
}
