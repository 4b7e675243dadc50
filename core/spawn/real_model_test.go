package spawn

import (
	"context"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/internal/modelserver"
)

// TestRealModelDown: nobody listens where the model server should be. The CLIs try again for as long as they like, omp and
// codex for minutes: then the time of the spawn ends it. None may hang, succeed, or leave anything behind, and the error
// says what was wrong.
func TestRealModelDown(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		r := newReal(t, cli, nil)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r.req.BaseURL = "http://" + l.Addr().String() + traits()[cli].base
		_ = l.Close()
		r.req.ID, r.req.Timeout = "down-"+cli, 45*time.Second
		res := r.Run(context.Background(), r.req)
		t.Logf("%v after %v: %s", res.Status, res.Elapsed, res.Error)
		if res.Status != Failed && res.Status != Timeout {
			t.Errorf("got %s, want it failed, or ended for its time", res.Status)
		}
		if !regexp.MustCompile(`(?i)connect|refused|fetch failed|error sending|reconnecting`).MatchString(res.Error) && !tellsNothing(cli) {
			t.Errorf("error: got %q, want the reason", res.Error)
		}
		r.wantNothingLeft(t)
	})
}

// tellsNothing tells of CLIs that say nothing while they try again. gemini says it on standard error.
func tellsNothing(cli string) bool { return cli == "opencode" || cli == "omp" }

// TestRealMalformed: the model server breaks off each answer in the middle. omp and opencode take what has come for the
// whole of it, which nothing in their streams tells from an answer that ended.
func TestRealMalformed(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		r := newReal(t, cli, nil)
		r.model.Set(modelserver.Config{Malformed: true})
		r.req.ID, r.req.Timeout = "malformed-"+cli, 5*time.Minute
		res := r.Run(context.Background(), r.req)
		t.Logf("%v after %v, %d requests: %s", res.Status, res.Elapsed, len(r.model.Requests()), res.Error)
		if cli == "omp" || cli == "opencode" {
			want(t, res, OK, "")
		} else {
			want(t, res, Failed, cli+": ")
		}
		r.wantNothingLeft(t)
	})
}

// wantNothingLeft holds that neither a process nor a file of the request's spawn is left.
func (r *realRun) wantNothingLeft(t *testing.T) {
	t.Helper()
	if left := processesWith("HOME=" + r.spawnsDir() + "/" + r.req.ID + "/home"); len(left) != 0 {
		t.Errorf("processes: got %v, want none", left)
	}
	if left := leftFiles(r.spawnsDir()); len(left) != 0 {
		t.Errorf("left in the state directory: %v", left)
	}
}

// TestRealOwnAdvisor: a second model reads along with omp's, and what it says reaches the first. It gets no tools but the
// one to give advice with.
func TestRealOwnAdvisor(t *testing.T) {
	r := newReal(t, "omp", nil)
	advising := func(c modelserver.Conversation) (modelserver.Move, bool) {
		switch {
		case c.Model != "m2":
			return modelserver.Move{}, false
		case !slices.ContainsFunc(c.Turns, func(turn modelserver.Turn) bool { return turn.Role == "tool" }):
			return modelserver.Move{Tool: "advise", Args: map[string]any{"note": "NOTE-MARK", "severity": "blocker"}}, true
		}
		return modelserver.Move{Say: "nothing more"}, true
	}
	r.model.Set(modelserver.Config{Decide: advising})
	r.req.Advisor, r.req.Prompt = "m2", "[[eval: (+ 1 2)]] [[eval: (* 6 7)]]"
	res := r.Run(context.Background(), r.req)
	want(t, res, OK, "")
	if len(res.Advice) != 1 || res.Advice[0] != (Advice{Round: 1, Verdict: Note, Text: "NOTE-MARK"}) || res.Answer != "RESULT: => (* 6 7)" {
		t.Errorf("got %+v, want the advice and the answer", res)
	}
	if res.Usage.TokensIn != 30 {
		t.Errorf("usage: got %+v, want that of the first model alone: the stream tells no other", res.Usage)
	}
	heard := false
	for _, q := range r.model.Requests() {
		c := q.Conversation
		if c.Model == "m2" && !slices.Equal(c.Tools, []string{"advise"}) {
			t.Errorf("the advisor's tools: got %q, want advise", c.Tools)
		}
		if q.Auth != apiKey {
			t.Errorf("auth: got %q, want the key", q.Auth)
		}
		last := c.Turns[len(c.Turns)-1]
		heard = heard || c.Model == "m1" && strings.Contains(last.Text, "NOTE-MARK")
	}
	if !heard {
		t.Error("the first model never heard of the advice")
	}
	if !slices.ContainsFunc(r.events, func(e Event) bool { return e.Kind == Advised && e.Text == "NOTE-MARK" }) {
		t.Error("events: got no advice")
	}
}

// TestRealOwnAdvisorTools holds why the backend lists its tools: without a list it can read every file the user can.
func TestRealOwnAdvisorTools(t *testing.T) {
	for name, tt := range map[string]struct {
		asked []string
		drop  bool
		want  []string
	}{
		"no list":   {nil, true, []string{"read", "grep", "glob", "advise"}},
		"asked for": {[]string{"read"}, false, []string{"read", "advise"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReal(t, "omp", func(c *Config) {
				c.Backends = backend.Table()
				if tt.drop {
					delete(c.Backends["omp"].Files, "agent/WATCHDOG.yml")
				}
			})
			r.req.Advisor, r.req.AdvisorTools = "m2", tt.asked
			want(t, r.Run(context.Background(), r.req), OK, "")
			found := false
			for _, q := range r.model.Requests() {
				if q.Conversation.Model != "m2" {
					continue
				}
				found = true
				got, all := slices.Sorted(slices.Values(q.Conversation.Tools)), slices.Sorted(slices.Values(tt.want))
				if !slices.Equal(got, all) {
					t.Errorf("the advisor's tools: got %q, want %q", got, all)
				}
			}
			if !found {
				t.Error("the advisor was never asked")
			}
		})
	}
}

// TestOnlyOmpHasAnAdvisor of its own; the others refuse one before they start.
func TestOnlyOmpHasAnAdvisor(t *testing.T) {
	for cli, b := range backend.Table() {
		if b.OwnAdvisor != (cli == "omp") {
			t.Errorf("%s: own advisor: got %v", cli, b.OwnAdvisor)
		}
	}
	h, q := fake(t, goodAnswer, true)
	q.Advisor = "m2"
	want(t, h.Run(context.Background(), q), Refused, "this CLI has no advisor of its own")
}
