package main

import (
	"context"
	"fmt"

	"github.com/dop251/goja"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

const hostCalls = 500_000

// hostCall measures a call from the program to a Go function of one argument, the turn of the loop around it included.
// The peers do the same for comparison; they count no calls, realise no arguments and carry no context.
func hostCall(rounds int) ([]measured, error) {
	ns := map[string][]float64{}
	callers := map[string]func() error{"zeno": zenoCalls(), "starlark": starlarkCalls(), "goja": gojaCalls()}
	for range rounds {
		for _, name := range []string{"zeno", "starlark", "goja"} {
			d, err := spent(callers[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			ns[name] = append(ns[name], float64(d.Nanoseconds())/hostCalls)
		}
	}
	return []measured{
		{"host call (a capability)", median(ns["zeno"]), 150, "ns"},
		{"the same in starlark", median(ns["starlark"]), 0, "ns"},
		{"the same in goja", median(ns["goja"]), 0, "ns"},
	}, nil
}

func zenoCalls() func() error {
	iso := lisp.New().NewIsolate(generous())
	iso.Grant("host", lisp.Capable(lisp.Capability{Name: "host",
		Call: func(_ context.Context, args []value.Value) (value.Value, error) {
			return value.Int(args[0].Int() + 1), nil
		}}))
	src := fmt.Sprintf("(loop [i 0] (if (< i %d) (recur (host i)) i))", hostCalls)
	return func() error {
		res := iso.Eval(context.Background(), src)
		if res.Err != nil {
			return res.Err
		}
		return answered(res.Value)
	}
}

func starlarkCalls() func() error {
	host := starlark.NewBuiltin("host", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		i, err := starlark.AsInt32(args[0])
		return starlark.MakeInt(i + 1), err
	})
	src := fmt.Sprintf("def main():\n    i = 0\n    while i < %d:\n        i = host(i)\n    return i\n", hostCalls)
	return func() error {
		th := &starlark.Thread{}
		globals, err := starlark.ExecFileOptions(&syntax.FileOptions{While: true}, th, "host.star", src, starlark.StringDict{"host": host})
		if err != nil {
			return err
		}
		v, err := starlark.Call(th, globals["main"], nil, nil)
		if err != nil {
			return err
		}
		return answered(v.String())
	}
}

func gojaCalls() func() error {
	vm := goja.New()
	err := vm.Set("host", func(call goja.FunctionCall) goja.Value { return vm.ToValue(call.Argument(0).ToInteger() + 1) })
	src := fmt.Sprintf("(function () { var i = 0; while (i < %d) i = host(i); return i; })()", hostCalls)
	return func() error {
		if err != nil {
			return err
		}
		v, err := vm.RunString(src)
		if err != nil {
			return err
		}
		return answered(v.String())
	}
}

func answered(got string) error {
	if want := fmt.Sprint(hostCalls); got != want {
		return fmt.Errorf("host calls: got %s, want %s", got, want)
	}
	return nil
}
