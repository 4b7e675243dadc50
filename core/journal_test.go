package core_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn"
)

// startIn makes an instance of the home in dir, with src as its program. What it warns of goes to the buffer.
func startIn(t *testing.T, dir, src string, change ...func(*core.Config)) (*core.Core, *buffer) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	errs := &buffer{}
	conf := core.Config{Home: h, Err: errs}
	for _, f := range change {
		f(&conf)
	}
	c, err := core.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopCore(t, c) })
	if err := c.Boot(context.Background()); err != nil {
		t.Fatalf("boot: %s", core.Explain(err))
	}
	return c, errs
}

func stopCore(t *testing.T, c *core.Core) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

func journalOf(dir string) string { return filepath.Join(dir, "state", core.JournalFile) }

// What happened is there after a restart, in one chain, and an instance that records nothing writes nothing.
func TestTheJournalOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	c, _ := startIn(t, dir, reader)
	if _, err := os.Stat(journalOf(dir)); err == nil {
		t.Error("the journal is there before anything was recorded")
	}
	eval(t, c, `(say "(echo 1)")`)
	anchor := eval(t, c, `(zeno.journal/anchor)`)
	stopCore(t, c)
	c, errs := startIn(t, dir, reader)
	if got := eval(t, c, `(mapv :kind (remove #(= :spawn/progress (:kind %)) (zeno.journal/events)))`); got != "[:spawn/started :call :eval :spawn/ended]" {
		t.Errorf("got %s, want what happened before", got)
	}
	eval(t, c, `(say "(echo 2)")`)
	if got := eval(t, c, `(let [v (zeno.journal/verify `+anchor+`)] [(:broken v) (pos? (:events v))])`); got != "[nil true]" {
		t.Errorf("verify from the anchor: got %s, want a chain that holds and goes on", got)
	}
	if got := errs.String(); strings.Contains(got, "journal") {
		t.Errorf("warned of %q", got)
	}
}

