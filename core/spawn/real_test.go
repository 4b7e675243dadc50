package spawn

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

// apiKey is a canary as well as a key.
const apiKey = "KEY-CANARY-123"

// realRun is a house with a real CLI, a model server and a request that fits both.
type realRun struct {
	*house
	model *modelserver.Server
	req   Request
}

// trait is how a real CLI under test differs from the others.
type trait struct {
	base   string   // what it calls the root of the model server, below the server's URL
	eval   string   // the eval tool as the model server sees it
	others []string // tools that the CLI always offers
	shell  string   // the built-in tool that runs a command
	call   string   // the name the model calls it by
	args   string   // its arguments, as a format of the command
	read   string   // the built-in tool that reads a file, and the name of its argument
	file   string
	usd    bool // reckons a price by itself
}

func traits() map[string]trait {
	return map[string]trait{
		"claude": {eval: "mcp__zeno__eval", shell: "Bash", args: `{"command":%q}`, read: "Read", file: "file_path", usd: true},
		"codex": {base: "/v1", eval: "mcp__zeno//eval", shell: "command_execution", call: "exec_command", args: `{"cmd":%q}`,
			others: []string{"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}},
		"gemini":   {eval: "mcp_zeno_eval", shell: "run_shell_command", args: `{"command":%q}`, read: "read_file", file: "file_path"},
		"omp":      {base: "/v1", eval: "mcp__zeno_eval", shell: "bash", args: `{"command":%q}`, read: "read", file: "path"},
		"opencode": {base: "/v1", eval: "zeno_eval", shell: "bash", args: `{"command":%q,"description":"d"}`, read: "read", file: "filePath"},
		"pi":       {base: "/v1", eval: "mcp__zeno__eval", shell: "bash", args: `{"command":%q}`, read: "read", file: "path"},
	}
}

func newReal(t *testing.T, cli string, change func(*Config)) *realRun {
	t.Helper()
	path := npmcli.Need(t, cli)
	model := modelserver.New(modelserver.Config{})
	t.Cleanup(model.Close)
	h := newHouse(t, func(c *Config) {
		c.Path = path
		if change != nil {
			change(c)
		}
	})
	return &realRun{house: h, model: model, req: Request{
		Role: "reader", Backend: cli, Sandbox: SandboxNone, Prompt: "go [[eval: (+ 1 2)]]", System: "SYSTEM-MARK", Model: "m1",
		BaseURL: model.URL + traits()[cli].base, APIKey: apiKey, Timeout: 4 * time.Minute, Grace: time.Second,
	}}
}

// each runs a test for every real CLI, side by side.
func each(t *testing.T, test func(t *testing.T, cli string)) {
	for _, cli := range slices.Sorted(maps.Keys(traits())) {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			test(t, cli)
		})
	}
}

// longPrompt holds quotes, newlines and characters beyond ASCII, and is larger than one argument may be.
func longPrompt() string {
	return strings.Repeat("she said \"né\", 'да' & `$HOME` \\n \U0001F600\n", 5000)
}

// TestRealWork is the main job: a long prompt in a hostile working directory, three evals, an answer, usage; then the
// session is resumed in a fresh home.
func TestRealWork(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		r := newReal(t, cli, nil)
		marks := t.TempDir()
		r.req.Work = hostile(t, marks)
		prompt := longPrompt()
		r.req.Prompt = prompt + " [[eval: (+ 1 2)]] [[eval: (str \"a\" 'b)]] [[eval: {:né [1 2]}]]"
		res := r.Run(context.Background(), r.req)
		want(t, res, OK, "")
		if res.Answer != "RESULT: => {:né [1 2]}" || res.Evals != 3 || res.Exit != 0 || res.Session == "" {
			t.Errorf("got %+v, want the last eval's result after 3 evals, and a session", res)
		}
		if res.Usage.TokensIn != 40 || res.Usage.TokensOut != 20 {
			t.Errorf("usage: got %+v, want 4 answers of 10 and 5 tokens", res.Usage)
		}
		if traits()[cli].usd && res.Usage.USD <= 0 {
			t.Errorf("usd: got %v, want what the CLI reckons", res.Usage.USD)
		}
		r.checkRequests(t, cli, prompt)
		untouched(t, marks)
		calls := slices.DeleteFunc(slices.Clone(r.events), func(e Event) bool { return e.Kind != Call })
		if len(calls) != 3 || calls[0].Text != "(+ 1 2)" || calls[0].Tool != backend.Table()[cli].ToolName {
			t.Errorf("calls: got %+v, want three evals", calls)
		}
		r.checkResume(t, res)
		if said := r.said(res); strings.Contains(said, "CANARY") {
			t.Errorf("a secret came out in:\n%s", said)
		}
	})
}

