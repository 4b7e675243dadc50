package examples_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/spawn/guard"
	"github.com/reflection-dev/zeno/examples"
	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guard.Word {
		os.Exit(guard.Main(os.Args[2:]))
	}
	noleak.Main(m)
}

// worst is what the notes of the demo add up to for one of their four services, reckoned by hand.
const worst = `{:service "notify", :incidents 2, :minutes 240, :worst "Mail left four hours late"}`

// TestDemo runs the demo with the scripted agent, and with the real CLIs against a model server that makes the moves of
// the scripted agent: each leaves the same findings and tells the same story.
func TestDemo(t *testing.T) {
	want := runDemo(t, "scripted", "")
	if !strings.Contains(want.findings, worst) || strings.Count(want.findings, "\n") != 4 {
		t.Errorf("findings: got\n%s, want four services and %s", want.findings, worst)
	}
	for _, cli := range []string{"claude", "omp"} {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			got := runDemo(t, cli, npmcli.Need(t, cli))
			if got.findings != want.findings {
				t.Errorf("findings: got\n%s\nwant what the scripted agent found:\n%s", got.findings, want.findings)
			}
			if a, b := story(want.out), story(got.out); a != b {
				t.Errorf("printed: got\n%s\nwant\n%s", b, a)
			}
		})
	}
}

type outcome struct{ out, findings string }

// runDemo loads the demo's home and calls its main function as `zeno demo` does.
func runDemo(t *testing.T, backend, path string) outcome {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, examples.Demo()); err != nil {
		t.Fatal(err)
	}
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	self, err := guard.Self()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs safe
	c, err := core.New(core.Config{Home: h, Out: &out, Err: &errs, Guard: self, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	if err := c.Boot(context.Background()); err != nil {
		t.Fatalf("boot: %s", core.Explain(err))
	}
	opts := `{}`
	if path != "" {
		opts = script(t, c, backend)
	}
	status, err := c.Eval(context.Background(), `(let [r (demo.main/run `+opts+`)] (pr-str [(:status r) (:boxed r) (:error r)]))`)
	if err != nil || status.Text() != "[:ok false nil]" {
		t.Errorf("run: got %v %v, want [:ok false nil]\n%s%s", status.Text(), err, out.String(), errs.String())
	}
	if said := strings.Contains(errs.String(), "runs unboxed"); said != (path != "") { // a scripted agent needs no box
		t.Errorf("stderr: got %q, want it to say that the spawn runs unboxed: %v", errs.String(), path != "")
	}
	data, err := os.ReadFile(filepath.Join(dir, "findings.edn"))
	if err != nil {
		t.Error(err)
	}
	return outcome{out.String(), string(data)}
}

// script starts a model server that plays the scripted agent, whose moves it learns by playing it against an endpoint that
// only takes notes, and gives the options of the run.
func script(t *testing.T, c *core.Core, cli string) string {
	t.Helper()
	model := modelserver.New(modelserver.Config{})
	t.Cleanup(model.Close)
	base := model.URL
	if cli == "omp" {
		base += "/v1"
	}
	setKey()
	_, err := c.Eval(context.Background(), `
(let [codes (atom [])]
  (demo.agent/play {:eval (fn [code]
                            (swap! codes conj code)
                            (if (re-find #"read-notes" code)
                              {:error? true :text "unable to resolve read-notes\nhint: did you mean read-note?"}
                              {:error? false :text "=> 1"}))})
  (intern 'demo.main 'prompt (apply str demo.main/prompt (map #(str "\n[[eval: " % " ]]") @codes))))`)
	if err != nil {
		t.Fatal(core.Explain(err))
	}
	return `{:backend :` + cli + ` :sandbox :none :model "m1" :base-url ` + strconv.Quote(base) + ` :api-key-env "` + keyVar + `"}`
}

const keyVar = "ZENO_DEMO_TEST_KEY"

// setKey sets the model server's key once: tests that run side by side may not change the environment.
var setKey = sync.OnceFunc(func() { _ = os.Setenv(keyVar, "no-real-key") })

// story is what was printed about evals and their outcomes, without what differs from run to run.
func story(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		switch word, _, _ := strings.Cut(line, " "); word {
		case "eval", "":
			lines = append(lines, line)
		case "evals":
			counts, _, _ := strings.Cut(line, "  bytes")
			lines = append(lines, counts+"\n")
		}
	}
	return strings.Join(lines, "")
}

// safe is a bytes.Buffer for several writers.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
