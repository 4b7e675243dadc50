package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// values are those of a typical spawn.
func values() Values {
	return Values{
		Prompt: "find it", System: "be brief", Model: "m1", Role: "reader", Spawn: "s1",
		Endpoint: "http://127.0.0.1:7777/mcp/reader", BaseURL: "http://127.0.0.1:9/v1",
		Home: "/h", Work: "/w", SessionDir: "/s", Token: "TOKEN-CANARY", APIKey: "KEY-CANARY",
	}
}

func TestTableIsValid(t *testing.T) {
	table := Table()
	if _, ok := table[Default]; !ok {
		t.Errorf("the default backend %q is not in the table", Default)
	}
	for name, b := range table {
		if name != b.Name {
			t.Errorf("key %q holds the entry %q", name, b.Name)
		}
		if err := b.Validate(); err != nil {
			t.Error(err)
		}
		if b.Install == "" || b.Tried == "" {
			t.Errorf("%s: no install hint or tried version", name)
		}
	}
}

func TestClaudePlan(t *testing.T) {
	plan, err := Table()["claude"].Plan(values())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"claude", "-p", "--mcp-config", "/h/.claude/zeno-mcp.json", "--strict-mcp-config", "--bare",
		"--setting-sources", "user", "--disable-slash-commands", "--tools", "", "--allowedTools", "mcp__zeno__eval",
		"--append-system-prompt-file", "/h/.claude/zeno-system.md", "--model", "m1",
		"--output-format", "stream-json", "--verbose"}
	if diff := cmp.Diff(want, plan.Argv); diff != "" {
		t.Error(diff)
	}
	if plan.Stdin != "find it" || plan.Dir != "/w" {
		t.Errorf("stdin, dir: got %q %q, want the prompt and the working directory", plan.Stdin, plan.Dir)
	}
	if diff := cmp.Diff([]PlannedLink{{"/h/.claude/projects", "/s"}}, plan.Links); diff != "" {
		t.Error(diff)
	}
}

func TestToolsAndResumeInArgv(t *testing.T) {
	v := values()
	v.Tools, v.Session = []string{"Bash", "Read"}, "abc"
	for name, want := range map[string][]string{
		"claude": {"--tools Bash,Read --allowedTools mcp__zeno__eval,Bash,Read", "--resume abc"},
		"omp":    {"--tools=Bash,Read", "--resume=abc", "--append-system-prompt=/h/system.md"},
	} {
		plan, err := Table()[name].Plan(v)
		if err != nil {
			t.Fatal(err)
		}
		argv := strings.Join(plan.Argv, " ")
		for _, part := range want {
			if !strings.Contains(argv, part) {
				t.Errorf("%s: got %q, want %q in it", name, argv, part)
			}
		}
		if strings.Contains(argv, "--no-tools") {
			t.Errorf("%s: got --no-tools although tools are listed", name)
		}
		if got := strings.Join(plan.Allowed, " "); got != Table()[name].ToolName+" Bash Read" {
			t.Errorf("%s: allowed: got %q", name, got)
		}
	}
}

// TestSecretsStayInEnv holds for every entry: the token travels in ZENO_TOKEN, which the runner sets, the key in env.
func TestSecretsStayInEnv(t *testing.T) {
	for name, b := range Table() {
		plan, err := b.Plan(values())
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(plan.Argv, "\n") + plan.Stdin
		for _, f := range plan.Files {
			text += string(f.Data)
		}
		if strings.Contains(text, "CANARY") {
			t.Errorf("%s: a secret is in argv, stdin or files", name)
		}
		if !strings.Contains(text, "ZENO_TOKEN") {
			t.Errorf("%s: no file refers to ZENO_TOKEN", name)
		}
		if plan.Env["ANTHROPIC_API_KEY"]+plan.Env["ZENO_API_KEY"]+plan.Env["GEMINI_API_KEY"] != "KEY-CANARY" {
			t.Errorf("%s: env holds no API key", name)
		}
	}
}

