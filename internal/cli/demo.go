package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/examples"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// demoMain is the function of the demo home that runs it.
const demoMain = "demo.main/run"

// Run implements `zeno demo`.
func (d *demoCmd) Run(a *app) error {
	if _, err := d.key(a); err != nil {
		return err
	}
	dir, err := d.dir()
	if err != nil {
		return err
	}
	if err := extract(examples.Demo(), dir); err != nil {
		return err
	}
	h, err := home.Resolve(dir, a.std.Getenv)
	if err != nil {
		return err
	}
	err = a.withLoaded(engine{home: h}, func(ctx context.Context, c *core.Core) error { return d.demo(ctx, a, c, dir) })
	fmt.Fprintf(a.std.Err, "The demo's home is left in %s: zeno --home %s opens it.\n", dir, quote(dir))
	return err
}

// dir names the directory to run in, which is new or empty. It is left there, since what the agent did is in it.
func (d *demoCmd) dir() (string, error) {
	if d.Keep == "" {
		dir, err := os.MkdirTemp("", "zeno-demo-")
		if err != nil {
			return "", fmt.Errorf("demo: failed to make a directory: %w", err)
		}
		return dir, nil
	}
	if entries, err := os.ReadDir(d.Keep); err == nil && len(entries) > 0 {
		return "", usage(fmt.Errorf("--keep: %s is not empty; name a new directory", d.Keep))
	}
	return filepath.Abs(d.Keep)
}

// demo calls the demo's main function, which prints as it goes, and judges its :status.
func (d *demoCmd) demo(ctx context.Context, a *app, c *core.Core, dir string) error {
	var res value.Value
	_, err := lisp.NewSession(c.Env()).Eval(ctx, lisp.Input{Src: "(require 'demo.main) " + demoMain, File: "demo",
		Each: func(_ *value.Thread, v value.Value) { res = v }})
	if err == nil {
		res, err = c.Env().Do(ctx, func(t *value.Thread) value.Value { return t.Call(res, d.options(t, dir)) })
	}
	if err != nil {
		return a.failed(err)
	}
	status := value.Nil
	if res.Kind().IsMap() {
		_, err = c.Env().Do(ctx, func(t *value.Thread) value.Value {
			status, _ = value.Get(t, res, value.Kw("status"))
			return value.Nil
		})
	}
	if err != nil {
		return a.failed(err)
	}
	if status.Kind() == value.KindKeyword && value.As[value.Keyword](status).FullName() == "ok" {
		return nil
	}
	text, err := c.Env().Print(ctx, res)
	if err != nil {
		return a.failed(err)
	}
	fmt.Fprintf(a.std.Err, "zeno: the demo did not end :ok: %s\n", text)
	return reported(ExitFailed)
}

// options is the map that the demo gets; what was not given is not in it.
func (d *demoCmd) options(t *value.Thread, dir string) value.Value {
	kvs := []value.Value{value.Kw("backend"), value.Kw(d.Backend), value.Kw("dir"), value.Str(dir)}
	for _, o := range []struct{ key, val string }{{"model", d.Model}, {"base-url", d.BaseURL}, {"api-key-env", d.APIKeyEnv}} {
		if o.val != "" {
			kvs = append(kvs, value.Kw(o.key), value.Str(o.val))
		}
	}
	return value.NewMap(t, kvs...)
}
