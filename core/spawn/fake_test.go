package spawn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
)

const goodAnswer = `echo '{"answer":"42"}'`

// TestVerdicts runs shell scripts as CLIs and holds how each is judged.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, script string
		connected    bool
		status       Status
		inError      string
	}{
		{"answer", goodAnswer, true, OK, ""},
		{"exit 0 without the endpoint", goodAnswer, false, Failed, "never connected"},
		{"no answer", `echo '{"text":"hm"}'; echo oops >&2`, true, Failed, "without an answer"},
		{"exit code", goodAnswer + `; echo broken pipe >&2; exit 3`, true, Failed, "exit code 3; its last words: broken pipe"},
		{"what helps comes before what is last", `printf '\033[31mNo key was found.\033[0m\n\nSet one:\n  in docs/keys\n' >&2; exit 1`, true, Failed,
			"exit code 1; its last words: No key was found. | Set one: | in docs/keys"},
		{"error in the stream", `echo '{"error":"401 bad key"}'`, true, Failed, "401 bad key"},
		{"not JSON", `echo hello; echo '['; echo '{"a"'`, true, Failed, "3 not JSON"},
		{"not JSON beside an answer", `echo hello; ` + goodAnswer, true, OK, ""},
		{"no newline at the end", `printf '{"answer":"x"}'`, true, OK, ""},
		{"binary", `head -c 300000 /dev/urandom; echo; ` + goodAnswer, true, OK, ""},
		{"killed by a signal", `kill -9 $$`, true, Failed, "exit code 137"},
		{"server down in the stream", `echo '{"mcp":"failed"}'; sleep 30`, false, Failed, "could not connect"},
		{"surprise tool offered", `echo '{"tools":["eval","Bash"]}'; sleep 30`, true, Refused, `got "Bash" from the CLI`},
		{"surprise tool ran", `echo '{"done":"bash"}'; sleep 30`, true, Refused, `got "bash" from the CLI`},
		{"known tool", `echo '{"tools":["eval"]}'; echo '{"done":"eval"}'; ` + goodAnswer, true, OK, ""},
		{"stdin never read", `exec 0<&-; ` + goodAnswer, true, OK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, q := fake(t, c.script, c.connected)
			q.Prompt = strings.Repeat("prompt ", 50000)
			want(t, h.Run(context.Background(), q), c.status, c.inError)
		})
	}
}

func TestLongLinesAreSkipped(t *testing.T) {
	h, q := fake(t, `head -c 3000000 /dev/zero | tr '\0' x; echo; `+goodAnswer, true)
	h.conf.MaxLine = 1 << 20
	res := h.Run(context.Background(), q)
	want(t, res, OK, "")
	if res.Answer != "42" {
		t.Errorf("answer: got %q, want 42", res.Answer)
	}
}

func TestEndlessOutputEnds(t *testing.T) {
	h, q := fake(t, `while :; do echo '{"text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}'; done`, true)
	h.conf.MaxOutput = 1 << 20
	want(t, h.Run(context.Background(), q), Failed, "more than 1048576 bytes")
	h, q = fake(t, `cat /dev/zero >&2`, true)
	h.conf.MaxOutput = 1 << 20
	want(t, h.Run(context.Background(), q), Failed, "more than 1048576 bytes")
}

func TestTimeoutStallBudget(t *testing.T) {
	h, q := fake(t, `while :; do echo '{"text":"busy"}'; sleep 0.05; done`, true)
	q.Timeout = 400 * time.Millisecond
	want(t, h.Run(context.Background(), q), Timeout, "400ms")

	h, q = fake(t, `echo '{"text":"busy"}'; sleep 60`, true)
	q.Stall = 300 * time.Millisecond
	want(t, h.Run(context.Background(), q), Stalled, "no output and no eval")

	h, q = fake(t, `for i in 1 2 3 4 5 6; do echo '{"in":30}'; done; sleep 60`, true)
	q.MaxTokens = 100
	res := h.Run(context.Background(), q)
	want(t, res, OverBudget, "want at most 100")
	if res.Usage.TokensIn <= 100 {
		t.Errorf("tokens: got %d, want more than the limit", res.Usage.TokensIn)
	}
}

