package core_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/journal"
)

// served is a program with a role, a scripted agent and a process.
const served = `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.loop :as loop] '[zeno.engine :as engine])
(def runs (atom 0))
(loop/every :beat "10ms" (fn [] (swap! runs inc)))
(gateway/start! {:roles {:worker {:vocab {"add" {:fn + :effect :read}}}}})
(defn work [f] (spawn/spawn {:role :worker :backend :scripted :agent (fn [{:keys [eval]}] (f eval))}))
`

// serve is an instance that holds its home, and a client of its control socket.
func serve(t *testing.T, dir, src string) (*core.Core, *control.Client) {
	t.Helper()
	c, _ := startIn(t, dir, src, func(conf *core.Config) { conf.Serve = true })
	client, err := control.Dial(context.Background(), filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return c, client
}

// An agent's eval in a frozen instance is told so with a type of its own; what it defined is there after the thaw, and no
// process runs meanwhile.
func TestFrozen(t *testing.T) {
	c, client := serve(t, t.TempDir(), served)
	got := eval(t, c, `(:answer (work (fn [eval]
	  (eval "(def x 41)")
	  (engine/freeze! "a test")
	  (while (some #(= :running (:status %)) (loop/processes)) (loop/sleep 5))
	  (let [before @runs
	        frozen (:text (eval "(add x 1)"))
	        spawned (:error (work (fn [_] 1)))
	        _ (loop/sleep 100)
	        after @runs
	        state (:state (engine/status))]
	    (engine/thaw!)
	    (pr-str [frozen spawned (= before after) state (:text (eval "(add x 1)"))])))))`)
	for _, want := range []string{"frozen", "nothing was evaluated", "spawn: zeno is frozen since", "by lisp (a test)", "true :frozen", "=> 42"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %q in it", got, want)
		}
	}
	// Without the freeze processes run.
	before := eval(t, c, "@runs")
	waitFor(t, "more runs: else the test shows nothing", func() bool { return eval(t, c, "@runs") != before })
	// Who did it is in the record.
	if err := client.Call(context.Background(), "freeze", map[string]string{"why": "again"}, nil); err != nil {
		t.Fatal(err)
	}
	es, err := c.Journal().Since(context.Background(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, e := range es {
		if e.Kind == "control/freeze" {
			by = append(by, e.Data["by"].(map[string]any)["via"].(string))
		}
	}
	if strings.Join(by, " ") != "lisp socket" {
		t.Errorf("got freezes by %v, want lisp and socket", by)
	}
}

// A drain lets what runs end, takes nothing new, and cancels at its deadline.
func TestDrain(t *testing.T) {
	for name, test := range map[string]struct {
		work    string
		timeout time.Duration
		now     bool
		want    string
		cut     bool
	}{
		"what ends in time":       {`@gate`, 20 * time.Minute, false, ":ok", false},
		"what does not":           {`(loop/sleep 3000000)`, 300 * time.Millisecond, false, ":interrupted", true},
		"what is cut off at once": {`(loop/sleep 3000000)`, 20 * time.Minute, true, ":interrupted", true},
	} {
		t.Run(name, func(t *testing.T) {
			c, client := serve(t, t.TempDir(), served)
			eval(t, c, `(def gate (promise))`)
			eval(t, c, `(def result (future (:status (work (fn [eval] `+test.work+` "done")))))`)
			var s core.Status
			for end := time.Now().Add(time.Minute); len(s.Spawns) == 0 || s.Spawns[0].State != "running"; {
				if err := client.Call(context.Background(), "ps", nil, &s); err != nil || time.Now().After(end) {
					t.Fatalf("got %+v, %v, want a running spawn", s.Spawns, err)
				}
				time.Sleep(5 * time.Millisecond)
			}
			if err := client.Call(context.Background(), "stop", map[string]any{"now": test.now, "timeout-ms": test.timeout.Milliseconds()}, &s); err != nil {
				t.Fatal(err)
			}
			if s.State != "draining" {
				t.Errorf("got the state %s, want draining", s.State)
			}
			<-c.Stopping()
			if got := eval(t, c, `(:error (work (fn [_] 1)))`); !strings.Contains(got, "takes no new work") {
				t.Errorf("got %s, want new work refused", got)
			}
			eval(t, c, `(deliver gate true)`)
			begun := time.Now()
			if err := c.Drain(context.Background()); (err != nil) != test.cut {
				t.Errorf("got %v, want an error: %v", err, test.cut)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("got a drain of %s, want it soon", took)
			}
			if !test.cut {
				if got := eval(t, c, `(deref result 120000 :late)`); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
			}
		})
	}
}

// An agent's token opens nothing of control.
func TestASpawnsTokenIsNoAdminToken(t *testing.T) {
	c, _ := serve(t, t.TempDir(), served)
	url := strings.Trim(eval(t, c, `(:url (engine/listen! {:port 0}))`), `"`)
	if again := strings.Trim(eval(t, c, `(:url (engine/listen! {:port 0}))`), `"`); again != url { // a file that is loaded again
		t.Errorf("listen! again: got %s, want %s", again, url)
	}
	token, err := c.Gateway().Issue("worker", "some-spawn", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for tok, want := range map[string]int{token: http.StatusForbidden, c.Control().AdminToken(): http.StatusOK} {
		req, _ := http.NewRequest("POST", url+"/v1/ps", nil)
		req.Header.Set("Authorization", "Bearer "+tok)
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("got %d, want %d", res.StatusCode, want)
		}
	}
	// And the admin token is recorded nowhere.
	if _, err := c.Journal().Append(context.Background(), journal.Event{Kind: "k", Durable: true, Data: map[string]any{"text": c.Control().AdminToken()}}); err != nil {
		t.Fatal(err)
	}
	es, err := c.Journal().Since(context.Background(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if text, ok := e.Data["text"].(string); ok && strings.Contains(text, c.Control().AdminToken()) {
			t.Errorf("got %v, want the token left out", e)
		}
	}
}

// Questions are listed and answered over control, and the record says by whom.
func TestAnswerOverControl(t *testing.T) {
	c, client := serve(t, t.TempDir(), served+`
(require '[zeno.ask :as ask])
(def answer (future (ask/ask "red or blue?" {:choices ["red" "blue"]})))`)
	ctx := context.Background()
	var inbox []ask.Ask
	for end := time.Now().Add(time.Minute); len(inbox) == 0; time.Sleep(10 * time.Millisecond) {
		if err := client.Call(ctx, "inbox", nil, &inbox); err != nil || time.Now().After(end) {
			t.Fatalf("got %v, %v, want a question", inbox, err)
		}
	}
	call := func(id, text string) error {
		return client.Call(ctx, "answer", map[string]string{"id": id, "text": text}, nil)
	}
	if err := call(inbox[0].ID, "green"); err == nil {
		t.Error("got no error for a choice that is none")
	}
	if err := call("Q-99", "red"); err == nil || !strings.Contains(err.Error(), "Q-99") {
		t.Errorf("got %v, want the question unknown", err)
	}
	if err := call(inbox[0].ID, "blue"); err != nil {
		t.Fatal(err)
	}
	if got := eval(t, c, `(deref answer 120000 :late)`); got != `"blue"` {
		t.Errorf("got %s, want blue", got)
	}
	if err := call(inbox[0].ID, "red"); err == nil {
		t.Error("got no error for a second answer")
	}
	if q, err := c.AskOf(ctx, inbox[0].ID); err != nil || !strings.Contains(q.By, "socket uid") {
		t.Errorf("got %+v, %v, want it answered by socket uid …", q, err)
	}
}

// Where the disk is full gc is what helps: what it removed is told, although it cannot be recorded.
func TestGCWithoutARecord(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "state", "sessions", "sold")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	c, _ := startIn(t, dir, "", func(conf *core.Config) { conf.Journal = &failing{kind: "control/gc"} })
	r, err := c.GC(context.Background(), control.By{}, core.GCOptions{Keep: time.Minute})
	if err != nil || r.Sessions != 1 || len(r.Errors) != 1 || !strings.Contains(r.Errors[0], "not on record") {
		t.Errorf("got %+v %v, want one session removed and told that it is not on record", r, err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the session is still there")
	}
}
