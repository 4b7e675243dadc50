package backend

import (
	"strings"
	"testing"
)

// A server on this machine needs no key, and most CLIs do not start without one.
func TestNoKey(t *testing.T) {
	for name, b := range Table() {
		v := values()
		v.APIKey = ""
		for base, want := range map[string]bool{"http://127.0.0.1:11434/v1": true, "https://llm.example.com/v1": false, "": false} {
			v.BaseURL = base
			plan, err := b.Plan(v)
			if err != nil {
				continue // it needs a base URL
			}
			got := false
			for _, text := range plan.Env {
				got = got || strings.Contains(text, "no-key-is-needed")
			}
			if got != want {
				t.Errorf("%s, base-url %q: got a stand-in %v, want %v", name, base, got, want)
			}
		}
	}
}
