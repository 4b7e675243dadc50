//go:build linux

package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/internal/need"
)

// startBoxed is startReal with a CLI in a box: (boxed {…}) spawns it, and its model server speaks TLS.
func startBoxed(t *testing.T, cli, src string) *real {
	t.Helper()
	model := modelserver.NewTLS(modelserver.Config{})
	t.Cleanup(model.Close)
	_, port, _ := strings.Cut(model.Addr(), ":")
	host := modelserver.TLSName + ":" + port
	base := "https://" + host
	if cli != "claude" && cli != "gemini" {
		base += "/v1"
	}
	r := startReal(t, cli, fmt.Sprintf(`
(def profile {:egress {:allow [{:host %q :addr %q}]} :memory "2G"})
(defn boxed [opts] (spawn/spawn (merge {:role :worker :backend :%s :model "m1" :base-url %q :api-key-env %q :sandbox profile
                                        :timeout "5m" :grace "1s"} opts)))
`, host, model.Addr(), cli, base, keyVar)+src, func(c *core.Config) { c.Roots, c.BoxSelf = model.Roots(), true })
	r.model.Close()
	r.model = model
	if got := eval(t, r.Core, `(:usable (zeno.sandbox/probe))`); got != "true" {
		need.Skip(t, "no boxes here: %s", eval(t, r.Core, `(zeno.sandbox/probe)`))
	}
	return r
}

// TestRealBoxedAgent: a CLI in a box does its work through the endpoint, and what the box did is recorded; the key is nowhere
// but at the model server.
func TestRealBoxedAgent(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		r := startBoxed(t, cli, worker)
		eval(t, r.Core, `(def res (boxed {:prompt `+quote("work "+marks(`(save! "x")`, `(admin!)`, `(count (notes))`))+`}))`)
		r.want(t, `[(:status res) (:evals res) (:boxed res) (:error res) (:answer res)]`, `[:ok 3 true nil "RESULT: => 3"]`)
		r.want(t, `[(get-in res [:usage :tokens-in]) (get-in res [:usage :tokens-out])]`, `[40 20]`)
		for _, q := range r.model.Requests() {
			if q.Auth != key {
				t.Errorf("key at the model: got %q", q.Auth)
			}
		}
		id := strings.Trim(eval(t, r.Core, `(:id res)`), `"`)
		kinds := map[string]int{}
		secrets := ""
		for _, e := range r.events(t) {
			if e.Spawn == id {
				kinds[e.Kind]++
				secrets += fmt.Sprint(e.Data["secrets"])
			}
			if strings.Contains(fmt.Sprint(e), "CANARY") {
				t.Errorf("the key is in the journal: %v", e)
			}
		}
		if kinds["sandbox/started"] != 1 || kinds["sandbox/ended"] != 1 || kinds["egress"] == 0 || !strings.Contains(secrets, "ZENO_API_KEY") {
			t.Errorf("events: got %v, secrets %s, want the box's beginning and end, its egress, the key by name", kinds, secrets)
		}
		if strings.Contains(r.err.String(), "unboxed") || strings.Contains(r.err.String(), "CANARY") {
			t.Errorf("warnings: got %s", r.err)
		}
		holdsNo(t, r.dir, "CANARY")
	})
}

// holdsNo looks for text in every file below dir.
func holdsNo(t *testing.T, dir, text string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), text) {
				t.Errorf("%s holds %s", path, text)
			}
		}
		return nil
	})
}

// TestRealBoxedAsk: an agent in a box asks a person, its box ends, and it goes on in its session in another box.
func TestRealBoxedAsk(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		r := startBoxed(t, cli, askingCLI)
		eval(t, r.Core, `(def res (boxed {:prompt `+quote("FIRST-PROMPT "+marks(`(do (note! 1) (ask-user "Which colour?"))`, `(note! 2)`))+`}))`)
		r.want(t, `(select-keys res [:status :ask :boxed])`, `{:status :interrupted, :ask "Q-1", :boxed true}`)
		r.want(t, `(count (zeno.sandbox/ps))`, `0`)
		eval(t, r.Core, `(ask/answer! "Q-1" `+quote("green "+marks(`(note! :after)`))+`)`)
		eval(t, r.Core, `(def end (ask/wait "Q-1"))`)
		r.want(t, `[(:status end) (:boxed end) (= (:id end) (:id res)) @done]`, `[:ok true true [1 :after]]`)
		last := r.model.Requests()[len(r.model.Requests())-1].Conversation
		if text := fmt.Sprint(last.Turns); !strings.Contains(text, "FIRST-PROMPT") || !strings.Contains(text, "Answer: green") {
			t.Errorf("the conversation lacks the first prompt or the answer: %.2000s", text)
		}
		if got := r.events(t, journal.SpawnEnded); len(got) != 2 {
			t.Errorf("ends: got %d, want the interruption and the end", len(got))
		}
	})
}

// TestTrust: an agent whose calls a person has to approve runs in a box, or is trusted by name.
func TestTrust(t *testing.T) {
	c := cli(t, `
(require '[zeno.grant :refer [defcap]] '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(defcap pay! "pays" {:effect :write :approve true} [x] x)
(defcap look "looks" {:effect :read} [] 1)
(gateway/start! {:roles {:payer (fn [] {:vocab {"pay!" pay!}}) :reader (fn [] {:vocab {"look" look}})}})
(defn run [opts] (spawn/spawn (merge {:backend "quick" :prompt "go" :timeout "2m"} opts)))`,
		map[string]string{"quick": `echo '{"answer":"42"}'`})
	for _, e := range []struct{ code, want string }{
		{`(run {:role :payer :sandbox :none})`, "whose pay! a person has to approve"},
		{`(run {:role :payer :sandbox :none :trust true})`, "never connected"},
		{`(run {:role :reader :sandbox :none})`, "never connected"},
		{`(run {:role :reader :sandbox :nome})`, `want :none, a profile`},
		{`(try (run {:role :reader :sandbox {:memry "1G"}}) (catch Error e {:error (str e)}))`, "memry"},
	} {
		if got := eval(t, c, `(:error `+e.code+`)`); !strings.Contains(got, e.want) {
			t.Errorf("%s: got %s, want it to hold %s", e.code, got, e.want)
		}
	}
}
