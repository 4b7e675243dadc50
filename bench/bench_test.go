package main

import (
	"math"
	"strings"
	"testing"
)

// Every program must answer the same on every engine that it has a source for, or the times compare nothing.
func TestProgramsAgree(t *testing.T) {
	es := engines()
	for _, p := range programs() {
		for _, e := range es {
			src, ok := p.source(e.ext)
			if !ok {
				continue
			}
			t.Run(p.name+"/"+e.name, func(t *testing.T) {
				got, err := e.load(src)()
				if err != nil {
					t.Fatal(err)
				}
				if got != p.want {
					t.Errorf("answer: got %s, want %s", got, p.want)
				}
			})
		}
	}
}

// A source that belongs to no row or to no engine would never run.
func TestSourcesBelongToRows(t *testing.T) {
	known := map[string]bool{}
	for _, p := range programs() {
		for _, e := range engines() {
			known[p.name+"."+e.ext] = true
		}
		if _, ok := p.source("joke"); !ok {
			t.Errorf("%s: got no program for zeno", p.name)
		}
	}
	files, err := sources.ReadDir("programs")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("programs/%s: belongs to no row and engine", f.Name())
		}
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		o    options
		want string // part of the error; "" for none
	}{
		{options{rounds: 1}, ""},
		{options{rounds: 1, names: []string{"fib30", "mcp"}}, ""},
		{options{rounds: 1, names: []string{"fib"}}, "row: got fib, want one of fib30"},
		{options{rounds: 0}, "rounds: got 0"},
	} {
		err := tt.o.check()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("check(%+v): got %v, want %q", tt.o, err, tt.want)
		}
	}
	if o := (options{names: []string{"mcp"}}); o.wants("fib30") || !o.wants("mcp") {
		t.Error("wants: got rows that were not asked for")
	}
}

func TestMedianAndRatio(t *testing.T) {
	for _, tt := range []struct {
		xs   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(tt.xs); got != tt.want {
			t.Errorf("median(%v): got %v, want %v", tt.xs, got, tt.want)
		}
	}
	// Both halves of the second round met a machine ten times slower.
	if got := ratio([]float64{1, 10, 1.2}, []float64{2, 20, 2}); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("ratio: got %v, want 0.5", got)
	}
}

// The tables say missed where a bar is missed.
func TestVerdicts(t *testing.T) {
	r := &result{options: options{rounds: 1, markdown: true}, times: map[string]samples{}, programs: programs()[:1],
		costs: []measured{{"a", 2, 1, "ns"}, {"b", 1, 2, "ns"}, {"c", 1, 0, "ns"}}}
	r.times["fib30"] = samples{orchestrator: {9}, limited: {0.58}, lifted: {0.57}, "starlark": {0.58}}
	var b strings.Builder
	if err := r.print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"env, ms (target by glojure) |  9000 |   133 |  67.5 |  missed |", "| starlark fib30   |        0.580 |       0.580 |  1.00 |", "isolate / starlark",
		"| a    |  2.00 |   2.00 |   ns | 1.00 |  missed |", "| b    |  1.00 |   1.00 |   ns | 2.00 | reached |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("tables: got no %q in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "missed"); n != 4 { // env, isolate, isolate / starlark, and a
		t.Errorf("tables: got %d missed, want 4 in\n%s", n, b.String())
	}
}
