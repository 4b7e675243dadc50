package main

import (
	"fmt"
	"strconv"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/stdlib"
	"github.com/dop251/goja"
	lua "github.com/yuin/gopher-lua"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// starlarkEngine runs main(), under a step limit that is not reached: starlark counts steps all the same.
func starlarkEngine(src string) func() (string, error) {
	return func() (string, error) {
		th := &starlark.Thread{}
		th.SetMaxExecutionSteps(1 << 40)
		opts := &syntax.FileOptions{While: true, Recursion: true}
		globals, err := starlark.ExecFileOptions(opts, th, "bench.star", src, nil)
		if err != nil {
			return "", err
		}
		v, err := starlark.Call(th, globals["main"], nil, nil)
		if err != nil {
			return "", err
		}
		return v.String(), nil
	}
}

// gojaEngine runs main().
func gojaEngine(src string) func() (string, error) {
	vm := goja.New()
	return func() (string, error) {
		v, err := vm.RunScript("bench.js", src+"\nmain();")
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(v.ToInteger(), 10), nil
	}
}

// luaEngine takes what the chunk returns. table.concat needs a larger registry than gopher-lua has by itself.
func luaEngine(src string) func() (string, error) {
	return func() (string, error) {
		vm := lua.NewState()
		defer vm.Close()
		if err := vm.DoString(src); err != nil {
			return "", err
		}
		n, ok := vm.Get(-1).(lua.LNumber)
		if !ok {
			return "", fmt.Errorf("lua: got %s, want a number", vm.Get(-1).Type())
		}
		return strconv.FormatInt(int64(n), 10), nil
	}
}

// tengoEngine takes the variable out.
func tengoEngine(src string) func() (string, error) {
	return func() (string, error) {
		s := tengo.NewScript([]byte(src))
		s.SetImports(stdlib.GetModuleMap("text"))
		c, err := s.Run()
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(c.Get("out").Int64(), 10), nil
	}
}