// A journal that cannot be had is a warning, and the instance is up.
func TestAJournalThatCannotBeHad(t *testing.T) {
	for name, tt := range map[string]struct {
		harm func(t *testing.T, dir string)
		want string
	}{
		"damaged": {func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(journalOf(dir), bytes.Repeat([]byte("no journal "), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "move it away"},
		"in use": {func(t *testing.T, dir string) {
			s, err := journal.Open(context.Background(), journal.Config{Path: journalOf(dir)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
		}, "(--daemon) any number of spawns and commands run at once"},
		"no directory": {func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "state"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "state directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tt.harm(t, dir)
			c, errs := startIn(t, dir, `(def x 1)`)
			got := eval(t, c, `(def done (atom 0)) [(try (zeno.journal/once :k (fn [] (swap! done inc))) (catch Error e (ex-message e))) @done (do (zeno.observe/metrics) (mapv :kind (zeno.journal/events)))]`)
			if !strings.Contains(got, "nothing was done: the record of what was done already cannot be had") || !strings.HasSuffix(got, "0 []]") { // it may have been done already
				t.Errorf("got %s, want what is to be done once not done, and events in memory", got)
			}
			if got := errs.String(); !strings.Contains(got, tt.want) || strings.Count(got, "recorded in memory only") != 1 {
				t.Errorf("warned of %q, want %q, once", got, tt.want)
			}
			if _, err := c.Eval(context.Background(), `(zeno.journal/verify)`); err == nil || !strings.Contains(err.Error(), "want one in a file") {
				t.Errorf("verify: got %v, want to be told that there is no file", err)
			}
		})
	}
}

const writer = `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(def done (atom []))
(defn grant []
  {:vocab {"put"  {:effect :write :fn (fn [x] (swap! done conj x) (if (= x :bad) (throw (ex-info "no luck" {})) :put))}
           "hush" {:effect :write :audit :none :fn (fn [x] :hushed)}
           "mute" (fn [x] :muted)
           "get"  {:effect :read :fn (fn [] @done)}}})
(gateway/start! {:roles {:writer #'grant}})
(defn talk [& codes]
  (:answer (spawn/spawn {:role :writer :backend :scripted
                         :agent (fn [{:keys [eval]}] (pr-str (mapv (fn [c] (:text (eval c))) codes)))})))
`

// What has an effect is in the journal before it has it, and so is how it ended before the agent hears of it.
func TestEffectsAreRecordedBeforeAndAfter(t *testing.T) {
	c, _ := startIn(t, t.TempDir(), writer)
	eval(t, c, `(talk "(put 1)" "(put :bad)" "(get)" "(hush \"s3cr\")" "(mute 2)" "(put inc)")`)
	got := eval(t, c, `(let [es (zeno.journal/events) seqs (into {} (map (juxt :seq (comp :args :data)) es))]
	  (mapv (fn [e] [(:kind e) (:outcome e) (:name (:data e)) (:args (:data e)) (when-let [i (:intent (:data e))] [(< i (:seq e)) (seqs i)])])
	        (filter #(#{:call :call/intent} (:kind %)) es)))`)
	want := `[[:call/intent nil "put" "(1)" nil] [:call :ok "put" "(1)" [true "(1)"]]` +
		` [:call/intent nil "put" "(:bad)" nil] [:call :error "put" "(:bad)" [true "(:bad)"]]` +
		` [:call :ok "get" "()" nil]` +
		` [:call/intent nil "hush" nil nil] [:call :ok "hush" nil [true nil]]` +
		` [:call/intent nil "mute" "(2)" nil] [:call :ok "mute" "(2)" [true "(2)"]]` + // it does not say that it only reads
		` [:call :error "put" nil nil]]`
	if want != got {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// failing is a store that refuses events of one kind while it is told to.
type failing struct {
	journal.Memory
	kind string
}

func (f *failing) Append(ctx context.Context, e journal.Event) (journal.Event, error) {
	if e.Kind == f.kind {
		return e, journal.ErrFull
	}
	return f.Memory.Append(ctx, e)
}

// Where the intent cannot be recorded nothing is done; where the outcome cannot, the agent is told not to repeat it.
func TestNoEffectWithoutARecord(t *testing.T) {
	for _, tt := range []struct{ kind, text, done string }{
		{journal.Intent, "nothing was done", "[]"},
		{journal.Call, "do not repeat it", "[1]"},
	} {
		c, errs := startIn(t, t.TempDir(), writer, func(conf *core.Config) { conf.Journal = &failing{kind: tt.kind} })
		if got := eval(t, c, `(talk "(put 1)")`); !strings.Contains(got, tt.text) || strings.Contains(got, "=> :put") || strings.Contains(got, "disk") {
			t.Errorf("%s: the agent got %s, want %q and nothing of the disk", tt.kind, got, tt.text)
		}
		if got := eval(t, c, `@done`); got != tt.done {
			t.Errorf("%s: done: got %s, want %s", tt.kind, got, tt.done)
		}
		if got := errs.String(); !strings.Contains(got, "failed to record "+tt.kind) {
			t.Errorf("%s: the operator got %q, want the reason", tt.kind, got)
		}
	}
}

// (zeno.journal/once key f) across values, errors, restarts and concurrent callers.
func TestOnceInLisp(t *testing.T) {
	dir := t.TempDir()
	src := `
(require '[zeno.journal :as j])
(def n (atom 0))
(defn work [] (swap! n inc) {:a [1 2.5 \c #{:k} 'sym "s" nil] :seq (map inc [1 2]) :fn 1})
(defn fails [] (swap! n inc) (throw (ex-info "no luck" {:code 7})))
(defn says [f] (try (f) (catch Exception e [(ex-message e) (dissoc (ex-data e) :started)])))
`
	c, _ := startIn(t, dir, src)
	value := `{:a [1 2.5 \c #{:k} sym "s" nil], :seq (2 3), :fn 1}`
	for _, tt := range [][2]string{
		{`(= (j/once [:pay 17] work) (j/once [:pay 17] work) '` + value + `)`, `true`},
		{`@n`, `1`},
		{`(let [fs (doall (repeatedly 8 #(future (j/once "slow" (fn [] (swap! n inc) (deref (promise) 50 nil) :slow)))))] [(set (map deref fs)) @n])`, `[#{:slow} 2]`},
		{`(says #(j/once :f fails))`, `["no luck" {:code 7}]`},
		{`(says #(j/once :f fails))`, `["once :f: it has failed before: no luck" {:key :f, :message "no luck", :zeno/once :failed, :data {:code 7}}]`},
		{`@n`, `3`},
		{`[(:state (j/mark :f)) (:value (j/mark "slow")) (j/mark :nothing)]`, `[:failed :slow nil]`},
		{`[(j/forget! "slow") (j/forget! "slow") (j/once "slow" (fn [] :again))]`, `[true false :again]`},
		{`(says #(j/once nil work))`, `["once: got nil as the key, want data that names the work" nil]`},
		{`(first (says #(j/once :nested (fn [] (j/once :nested work)))))`, `"once :nested: got a call from within its own work, want another key"`},
		{`(j/once :fn (fn [] {:f inc}))`, `(j/once :fn work)`},
	} {
		want := tt[1]
		if strings.HasPrefix(want, "(") {
			want = eval(t, c, want)
		}
		if strings.HasPrefix(want, `["once :f`) { // whatever the order of the map
			tt[0] = `(= ` + tt[0] + ` ` + want + `)`
			want = "true"
		}
		if got := eval(t, c, tt[0]); got != want {
			t.Errorf("%s: got %s, want %s", tt[0], got, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background()) // as when the process is told to end
	eval(t, c, `(def begun (promise))`)
	go func() {
		_, _ = c.Eval(ctx, `@begun`)
		cancel()
	}()
	if _, err := c.Eval(ctx, `(j/once :cut (fn [] (deliver begun true) @(promise)))`); err == nil {
		t.Error("work that was cancelled: got no error")
	}
	stopCore(t, c)
	c, _ = startIn(t, dir, src)
	for _, tt := range [][2]string{
		{`(= (j/once [:pay 17] fails) '` + value + `)`, `true`},
		{`(= (second (says #(j/once :cut work))) {:zeno/once :unknown :key :cut})`, `true`},
		{`(first (says #(j/once :cut work {:on-unknown (fn [_] (throw (ex-info "cannot tell" {})))})))`, `"cannot tell"`},
		{`(:zeno/once (second (says #(j/once :cut work))))`, `:unknown`},
		{`(j/once :cut work {:on-unknown (fn [{:keys [key started]}] [key (string? started)])})`, `[:cut true]`},
		{`(j/once :cut work)`, `[:cut true]`},
		{`@n`, `0`},
		{`(:broken (j/verify))`, `nil`},
	} {
		if got := eval(t, c, tt[0]); got != tt[1] {
			t.Errorf("after a restart: %s: got %s, want %s", tt[0], got, tt[1])
		}
	}
}

// A secret is in no event and in no file of the journal, whoever prints it.
func TestTheJournalHoldsNoSecret(t *testing.T) {
	const canary = "CANARY-journal-core-9d1e"
	dir := t.TempDir()
	c, _ := startIn(t, dir, writer)
	eval(t, c, `(def shown (promise))`)
	agent := func(ctx context.Context, a spawn.Client) (string, error) {
		for _, code := range []string{
			`(put "` + canary + `")`, `"` + canary + `"`, canary, `(throw (ex-info "` + canary + `" {}))`,
			`(count "` + strings.Repeat("x", 4080) + canary + `")`, // cut in the middle of it
		} {
			if _, _, err := a.Eval(ctx, code); err != nil {
				return "", err
			}
		}
		return canary, nil
	}
	res := c.Spawn(context.Background(), spawn.Request{Role: "writer", Backend: spawn.Scripted, APIKey: canary, Agent: agent})
	if res.Status != spawn.OK {
		t.Fatalf("spawn: %+v", res)
	}
	if got := eval(t, c, `[(try (zeno.journal/once "`+canary+`" (fn [] 1)) (catch Exception e (subs (ex-message e) 0 34))) (zeno.journal/once :k (fn [] "`+canary+`"))]`); got != `["once: got a key that holds a secre" "`+canary+`"]` {
		t.Errorf("once: got %s, want the key refused", got)
	}
	events := eval(t, c, `(zeno.journal/events)`)
	if !strings.Contains(events, "[secret]") {
		t.Fatalf("nothing was taken out: %s", events)
	}
	stopCore(t, c)
	for _, part := range []string{canary, canary[:12]} {
		if strings.Contains(events, part) {
			t.Errorf("%s is in the events", part)
		}
		files, err := filepath.Glob(filepath.Join(dir, "state", "journal*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("files: got %v, %v", files, err)
		}
		for _, f := range files {
			if b, err := os.ReadFile(f); err != nil || bytes.Contains(b, []byte(part)) {
				t.Errorf("%s is in %s, %v", part, filepath.Base(f), err)
			}
		}
	}
}

// The data of an event can be removed for good.
func TestRedactInLisp(t *testing.T) {
	c, _ := startIn(t, t.TempDir(), writer)
	eval(t, c, `(talk "(put :slip)")`)
	got := eval(t, c, `(let [e (first (filter #(= :eval (:kind %)) (zeno.journal/events)))]
	  (zeno.journal/redact! [(:seq e)] "a slip")
	  [(:code (:data e)) (:data (first (filter #(= (:seq e) (:seq %)) (zeno.journal/events)))) (:redacted (zeno.journal/verify)) (:broken (zeno.journal/verify))])`)
	if got != `["(put :slip)" {} 1 nil]` {
		t.Errorf("got %s, want the data gone and the chain whole", got)
	}
}

// Where the journal cannot be had, nothing that must be on record is done: no spawn, no capability with an effect. What only
// reads is, and so is what the operator does.
func TestWithoutAJournalNothingIsDone(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journalOf(dir), bytes.Repeat([]byte("no journal "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := startIn(t, dir, writer)
	got := eval(t, c, `(let [r (spawn/spawn {:role :writer :backend :scripted :agent (fn [{:keys [eval]}] (:text (eval "(put 1)")))})] [(:status r) (:evals r) @done (:error r)])`)
	if !strings.HasPrefix(got, "[:refused 0 [] ") || !strings.Contains(got, "damaged") {
		t.Errorf("a spawn: got %s, want it refused with the reason", got)
	}
	for code, want := range map[string]string{`(put 1)`: "nothing was done", `(get)`: "[]"} {
		res := c.EvalAs(context.Background(), "writer", code)
		if text := res.Value + fmt.Sprint(res.Err); !strings.Contains(text, want) {
			t.Errorf("%s: got %s, want %s", code, text, want)
		}
	}
	if got := eval(t, c, `@done`); got != "[]" {
		t.Errorf("done: got %s, want nothing", got)
	}
}
