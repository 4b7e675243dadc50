package core_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/core/spawn/guard"
	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

// The e2e tests run what a user runs: a program in a home spawns the real CLIs from npm, which talk to the
// scripted model server and to the real gateway. Nothing is replaced but the model.

// keyVar and key: the model server's API key, a canary as well. It is in the environment of the whole test binary since
// tests that run side by side may not change it.
const (
	keyVar = "ZENO_E2E_KEY"
	key    = "KEY-CANARY-e2e-7f3a"
)

var setKey = sync.OnceFunc(func() { _ = os.Setenv(keyVar, key) })

// real is an instance with one CLI and a model server.
type real struct {
	*core.Core
	cli   string
	dir   string // the home
	model *modelserver.Server
	err   *buffer
}

// buffer is a bytes.Buffer for several writers.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// eachCLI runs a test for every real CLI, side by side.
func eachCLI(t *testing.T, test func(t *testing.T, cli string)) {
	for _, cli := range slices.Sorted(maps.Keys(backend.Table())) {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			test(t, cli)
		})
	}
}

// startReal makes an instance whose program is src after a prelude: (real {…}) spawns the CLI with the given options.
func startReal(t *testing.T, cli, src string, change ...func(*core.Config)) *real {
	t.Helper()
	path := npmcli.Need(t, cli)
	setKey()
	self, err := guard.Self()
	if err != nil {
		t.Fatal(err)
	}
	r := &real{cli: cli, dir: t.TempDir(), model: modelserver.New(modelserver.Config{}), err: &buffer{}}
	t.Cleanup(r.model.Close)
	base := r.model.URL
	if cli != "claude" && cli != "gemini" { // those speak to the root
		base += "/v1"
	}
	prelude := `(require '[zeno.grant :refer [defcap]] '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.home :as home])
(defn real [opts]
  (spawn/spawn (merge {:role :worker :backend :` + cli + ` :sandbox :none :trust true :model "m1" :base-url ` + strconv.Quote(base) + ` :api-key-env "` + keyVar + `"
                       :system "SYSTEM-MARK" :timeout "5m" :grace "1s"} opts)))
`
	if err := os.WriteFile(filepath.Join(r.dir, home.InitFile), []byte(prelude+src), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Resolve(r.dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	// In memory, so that it can be read after Close; journal_test.go has the home's own.
	conf := core.Config{Home: h, Err: r.err, Path: path, Guard: self, Journal: &journal.Memory{}}
	for _, f := range change {
		f(&conf)
	}
	if r.Core, err = core.New(conf); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close(t) })
	if err := r.Boot(context.Background()); err != nil {
		t.Fatalf("boot: %s", core.Explain(err))
	}
	return r
}

func (r *real) close(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if left := processesWith("HOME=" + r.dir); len(left) != 0 {
		t.Errorf("processes after the end: got %v, want none", left)
	}
}

// want evaluates src and compares the printed value.
func (r *real) want(t *testing.T, src, want string) {
	t.Helper()
	if got := eval(t, r.Core, src); got != want {
		t.Errorf("%s: got %s, want %s", src, got, want)
	}
}

// wantIn is want for a part of the printed value.
func (r *real) wantIn(t *testing.T, src string, wants ...string) {
	t.Helper()
	got := eval(t, r.Core, src)
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want it to hold %s", src, got, want)
		}
	}
}

// events gives the recorded events of the kinds asked for; none is all but progress.
func (r *real) events(t *testing.T, kinds ...string) []journal.Event {
	t.Helper()
	all, err := r.Journal().Since(context.Background(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var out []journal.Event
	for _, e := range all {
		if len(kinds) == 0 && e.Kind != journal.SpawnProgress || contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// told is what the model was told in answer to its calls, oldest first.
func (r *real) told() []string {
	requests := r.model.Requests()
	if len(requests) == 0 {
		return nil
	}
	var out []string
	for _, turn := range requests[len(requests)-1].Conversation.Turns {
		if turn.Role == "tool" {
			out = append(out, turn.Text)
		}
	}
	return out
}

// waitFor polls until cond holds, for as long as a CLI may take to start on a machine that does much else.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: got nothing within three minutes", what)
		}
	}
}

// processesWith lists the processes whose environment holds an entry that starts with prefix.
func processesWith(prefix string) []string {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var found []string
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && strings.Contains("\x00"+string(env), "\x00"+prefix) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
			found = append(found, filepath.Base(filepath.Dir(file))+":"+strings.TrimSpace(string(name)))
		}
	}
	return found
}
