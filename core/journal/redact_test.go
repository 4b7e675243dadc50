package journal

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// A secret is in no store, whatever the spelling and wherever in an event it stands.
func TestSecretsAreNotRecorded(t *testing.T) {
	const secret = `CANARY "of" the/journal+51c2`
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	type named string
	e := Event{Kind: "k", Role: "r " + secret, Spawn: secret, Outcome: secret, Durable: true, Data: map[string]any{
		"plain": "a " + secret + " b", secret: "as a key", "list": []any{"x", secret, []string{secret}},
		"map": map[string]any{"deep": map[string]string{"k": secret}}, "json": string(quoted), "query": url.QueryEscape(secret),
		"path": url.PathEscape(secret), "base64": base64.StdEncoding.EncodeToString([]byte(secret)), "typed": named(secret),
		"error": struct{ Message string }{secret}, "cut": "a " + secret[:15] + "…", "n": 42, "short": "CAN…",
	}}
	text := func(s Store) string {
		es, err := s.Since(bg, 0, 10)
		if err != nil || len(es) != 1 {
			t.Fatalf("got %v, %v, want an event", es, err)
		}
		b, err := json.Marshal(es)
		if err != nil {
			t.Fatal(err)
		}
		return string(b) + fmt.Sprint(es)
	}
	marks := []string{"CANARY", "51c2", base64.StdEncoding.EncodeToString([]byte(secret))[:12]}
	plain := &Memory{}
	if _, err := plain.Append(bg, e); err != nil {
		t.Fatal(err)
	}
	for _, m := range marks { // they are there without the guard
		if !strings.Contains(text(plain), m) {
			t.Fatalf("%s is not in the event to begin with", m)
		}
	}
	var secrets Secrets
	forget := secrets.Hide(secret, "x", "")
	file := open(t)
	for name, s := range map[string]Store{"memory": &Memory{}, "sqlite": file} {
		if _, err := NewRedacting(s, &secrets).Append(bg, e); err != nil {
			t.Fatal(err)
		}
		got := text(NewRedacting(s, &secrets))
		for _, m := range marks {
			if strings.Contains(got, m) {
				t.Errorf("%s: %s is recorded: %s", name, m, got)
			}
		}
		if !strings.Contains(got, `"n":42`) || !strings.Contains(got, `"short":"CAN…"`) {
			t.Errorf("%s: got %s, want the rest unharmed", name, got)
		}
	}
	for _, m := range marks {
		if onDisk(t, file.conf.Path, m) {
			t.Errorf("%s is on disk", m)
		}
	}
	if e.Data["plain"] != "a "+secret+" b" {
		t.Error("the caller's event was changed")
	}
	forget()
	forget() // does nothing
	if got := secrets.Text(secret); got != secret {
		t.Errorf("after forgetting: got %q", got)
	}
}

func TestAsLooksBehindWrappers(t *testing.T) {
	m := &Memory{}
	s := Store(NewRedacting(NewRedacting(m, &Secrets{}), &Secrets{}))
	if got, ok := As[Marker](s); !ok || got != Marker(m) {
		t.Errorf("got %v, %v, want the store behind", got, ok)
	}
	if _, ok := As[interface{ Nothing() }](s); ok {
		t.Error("found what is not there")
	}
}
