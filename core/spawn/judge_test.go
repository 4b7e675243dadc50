package spawn

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
)

// TestLastWords are short whatever a CLI printed.
func TestLastWords(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"\n \n", ""},
		{"one\n", "one"},
		{"1\n2\n3\n\n4\n5\n6\n7\n", "2 | 3 | 4 | 5 | 6 | 7"},
		{"first\n" + long, long},
		{"Error: no way\n    at file:///x/a.js:1:2\n    at async f (file:///x/b.js:3:4)\nat 5:00 it ended\n", "Error: no way | at 5:00 it ended"},
		{strings.Repeat(strings.Repeat("y", 200)+"\n", 5), strings.TrimSuffix(strings.Repeat(strings.Repeat("y", 200)+" | ", 3), " | ")},
	} {
		if got := lastWords(c.text); got != c.want {
			t.Errorf("%.40q: got %.80q, want %.80q", c.text, got, c.want)
		}
	}
}

// TestNothingToReach: a CLI that was given neither a key nor a server says to log in, which does not help; the error says
// what does. A CLI that has no use for a key is not told of one.
func TestNothingToReach(t *testing.T) {
	const help = "neither a key (api-key-env) nor a model server (base-url)"
	for _, c := range []struct {
		name   string
		change func(*house, *Request)
		helped bool
	}{
		{"neither", func(*house, *Request) {}, true},
		{"a key", func(_ *house, q *Request) { q.APIKey = apiKey }, false},
		{"a server", func(_ *house, q *Request) { q.BaseURL = "http://127.0.0.1:1" }, false},
		{"a way of its own", func(_ *house, q *Request) { q.Env = map[string]string{"CLOUD": "x"} }, false},
		{"a CLI without keys", func(h *house, _ *Request) {
			b := h.conf.Backends["fake"]
			b.Env = nil
			h.conf.Backends["fake"] = b
		}, false},
	} {
		for script, status := range map[string]Status{`echo please log in >&2; exit 1`: Failed, `echo please log in >&2; sleep 60`: Timeout} {
			t.Run(c.name+" "+string(status), func(t *testing.T) {
				t.Parallel()
				h, q := fake(t, script, true)
				b := h.conf.Backends["fake"]
				b.Env = map[string]string{"KEY": "${api-key}"}
				h.conf.Backends["fake"] = b
				if status == Timeout {
					q.Timeout = 2 * time.Second
				}
				c.change(h, &q)
				res := h.Run(context.Background(), q)
				want(t, res, status, "its last words: please log in")
				if strings.Contains(res.Error, help) != c.helped {
					t.Errorf("error: got %q, want help: %v", res.Error, c.helped)
				}
			})
		}
	}
}

// TestResumeOfNothingKept: a backend that keeps its sessions nowhere is told where to.
func TestResumeOfNothingKept(t *testing.T) {
	h, q := fake(t, `echo '{"session":"abc"}'; `+goodAnswer, true)
	b := h.conf.Backends["fake"]
	b.Links = nil
	h.conf.Backends["fake"] = b
	res := h.Run(context.Background(), q)
	want(t, res, OK, "")
	q.Resume = res.Session
	want(t, h.Run(context.Background(), q), Refused, "has to keep in ${session-dir}")
}

// TestEntriesKeepSessions holds that each built-in entry keeps what a resume needs, and takes a key.
func TestEntriesKeepSessions(t *testing.T) {
	for name, b := range backend.Table() {
		for variable, want := range map[string]bool{"session-dir": true, "api-key": true, "token": false} {
			if got := b.Uses(variable); got != want {
				t.Errorf("%s: uses %s: got %v, want %v", name, variable, got, want)
			}
		}
	}
}