func TestRunningEvalIsNoStall(t *testing.T) {
	// On a slow machine the eval may begin too late: then there is more time for all.
	var res Result
	for _, scale := range []time.Duration{1, 5, 30} {
		if res = runBusy(t, scale); res.Status == OK {
			break
		}
	}
	want(t, res, OK, "")
}

// runBusy runs a CLI that says nothing for five times as long as it may, with an eval under way.
func runBusy(t *testing.T, scale time.Duration) Result {
	t.Helper()
	h, q := fake(t, fmt.Sprintf("sleep %d; ", scale)+goodAnswer, true)
	q.ID, q.Stall = "busy", scale*200*time.Millisecond
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				h.gateway.note("busy", func(a *Activity) { a.Active = 1 })
			}
		}
	}()
	return h.Run(context.Background(), q)
}

func TestCausesBecomeStatuses(t *testing.T) {
	for cause, status := range map[error]Status{nil: Cancelled, ErrInterrupted: Interrupted, ErrOverBudget: OverBudget} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			h, q := fake(t, `trap '' TERM; echo '{"text":"up"}'; sleep 60 & sleep 60; :`, true)
			q.ID = "caused"
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() {
				eventually(t, "the CLI says something", func() bool { return h.began(q.ID) })
				cancel(cause)
			}()
			res := h.Run(ctx, q)
			if res.Status != status || res.Exit != 137 {
				t.Errorf("got %s, exit %d (%s), want %s after KILL", res.Status, res.Exit, res.Error, status)
			}
		})
	}
	h, q := fake(t, goodAnswer, true)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	want(t, h.Run(ctx, q), Cancelled, "cancelled")
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"role":       {func(q *Request) { q.Role = "nobody" }, `role: got "nobody"`},
		"no role":    {func(q *Request) { q.Role = "" }, "role: got none"},
		"backend":    {func(q *Request) { q.Backend = "nope" }, `backend: got "nope", want one of fake scripted`},
		"prompt":     {func(q *Request) { q.Prompt = "" }, "prompt: got none"},
		"big prompt": {func(q *Request) { q.Prompt = strings.Repeat("x", 17<<20) }, "prompt: got 17825792 bytes"},
		"NUL":        {func(q *Request) { q.Prompt = "a\x00b" }, "NUL"},
		"sandbox":    {func(q *Request) { q.Sandbox = "native" }, `sandbox: got "native"`},
		"id":         {func(q *Request) { q.ID = "../x" }, `id: got "../x"`},
		"env":        {func(q *Request) { q.Env = map[string]string{"HOME": "/"} }, `env: got the name "HOME"`},
		"secret":     {func(q *Request) { q.Env, q.Secrets = map[string]string{"K": "ab"}, []string{"K"} }, "secrets: K: got 2 bytes"},
		"key":        {func(q *Request) { q.APIKey = "abc" }, "api key: got 3 bytes"},
		"tools":      {func(q *Request) { q.Tools = []string{"--evil"} }, `tools: got "--evil"`},
		"work":       {func(q *Request) { q.Work = "/nonexistent/dir" }, "work: got"},
		"rel. work":  {func(q *Request) { q.Work = "dir" }, "work: got"},
		"resume":     {func(q *Request) { q.Resume = "../../etc" }, "resume: got"},
		"unknown":    {func(q *Request) { q.Resume = "abc" }, "resume: got"},
		"vars":       {func(q *Request) { q.Vars = map[string]string{"x": "y"} }, "vars.x"},
		"agent":      {func(q *Request) { q.Backend = Scripted }, "agent: got none"},
	} {
		t.Run(name, func(t *testing.T) {
			h, q := fake(t, goodAnswer, true)
			c.change(&q)
			res := h.Run(context.Background(), q)
			want(t, res, Refused, c.want)
			if res.Exit != -1 {
				t.Errorf("exit: got %d, want -1", res.Exit)
			}
		})
	}
}

func TestEntryOfTheCallersOwn(t *testing.T) {
	h, q := fake(t, `exit 9`, true)
	own := sh(goodAnswer)["fake"]
	own.Name = "own"
	q.Entry = &own
	res := h.Run(context.Background(), q)
	want(t, res, OK, "")
	if got := h.events[0].Backend; got != "own" {
		t.Errorf("backend: got %q, want own", got)
	}
	own.ToolName = ""
	want(t, h.Run(context.Background(), q), Refused, "backend own: tool-name: got none")
}

