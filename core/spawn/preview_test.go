package spawn

import (
	"slices"
	"strings"
	"testing"
)

// TestPreview holds that a preview names all that a run would get, holds no secret, and writes nothing.
func TestPreview(t *testing.T) {
	h := newHouse(t, nil)
	q := Request{ID: "p1", Sandbox: SandboxNone, Role: "reader", Backend: "codex", Prompt: "a long prompt", System: "SYS", Model: "m1", BaseURL: "http://127.0.0.1:1/v1",
		APIKey: apiKey, Env: map[string]string{"MORE": "CANARY-more"}}
	p, err := h.Preview(q)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"CODEX_HOME", "HOME", "MORE", "PATH", "ZENO_API_KEY", "ZENO_TOKEN"}; !slices.Equal(p.EnvNames, want) {
		t.Errorf("env: got %q, want %q", p.EnvNames, want)
	}
	text := strings.Join(p.Argv, " ")
	for _, f := range p.Files {
		text += f.Path + f.Text
	}
	if !strings.Contains(text, "exec --json") || !strings.Contains(text, "/.codex/config.toml") || !strings.Contains(text, `"SYS"`) {
		t.Errorf("got %s", text)
	}
	if strings.Contains(text, "CANARY") || p.StdinBytes != len("a long prompt") || !strings.Contains(p.Missing, "npm install -g @openai/codex") {
		t.Errorf("got %+v", p)
	}
	if left := leftFiles(h.spawnsDir()); len(left) != 0 {
		t.Errorf("written: %v, want nothing", left)
	}
	for field, bad := range map[string]func(*Request){"role": func(q *Request) { q.Role = "nobody" }, "backend": func(q *Request) { q.Backend = "none" },
		"tools": func(q *Request) { q.Tools = []string{"Bash"} }} {
		q := q
		bad(&q)
		if _, err := h.Preview(q); err == nil || !strings.Contains(err.Error(), field+": got ") {
			t.Errorf("%s: got %v, want it refused by name", field, err)
		}
	}
}
