package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/lisp"
)

// What is measured of a process needs a process of its own: this program starts itself again under one of these words.
const (
	idleWord  = "measure-idle"
	startWord = "measure-start"
	runWord   = "measure-run"
)

// idleCount is how many isolates wait.
const idleCount = 10_000

// child runs as such a process; false when args name none.
func child(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	var err error
	switch args[0] {
	case idleWord:
		err = idleChild()
	case runWord:
		err = runChild(args[1:])
	case startWord:
		err = startChild(args[1:])
	case serveWord:
		err = serveChild()
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1, true
	}
	return 0, true
}

// again starts this program under word and gives the numbers that it prints.
func again(args ...string) ([]float64, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("failed to find this program: %w", err)
	}
	out, err := exec.Command(self, args...).Output()
	if err != nil {
		var ee *exec.ExitError
		if errors.As(err, &ee) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(ee.Stderr)))
		}
		return nil, fmt.Errorf("failed to run %s: %w", args[0], err)
	}
	var xs []float64
	for _, f := range strings.Fields(string(out)) {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: got %q, want numbers", args[0], out)
		}
		xs = append(xs, x)
	}
	return xs, nil
}

// idleIsolates measures the resident memory of a process that holds isolates, each of which has evaluated something.
func idleIsolates(rounds int) ([]measured, error) {
	var mb []float64
	for range rounds {
		xs, err := again(idleWord)
		if err != nil {
			return nil, err
		}
		mb = append(mb, xs[0])
	}
	return []measured{{fmt.Sprintf("resident memory of a process with %d idle isolates", idleCount), median(mb), 60, "MB"}}, nil
}

func idleChild() error {
	rt := lisp.New()
	isolates := make([]*lisp.Isolate, idleCount)
	for i := range isolates {
		isolates[i] = rt.NewIsolate(lisp.Limits{})
		if res := isolates[i].Eval(context.Background(), "(def x (+ 1 2))"); res.Err != nil {
			return res.Err
		}
	}
	runtime.GC()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return fmt.Errorf("failed to read the resident memory (measured on Linux only): %w", err)
	}
	var total, resident int64
	if _, err := fmt.Sscan(string(b), &total, &resident); err != nil {
		return fmt.Errorf("failed to read the resident memory: %w", err)
	}
	fmt.Println(float64(resident*int64(os.Getpagesize())) / (1 << 20))
	runtime.KeepAlive(isolates)
	return nil
}

// startProcess builds the program and measures `zeno -e 1`.
func startProcess(rounds int) ([]measured, error) {
	dir, err := os.MkdirTemp("", "zeno-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bin, _, err := buildBoxed(dir)
	if err != nil {
		return nil, err
	}
	xs, err := again(startWord, bin, strconv.Itoa(4*rounds+1), dir)
	if err != nil {
		return nil, err
	}
	return []measured{
		{"zeno -e 1, processor time", xs[0], 25, "ms"},
		{"zeno -e 1, greatest resident memory", xs[1], 30, "MB"},
	}, nil
}

// startChild runs the binary n times and prints the median of its processor time and its greatest resident memory. It
// does so from a small process because on Linux a child's greatest memory starts at its parent's.
func startChild(args []string) error {
	bin, home := args[0], args[2]
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var ms, mb []float64
	for range n {
		c := exec.Command(bin, "-e", "1")
		c.Env = append(os.Environ(), "HOME="+home)
		c.Dir = home
		out, err := c.Output()
		if err != nil {
			return fmt.Errorf("zeno -e 1: %w", err)
		}
		if s := strings.TrimSpace(string(out)); s != "1" {
			return fmt.Errorf("zeno -e 1: got %q, want 1", s)
		}
		ms = append(ms, float64(c.ProcessState.UserTime()+c.ProcessState.SystemTime())/float64(time.Millisecond))
		if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			mb = append(mb, float64(u.Maxrss)*maxrssUnit()/(1<<20))
		}
	}
	fmt.Println(median(ms), median(mb))
	return nil
}

// maxrssUnit is what ru_maxrss counts in, in bytes.
func maxrssUnit() float64 {
	if runtime.GOOS == "darwin" {
		return 1
	}
	return 1024
}