// checkRequests looks at what reached the model.
func (r *realRun) checkRequests(t *testing.T, cli, prompt string) {
	t.Helper()
	requests := r.model.Requests()
	if len(requests) != 4 {
		t.Fatalf("model requests: got %d, want 4", len(requests))
	}
	first := requests[0]
	want := append(slices.Clone(traits()[cli].others), traits()[cli].eval)
	if got := first.Conversation.Tools; !slices.Equal(got, want) {
		t.Errorf("tools offered: got %q, want %q", got, want)
	}
	if first.Auth != apiKey || first.Conversation.Model != "m1" {
		t.Errorf("auth, model: got %q %q", first.Auth, first.Conversation.Model)
	}
	if !strings.Contains(first.Conversation.System, "SYSTEM-MARK") {
		t.Errorf("system: got %.300q, want ours in it", first.Conversation.System)
	}
	if !slices.ContainsFunc(first.Conversation.Turns, func(turn modelserver.Turn) bool { return strings.Contains(turn.Text, prompt) }) {
		t.Error("the prompt did not arrive as it was")
	}
	for _, q := range requests {
		if strings.Contains(q.Body, "HOSTILE") {
			t.Error("text of the working directory reached the model")
		}
		if strings.Contains(q.Body, tokenPrefix) {
			t.Error("the token reached the model")
		}
	}
}

// checkResume resumes the session and looks for the earlier turn.
func (r *realRun) checkResume(t *testing.T, before Result) {
	t.Helper()
	seen := len(r.model.Requests())
	q := r.req
	q.Resume, q.Prompt = before.Session, "and then [[eval: (* 6 7)]]"
	res := r.Run(context.Background(), q)
	want(t, res, OK, "")
	if res.Answer != "RESULT: => (* 6 7)" || res.Evals != 1 || res.Session != before.Session {
		t.Errorf("resumed: got %+v", res)
	}
	if res.Usage.TokensIn != 20 || res.Usage.USD > before.Usage.USD {
		t.Errorf("resumed usage: got %+v, want that of this run alone", res.Usage)
	}
	after := r.model.Requests()[seen:]
	if len(after) != 2 {
		t.Fatalf("model requests of the resumed run: got %d, want 2", len(after))
	}
	turns := fmt.Sprint(after[0].Conversation.Turns)
	if !strings.Contains(turns, "RESULT: => {:né [1 2]}") {
		t.Errorf("resumed: got turns without the earlier answer: %.300s", turns)
	}
}

// TestRealCancel cancels in the middle of an eval; the whole tree must be gone when Run returns.
func TestRealCancel(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		r := newReal(t, cli, nil)
		r.req.ID, r.req.Prompt = "cancelled-"+cli, "[[eval: (sleep)]]"
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		home := "HOME=" + filepath.Join(r.spawnsDir(), r.req.ID, "home")
		var before []string
		begun := make(chan time.Time, 1)
		go func() {
			<-r.gateway.running
			before = processesWith(home)
			begun <- time.Now()
			cancel()
		}()
		res := r.Run(ctx, r.req)
		want(t, res, Cancelled, "cancelled")
		if took := time.Since(<-begun); took > r.req.Grace+30*time.Second {
			t.Errorf("cancel: took %v, want about the grace period", took)
		}
		if len(before) < 2 {
			t.Errorf("processes before the cancel: got %v, want the guard and the CLI", before)
		}
		if after := processesWith(home); len(after) != 0 {
			t.Errorf("processes after the cancel: got %v, want none", after)
		}
		if res.Evals != 1 {
			t.Errorf("evals: got %d, want the one that was cut off", res.Evals)
		}
	})
}

// processesWith lists the processes whose environment holds entry.
func processesWith(entry string) []string {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var found []string
	for _, file := range files {
		if env, err := os.ReadFile(file); err == nil && strings.Contains(string(env), entry+"\x00") {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
			found = append(found, filepath.Base(filepath.Dir(file))+":"+strings.TrimSpace(string(name)))
		}
	}
	return found
}

// TestRealFailures: the model server refuses the key, then the endpoint is down (where claude and omp exit 0).
func TestRealFailures(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		r := newReal(t, cli, nil)
		r.model.Set(modelserver.Config{Status: 401})
		want(t, r.Run(context.Background(), r.req), Failed, "401")
		r.model.Set(modelserver.Config{})
		r.gateway.Close()
		want(t, r.Run(context.Background(), r.req), Failed, "MCP")
		if left := leftFiles(r.spawnsDir()); len(left) != 0 {
			t.Errorf("left in the state directory: %v", left)
		}
	})
}

func leftFiles(dir string) []string {
	var left []string
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != dir {
			left = append(left, path)
		}
		return nil
	})
	return left
}

