//go:build linux

package native_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

const victims = 12

// A zeno that is killed with many boxes of all kinds in it leaves no process, namespace, cgroup, mount or record.
func TestAKilledZenoLeavesNothingOfManyBoxes(t *testing.T) {
	if os.Getenv("ZENO_TEST_VICTIMS") != "" {
		manyVictims(t)
		return
	}
	state := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "ZENO_TEST_VICTIMS="+state, "TMPDIR="+t.TempDir(), "ZENO_TEST_STAGE2="+stage2Path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; n < victims && lines.Scan(); {
		if lines.Text() == "inside" {
			n++
		}
	}
	b := backend(t, func(c *native.Config) { c.StateDir = state })
	ps, err := b.PS(context.Background())
	if err != nil || len(ps) != victims {
		t.Errorf("got %d bodies %v, want %d", len(ps), err, victims)
	}
	spaces := map[string]bool{}
	for _, p := range ps {
		for _, kind := range []string{"net", "mnt", "pid", "user"} {
			if link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", p.Pid, kind)); err == nil {
				spaces[link] = true
			}
		}
	}
	if len(spaces) != 4*victims {
		t.Errorf("got %d namespaces, want 4 for each of %d boxes", len(spaces), victims)
	}
	if n := len(inSpaces(spaces)); n < 4*2*victims {
		t.Errorf("got %d links of processes to these namespaces, want the search to find them", n)
	}
	var ids []string
	records, _ := filepath.Glob(state + "/boxes/*")
	for _, r := range records {
		ids = append(ids, strings.TrimSuffix(filepath.Base(r), ".json"))
	}
	if os.Geteuid() == 0 && len(groupsLeft(ids)) < victims {
		t.Errorf("got the groups %v of %d boxes, want the search to find them", groupsLeft(ids), victims)
	}
	before := mounts()
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	if _, err := b.Reap(context.Background()); err != nil {
		t.Error(err)
	}
	var left []string
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(50 * time.Millisecond) {
		left = append(inSpaces(spaces), groupsLeft(ids)...)
		if records, _ := filepath.Glob(state + "/boxes/*"); len(records) > 0 {
			left = append(left, records...)
		}
		if len(left) == 0 {
			break
		}
	}
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if after := mounts(); after != before {
		t.Errorf("got %d mounts, want %d", after, before)
	}
	for i := range victims { // every volume is free again
		if res := sh(t, b, "cat mark", func(s *sandbox.Spec) { s.Volume = fmt.Sprint("v", i) }); res.Out != "here\n" {
			t.Errorf("volume %d: got %+v", i, res)
		}
	}
}

func mounts() int {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	return len(text)
}

// inSpaces lists the processes of this machine that are in one of these namespaces.
func inSpaces(spaces map[string]bool) (out []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/*")
	for _, l := range links {
		if ns, err := os.Readlink(l); err == nil && spaces[ns] {
			out = append(out, l)
		}
	}
	return out
}

func manyVictims(t *testing.T) {
	b := backend(t, func(c *native.Config) { c.StateDir = os.Getenv("ZENO_TEST_VICTIMS") })
	var wg sync.WaitGroup
	for i := range victims {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s := sandbox.Spec{Name: fmt.Sprint("victim-", i), Volume: fmt.Sprint("v", i), Stdout: os.Stdout,
				Argv: []string{"sh", "-c", "echo here > mark; trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM HUP; sleep 300' & head -c 1M /dev/zero > /tmp/x; echo inside; sleep 300; sleep 300"}}
			if i%3 == 0 {
				s.Proxy, s.Egress = &echo{}, sandbox.Egress{Default: sandbox.EgressDeny}
			}
			b.Run(context.Background(), s)
		}()
	}
	wg.Wait()
}
