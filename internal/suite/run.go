package suite

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// testNS is clojure.test by the name that it has here.
const testNS = "joker.test"

// Run loads f in an environment of its own and runs the tests that it defines. The error is one of the surroundings, or
// ctx's when that ended the run; what the tests themselves do wrong is in the result, as far as they got.
func Run(ctx context.Context, f File, c Config) (res Result, err error) {
	res.File = f.Path
	start := time.Now()
	defer func() { res.Took = time.Since(start) }()
	src, err := os.ReadFile(f.Path)
	if err != nil {
		return res, err
	}
	env, done, err := c.Env(f.Libs)
	if err != nil {
		return res, err
	}
	defer done()
	r := &run{file: f.Path, env: env, config: c}
	err = r.all(ctx, string(src))
	res.Tests = r.tests
	return res, err
}

// run is the run of one file.
type run struct {
	file   string
	env    *lisp.Env
	config Config
	collector
}

func (r *run) all(ctx context.Context, src string) error {
	if _, err := lisp.NewSession(r.env).Eval(ctx, lisp.Input{Src: src, File: r.file}); err != nil {
		return r.broken(ctx, "load", err)
	}
	lib := r.env.Raw().Namespace(testNS)
	if lib == nil {
		return ctx.Err() // it has no tests: the library was never asked for
	}
	t := r.env.Thread(ctx)
	for _, ns := range r.namespaces(t) {
		if err := r.namespace(ctx, lib, ns); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// broken notes an error outside any test, and gives ctx's if that is behind it.
func (r *run) broken(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p := Problem{Error: true, File: r.file, Actual: r.config.explain(err)}
	if pos := position(err); pos != nil {
		p.File, p.Line = pos.File, int(pos.Line)
	}
	r.add(Test{NS: r.file, Name: what, File: r.file, Line: p.Line, Problems: []Problem{p}})
	return nil
}

func position(err error) *value.Pos {
	var e *lisp.Error
	if errors.As(err, &e) {
		return e.Pos
	}
	return nil
}

// namespaces lists the namespaces whose tests stand in the file, in the order of the file.
func (r *run) namespaces(t *value.Thread) []*value.Namespace {
	first := map[*value.Namespace]int32{}
	var out []*value.Namespace
	for _, ns := range r.env.Raw().Namespaces() {
		for _, v := range ns.Vars() {
			p := v.Pos()
			if p == nil || p.File != r.file || !isTest(t, v) && v.Name != hookName {
				continue
			}
			if line, ok := first[ns]; !ok {
				out = append(out, ns)
				first[ns] = p.Line
			} else {
				first[ns] = min(line, p.Line)
			}
		}
	}
	slices.SortFunc(out, func(a, b *value.Namespace) int { return cmp.Compare(first[a], first[b]) })
	return out
}

// hookName is the function that runs a namespace's tests its own way, if there is one.
const hookName = "test-ns-hook"

func isTest(t *value.Thread, v *value.Var) bool {
	f, _ := value.Get(t, v.MetaMap(), value.Kw("test"))
	return !f.IsNil()
}

// namespace runs the tests of ns, or those that Only names.
func (r *run) namespace(ctx context.Context, lib, ns *value.Namespace) error {
	var tests []*value.Var
	at := r.env.Thread(ctx)
	for _, v := range ns.Vars() {
		if isTest(at, v) && v.Pos() != nil && v.Pos().File == r.file && r.wanted(ns.Name+"/"+v.Name) {
			tests = append(tests, v)
		}
	}
	slices.SortFunc(tests, func(a, b *value.Var) int { return cmp.Compare(a.Pos().Line, b.Pos().Line) })
	hook := ns.Var(hookName)
	if len(tests) == 0 && (hook == nil || r.config.Only != nil) {
		return nil
	}
	_, err := r.env.Do(ctx, func(t *value.Thread) value.Value {
		r.collect(t, lib)
		if hook != nil && r.config.Only == nil {
			return t.Call(lib.Var("test-ns").Get(t), value.Of(ns))
		}
		vars := make([]value.Value, len(tests))
		for i, v := range tests {
			vars[i] = value.Of(v)
		}
		return t.Call(lib.Var("test-vars").Get(t), value.NewVector(t, vars))
	})
	if err != nil {
		return r.broken(ctx, ns.Name, err)
	}
	return nil
}

func (r *run) wanted(name string) bool {
	return r.config.Only == nil || r.config.Only.MatchString(name)
}