// TestRealTimeout: the model takes longer than the spawn may.
func TestRealTimeout(t *testing.T) {
	r := newReal(t, "claude", nil)
	r.model.Set(modelserver.Config{Latency: time.Minute})
	r.req.Timeout = 2 * time.Second
	want(t, r.Run(context.Background(), r.req), Timeout, "2s")
}

// opened is an entry whose switches for built-in tools are broken, and a call of a tool that is offered then.
func opened(cli string) (backend.Backend, string) {
	b := backend.Table()[cli]
	b.Argv, b.Files = slices.Clone(b.Argv), maps.Clone(b.Files)
	switch cli {
	case "codex":
		for i, arg := range b.Argv {
			if slices.Contains(arg.Words, "read-only") { // its own sandbox may not start a command at all
				b.Argv[i].Words = []string{"-s", "danger-full-access", "--enable", "shell_tool"}
			}
		}
		return b, `[[call: exec_command {"cmd":"echo hi"}]]`
	case "gemini":
		b.Files["policy.toml"] = backend.File{Text: "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 200\n"}
		return b, `[[call: list_directory {"dir_path":"."}]]`
	case "opencode":
		b.Env = maps.Clone(b.Env)
		b.Env["OPENCODE_CONFIG_CONTENT"] = `{"agent":{"zeno":{"tools":{"bash":true}}}}`
		return b, `[[call: bash {"command":"echo hi","description":"d"}]]`
	}
	for i, arg := range b.Argv {
		if arg.Unless == "tools" && slices.ContainsFunc(arg.Words, func(w string) bool { return strings.HasSuffix(w, "tools") }) {
			b.Argv[i].Words = nil
		}
	}
	return b, `[[call: bash {"command":"echo hi"}]]`
}

// TestRealSurpriseTool breaks what switches built-in tools off: claude reports the tools it offers, the others only the one
// that ran.
func TestRealSurpriseTool(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		broken, call := opened(cli)
		r := newReal(t, cli, func(c *Config) {
			c.Backends = backend.Table()
			c.Backends[cli] = broken
		})
		r.req.Prompt = call + " [[eval: (+ 1 2)]]"
		want(t, r.Run(context.Background(), r.req), Refused, "tools: got ")
	})
}

// TestRealTools grants built-in tools, which then are no surprise, and works in the working directory. That is hostile, and
// even so starts nothing; what it wants the model to read is not read, but by gemini, which has no switch for it.
func TestRealTools(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		r := newReal(t, cli, nil)
		how, marks := traits()[cli], t.TempDir()
		r.req.Tools, r.req.Work = []string{how.shell}, hostile(t, marks)
		r.req.Prompt = "[[eval: (+ 1 2)]] "
		if how.read != "" {
			r.req.Tools = append(r.req.Tools, how.read)
			r.req.Prompt += fmt.Sprintf("[[call: %s {%q:%q}]] ", how.read, how.file, r.req.Work+"/sub/plain.ts")
		}
		r.req.Prompt += "[[call: " + cmp.Or(how.call, how.shell) + " " +
			fmt.Sprintf(how.args, fmt.Sprintf("echo from-the-shell > %s/file; cat %s/file", r.req.Work, r.req.Work)) + "]]"
		res := r.Run(context.Background(), r.req)
		want(t, res, OK, "")
		if !strings.Contains(res.Answer, "from-the-shell") {
			t.Errorf("answer: got %q, want the tool's output", res.Answer)
		}
		untouched(t, marks)
		read := slices.ContainsFunc(r.model.Requests(), func(q modelserver.Request) bool { return strings.Contains(q.Body, "HOSTILE") })
		if read != (cli == "gemini") {
			t.Errorf("text of the working directory reached the model: got %v", read)
		}
		last := r.model.Requests()[len(r.model.Requests())-1]
		if how.read != "" && !strings.Contains(last.Body, "const plain = 1") {
			t.Error("what the model read is not in its conversation")
		}
	})
}

// TestRealPromptsAreText holds that no prompt is taken for a command of the CLI's own, and no file it names is read.
func TestRealPromptsAreText(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("FILE-CANARY"), 0o600); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, cli string) {
		r := newReal(t, cli, nil)
		r.req.Prompt = "/clear and see @" + secret + " (@\"" + secret + "\") [[eval: (+ 1 2)]]"
		res := r.Run(context.Background(), r.req)
		want(t, res, OK, "")
		if res.Answer != "RESULT: => (+ 1 2)" {
			t.Errorf("answer: got %q", res.Answer)
		}
		for _, q := range r.model.Requests() {
			if strings.Contains(q.Body, "FILE-CANARY") {
				t.Error("the CLI read a file that the prompt names and sent it to the model")
			}
		}
	})
}
