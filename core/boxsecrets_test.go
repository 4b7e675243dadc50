package core

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflection-dev/zeno/sandbox/egress"
)

// The program says where secrets come from; what goes wrong names the secret and shows no value.
func TestSecretResolver(t *testing.T) {
	const canary = "canary-41aa09-value"
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FROM_ENV", canary)
	for _, tc := range []struct{ f, name, want string }{
		{"nil", "FROM_ENV", ""},
		{"nil", "NOT_SET", "NOT_SET is not set"},
		{"(fn [n] nil)", "FROM_ENV", ""},
		{`(fn [n] {:env "FROM_ENV"})`, "A", ""},
		{`(fn [n] {:file "` + file + `"})`, "A", ""},
		{`(fn [n] {:exec ["cat" "` + file + `"]})`, "A", ""},
		{`(fn [n] "` + canary + `")`, "A", ""},
		{`(fn [n] "short")`, "A", "secret A: secret: got a value of 5 bytes"},
		{`(fn [n] {:value "` + canary + `"})`, "A", "secret A: source of a secret: want"},
		{`(fn [n] {:a inc :b "` + canary + `"})`, "A", "want a string or a map"},
		{`(fn [n] (throw (ex-info "no vault" {})))`, "A", "secret A: the resolver failed: "},
	} {
		if _, err := c.Env().Eval(context.Background(), "(zeno.secret/resolver! "+tc.f+")", "t"); err != nil {
			t.Fatalf("%s: %v", tc.f, err)
		}
		v, err := c.boxes.secrets.Resolve(context.Background(), tc.name)
		switch {
		case tc.want == "" && (err != nil || v.Reveal() != canary):
			t.Errorf("%s: got %v", tc.f, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), canary)):
			t.Errorf("%s: got %v, want %q", tc.f, err, tc.want)
		}
	}
	if _, err := c.Env().Eval(context.Background(), `(zeno.secret/resolver! "x")`, "t"); err == nil || !strings.Contains(err.Error(), "want a function") {
		t.Errorf("got %v", err)
	}
}

// What a box's proxy decides is in the journal, by name of secrets and never by value.
func TestEgressIsRecorded(t *testing.T) {
	got := egressEvent("box-1", egress.Event{Kind: egress.KindRequest, Host: "api.example.com", Port: 443, Method: "GET", Path: "/x\xff", Status: 403, Sent: 1, Secrets: []string{"TOKEN"}, Refused: "not allowed",
		Usage: &egress.Usage{Dialect: "chat", Input: 5, Known: true}})
	want := map[string]any{"what": "request", "box": "box-1", "host": "api.example.com", "port": int64(443), "method": "GET", "path": "/x�", "status": int64(403), "sent": int64(1), "refused": "not allowed", "secrets": []any{"TOKEN"},
		"usage": map[string]any{"dialect": "chat", "model": "", "input": int64(5), "output": int64(0), "cache-read": int64(0), "cache-write": int64(0), "known": true, "partial": false}}
	if diff := cmp.Diff(want, got.Data); diff != "" || got.Outcome != "refused" || got.Kind != "egress" {
		t.Errorf("got %+v %s", got, diff)
	}
}
