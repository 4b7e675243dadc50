// Command bench runs the same programs on zeno and on four other interpreters written in Go, and measures what zeno
// costs where no peer has an equal: an isolate, a small evaluation, a host call, an idle isolate's memory, the start of
// the process, an evaluation over MCP.
//
//	go run . [-rounds 5] [-md] [NAME…]     no NAME: every row
//
// The one invariant: a number is a ratio, or stands beside what it is compared with. Engines take turns within a round
// and rounds repeat, so that whatever else the machine does hits all alike; what is compared is CPU time (getrusage, the
// collector's included), never the wall clock, but for boxes and their network, where waiting is what is measured. The program asserts no time: each row says reached or missed, and the
// exit code is 1 only where something could not be measured.
//
// This is a module of its own, so that the peers never enter zeno's go.mod. Start reading at rows.go (what is measured)
// and measure.go (how); programs/ holds the sources.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
)

func main() {
	if code, ok := child(os.Args[1:]); ok {
		os.Exit(code)
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "how many times each engine takes its turn")
	flag.BoolVar(&o.markdown, "md", false, "print Markdown, as docs/performance.md holds it")
	prof := flag.String("cpuprofile", "", "write a profile of this process, not of those that it starts, to this file")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run . [-rounds N] [-md] [NAME…]\n\nrows: %s\n\n", strings.Join(names(), " "))
		flag.PrintDefaults()
	}
	flag.Parse()
	o.names = flag.Args()
	if *prof != "" {
		f, err := os.Create(*prof)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds   int
	markdown bool
	names    []string // rows to run; empty: all
}

// wants tells whether the row name is asked for.
func (o options) wants(name string) bool {
	for _, n := range o.names {
		if n == name {
			return true
		}
	}
	return len(o.names) == 0
}

// check refuses names that no row has, so that a slip of the finger measures nothing instead of everything.
func (o options) check() error {
	if o.rounds < 1 {
		return fmt.Errorf("rounds: got %d, want at least 1", o.rounds)
	}
	known := " " + strings.Join(names(), " ") + " "
	for _, n := range o.names {
		if !strings.Contains(known, " "+n+" ") {
			return fmt.Errorf("row: got %s, want one of%s", n, strings.TrimRight(known, " "))
		}
	}
	return nil
}
