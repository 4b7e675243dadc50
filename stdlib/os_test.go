package stdlib_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/stdlib"
)

func TestCoreFiles(t *testing.T) {
	w := newWorld(t, stdlib.Config{MaxRead: 1 << 20})
	w.run([]row{
		{`(slurp "x.txt")`, `!slurp: failed to read x.txt: no such file or directory`},
		{`(try (slurp "x.txt") (catch FileNotFoundException e :missing))`, `:missing`},
		{`(do (spit "x.txt" "a\n") (spit "x.txt" :b :append true) (slurp "x.txt"))`, `"a\n:b"`},
		{`(do (spit "x.txt" nil) (slurp "x.txt"))`, `""`},
		{`(spit "no/x.txt" "")`, `!spit: failed to write no/x.txt: no such file`},
		{`(spit "x.txt" "" :append)`, `!without a value`},
		{`(slurp ".")`, `!slurp: failed to read .: is a directory; (joker.os/ls …)`},
		{`(slurp "/dev/null")`, `""`},
		{`(slurp "/dev/zero")`, `!slurp: failed to read /dev/zero: /dev/zero is larger than 1048576 bytes; open it and read it in parts`},
		{`(slurp 1)`, `!slurp: got 1 (integer), want a reader`},
		{`(spit 1 "x")`, `!spit: got 1 (integer), want a writer`},
		{`(do (spit "b" "\u00ff\ud7ff") (= (slurp "b") "\u00ff\ud7ff"))`, `true`},
		{`(with-out-str (spit *out* "hi"))`, `"hi"`},
		{`(do (spit "l.joke" "(ns other) (def z 5) (+ z 1)") (load-file "l.joke"))`, `6`},
		{`(str *ns*)`, `"user"`},
		{`(load-file "none.joke")`, `!load-file: failed to read none.joke`},
		{`(do (spit "bad.joke" "\n(+ 1 :a)") (load-file "bad.joke"))`, `!want a number`},
		{`(do (spit "n.txt" "1\n2\r\n\n3") (with-open [f (joker.os/open "n.txt")] (doall (line-seq f))))`, `("1" "2" "" "3")`},
		{`(do (spit "e.txt" "") (with-open [f (joker.os/open "e.txt")] (line-seq f)))`, `nil`},
		{`(with-open [f (joker.os/open "n.txt")] [(first (line-seq f)) (slurp f)])`, `["1" "2\r\n\n3"]`},
		{`(doall (line-seq *in*))`, `("one" "two")`},
		{`(with-in-str "a\nb\n" (slurp *in*))`, `"a\nb\n"`},
		{`(let [f (joker.os/open "n.txt")] (joker.os/close f) (slurp f))`, `!closed`},
		{`(let [f (joker.os/open "n.txt")] (close! f) (close! f))`, `!close!: failed to close`},
		{`(close! 1)`, `!close!: got 1`},
	})
	big := strings.Repeat("0123456789abcdef\n", 50_000)
	if err := os.WriteFile(filepath.Join(w.dir, "big"), []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run([]row{
		{`(count (slurp "big"))`, `850000`},
		{`(with-open [f (joker.os/open "big")] (count (line-seq f)))`, `50000`},
	})
}

func TestOSFiles(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	w.run([]row{
		{`(do (joker.os/mkdir "d" 0755) (spit "d/f" "abc") (map (juxt :name :size :dir?) (joker.os/ls "d")))`, `(["f" 3 false])`},
		{`(joker.os/mkdir "d" 0755)`, `!mkdir: failed to make d: file exists`},
		{`(joker.os/mkdir "p/q" 0755)`, `!its parent is missing; mkdir-all makes that too`},
		{`(do (joker.os/mkdir-all "p/q" 0755) (joker.os/exists? "p/q"))`, `true`},
		{`(joker.os/exists? "nope")`, `false`},
		{`(joker.os/remove "d")`, `!(joker.os/remove-all …)`},
		{`(joker.os/rename "d/f" "d/g")`, `nil`},
		{`(joker.os/link "d/g" "d/h")`, `nil`},
		{`(joker.os/symlink "g" "d/s")`, `nil`},
		{`(joker.os/read-link "d/s")`, `"g"`},
		{`(slurp "d/s")`, `"abc"`},
		{`(do (joker.os/truncate "d/g" 1) (slurp "d/h"))`, `"a"`},
		{`(do (joker.os/chmod "d/g" 0600) (bit-and 0777 (:mode (joker.os/stat "d/g"))))`, `384`},
		{`(do (joker.os/chtimes "d/g" #inst "2020-01-01" #inst "2021-01-01") (:modtime (joker.os/stat "d/g")))`, `#inst "2021-01-01T00:00:00.000-00:00"`},
		{`(:dir? (joker.os/lstat "d"))`, `true`},
		{`(joker.os/stat "nope")`, `!stat: failed to look at nope: no such file`},
		{`(joker.os/remove-all "")`, `!remove-all: got an empty path`},
		{`(do (joker.os/remove-all "d") (joker.os/exists? "d"))`, `false`},
		{`(joker.os/remove-all "d")`, `nil`},
		{`(let [d (joker.os/mkdir-temp "" "x-*-y")] [(:dir? (joker.os/stat d)) (joker.string/starts-with? (joker.filepath/base d) "x-")])`, `[true true]`},
		{`(with-open [f (joker.os/create-temp "" "t")] (spit f "hey") (slurp (joker.os/file-name f)))`, `"hey"`},
		{`(with-open [f (joker.os/create-temp "" "t")] (= (name f) (joker.os/file-name f)))`, `true`},
		{`(= (joker.os/temp-dir) (joker.os/cwd))`, `true`},
		{`(joker.os/ls "nope")`, `!ls: failed to list nope`},
		{`(do (joker.os/chdir "p") (spit "in-p" "1") (joker.os/chdir "..") (slurp "p/in-p"))`, `"1"`},
		{`(joker.os/chdir "nope")`, `!chdir: failed to enter nope`},
		{`(joker.os/user-home-dir)`, `"/home/nobody"`},
		{`(joker.os/path-separator? \/)`, `true`},
		{`joker.os/SIGTERM`, `15`},
		{`(pos? (joker.os/pid))`, `true`},
		{`(vector? (joker.os/groups))`, `true`},
		{`(string? (joker.os/hostname))`, `true`},
	})
	if wd, _ := os.Getwd(); wd == w.dir {
		t.Error("chdir moved the process")
	}
}

func TestOSEnvironment(t *testing.T) {
	var code = -1
	w := newWorld(t, stdlib.Config{Args: []string{"prog", "a"}, Exit: func(n int) { code = n }})
	w.run([]row{
		{`(joker.os/args)`, `["prog" "a"]`},
		{`(joker.os/get-env "A")`, `"1"`},
		{`(joker.os/get-env "NOT_SET")`, `nil`},
		{`(do (joker.os/set-env "B" "2") (:out (joker.os/sh "sh" "-c" "echo $A$B")))`, `"12\n"`},
		{`(joker.os/expand-env "$A-${B}-$C")`, `"1-2-"`},
		{`(get (joker.os/env) "B")`, `"2"`},
		{`(do (joker.os/unset-env "B") (joker.os/get-env "B"))`, `nil`},
		{`(joker.os/set-env "A=B" "2")`, `!set-env: got the name "A=B"`},
		{`(joker.os/exit 3)`, `nil`},
		{`(do (joker.os/clearenv) (joker.os/env))`, `{}`},
	})
	if code != 3 {
		t.Errorf("exit: got %d, want 3", code)
	}
	if os.Getenv("B") != "" {
		t.Error("set-env changed the process")
	}
	newWorld(t, stdlib.Config{}).run([]row{{`(joker.os/exit)`, `!exit: this program does not let its code end it`}})
}

func TestCommands(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	w.run([]row{
		{`(joker.os/sh "echo" "a b")`, `{:success true, :exit 0, :out "a b\n", :err ""}`},
		{`(joker.os/sh "sh" "-c" "echo e >&2; exit 3")`, `{:success false, :exit 3, :out "", :err "e\n", :err-msg "exit status 3"}`},
		{`(joker.os/sh "no-such-program")`, `{:success false, :exit -1, :out "", :err "", :err-msg "failed to start: no program no-such-program on PATH"}`},
		{`(joker.os/sh "echo" 1)`, `!got 1 (integer), want a string`},
		{`(do (joker.os/mkdir "d" 0755) (= (joker.os/sh-from "d" "pwd") (joker.os/exec "pwd" {:dir "d"})))`, `true`},
		{`(joker.string/ends-with? (:out (joker.os/sh-from "d" "pwd")) "/d\n")`, `true`},
		{`(:err-msg (joker.os/sh-from "nope" "pwd"))`, `"failed to start: no such file or directory"`},
		{`(:out (joker.os/exec "cat" {:stdin "hello"}))`, `"hello"`},
		{`(with-in-str "piped\nin\n" (:out (joker.os/exec "cat" {:stdin :pipe})))`, `"piped\nin\n"`},
		{`(do (spit "in" "file") (with-open [f (joker.os/open "in")] (:out (joker.os/exec "cat" {:stdin f}))))`, `"file"`},
		{`(with-open [f (joker.os/create "out")] (joker.os/exec "echo" {:args ["x"] :stdout f}))`, `{:success true, :exit 0, :err ""}`},
		{`(slurp "out")`, `"x\n"`},
		{`(with-out-str (joker.os/exec "echo" {:args ["x"] :stdout *out*}))`, `"x\n"`},
		{`(:out (joker.os/exec "sh" {:args ["-c" "echo $Q"] :env {:Q "7"}}))`, `"7\n"`},
		{`(:err-msg (joker.os/exec "sleep" {:args ["20"] :timeout "50ms"}))`, `"killed after 50ms"`},
		{`(joker.os/exec "yes" {:max-output "4K"})`, `!exec: stopped yes, which printed more than 4096 bytes`},
		{`(joker.os/exec "cat" {:stdinn "x"})`, `!the key :stdinn`},
		{`(joker.os/signal 0 joker.os/SIGTERM)`, `!signal: got the process number 0`},
	})
}

func TestStartAndKill(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	w.run([]row{
		{`(def p (joker.os/start "sleep" {:args ["60"]}))`, `#'user/p`},
		{`(joker.os/signal p 0)`, `nil`},
		{`(joker.os/kill p)`, `nil`},
		{`(loop [i 0] (if (try (joker.os/signal p 0) true (catch Exception e false))
		                (when (< i 6000) (joker.time/sleep (* 10 joker.time/millisecond)) (recur (inc i)))
		                :gone))`, `:gone`},
		{`(joker.os/start "no-such-program")`, `!start: failed to start no-such-program`},
	})
}

// running tells whether a process is there and more than a zombie that nobody has buried.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// A cancelled evaluation takes the command and what the command started with it.
func TestCancelKillsTheGroup(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() {
		_, err := w.env.Eval(ctx, `(joker.os/sh "sh" "-c" "sleep 61 & echo $! > tmp; mv tmp pid; wait")`, "test.joke")
		ended <- err
	}()
	pid := 0
	for i := 0; pid == 0 && i < 6000; i++ {
		time.Sleep(10 * time.Millisecond)
		b, _ := os.ReadFile(filepath.Join(w.dir, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	if pid == 0 || !running(pid) {
		t.Fatalf("got process %d, want a running one", pid)
	}
	cancel()
	var le *lisp.LimitError
	if err := <-ended; !errors.As(err, &le) {
		t.Fatalf("got %v, want a limit", err)
	}
	for i := 0; running(pid); i++ {
		if i == 6000 {
			t.Fatal("what the command started still runs")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Where a trusted environment has limits, what comes from outside counts.
func TestLimitsCountTheOutside(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	env := lisp.New().NewEnv(lisp.EnvConfig{Limits: &lisp.Limits{Alloc: 4 << 20, Steps: 100_000}})
	stdlib.Install(env.Raw(), stdlib.Config{Dir: dir})
	for _, src := range []string{`(slurp "big")`, `(joker.os/sh "cat" "big")`, `(joker.os/exec "yes" {:timeout "1m" :max-output "8M"})`,
		`(joker.yaml/write-string (iterate inc 0))`, `(joker.csv/write-string (repeat [1]))`} {
		_, err := env.Eval(context.Background(), src, "test.joke")
		var le *lisp.LimitError
		if !errors.As(err, &le) && !strings.Contains(fmt.Sprint(err), "printed more than") {
			t.Errorf("%s: got %v, want a limit", src, err)
		}
	}
	if _, err := env.Eval(context.Background(), `(+ 1 2)`, "test.joke"); err != nil {
		t.Error(err)
	}
}

// What is waited for in vain is there for the next reader, and waiting can be cancelled.
func TestReadingAPipe(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	if err := syscall.Mkfifo(filepath.Join(w.dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run([]row{
		{`(do (def pipe (joker.io/pipe)) (def lines (future (doall (line-seq (first pipe)))))
		      (spit (second pipe) "a\nb\n") (joker.io/close (second pipe)) @lines)`, `("a" "b")`},
		{`(let [[r w] (joker.io/pipe)] (future (spit w "hello") (close! w)) [(joker.io/read r 2) (joker.io/read r 100) (joker.io/read r 1)])`, `["he" "llo" ""]`},
		{`(do (spit "src" "data") (with-open [r (joker.os/open "src") w (joker.os/create "dst")] (joker.io/copy w r)))`, `4`},
		{`(slurp "dst")`, `"data"`},
		{`(joker.io/read 1 1)`, `!read: got 1`},
		{`(with-open [r (joker.os/open "src")] (joker.io/read r -1))`, `!read: got -1 bytes`},
	})
	w.run([]row{{`(do (def q (joker.io/pipe)) (future (spit (second q) "early\n")) (def s (line-seq (first q))) (first s))`, `"early"`}})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := w.env.Eval(ctx, `(next s)`, "test.joke")
	if err == nil || time.Since(start) > 25*time.Second {
		t.Fatalf("got %v after %s, want a cancelled evaluation", err, time.Since(start))
	}
	w.run([]row{{`(do (future (spit (second q) "late\n") (close! (second q))) (vec s))`, `["early" "late"]`}})
}

func TestIsolatesHaveNone(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	iso := w.env.Runtime().NewIsolate(lisp.Limits{})
	for _, src := range []string{`(slurp "/etc/passwd")`, `(spit "x" "y")`, `(joker.os/sh "id")`, `(file-seq "/")`, `(line-seq nil)`,
		`(joker.time/now)`, `(joker.http/send {:url "http://localhost"})`, `(require 'joker.os)`, `(close! 1)`} {
		if r := iso.Eval(context.Background(), src); r.Err == nil {
			t.Errorf("%s: got a value, want an error", src)
		}
	}
}
