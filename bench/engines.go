package main

import (
	"context"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/limit"
)

// engine runs programs. load makes a fresh interpreter, outside what is measured; the function it gives reads, compiles
// and runs the source, and prints the answer.
type engine struct {
	name string
	ext  string
	load func(src string) func() (string, error)
}

// The engines of zeno by name.
const (
	orchestrator = "env"
	limited      = "isolate"
	lifted       = "unlimited"
)

// engines lists zeno in its three forms, then the peers.
func engines() []engine {
	rt := lisp.New()
	return []engine{
		{orchestrator, "joke", func(src string) func() (string, error) { return inEnv(rt, src) }},
		{limited, "joke", func(src string) func() (string, error) { return inIsolate(rt, generous(), src) }},
		{lifted, "joke", func(src string) func() (string, error) { return inIsolate(rt, limit.Trusted(), src) }},
		{"starlark", "star", starlarkEngine},
		{"goja", "js", gojaEngine},
		{"gopher-lua", "lua", luaEngine},
		{"tengo", "tengo", tengoEngine},
	}
}

// generous are limits that the programs do not reach, every one of them finite and so counted.
func generous() lisp.Limits {
	return lisp.Limits{Steps: 1 << 40, Alloc: 1 << 40, Bytes: 1 << 33, Depth: 2_500, Output: 1 << 20,
		Time: time.Hour, Calls: 1 << 40, Threads: 16}
}

func inEnv(rt *lisp.Runtime, src string) func() (string, error) {
	env := rt.NewEnv(lisp.EnvConfig{})
	return func() (string, error) {
		ctx := context.Background()
		v, err := env.Eval(ctx, src, "bench")
		if err != nil {
			return "", err
		}
		return env.Print(ctx, v)
	}
}

func inIsolate(rt *lisp.Runtime, l lisp.Limits, src string) func() (string, error) {
	iso := rt.NewIsolate(l)
	return func() (string, error) {
		res := iso.Eval(context.Background(), src)
		if res.Err != nil {
			return "", fmt.Errorf("eval: %w", res.Err)
		}
		return res.Value, nil
	}
}
