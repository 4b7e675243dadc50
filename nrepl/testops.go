package nrepl

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// testOps are the ops that run the tests of clojure.test.
func (s *Server) testOps() []op {
	const returns = "summary results testing-ns ns-elapsed-time elapsed-time"
	return []op{
		{name: "test", doc: "Runs the tests of a namespace, or some of them.", requires: "ns", optional: "tests load?", returns: returns, run: s.opTest},
		{name: "test-var-query", doc: "Runs the tests that a query selects.", requires: "var-query", returns: returns, run: s.opTestQuery},
		{name: "test-all", doc: "Runs the tests of all namespaces.", optional: "load?", returns: returns, run: s.opTestAll},
		{name: "retest", doc: "Runs the tests again that failed the last time.", returns: returns, run: s.opRetest},
		{name: "test-stacktrace", doc: "Sends the stack of an error that a test met.", requires: "ns var index", returns: "class message stacktrace", run: s.opTestStacktrace},
	}
}

// testRun is what the last test op of a session found.
type testRun struct {
	failed []*value.Var
	errors map[string]value.Value // by ns, var and index
}

func errorKey(ns, name string, index int) string { return ns + "/" + name + "/" + strconv.Itoa(index) }

// selection says which tests to run.
type selection struct {
	ns   []string // exactly these; nil: all
	vars []string // ns/name, exactly these; nil: all
	name *regexp.Regexp
}

func (s *Server) opTest(r *request) {
	ns := r.text("ns")
	if ns == "" {
		r.bad("ns", "the name of a namespace as a string")
		return
	}
	sel := selection{ns: []string{ns}}
	for _, name := range texts(r.msg["tests"]) {
		sel.vars = append(sel.vars, ns+"/"+name)
	}
	s.runTests(r, sel)
}

func (s *Server) opTestQuery(r *request) {
	q, ok := r.msg["var-query"].(bencode.Dict)
	if !ok {
		r.bad("var-query", "a dictionary with ns-query, exactly or search")
		return
	}
	sel := selection{vars: texts(q["exactly"])}
	if nq, ok := q["ns-query"].(bencode.Dict); ok {
		sel.ns = texts(nq["exactly"])
	}
	if search, ok := q["search"].(string); ok && search != "" {
		re, err := regexp.Compile(search)
		if err != nil {
			r.bad("search", "a regular expression of Go: "+err.Error())
			return
		}
		sel.name = re
	}
	s.runTests(r, sel)
}

func (s *Server) opTestAll(r *request) { s.runTests(r, selection{}) }

func (s *Server) opRetest(r *request) {
	r.ses.mu.Lock()
	failed := r.ses.tests.failed
	r.ses.mu.Unlock()
	sel := selection{vars: []string{}}
	for _, v := range failed {
		sel.vars = append(sel.vars, v.FullName())
	}
	s.runTests(r, sel)
}

// vars gives the tests of the selection by namespace; missing is a namespace that is not there.
func (sel selection) find(t *value.Thread) (found map[string][]*value.Var, missing string) {
	found = map[string][]*value.Var{}
	spaces := t.Env.Namespaces()
	if sel.ns != nil {
		spaces = nil
		for _, name := range sel.ns {
			n := t.Env.Namespace(name)
			if n == nil {
				return nil, name
			}
			spaces = append(spaces, n)
		}
	}
	for _, n := range spaces {
		for _, v := range n.Vars() {
			if sel.wants(v) && get(t, v.MetaMap(), "test").Truthy() {
				found[n.Name] = append(found[n.Name], v)
			}
		}
	}
	return found, ""
}

func (sel selection) wants(v *value.Var) bool {
	return (sel.vars == nil || slices.Contains(sel.vars, v.FullName())) && (sel.name == nil || sel.name.MatchString(v.Name))
}

// runTests runs tests in the queue of the session: they are the user's code.
func (s *Server) runTests(r *request, sel selection) {
	r.submit(func(j *job) {
		in := j.input("(clojure.core/require 'clojure.test)", evalFile)
		run := &tester{j: j, results: bencode.Dict{}, run: testRun{errors: map[string]value.Value{}}}
		missing := ""
		in.Last = func(t *value.Thread, _ value.Value) {
			var found map[string][]*value.Var
			if found, missing = sel.find(t); missing == "" {
				run.all(t, found)
			}
		}
		_, err := j.begin().Fork().Eval(j.ctx, in)
		j.x.mu.Lock()
		j.x.tests = run.run
		j.x.mu.Unlock()
		var le *lisp.Error
		switch {
		case missing != "":
			j.finish(bencode.Dict{"ns": missing}, "error", "namespace-not-found", "done")
		case errors.As(err, &le) && le.Kind == "cancelled": // the end of the job says so
		case le != nil: // a fixture or a report that throws
			j.finish(bencode.Dict{"err": explain(le), "ex": className(le)}, "error", "test-error", "done")
		default:
			j.finish(run.reply(), "done")
		}
	})
}

