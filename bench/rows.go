package main

import (
	"embed"
	"fmt"
)

//go:embed programs
var sources embed.FS

// program is one row of the table of programs: its sources are programs/NAME.* , one for each engine that it makes sense
// on.
type program struct {
	name string
	what string
	want string  // what every engine must answer
	peer float64 // CPU seconds of the fastest of joker, let-go and glojure in design/10-lisp.md
	by   string  // which of them that is
}

// starlarkThen is starlark's fib30 in the run that peer comes from, in CPU seconds: the two runs are compared by it.
const starlarkThen = 0.58

// programs lists the rows. The sizes are those of the table that peer comes from.
func programs() []program {
	return []program{
		{"fib30", "(fib 30), plain recursion", "832040", 0.20, "glojure"},
		{"loop10M", "loop/recur, 10,000,000 turns", "5000000", 1.59, "let-go"},
		{"mapfilter1M", "reduce, map and filter over a range of 1,000,000", "250000000000", 0.24, "glojure"},
		{"assoc200k", "assoc of 200,000 integers into a map", "200000", 1.15, "glojure"},
		{"conj1M", "conj of 1,000,000 to a vector, then nth of each", "500000", 0.45, "glojure"},
		{"strings200k", "str of 200,000 integers, join, split", "1488889", 0.35, "glojure"},
		{"arity1M", "1,000,000 turns of three calls: one, two, and two and more arguments", "1500000", 2.09, "let-go"},
		{"sort200k", "sort of 200,000 integers", "3223147722", 2.42, "let-go"},
		{"swap1M", "1,000,000 swap! of an atom", "1000000", 0.20, "glojure"},
		{"try200k", "200,000 exceptions thrown and caught", "19999900000", 0.19, "let-go"},
	}
}

// gopher-lua has no strings200k: its table.concat copies what it has so far at each of the 200,000 parts, and takes a minute.

// source gives a program's text for the engine whose files end in ext; false where the row makes no sense on it.
func (p program) source(ext string) (string, bool) {
	b, err := sources.ReadFile(fmt.Sprintf("programs/%s.%s", p.name, ext))
	return string(b), err == nil
}

// names lists every row that can be asked for.
func names() []string {
	var out []string
	for _, p := range programs() {
		out = append(out, p.name)
	}
	for _, c := range costs() {
		out = append(out, c.name)
	}
	return out
}
