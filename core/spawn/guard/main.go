package guard

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// leftoverGrace is how long background processes that outlive the CLI get between TERM and KILL.
const leftoverGrace = 300 * time.Millisecond

// Main runs the guard and returns its exit code: the command's own, 128+n when signal n ended it, ExitInternal when it
// could not start. args is what follows Word: the grace period in milliseconds, the path to execute, and its argv from
// argv[0] on. The process must do nothing else: Main reaps every child it has.
func Main(args []string) int {
	if len(args) < 3 {
		return refuse("got %d arguments, want GRACE-MS PATH ARGV0 [ARG…]; this word is for zeno itself", len(args))
	}
	millis, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || millis < 0 {
		return refuse("grace: got %q, want milliseconds", args[0])
	}
	syscall.CloseOnExec(controlFD)
	control := os.NewFile(controlFD, "guard-control")
	if control == nil {
		return refuse("control pipe: got none on descriptor %d; start the guard from zeno", controlFD)
	}
	if err := adoptOrphans(); err != nil {
		return refuse("cannot become a subreaper: %v", err)
	}
	if _, err := processes(); err != nil {
		return refuse("cannot promise to leave no orphan: %v", err)
	}
	// Before the start, so that a signal that arrives early ends the tree rather than the guard alone.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)

	child, err := start(args[1], args[2:])
	if err != nil {
		return refuse("cannot start %s: %v", args[1], err)
	}
	return watch(child, control, signals, time.Duration(millis)*time.Millisecond)
}

func refuse(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, "zeno guard: "+format+"\n", args...)
	return ExitInternal
}

// start runs the command in a process group of its own with the guard's standard streams and environment.
func start(path string, argv []string) (int, error) {
	process, err := os.StartProcess(path, argv, &os.ProcAttr{
		Env:   os.Environ(),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   childAttr(),
	})
	if err != nil {
		return 0, err
	}
	pid := process.Pid
	_ = process.Release() // reaped below with every other descendant, not through os.Process
	// The guard reads no stdin; holding it open would hide the CLI's closing of it from zeno.
	_ = os.Stdin.Close()
	return pid, nil
}

// watch waits for the command to end, for the pipe to close or for a signal, then clears the tree.
func watch(child int, control io.Reader, signals <-chan os.Signal, grace time.Duration) int {
	r := newReaper(child)
	go r.run()
	closed := make(chan struct{})
	go func() {
		var one [1]byte
		_, _ = control.Read(one[:])
		close(closed)
	}()
	select {
	case <-r.childDone:
		endTree(child, leftoverGrace)
	case <-closed:
		endTree(child, grace)
	case <-signals:
		endTree(child, grace)
	}
	select {
	case <-r.childDone:
		return exitCode(r.status)
	case <-time.After(time.Second):
		return 128 + int(syscall.SIGKILL)
	}
}

// exitCode folds a wait status into one number, as a shell does.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// reaper collects every child of the guard: the command itself and whatever the kernel hands over.
type reaper struct {
	child     int
	status    syscall.WaitStatus // valid once childDone is closed
	childDone chan struct{}
}

func newReaper(child int) *reaper {
	return &reaper{child: child, childDone: make(chan struct{})}
}

// run reaps until the process exits; between children (no child at all) it polls, because an orphan may arrive later.
func (r *reaper) run() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			time.Sleep(10 * time.Millisecond)
		case pid == r.child:
			r.status = status
			close(r.childDone)
		}
	}
}
