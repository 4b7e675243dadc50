package suite

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// collector takes the place of clojure.test's report function: what assertions say ends here. Futures of a test may
// report too.
type collector struct {
	mu      sync.Mutex
	tests   []Test
	running []running // innermost last: a test may call another
}

// running is a test that has begun.
type running struct {
	Test
	began time.Time
}

func (c *collector) add(t Test) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tests = append(c.tests, t)
}

// collect makes reports of t, and of the futures it starts, come to r.
func (r *run) collect(t *value.Thread, lib *value.Namespace) {
	report := lib.Var("report")
	before, _ := report.Root()
	b := &value.Builtin{Name: "report", F1: func(t *value.Thread, m value.Value) value.Value {
		if !r.report(t, lib, m) {
			return t.Call(before, m) // a kind of the suite's own, for which it has a method
		}
		return value.Nil
	}}
	t.Bind([]*value.Var{report}, []value.Value{value.Of(value.NewBuiltin(report.FullName(), b))})
}

// report takes one report in; false where it is of a kind that is not clojure.test's.
func (r *run) report(t *value.Thread, lib *value.Namespace, m value.Value) bool {
	switch kind := text(t, field(t, m, "type")); kind {
	case "begin-test-var":
		r.begin(field(t, m, "var"))
	case "end-test-var":
		r.end()
	case "pass":
		r.passed()
	case "fail", "error":
		r.failed(r.problem(t, lib, m, kind == "error"))
	case "begin-test-ns", "end-test-ns", "summary":
	default:
		return false
	}
	return true
}

func (c *collector) begin(v value.Value) {
	x := value.As[value.Var](v)
	test := Test{NS: x.NS, Name: x.Name}
	if p := x.Pos(); p != nil {
		test.File, test.Line = p.File, int(p.Line)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = append(c.running, running{test, time.Now()})
}

func (c *collector) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.running); n > 0 {
		t := c.running[n-1]
		t.Took = time.Since(t.began)
		c.running = c.running[:n-1]
		c.tests = append(c.tests, t.Test)
	}
}

func (c *collector) passed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current().Passed++
}

func (c *collector) failed(p Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.current()
	if p.File == "" {
		p.File, p.Line = t.File, t.Line
	}
	t.Problems = append(t.Problems, p)
}

// current is the test that runs. What a fixture or a hook asserts outside of one belongs to a test without a name.
func (c *collector) current() *Test {
	if n := len(c.running); n > 0 {
		return &c.running[n-1].Test
	}
	if n := len(c.tests); n == 0 || c.tests[n-1].Name != outside {
		c.tests = append(c.tests, Test{Name: outside})
	}
	return &c.tests[len(c.tests)-1]
}

const outside = "outside of tests"

// problem reads a report of a failure.
func (r *run) problem(t *value.Thread, lib *value.Namespace, m value.Value, isError bool) Problem {
	p := Problem{Error: isError, Message: text(t, field(t, m, "message")), Contexts: contexts(t, lib)}
	actual, expected := field(t, m, "actual"), field(t, m, "expected")
	if !isError || !expected.IsNil() {
		p.Expected = printed(t, expected)
	}
	if actual.Kind() == value.KindException {
		ex := value.As[value.Exception](actual)
		p.Actual = r.exception(t, ex)
		r.place(&p, t, m, ex.Trace)
		return p
	}
	r.place(&p, t, m, t.Trace(64))
	p.Actual, p.Diff = printed(t, actual), difference(t, actual)
	if actual.IsNil() && strings.HasPrefix(p.Expected, "(thrown") {
		p.Actual = "nothing was thrown"
	}
	return p
}

// exception words ex; its stack ends where the test begins.
func (r *run) exception(t *value.Thread, ex *value.Exception) string {
	_, err := r.env.Do(t.Context, func(*value.Thread) value.Value { panic(ex) })
	var e *lisp.Error
	if errors.As(err, &e) {
		isOurs := func(frame string) bool { return strings.HasPrefix(frame, testNS+"/") }
		if i := slices.IndexFunc(e.Stack, isOurs); i > 0 {
			e.Stack = e.Stack[:i]
		}
	}
	return r.config.explain(err)
}

// place finds where an assertion stands: what it says itself, or else the innermost call of the stack that is in the file.
func (r *run) place(p *Problem, t *value.Thread, m value.Value, stack []value.Frame) {
	if line := field(t, m, "line"); line.Kind() == value.KindInt && line.Int() > 0 {
		p.File, p.Line = r.file, int(line.Int())
		if f := field(t, m, "file"); f.Kind() == value.KindString {
			p.File = f.Text()
		}
		return
	}
	for _, f := range stack {
		if f.Pos != nil && f.Pos.File == r.file {
			p.File, p.Line = r.file, int(f.Pos.Line)
			return
		}
	}
}

// contexts are the strings of testing that are in force.
func contexts(t *value.Thread, lib *value.Namespace) []string {
	var out []string
	for _, v := range value.ToSlice(t, lib.Var("*testing-contexts*").Get(t)) {
		out = append(out, text(t, v))
	}
	slices.Reverse(out)
	return out
}

func field(t *value.Thread, m value.Value, key string) value.Value {
	v, _ := value.Get(t, m, value.Kw(key))
	return v
}

// text is v without quotes or colon; "" for nil.
func text(t *value.Thread, v value.Value) string {
	switch v.Kind() {
	case value.KindNil:
		return ""
	case value.KindKeyword:
		return value.As[value.Keyword](v).FullName()
	}
	return value.PrintStr(t, v)
}
