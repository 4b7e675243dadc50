package main

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// cpu is the processor time that this process has used, in user and system, by all its threads.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("failed to read the processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// spent measures the processor time of f. The garbage of what ran before is collected first, that of f is f's own cost as
// far as f causes the collector to run.
func spent(f func() error) (time.Duration, error) {
	runtime.GC()
	before, err := cpu()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := cpu()
	return after - before, err
}

// samples holds the seconds of each engine, in the order of the rounds.
type samples map[string][]float64

// turn lets every engine that has p run it once, in turn, and checks its answer.
func turn(p program, es []engine, s samples) error {
	for _, e := range es {
		src, ok := p.source(e.ext)
		if !ok {
			continue
		}
		run := e.load(src)
		var got string
		d, err := spent(func() (err error) {
			got, err = run()
			return err
		})
		if err != nil {
			return fmt.Errorf("%s on %s: %w", p.name, e.name, err)
		}
		if got != p.want {
			return fmt.Errorf("%s on %s: got %s, want %s", p.name, e.name, got, p.want)
		}
		s[e.name] = append(s[e.name], d.Seconds())
	}
	return nil
}

// median of xs; 0 when there is none.
func median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(xs))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// ratio is the median of the ratios of a to b, round by round: both halves of each met the same machine.
func ratio(a, b []float64) float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		if b[i] > 0 {
			out = append(out, a[i]/b[i])
		}
	}
	return median(out)
}
