package core

import (
	"testing"

	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/sandbox"
)

// TestAdviserInherits holds that an adviser of another CLI, or at another server, gets no key, variable or way out that was
// meant for the agent's.
func TestAdviserInherits(t *testing.T) {
	t.Setenv("ZENO_TEST_ADVISER_KEY", "adviser-key")
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	of := spawn.Request{Role: "worker", Backend: "claude", Model: "m1", BaseURL: "http://one", APIKey: "agent-key", APIKeyEnv: "K",
		Env: map[string]string{"A": "agent-secret"}, Secrets: []string{"A"}, Tools: []string{"Bash"}, Work: "/work",
		Box: spawn.Box{Volume: "v", Read: []string{"/etc"}, Secrets: []sandbox.Secret{{}}, Env: map[string]string{"B": "b"}, Pids: 9}}
	for name, tt := range map[string]struct {
		review         spawn.Review
		backend, model string
		url, key       string
		env, secrets   int
	}{
		"the same CLI":    {spawn.Review{}, "claude", "m1", "http://one", "agent-key", 1, 1},
		"another model":   {spawn.Review{Model: "m2"}, "claude", "m2", "http://one", "agent-key", 1, 1},
		"another key":     {spawn.Review{APIKeyEnv: "ZENO_TEST_ADVISER_KEY"}, "claude", "m1", "http://one", "adviser-key", 1, 1},
		"another server":  {spawn.Review{BaseURL: "http://two"}, "claude", "m1", "http://two", "", 1, 1},
		"another CLI":     {spawn.Review{Backend: "omp"}, "omp", "", "", "", 0, 0},
		"another one all": {spawn.Review{Backend: "omp", Model: "m2", BaseURL: "http://two", APIKeyEnv: "ZENO_TEST_ADVISER_KEY"}, "omp", "m2", "http://two", "adviser-key", 0, 0},
	} {
		of.Review = &tt.review
		q, err := c.adviser(of, "answer", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if q.Backend != tt.backend || q.Model != tt.model || q.BaseURL != tt.url || q.APIKey != tt.key || len(q.Env) != tt.env || len(q.Box.Secrets) != tt.secrets {
			t.Errorf("%s: got %+v", name, q)
		}
		if len(q.Tools) != 0 || q.Work != "" || q.Box.Volume != "" || q.Box.Read != nil || q.Box.Pids != 9 || q.Review != nil || q.Resume != "" {
			t.Errorf("%s: got %+v, want no tools, no directory, no review of its own", name, q)
		}
	}
	if got := c.secrets.Text("x adviser-key y"); got == "x adviser-key y" {
		t.Error("the adviser's key is not hidden")
	}
}