func TestMissingCLISaysHowToGetIt(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.Path = t.TempDir() })
	for name, hint := range map[string]string{"claude": "@anthropic-ai/claude-code", "omp": "pi-coding-agent"} {
		res := h.Run(context.Background(), Request{Role: "reader", Backend: name, Sandbox: SandboxNone, Prompt: "p", Model: "m", BaseURL: "http://127.0.0.1:9"})
		want(t, res, Refused, hint)
		if !strings.Contains(res.Error, "program "+name+": got none on PATH") {
			t.Errorf("error: got %q", res.Error)
		}
	}
}

func TestEnvironmentAndDirectories(t *testing.T) {
	t.Setenv("AMBIENT", "leaks")
	h, q := fake(t, `env | sort | sed 's/=.*//' | tr '\n' ' ' >&2; ls -A >&2; stat -c %a "$HOME" >&2; cat >&2; echo '{"answer":"x"}'`, true)
	q.ID, q.Env, q.Prompt = "one", map[string]string{"DECLARED": "yes"}, "the prompt"
	res := h.Run(context.Background(), q)
	want(t, res, OK, "")
	// The shell itself adds PWD; the working directory is empty.
	if got := res.Stderr; got != "DECLARED HOME PATH PWD ZENO_TOKEN 700\nthe prompt" {
		t.Errorf("environment, files, home's mode, stdin: got %q", got)
	}
	if left, err := os.ReadDir(h.spawnsDir()); err != nil || len(left) != 0 {
		t.Errorf("left in the state directory: %v %v, want nothing", left, err)
	}
	if res.Boxed || len(h.warned) != 1 || !strings.Contains(h.warned[0], "unboxed") {
		t.Errorf("got boxed %v and warnings %q, want one that says unboxed", res.Boxed, h.warned)
	}
}

// TestSecretsNeverCome runs a CLI that prints every secret it knows, everywhere it can.
func TestSecretsNeverCome(t *testing.T) {
	const script = `for v in "$ZENO_TOKEN" "$KEY" "$QUOTED"; do
	  j=$(printf %s "$v" | sed 's/"/\\"/g'); echo "$v" >&2; printf %s "$v" >&2
	  printf '{"type":"%s","text":"t %s","session":"%s"}\n' "$j" "$j" "$j"
	  printf '{"tools":["eval"],"answer":"a %s"}\n' "$j"; done
	  [ -n "$FAIL" ] && printf '{"error":"bad key %s"}\n' "$KEY"; exit 0`
	for _, fail := range []string{"", "1"} {
		h, q := fake(t, script, true)
		q.Env = map[string]string{"KEY": "KEY-CANARY-1", "QUOTED": `Q"UOTE-CANARY`, "FAIL": fail}
		q.Secrets = []string{"KEY", "QUOTED"}
		res := h.Run(context.Background(), q)
		if said := h.said(res); strings.Contains(said, "CANARY") {
			t.Errorf("a secret came out in:\n%s", said)
		}
		if !strings.Contains(res.Stderr, hidden) || !strings.Contains(res.Answer, hidden) {
			t.Errorf("got stderr %q and answer %q, want %s in both", res.Stderr, res.Answer, hidden)
		}
	}
}

func TestTailNeverShowsHalfASecret(t *testing.T) {
	red := newRedactor("SECRETSECRET")
	for limit := 1; limit < 60; limit++ {
		for lead := range 40 {
			tail := newTail(limit, red)
			text := strings.Repeat("x", lead) + "SECRETSECRET yyyy SECRETSECRET zzzz"
			for i := range len(text) {
				tail.write([]byte{text[i]})
			}
			got := tail.text(red)
			if strings.Contains(got, "SECRET") || strings.Contains(got, "CRET") || len(got) > limit {
				t.Fatalf("limit %d, lead %d: got %q", limit, lead, got)
			}
		}
	}
}