// tester runs tests and keeps what they report.
type tester struct {
	j       *job
	began   time.Time
	nsCount int
	counts  map[string]int
	last    string
	current *value.Var
	index   int // of the next report of current
	results bencode.Dict
	run     testRun
}

func (x *tester) all(t *value.Thread, found map[string][]*value.Var) {
	x.began, x.counts = time.Now(), map[string]int{}
	lib := t.Env.Namespace("clojure.test")
	report := value.NewBuiltin("report", &value.Builtin{Name: "report", F1: func(t *value.Thread, m value.Value) value.Value {
		x.report(t, m)
		return value.Nil
	}})
	saved := t.Binds
	t.Bind([]*value.Var{lib.Var("report")}, []value.Value{value.Of(report)})
	for _, ns := range sortedNames(found) {
		x.nsCount++
		x.last = ns
		vars := []value.Value{}
		for _, v := range byLine(found[ns]) {
			vars = append(vars, value.Of(v))
		}
		t.Call1(lib.Var("test-vars").Get(t), value.NewVector(t, vars))
	}
	t.Binds = saved
}

func byLine(vars []*value.Var) []*value.Var {
	line := func(v *value.Var) int32 {
		if p := v.Pos(); p != nil {
			return p.Line
		}
		return 0
	}
	slices.SortStableFunc(vars, func(a, b *value.Var) int { return int(line(a) - line(b)) })
	return vars
}

// report takes one report of clojure.test.
func (x *tester) report(t *value.Thread, m value.Value) {
	k := get(t, m, "type")
	if k.Kind() != value.KindKeyword {
		return
	}
	switch kind := value.As[value.Keyword](k).Name; kind {
	case "begin-test-var":
		if v := get(t, m, "var"); v.Kind() == value.KindVar {
			x.current, x.index = value.As[value.Var](v), 0
			x.counts["var"]++
		}
	case "pass", "fail", "error":
		if x.current != nil {
			x.assertion(t, m, kind)
		}
	}
}

// maxReport bounds a printed value of a report, in bytes.
const maxReport = 64 << 10

func (x *tester) assertion(t *value.Thread, m value.Value, kind string) {
	v := x.current
	x.counts["test"]++
	x.counts[kind]++
	d := bencode.Dict{"ns": v.NS, "var": v.Name, "index": x.index, "type": kind, "message": textAt(t, m, "message"), "context": x.context(t)}
	if kind != "pass" {
		d["expected"] = printedReport(t, get(t, m, "expected"))
		actual := get(t, m, "actual")
		d["actual"] = printedReport(t, actual)
		if kind == "error" && actual.Kind() == value.KindException {
			ex := value.As[value.Exception](actual)
			d["error"] = ex.Class + ": " + ex.Error()
			x.run.errors[errorKey(v.NS, v.Name, x.index)] = actual
		}
		if !slices.Contains(x.run.failed, v) {
			x.run.failed = append(x.run.failed, v)
		}
		if p := v.Pos(); p != nil {
			d["file"], d["line"] = p.File, int(p.Line)
		}
		if line := get(t, m, "line"); line.IsInt() {
			d["line"] = int(line.Int())
		}
	}
	x.index++
	byVar, _ := x.results[v.NS].(bencode.Dict)
	if byVar == nil {
		byVar = bencode.Dict{}
		x.results[v.NS] = byVar
	}
	list, _ := byVar[v.Name].([]bencode.Dict)
	byVar[v.Name] = append(list, d)
}

// context is what the testing forms around an assertion say.
func (x *tester) context(t *value.Thread) string {
	f := t.Env.Namespace("clojure.test").Var("testing-contexts-str")
	if s := t.Call(f.Get(t)); s.Kind() == value.KindString {
		return s.Text()
	}
	return ""
}

func printedReport(t *value.Thread, v value.Value) string {
	s, _ := corelib.Pretty(t, v, corelib.Layout{Length: -1, Level: -1, MaxBytes: maxReport})
	return valid(s) + "\n"
}

func (x *tester) reply() bencode.Dict {
	summary := bencode.Dict{"ns": x.nsCount}
	for _, k := range []string{"var", "test", "pass", "fail", "error"} {
		summary[k] = x.counts[k]
	}
	ms := int(time.Since(x.began).Milliseconds())
	d := bencode.Dict{"summary": summary, "results": x.results, "gen-input": []any{},
		"elapsed-time": bencode.Dict{"ms": ms, "humanized": "Completed in " + strconv.Itoa(ms) + " ms"}}
	if x.last != "" {
		d["testing-ns"] = x.last
	}
	return d
}

// opTestStacktrace sends the exception that a test met.
func (s *Server) opTestStacktrace(r *request) {
	key := errorKey(r.text("ns"), r.text("var"), max(number(r.msg["index"], 0), 0))
	r.ses.mu.Lock()
	e, ok := r.ses.tests.errors[strings.TrimSpace(key)]
	r.ses.mu.Unlock()
	if !ok {
		r.finish(nil, "no-stacktrace", "done")
		return
	}
	s.stacktrace(r, e)
}
