package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// homeOf writes a home of files.
func homeOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestREPLCommands(t *testing.T) {
	dir := homeOf(t, map[string]string{
		"init.joke": `(require '[part])
(require '[zeno.loop :as loop] '[zeno.ask :as ask] '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(defn tick [] :ok)
(loop/every :sweep "1h" #'tick)
(gateway/start! {:roles {:worker (fn [] {:vocab {}})}})
(def hold (promise))
(defn go [] (spawn/spawn-async {:role :worker :backend :scripted :prompt "wait" :agent (fn [_] @hold "done")}))`,
		"src/part.joke": `(ns part) (def n 1)`,
	})
	s := open(t, nil, "--home", dir)
	s.say(`:spawns`)
	s.want(`no agent runs`)
	s.say(`:inbox`)
	s.want(`nothing waits for an answer`)
	s.say(`:processes`)
	s.want(`PROCESS +SCHEDULE[^\n]*\r\n:?sweep +1h +waiting`)
	s.say(`(do (go) nil)`)
	s.say(`:spawns`)
	s.want(`SPAWN +ROLE[^\n]*\r\n[^\n]*worker +scripted`)
	s.say(`(do (future (ask/ask "Go \u001b[31mon?" {:choices ["yes" "no"]})) (loop [] (when (empty? (ask/inbox)) (recur))))`)
	s.say(`:inbox`)
	if got := s.want(`Q-1  the program  until [^\n]*Go [^\n]*on\?`); strings.Contains(got[strings.Index(got, "Q-1  the"):], "\x1b[31m") {
		t.Errorf("inbox: got %q, want nothing that steers the terminal", got)
	}
	s.say(`(do (ask/answer! "Q-1" "yes") (deliver hold 1) nil)`)

	if err := os.WriteFile(filepath.Join(dir, "src", "part.joke"), []byte(`(ns part) (def n 2)`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.say(`[:n part/n]`)
	s.want(`\[:n 1\]`)
	s.say(`:reload`)
	s.want(`loaded part, init\.joke`)
	s.say(`[:n part/n]`)
	s.want(`\[:n 2\]`)
	s.say(`:reload part`)
	s.want(`loaded part\r\n`)
	s.say(`:reload no.such`)
	s.want(`got no\.such, want a namespace that is loaded`)
	if err := os.WriteFile(filepath.Join(dir, "src", "part.joke"), []byte("(ns part)\n(oops)"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.say(`:reload`)
	s.want(`part\.joke:2:2`)
	if err := os.WriteFile(filepath.Join(dir, "src", "part.joke"), []byte("(ns part)\n(loop [] (recur))"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.say(`(do (println "now") :reload)`)
	s.want(`now\r\n:reload\r\n`) // in code it is a keyword
	s.say(`:reload`)
	s.want(`:reload\r\n`)
	s.interrupts(`; interrupted`)
	s.say(`:proc` + "\t")
	s.want(`PROCESS +SCHEDULE`)
	s.say(`:quit`)
	s.end(ExitOK)
}

// Without a home the commands say so, and on a pipe they are keywords.
func TestREPLCommandsWithoutAHome(t *testing.T) {
	s := open(t, nil)
	s.say(`:reload`)
	s.want(`reload: got no home|does not exist`)
	s.say(`:processes`)
	s.want(`no process yet`)
	s.say(`:inbox`)
	s.want(`nothing waits`)
	s.say(`:spawns now`) // two forms
	s.want(`\n:spawns\r\n`)
	s.want(`now`)
	s.say(`:quit`)
	s.end(ExitOK)
}
