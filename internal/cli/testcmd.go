package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/internal/suite"
	"github.com/reflection-dev/zeno/lisp"
)

// lookEvery is how often --watch looks at the files.
const lookEvery = 300 * time.Millisecond

// Run implements `zeno test`.
func (c *testCmd) Run(a *app) error {
	t := &tester{app: a, cmd: c, paths: c.Paths}
	if err := t.prepare(); err != nil {
		return usage(err)
	}
	if c.Watch {
		return a.attend(t.watch)
	}
	return a.attend(func(ctx context.Context) error { return t.once(ctx, nil) })
}

// tester is one run of `zeno test`.
type tester struct {
	app   *app
	cmd   *testCmd
	home  *home.Home // nil: none
	paths []string
	only  *regexp.Regexp
}

func (t *tester) prepare() error {
	var err error
	if t.only, err = regexp.Compile(t.cmd.Only); err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	if t.cmd.Only == "" {
		t.only = nil
	}
	if t.app.home != "" {
		if t.home, err = home.Resolve(t.app.home, t.app.std.Getenv); err != nil {
			return err
		}
		if !t.home.Exists() {
			return fmt.Errorf("home: %s does not exist; `zeno init %s` makes one", t.home.Dir, quote(t.home.Dir))
		}
	}
	switch {
	case len(t.paths) > 0:
	case t.home != nil:
		t.paths = []string{t.home.Dir}
	default:
		t.paths = []string{"."}
	}
	return nil
}

// once runs the files, or those of them that some names, and reports.
func (t *tester) once(ctx context.Context, some []string) error {
	files, err := suite.Find(t.paths)
	if err != nil {
		return usage(err)
	}
	if only := filesOf(files, some); len(only) > 0 {
		files = only
	}
	report := suite.NewReport(t.app.std.Out, t.app.coloursOn(t.app.std.Out))
	conf := suite.Config{Env: t.env, Only: t.only, Explain: func(err error) string {
		addSource(err)
		return core.Explain(err)
	}}
	for _, f := range files {
		res, err := suite.Run(ctx, f, conf)
		report.Add(res)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return fmt.Errorf("test: failed to run %s: %w", f.Path, err)
		}
	}
	counts := report.End()
	return errors.Join(t.junit(report.Results()), t.verdict(ctx, counts))
}

func (t *tester) verdict(ctx context.Context, c suite.Counts) error {
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(t.app.std.Err, "zeno: interrupted: the rest did not run")
		return reported(ExitInterrupted)
	case c.Tests == 0 && t.only != nil:
		return usage(fmt.Errorf("test: no test matches --only %s", t.cmd.Only))
	case c.Tests == 0:
		return usage(errors.New("test: the files define no test; (clojure.test/deftest name …) does"))
	case !c.OK():
		return reported(ExitFailed)
	}
	return nil
}

func (t *tester) junit(results []suite.Result) error {
	if t.cmd.JUnit == "" {
		return nil
	}
	f, err := os.Create(t.cmd.JUnit)
	if err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	err = suite.WriteJUnit(f, results)
	return errors.Join(err, f.Close())
}

// env makes the environment of one file: a whole zeno, but for init.joke, that may not end the process.
func (t *tester) env(libs []string) (*lisp.Env, func(), error) {
	std := t.app.std
	c, err := core.New(core.Config{Home: t.home, Out: std.Out, Err: std.Err, Libs: libs, Version: version()})
	if err != nil {
		return nil, nil, err
	}
	if err := c.ReadDeps(t.app.signals.ctx); err != nil {
		t.app.close(c)
		return nil, nil, fmt.Errorf("deps.edn was not taken in: %w", err)
	}
	return c.Env(), func() { t.app.close(c) }, nil
}

// watch runs everything, then again what a change may concern, until the process is told to end.
func (t *tester) watch(ctx context.Context) error {
	w := suite.NewWatcher(lookEvery, t.watched)
	var some []string
	for {
		err := t.once(ctx, some)
		if ctx.Err() != nil {
			return err
		}
		var e *exitError
		if err != nil && (!errors.As(err, &e) || e.err != nil) {
			fmt.Fprintf(t.app.std.Err, "zeno: %s\n", err)
		}
		fmt.Fprintln(t.app.std.Err, "; waiting for a change; ctrl-C ends")
		if some = w.Wait(ctx); some == nil {
			return reported(ExitInterrupted)
		}
		fmt.Fprintf(t.app.std.Err, "; changed: %s\n", some[0])
	}
}

// watched are the directories whose files may matter to a test.
func (t *tester) watched() []string {
	dirs := slices.Clone(t.paths)
	if t.home != nil {
		dirs = append(dirs, t.home.Dir)
	}
	files, err := suite.Find(t.paths)
	if err != nil {
		return dirs
	}
	for _, f := range files {
		for _, lib := range f.Libs {
			if !slices.Contains(dirs, lib) {
				dirs = append(dirs, lib)
			}
		}
	}
	return dirs
}

// filesOf picks the files that changed, where nothing but test files did.
func filesOf(files []suite.File, changed []string) []suite.File {
	var out []suite.File
	for _, c := range changed {
		i := slices.IndexFunc(files, func(f suite.File) bool { return samePath(f.Path, c) })
		if i < 0 {
			return nil
		}
		if !slices.ContainsFunc(out, func(f suite.File) bool { return f.Path == files[i].Path }) {
			out = append(out, files[i])
		}
	}
	return out
}

func samePath(a, b string) bool {
	x, err1 := filepath.Abs(a)
	y, err2 := filepath.Abs(b)
	return err1 == nil && err2 == nil && x == y
}