func TestEventsComeInOrder(t *testing.T) {
	h, q := fake(t, `echo '{"type":"a","text":"hello"}'; `+goodAnswer, true)
	res := h.Run(context.Background(), q)
	var kinds []Kind
	for _, e := range h.events {
		kinds = append(kinds, e.Kind)
		if e.Spawn != res.ID || e.Role != "reader" || e.Backend != "fake" || e.Time.IsZero() {
			t.Errorf("event: got %+v, want the spawn's names and a time", e)
		}
	}
	if !slices.Equal(kinds, []Kind{Started, Line, Line, Ended}) {
		t.Errorf("got %v, want started, two lines, ended", kinds)
	}
}

func TestQueue(t *testing.T) {
	h, q := fake(t, `sleep 0.5; `+goodAnswer, true)
	h.slots, h.conf.MaxQueue = make(chan struct{}, 1), 1
	results := make(chan Result, 3)
	for range 3 {
		go func() { results <- h.Run(context.Background(), q) }()
	}
	count := map[Status]int{}
	for range 3 {
		count[(<-results).Status]++
	}
	if count[OK] != 2 || count[Refused] != 1 {
		t.Errorf("got %v, want one running, one queued, one refused", count)
	}
	if !slices.ContainsFunc(h.events, func(e Event) bool { return e.Kind == Queued }) {
		t.Error("no event says that a spawn waits")
	}
}

func TestSessionsAreKeptAndPruned(t *testing.T) {
	h, q := fake(t, `cat "$HOME/kept/note" >&2 2>/dev/null; cat >> "$HOME/kept/note"; ln -s /etc/passwd "$HOME/kept/link$$"; echo '{"session":"abc"}'; `+goodAnswer, true)
	h.conf.MaxSessions = 3
	q.ID, q.Prompt = "first", "one "
	want(t, h.Run(context.Background(), q), OK, "")
	q.ID, q.Prompt, q.Resume = "second", "two ", "abc"
	res := h.Run(context.Background(), q)
	want(t, res, OK, "")
	if res.Stderr != "one " || res.Session != "abc" {
		t.Errorf("got %q and session %q, want what the first spawn left", res.Stderr, res.Session)
	}
	if note, err := os.ReadFile(filepath.Join(h.sessionsDir(), "first", "note")); err != nil || string(note) != "one " {
		t.Errorf("the resumed session's own files: got %q %v, want them untouched", note, err)
	}
	links, err := filepath.Glob(filepath.Join(h.sessionsDir(), "second", "link*"))
	if err != nil || len(links) != 1 {
		t.Errorf("links: got %v, want only the second spawn's own", links)
	}
	q.Resume = ""
	for _, id := range []string{"third", "fourth", "fifth"} {
		q.ID = id
		want(t, h.Run(context.Background(), q), OK, "")
	}
	if _, err := os.Stat(filepath.Join(h.sessionsDir(), "first")); err == nil {
		t.Error("the oldest session is still there, want at most 3")
	}
	q.ID = "fifth"
	want(t, h.Run(context.Background(), q), Refused, "an earlier spawn had")
}

func TestNewChecksItsConfig(t *testing.T) {
	broken := backend.Table()["claude"]
	broken.ToolName = ""
	for _, c := range []struct {
		conf Config
		want string
	}{
		{Config{StateDir: "/x"}, "Gateway"},
		{Config{Gateway: &standIn{}, StateDir: "x"}, "absolute path"},
		{Config{Gateway: &standIn{}, StateDir: "/proc/none"}, "failed to make"},
		{Config{Gateway: &standIn{}, StateDir: t.TempDir(), Backends: map[string]backend.Backend{"b": broken}}, "tool-name"},
	} {
		if _, err := New(c.conf); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestTimeoutTellsTheLastError: a CLI that tries again for ever tells why, and what it says when it is stopped is no reason.
func TestTimeoutTellsTheLastError(t *testing.T) {
	h, q := fake(t, `trap 'echo "{\"error\":\"aborted\"}"; exit 1' TERM; echo '{"error":"model is down"}'; while :; do sleep 0.05; done`, true)
	var res Result
	for _, q.Timeout = range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second} { // it must have begun by then
		if res = h.Run(context.Background(), q); strings.Contains(res.Error, "model is down") {
			break
		}
	}
	want(t, res, Timeout, "the last error it told of: model is down")
	if strings.Contains(res.Error, "aborted") {
		t.Errorf("error: got %q, want what was before the end", res.Error)
	}
}
