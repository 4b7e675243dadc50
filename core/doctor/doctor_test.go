package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/doctor"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/sandbox"
)

func TestMain(m *testing.M) { noleak.Main(m) }

func run(t *testing.T, conf doctor.Config) (doctor.Report, map[string]doctor.Check) {
	t.Helper()
	rep, err := doctor.Run(context.Background(), conf)
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string]doctor.Check{}
	for _, c := range rep.Checks {
		if c.Status == "" || c.Detail == "" || (c.Status == doctor.Missing && c.Fix == "") {
			t.Errorf("%s: got %+v, want a status, a detail, and what to do about what is missing", c.Name, c)
		}
		checks[c.Name] = c
	}
	return rep, checks
}

func program(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A machine that works is said to, and nothing is left behind.
func TestWorks(t *testing.T) {
	home := t.TempDir()
	state := filepath.Join(home, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(context.Background(), journal.Config{Path: filepath.Join(state, "journal.db")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(context.Background(), journal.Event{Kind: "test", Durable: true}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before := names(t, state)
	rep, checks := run(t, doctor.Config{Home: home})
	if !rep.OK {
		t.Errorf("got %+v, want all that zeno needs to work here", rep)
	}
	if got := checks["journal"].Detail; got != "1 events hold" {
		t.Errorf("journal: got %q", got)
	}
	if after := names(t, state); after != before {
		t.Errorf("left behind: got %s, want %s", after, before)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "journal.db-") { // SQLite's own, while it is open
			out = append(out, e.Name())
		}
	}
	return strings.Join(out, " ")
}

// What fails that zeno needs is an error; what only some homes need is one where it is asked for.
func TestFails(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "state"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rep, checks := run(t, doctor.Config{Home: home})
	if c := checks["state"]; rep.OK || c.Status != doctor.Failed || !strings.Contains(c.Fix, "--home") {
		t.Errorf("a state that is no directory: got %+v", c)
	}
	_ = os.Remove(filepath.Join(home, "state"))
	_ = os.Mkdir(filepath.Join(home, "state"), 0o700)
	if err := os.WriteFile(filepath.Join(home, "state", "journal.db"), []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	rep, checks = run(t, doctor.Config{Home: home})
	if c := checks["journal"]; rep.OK || c.Status != doctor.Failed || c.Fix == "" {
		t.Errorf("a broken journal: got %+v", c)
	}
}

// Agent CLIs are started for their version: in a home of their own, on the PATH that spawns have, and not for ever.
func TestAgents(t *testing.T) {
	dir := t.TempDir()
	program(t, dir, "good", `echo "1.2.3 $HOME"; touch "$HOME/mark"`)
	program(t, dir, "warns", `echo "WARNING: no aliases in /tmp/1.x/a: go on"; echo "warns-cli 4.5.6"`)
	program(t, dir, "broken", `echo "cannot open shared object" >&2; exit 127`)
	program(t, dir, "silent", `sleep 600`)
	table := map[string]backend.Backend{}
	for _, name := range []string{"good", "warns", "broken", "silent", "absent"} {
		table[name] = backend.Backend{Name: name, Argv: []backend.Arg{{Words: []string{name}}}, Install: "npm i " + name, Tried: "9.9"}
	}
	path := dir + ":/usr/bin:/bin"
	start := time.Now()
	var rep doctor.Report
	var checks map[string]doctor.Check
	for _, within := range []time.Duration{3 * time.Second, 15 * time.Second, time.Minute} { // a slow machine needs more for those that answer
		rep, checks = run(t, doctor.Config{Path: path, Backends: table, Timeout: within})
		if checks["good"].Status == doctor.OK && checks["warns"].Status == doctor.OK && strings.Contains(checks["broken"].Detail, "cannot open") {
			break
		}
	}
	if !rep.OK || time.Since(start) > 8*time.Minute {
		t.Errorf("got %+v after %v, want nothing required to fail", rep, time.Since(start))
	}
	for name, want := range map[string]struct {
		status doctor.Status
		detail string
	}{
		"good":   {doctor.OK, "1.2.3 /"},
		"warns":  {doctor.OK, "warns-cli 4.5.6"},
		"broken": {doctor.Failed, "cannot open shared object"},
		"silent": {doctor.Failed, "no answer in its time"},
		"absent": {doctor.Missing, "not on PATH"},
	} {
		if c := checks[name]; c.Status != want.status || !strings.Contains(c.Detail, want.detail) {
			t.Errorf("%s: got %+v, want %+v", name, c, want)
		}
	}
	if d := checks["good"].Detail; strings.Contains(d, os.Getenv("HOME")+" ") || !strings.Contains(d, "tried with 9.9") {
		t.Errorf("good: got %q, want a home of its own, and the version that was tried", d)
	}
	if rep, _ := run(t, doctor.Config{Path: path, Backends: table, Need: []string{"absent"}, Timeout: 3 * time.Second}); rep.OK {
		t.Error("needed and absent: got OK")
	}
	if _, err := doctor.Run(context.Background(), doctor.Config{Need: []string{"nothing"}}); err == nil || !strings.Contains(err.Error(), "userns") {
		t.Errorf("an unknown need: got %v, want it to name what there is", err)
	}
}

// box is a backend that only probes.
type box struct {
	sandbox.Backend
	report sandbox.Report
}

func (b box) Name() string                         { return b.report.Backend }
func (b box) Probe(context.Context) sandbox.Report { return b.report }

// A box that does not run has failed, with all that is to be done; one that lacks a limit is told of.
func TestBoxes(t *testing.T) {
	ok, no := sandbox.Check{What: "boxes", OK: true}, sandbox.Check{What: "cpus", How: "no cgroup", Fix: "delegate one"}
	_, checks := run(t, doctor.Config{Backends: map[string]backend.Backend{}, Boxes: []sandbox.Backend{
		box{report: sandbox.Report{Backend: "all", Usable: true, Checks: []sandbox.Check{ok}}},
		box{report: sandbox.Report{Backend: "some", Usable: true, Checks: []sandbox.Check{ok, no}}},
		box{report: sandbox.Report{Backend: "none", Checks: []sandbox.Check{no}}},
		box{report: sandbox.Report{Backend: "driven", Checks: []sandbox.Check{{What: "driven", How: "not in PATH", Fix: "install it"}}}}}})
	if c := checks["driven"]; c.Status != doctor.Missing || c.Fix != "install it" {
		t.Errorf("a program that is not there: got %+v, want missing", c)
	}
	for name, want := range map[string]doctor.Status{"all": doctor.OK, "some": doctor.Warn, "none": doctor.Failed} {
		if c := checks[name]; c.Status != want || (want != doctor.OK && (c.Fix != "delegate one" || !strings.Contains(c.Detail, "cpus (no cgroup)"))) {
			t.Errorf("%s: got %+v, want %s", name, c, want)
		}
	}
}

// What a CLI runs on is asked for by itself only where the CLI is there: what installs the CLI brings both.
func TestWhatACLIRunsOn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("#!/bin/sh\necho 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	entry := func(name string) backend.Backend {
		return backend.Backend{Name: name, Argv: []backend.Arg{{Words: []string{name}}}, Needs: []string{"no-such-runtime"}, Install: "install both"}
	}
	_, checks := run(t, doctor.Config{Path: dir, Backends: map[string]backend.Backend{"there": entry("there"), "gone": entry("gone")}})
	for name, want := range map[string]string{"there": "no-such-runtime, which it runs on, is not on PATH", "gone": "gone is not on PATH"} {
		if c := checks[name]; c.Status != doctor.Missing || c.Detail != want || c.Fix != "install both" {
			t.Errorf("%s: got %+v, want it missing: %s, and how to install both", name, c, want)
		}
	}
}
