package lisp_test

import (
	"context"
	"slices"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
)

func TestCompleteKeyword(t *testing.T) {
	rt := lisp.New()
	env := rt.NewEnv(lisp.EnvConfig{})
	t.Cleanup(env.Close)
	s := lisp.NewSession(env)
	if _, err := s.Eval(context.Background(), lisp.Input{Src: `(ns kit.far) [::there] (ns kit.near (:require [kit.far :as far])) [:kit-a :kit-b ::here :kit.near/other :λ-kit :kit-a/b]`}); err != nil {
		t.Fatal(err)
	}
	rt.NewIsolate(lisp.Limits{}).Eval(context.Background(), `:kit-of-an-agent`)
	for text, want := range map[string][]string{
		":kit-":      {":kit-a", ":kit-a/b", ":kit-b"},
		":kit-a":     {":kit-a", ":kit-a/b"},
		"::h":        {"::here"},
		"::":         {"::here", "::other"},
		"::far/":     {"::far/there"},
		"::nowhere/": nil,
		":λ-":        {":λ-kit"},
		":kit.far/":  {":kit.far/there"},
		":no-such-":  nil,
	} {
		if got := env.CompleteKeyword(s.Namespace(), text); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
