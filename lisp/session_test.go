package lisp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

func ExampleNewSession() {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	s := lisp.NewSession(env)
	for _, src := range []string{"(ns shop) (def price 20)", "(* 2 price)", "[(str *ns*) *1]"} {
		_, err := s.Eval(context.Background(), lisp.Input{Src: src, Each: func(t *lisp.Thread, v lisp.Value) {
			fmt.Println(value.PrStr(t, v))
		}})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// nil
	// #'shop/price
	// 40
	// ["shop" 40]
}

// show evaluates src and prints the value of its last form.
func show(t *testing.T, s *lisp.Session, src string) string {
	t.Helper()
	out := ""
	_, err := s.Eval(context.Background(), lisp.Input{Src: src, Each: func(t *lisp.Thread, v lisp.Value) { out = value.PrStr(t, v) }})
	if err != nil {
		return err.Error()
	}
	return out
}

func TestSessionKeepsItsOwn(t *testing.T) {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	a, b := lisp.NewSession(env), lisp.NewSession(env)
	for _, step := range []struct {
		s         *lisp.Session
		src, want string
	}{
		{a, "1 2 3", "3"},
		{a, "[*1 *2 *3]", "[3 2 1]"},
		{b, "[*1 *2 *3]", "[nil nil nil]"},
		{a, "(in-ns 'left) (clojure.core/str clojure.core/*ns*)", `"left"`},
		{b, "(str *ns*)", `"user"`},
		{a, "(clojure.core/in-ns 'user)", "#object"},
		{a, "(def shared 7)", "#'user/shared"},
		{b, "shared", "7"},
		{a, "(set! *print-length* 2)", "2"},
		{a, "*print-length*", "2"},
		{b, "*print-length*", "nil"},
		{a, "(throw (ex-info \"first\" {:n 1}))", "first"},
		{a, "(ex-data *e)", "{:n 1}"},
		{b, "*e", "nil"},
		{a, "(nope", "close the ( of line 1"},
		{a, "*file*", `"REPL"`},
	} {
		if got := show(t, step.s, step.src); !strings.Contains(got, step.want) {
			t.Errorf("%s: got %s, want %s", step.src, got, step.want)
		}
	}
	c := a.Fork()
	if got := show(t, c, "[*print-length* (do (set! *print-length* 9) *print-length*)]"); got != "[2 9]" {
		t.Errorf("fork: got %s, want [2 9]", got)
	}
	if got := show(t, a, "*print-length*"); got != "2" {
		t.Errorf("after the fork: got %s, want 2", got)
	}
}

func TestSessionPositionsAndStreams(t *testing.T) {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	s := lisp.NewSession(env)
	var out bytes.Buffer
	in := lisp.Input{Src: "(println :a)\n  (nope)", File: "x", Line: 10, Column: 5, Out: &out}
	_, err := s.Eval(context.Background(), in)
	var le *lisp.Error
	if !errors.As(err, &le) || le.Pos == nil || le.Pos.String() != "x:11:4" || le.Source != "  (nope)" {
		t.Errorf("error: got %v (%+v), want it at x:11:4", err, le)
	}
	if _, err := s.Eval(context.Background(), lisp.Input{Src: "@(future (println :b))", Out: &out}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != ":a\n:b\n" {
		t.Errorf("output: got %q, want what both printed", got)
	}
}

// TestSessionsInParallel has each session count in a namespace of its own.
func TestSessionsInParallel(t *testing.T) {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s := lisp.NewSession(env)
			show(t, s, fmt.Sprintf("(ns n%d) (def x 0)", i))
			for range 50 {
				show(t, s, "(def x (inc x))")
			}
			if got, want := show(t, s, "[(str *ns*) x]"), fmt.Sprintf(`["n%d" 50]`, i); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}()
	}
	wg.Wait()
}

func TestSessionTakesTurnsAndCancels(t *testing.T) {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	s := lisp.NewSession(env)
	if _, err := env.Eval(context.Background(), "(def begun (promise))", "test"); err != nil {
		t.Fatal(err)
	}
	long, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := s.Eval(long, lisp.Input{Src: "(deliver begun 1) (loop [] (recur))"})
		ended <- err
	}()
	if _, err := env.Eval(context.Background(), "@begun", "test"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Eval(short, lisp.Input{Src: "1"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting: got %v, want the deadline", err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, want context.Canceled", err)
	}
	if got := show(t, s, "[1 (string? (ex-message *e))]"); got != "[1 true]" {
		t.Errorf("afterwards: got %s, want [1 true]", got)
	}
}

func TestSessionIncomplete(t *testing.T) {
	s := lisp.NewSession(lisp.New().NewEnv(lisp.EnvConfig{}))
	for src, want := range map[string]bool{
		"": false, "1": false, "(+ 1": true, "(+ 1 2)": false, "(+ 1 2) (": true, `"a`: true, "'": true, "#_": true,
		"#{": true, ")": false, "(]": false, "; (": false, "(a ; )": true, `\(`: false, "#(": true, "@": true, "^:a": true,
		"(::nope/k": false,
	} {
		if got := s.Incomplete(src); got != want {
			t.Errorf("%q: got %v, want %v", src, got, want)
		}
	}
}

// An error in what was typed before shows the line of it, also across many inputs. Where nobody counts
// lines, the text itself is all there is.
func TestSessionShowsTheLinesTypedBefore(t *testing.T) {
	s := lisp.NewSession(lisp.New().NewEnv(lisp.EnvConfig{}))
	caret := func(line int, src string) string {
		_, err := s.Eval(context.Background(), lisp.Input{Src: src, Line: line})
		var e *lisp.Error
		if !errors.As(err, &e) {
			return ""
		}
		return e.Caret()
	}
	caret(1, "(defn f [a]\n  (+ a :b))")
	for line := 3; line < 40; line++ {
		caret(line, "(inc 1)")
	}
	if got, want := caret(40, "(f 1)"), "  (+ a :b))\n  ^"; got != want {
		t.Errorf("caret of an earlier input: got %q, want %q", got, want)
	}
	if got, want := caret(41, "(+ :x\n 1)"), "(+ :x\n^"; got != want {
		t.Errorf("caret of this input: got %q, want %q", got, want)
	}
	if got, want := caret(1, "(+ :z 1)"), "(+ :z 1)\n^"; got != want {
		t.Errorf("caret once lines begin again: got %q, want %q", got, want)
	}
}
