package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// result is everything that one run has measured.
type result struct {
	options
	programs []program
	times    map[string]samples // by program
	costs    []measured
	load     string
	began    time.Time
}

// run measures what is asked for and prints it. Starlark's fib30 runs in every round: targets are scaled by it.
func run(w io.Writer, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	r := &result{options: o, times: map[string]samples{}, load: load(), began: time.Now()}
	es := engines()
	for _, p := range programs() {
		if o.wants(p.name) {
			r.programs = append(r.programs, p)
		}
	}
	for round := range o.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, o.rounds)
		if err := r.round(es); err != nil {
			return err
		}
	}
	for _, c := range costs() {
		if !o.wants(c.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s\n", c.name)
		ms, err := c.measure(o.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r.costs = append(r.costs, ms...)
	}
	return r.print(w)
}

func (r *result) round(es []engine) error {
	if !r.has("fib30") {
		fib := programs()[0]
		if err := turn(fib, only(es, "starlark"), r.of(fib.name)); err != nil {
			return err
		}
	}
	for _, p := range r.programs {
		if err := turn(p, es, r.of(p.name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *result) has(name string) bool {
	for _, p := range r.programs {
		if p.name == name {
			return true
		}
	}
	return false
}

func (r *result) of(name string) samples {
	s := r.times[name]
	if s == nil {
		s = samples{}
		r.times[name] = s
	}
	return s
}

func only(es []engine, name string) []engine {
	for _, e := range es {
		if e.name == name {
			return []engine{e}
		}
	}
	return nil
}

// scale is how much slower this machine is, now, than the one that the peers' times come from.
func (r *result) scale() float64 { return median(r.times["fib30"]["starlark"]) / starlarkThen }

// load words how busy the machine is: numbers taken on a busy one are worth less.
func load() string {
	s := fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return s + ", load unknown"
	}
	var one float64
	if _, err := fmt.Sscan(string(b), &one); err != nil {
		return s + ", load unknown"
	}
	word := "idle otherwise"
	switch {
	case one > 1.5*float64(runtime.NumCPU()):
		word = "high"
	case one > 0.5*float64(runtime.NumCPU()):
		word = "some"
	}
	return fmt.Sprintf("%s, load average %.1f when the run began (%s)", s, one, word)
}
