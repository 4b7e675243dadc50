package core_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
)

// A second start! swaps the roles and keeps the listener, wherever that is; after a stop! it starts another.
func TestTheGatewayStartsAndStops(t *testing.T) {
	c, _ := start(t, `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(defn ask [role code] (:answer (spawn/spawn {:role role :backend :scripted :agent (fn [{:keys [eval]}] (:text (eval code)))})))
(def one {:vocab {"n" (fn [] 1)}})
(def two {:vocab {"n" (fn [] 2)}})
`)
	url := eval(t, c, `(:url (gateway/start! {:host "localhost" :roles {:a one}}))`)
	if got := eval(t, c, `(:url (gateway/start! {:roles {:a two :b one}}))`); got != url {
		t.Errorf("start! again: got %s, want the listener at %s", got, url)
	}
	if got := eval(t, c, `[(ask :a "(n)") (ask :b "(n)")]`); got != `["=> 2" "=> 1"]` {
		t.Errorf("got %s, want the new roles", got)
	}
	if _, err := c.Eval(context.Background(), `(gateway/start! {:port 1 :roles {:a one}})`); err == nil || !strings.Contains(err.Error(), "while listening") {
		t.Errorf("another port: got %v, want an error", err)
	}
	if got := eval(t, c, `(do (gateway/stop!) (gateway/stop!) (:error (spawn/spawn {:role :a :backend :scripted :agent (fn [_] 1)})))`); !strings.Contains(got, "gateway/start!") {
		t.Errorf("stopped: got %s, want an error that says how to start it", got)
	}
	if got := eval(t, c, `(do (gateway/start! {:roles {:a one}}) (ask :a "(n)"))`); got != `"=> 1"` {
		t.Errorf("started again: got %s, want an answer", got)
	}
}

// A stop! in the middle of a spawn ends its eval, and the spawn does not pass for a success.
func TestStopEndsSpawns(t *testing.T) {
	c, _ := start(t, `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(def begun (promise))
(gateway/start! {:roles {:a {:vocab {"wait" (fn [] (deliver begun true) @(promise))}}}})
(def f (future (spawn/spawn {:role :a :backend :scripted :agent (fn [{:keys [eval]}] (eval "(wait)") (:text (eval "1")))})))
@begun
(gateway/stop!)
`)
	if got := eval(t, c, `(:status @f)`); got != ":failed" {
		t.Errorf("got %s, want :failed", got)
	}
}

// A function that watches may stop itself, and one that never returns does not hold a Close up.
func TestWatchingEnds(t *testing.T) {
	dir := t.TempDir()
	h, err := home.Resolve(dir, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	c, err := core.New(core.Config{Home: h, Journal: &journal.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	tell := func() {
		if _, err := c.Journal().Append(context.Background(), journal.Event{Kind: journal.SpawnProgress}); err != nil {
			t.Fatal(err)
		}
	}
	eval(t, c, `(do (require '[zeno.journal :as journal])
	  (def seen (atom 0))
	  (def stop (journal/watch! (fn [_] (stop) (swap! seen inc))))
	  (def stuck (journal/watch! (fn [_] @(promise)))))`)
	tell()
	waitFor(t, "the event", func() bool { return eval(t, c, `@seen`) == "1" })
	tell()
	eval(t, c, `(stop)`) // waits, and has nothing to wait for
	if got := eval(t, c, `@seen`); got != "1" {
		t.Errorf("after the stop: got %s events, want 1", got)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	begun := time.Now()
	if err := c.Close(ctx); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("close: got %v, want an error about the function that is stuck", err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("close: took %v, want about a second", took)
	}
}

// What is wrong is told in the words of the map that start! takes.
func TestStartGatewaySaysWhatIsWrong(t *testing.T) {
	c, _ := start(t, `(require '[zeno.gateway :as gateway])`)
	for src, want := range map[string]string{
		`(gateway/start! {:host "0.0.0.0"})`: ":allow-non-loopback true",
		`(gateway/start! {:port 99999})`:     ":port: got 99999",
	} {
		if _, err := c.Eval(context.Background(), src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
}

// A role that is given as a map is known whole when it is registered: what is wrong with it is said then, with the role and
// the field, and the roles that were there stay.
func TestARoleAsAMapIsCheckedAtOnce(t *testing.T) {
	c, _ := start(t, `(require '[zeno.gateway :as gateway])
(gateway/start! {:roles {:old {:vocab {"inc" inc}}}})`)
	for grant, wants := range map[string]string{
		`{:vocab {"x" 1}}`:                  ":roles :worker: grant: :vocab",
		`{:vocab {} :limts {}}`:             ":limts",
		`{:vocab {} :limits {:steps 0}}`:    ":steps",
		`{:vocab {} :ctx-info {:f inc}}`:    ":ctx-info",
		`{:vocab {} :budget {:usd "lots"}}`: ":budget",
	} {
		_, err := c.Eval(context.Background(), `(gateway/start! {:roles {:good {:vocab {}} :worker `+grant+`}})`)
		if err == nil || !strings.Contains(err.Error(), ":roles :worker") || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s: got %v, want an error with the role and %q", grant, err, wants)
		}
	}
	want(t, c, `(gateway/roles)`, `[:old]`)
	// What a function gives is asked for at each request: it may be right by then.
	want(t, c, `(do (defn later [] {:vocab 1}) (gateway/start! {:roles {:worker #'later}}) (gateway/roles))`, `[:worker]`)
}

// A command that only loads a home works although the zeno that serves it has the port that the home names; that one
// is told when it cannot have it.
func TestThePortOfTheOneThatServes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	src := `(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])`
	begin := `(:url (gateway/start! {:port ` + port + ` :roles {:worker {:vocab {"n" (fn [] 7)}}}}))`
	c, _ := startIn(t, t.TempDir(), src, func(conf *core.Config) { conf.Idle = true })
	url := eval(t, c, begin)
	if strings.HasSuffix(url, port+`"`) || eval(t, c, begin) != url {
		t.Errorf("got %s, want another port than %s, and the same again", url, port)
	}
	if got := eval(t, c, `(:answer (spawn/spawn {:role :worker :backend :scripted :agent (fn [{:keys [eval]}] (:text (eval "(n)")))}))`); got != `"=> 7"` {
		t.Errorf("got %s, want an agent there", got)
	}
	c, _ = startIn(t, t.TempDir(), src)
	if _, err := c.Eval(context.Background(), begin); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("the one that serves: got %v, want to be told that the port is taken", err)
	}
}