func TestFilesAreData(t *testing.T) {
	v := values()
	v.Model = "m\"1\\\n"
	plan, err := Table()["omp"].Plan(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range plan.Files {
		if !strings.HasSuffix(f.Path, "models.yml") {
			continue
		}
		var models struct {
			Providers map[string]struct{ Models []struct{ ID string } }
		}
		if err := json.Unmarshal(f.Data, &models); err != nil {
			t.Fatal(err)
		}
		if got := models.Providers["zeno"].Models[0].ID; got != v.Model {
			t.Errorf("model: got %q, want %q", got, v.Model)
		}
		return
	}
	t.Error("models.yml: not planned although a base URL is set")
}

func TestEscapes(t *testing.T) {
	for _, c := range []struct{ backend, prompt, want string }{
		{"claude", "/clear all", "\n/clear all"},
		{"claude", "see /etc", "see /etc"},
		{"omp", "see @/etc/passwd, (@a) and x@y.z", "see @\u2060/etc/passwd, (@\u2060a) and x@y.z"},
		{"omp", "@\"/etc/passwd\"\n@b", "@\u2060\"/etc/passwd\"\n@\u2060b"},
	} {
		v := values()
		v.Prompt = c.prompt
		plan, err := Table()[c.backend].Plan(v)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Stdin != c.want {
			t.Errorf("%s: %q: got %q, want %q", c.backend, c.prompt, plan.Stdin, c.want)
		}
	}
}

func TestPlanNamesWhatIsMissing(t *testing.T) {
	v := values()
	v.Model = ""
	_, err := Table()["omp"].Plan(v)
	if err == nil || !strings.Contains(err.Error(), "${model} is empty") {
		t.Errorf("got %v, want an error that names the model", err)
	}
	v = values()
	v.Vars = map[string]string{"colour": "red"}
	_, err = Table()["omp"].Plan(v)
	if err == nil || !strings.Contains(err.Error(), "vars.colour") {
		t.Errorf("got %v, want an error that names the variable", err)
	}
}

// minimal is the smallest entry Decode accepts.
func minimal() map[string]any {
	return map[string]any{
		"argv":      []any{"agent", []any{"--model", "${model}"}, map[string]any{"args": []any{"-q"}, "unless": "tools"}},
		"stdin":     "${prompt}",
		"tool-name": "eval",
		"stream": map[string]any{"rules": []any{map[string]any{
			"when": map[string]any{"type": "end"}, "take": map[string]any{"answer": "text"}}}},
	}
}

func TestDecode(t *testing.T) {
	b, err := Decode("mine", minimal())
	if err != nil {
		t.Fatal(err)
	}
	want := []Arg{{Words: []string{"agent"}}, {Words: []string{"--model", "${model}"}, Optional: true},
		{Words: []string{"-q"}, Unless: "tools"}}
	if diff := cmp.Diff(want, b.Argv); diff != "" {
		t.Error(diff)
	}
	plan, err := b.Plan(Values{Prompt: "p", Work: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"agent", "-q"}, plan.Argv); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeNamesTheField(t *testing.T) {
	set := func(key string, value any) map[string]any {
		m := minimal()
		m[key] = value
		return m
	}
	rule := func(r map[string]any) map[string]any {
		return set("stream", map[string]any{"rules": []any{r}})
	}
	answer := map[string]any{"answer": "text"}
	for _, c := range []struct {
		data map[string]any
		want string
	}{
		{set("argc", 1), "argc: got an unknown key"},
		{set("argv", "agent"), "argv: got text, want a list"},
		{set("argv", []any{}), "argv[0]: got none"},
		{set("argv", []any{"${model}"}), "argv[0]: got a template"},
		{set("argv", []any{"a", 7}), "argv[1]: got a number"},
		{set("argv", []any{"a", "${modell}"}), "argv[1]: got the unknown variable ${modell}"},
		{set("argv", []any{"a", "${model"}), "argv[1]: got ${ without }"},
		{set("argv", []any{"a", "${token}"}), "argv[1]: got the secret ${token}"},
		{set("argv", []any{"a", map[string]any{"args": []any{"b"}, "if": "x"}}), "argv[1]: got the unknown variable ${x}"},
		{set("argv", []any{"a", map[string]any{"words": []any{"b"}}}), "argv[1].words: got an unknown key"},
		{set("env", map[string]any{"A": 1}), `env["A"]: got a number, want text`},
		{set("env", map[string]any{"A=B": "x"}), "env.A=B: got a bad name"},
		{set("env", map[string]any{"ZENO_TOKEN": "x"}), "env.ZENO_TOKEN: got a name that zeno sets itself"},
		{set("files", map[string]any{"../x": "y"}), `files["../x"]: got a path outside`},
		{set("files", map[string]any{"/x": "y"}), `files["/x"]: got a path outside`},
		{set("files", map[string]any{"x": map[string]any{}}), `files["x"]: got both or neither`},
		{set("files", map[string]any{"x": map[string]any{"data": map[string]any{"k": "${api-key}"}}}), `files["x"].data.k: got the secret`},
		{set("links", map[string]any{"x": "${nope}"}), `links["x"]: got the unknown variable`},
		{set("escapes", []any{map[string]any{"match": "(", "with": ""}}), "escapes[0].match: error parsing"},
		{set("vars", map[string]any{"prompt": "x"}), "vars: got \"prompt\""},
		{set("requires", []any{"nope"}), "requires[0]: got the unknown variable"},
		{set("rehome", "["), "rehome: got"},
		{set("tool-name", ""), "tool-name: got none"},
		{set("stream", map[string]any{}), "stream.rules: got none"},
		{rule(map[string]any{"take": map[string]any{"text": "x"}}), "stream.rules: got no rule that takes the answer"},
		{rule(map[string]any{"take": map[string]any{"answr": "x"}}), "stream.rules[0].take.answr: got an unknown fact"},
		{rule(map[string]any{"take": answer, "when": map[string]any{"t": map[string]any{}}}), "stream.rules[0].when.t: got a map"},
		{rule(map[string]any{"take": answer, "if": map[string]any{"t": "x"}}), "stream.rules[0].if: got a condition without each"},
		{rule(map[string]any{"take": answer, "total": "yes"}), "stream.rules[0].total: got text, want true or false"},
	} {
		_, err := Decode("mine", c.data)
		var field *FieldError
		if !errors.As(err, &field) || !strings.Contains(err.Error(), "backend mine: "+c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestNameIsAFileName(t *testing.T) {
	for _, name := range []string{"", "../x", "a/b", ".hidden"} {
		if _, err := Decode(name, minimal()); err == nil || !strings.Contains(err.Error(), "name: got") {
			t.Errorf("name %q: got %v, want an error", name, err)
		}
	}
}

func ExampleBackend_Plan() {
	b := Table()["claude"]
	plan, err := b.Plan(Values{Prompt: "count the files", Endpoint: "http://127.0.0.1:7777/mcp/reader", Home: "/h", Work: "/w", SessionDir: "/s"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Argv[0], plan.Argv[1], "in", plan.Dir, "reads:", plan.Stdin)
	// Output: claude -p in /w reads: count the files
}

func ExampleDecode() {
	_, err := Decode("mine", map[string]any{"argv": []any{"agent", 5}})
	fmt.Println(err)
	// Output: backend mine: argv[1]: got a number, want a word, a list of words, or a map with args
}
