package native

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// body is a live box.
type body struct {
	b       *Backend
	id      string // of its record
	spec    *sandbox.Spec
	started time.Time
	volume  string // its directory on the host
	base    usage  // what lay in Spec.Write before
	group   *group // nil without cgroups
	owner   int    // of the programs' streams on the host; -1 is the caller
	gone    chan struct{}
	open    chan struct{} // closed when the first program was started: more may be
	guest   bool          // it runs under gVisor: its processes are no children of its first

	mu       sync.Mutex
	proc     *process
	ended    bool // the first process was reaped: its number is no longer its own
	killed   string
	nextID   uint64
	programs map[uint64]*running
	lost     chan struct{} // closed when the box's end was seen
	serving  sync.WaitGroup
	unserve  context.CancelFunc
}

func newBody(b *Backend, s *seat, spec *sandbox.Spec) *body {
	return &body{b: b, id: s.id, spec: spec, group: s.group, started: time.Now(), gone: make(chan struct{}), lost: make(chan struct{}), open: make(chan struct{}),
		programs: map[uint64]*running{}, nextID: 1}
}

func (y *body) born(p *process) {
	y.mu.Lock()
	y.proc = p
	killed := y.killed
	y.mu.Unlock()
	if killed != "" { // asked for while there was nothing to kill
		y.kill(killed)
	}
}

// kill ends everything in the box; the first reason stands.
func (y *body) kill(reason string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.killed == "" {
		y.killed = reason
	}
	if y.proc == nil || y.ended {
		return
	}
	if y.guest {
		y.group.kill()
	}
	syscall.Kill(y.proc.pid, syscall.SIGKILL)
}

func (y *body) reason() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.killed
}

// end ends the box and waits: when it returns, no process of it is left.
func (y *body) end() {
	y.mu.Lock()
	if y.ended || y.proc == nil {
		y.mu.Unlock()
		return
	}
	y.ended = true
	y.proc.end()
	unserve := y.unserve
	y.mu.Unlock()
	if unserve != nil {
		unserve()
	}
	y.serving.Wait()
}

// await reads what stage two says until the program runs; from there on a goroutine reads.
func (y *body) await(first *running, proxy sandbox.Proxy, ports []int) error {
	y.mu.Lock()
	y.programs[0] = first
	y.mu.Unlock()
	for {
		kind, text, fds, err := y.proc.receive()
		if err != nil && (y.reason() != "" || y.stoppedByOther()) { // whether the program had begun, nobody knows
			close(y.lost)
			return nil
		}
		if err != nil {
			first.discard()
			return fmt.Errorf("native: stage two ended before the program ran: %w", err)
		}
		switch kind {
		case stage2.MsgNet:
			if err := y.serve(proxy, ports, fds); err != nil {
				first.discard()
				return err
			}
		case stage2.MsgStarted:
			close(y.open)
			y.b.event("started", y.spec.Name, "%q", first.argv)
			y.serving.Add(1)
			go y.listen()
			return nil
		default:
			first.discard()
			return stageError(kind, text)
		}
	}
}

// stageError is a step that stage two could not do.
func stageError(kind byte, text []byte) error {
	if kind != stage2.MsgError {
		return fmt.Errorf("native: stage two: got message %q, want a start: zeno and its stage two differ, rebuild with make", kind)
	}
	n, step, err := stage2.Numbers(text, 1)
	if err != nil {
		return err
	}
	e := &sandbox.Unenforceable{Backend: "native", What: string(step), Why: syscall.Errno(n[0]).Error()}
	if errno := syscall.Errno(n[0]); errno == unix.EPERM || errno == unix.EACCES {
		e.Fix = namespaceFix()
	}
	return e
}

// notStarted is a program that could not be executed.
func notStarted(name string, text []byte) error {
	n, _, err := stage2.Numbers(text, 2)
	if err != nil {
		return err
	}
	return &os.PathError{Op: "sandbox: run in the box", Path: name, Err: syscall.Errno(n[1])}
}

// listen hears how programs end, until the box does.
func (y *body) listen() {
	defer y.serving.Done()
	defer close(y.lost)
	for {
		kind, text, fds, err := y.proc.receive()
		for _, fd := range fds {
			unix.Close(fd)
		}
		if err != nil {
			return
		}
		switch kind {
		case stage2.MsgExit:
			if e, err := stage2.DecodeExit(text); err == nil {
				y.finish(e.ID, outcome{exit: e})
			}
		case stage2.MsgFailed:
			if n, _, err := stage2.Numbers(text, 1); err == nil {
				y.finish(n[0], outcome{failed: text})
			}
		}
	}
}

// outcome is the end of a program: how it exited, or why it did not start.
type outcome struct {
	exit   *stage2.Exit
	failed []byte
}

func (y *body) finish(id uint64, o outcome) {
	y.mu.Lock()
	r := y.programs[id]
	delete(y.programs, id)
	y.mu.Unlock()
	if r != nil {
		r.done <- o
	}
}

// serve gives the box's listening sockets to the proxy. A proxy that ends ends the box: its network would be dead, or
// worse, unwatched.
func (y *body) serve(proxy sandbox.Proxy, ports []int, fds []int) error {
	l, err := listeners(ports, fds)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	y.unserve = cancel
	y.serving.Add(1)
	go func() {
		defer y.serving.Done()
		err := proxy.Serve(ctx, l)
		l.Close()
		if ctx.Err() == nil {
			y.b.event("egress", y.spec.Name, "the proxy ended: %v", err)
			y.kill(sandbox.KilledEgress)
		}
	}()
	return nil
}

func listeners(ports []int, fds []int) (sandbox.Listeners, error) {
	l := sandbox.Listeners{TCP: map[int]net.Listener{}}
	files := make([]*os.File, len(fds))
	for i, fd := range fds {
		files[i] = os.NewFile(uintptr(fd), "box socket")
		defer files[i].Close()
	}
	if len(fds) != len(ports)+1 {
		return l, fmt.Errorf("native: stage two: got %d sockets, want %d", len(fds), len(ports)+1)
	}
	var err error
	if l.DNS, err = net.FilePacketConn(files[0]); err != nil {
		return l, fmt.Errorf("failed to take the box's sockets: %w", err)
	}
	for i, p := range ports {
		if l.TCP[p], err = net.FileListener(files[i+1]); err != nil {
			delete(l.TCP, p)
			l.Close()
			return l, fmt.Errorf("failed to take the box's sockets: %w", err)
		}
	}
	return l, nil
}

// attend waits for the end of the first program, and then ends the box.
func (y *body) attend(first *running) (sandbox.Result, error) {
	var o outcome
	select {
	case o = <-first.done:
	case <-y.lost:
		select {
		case o = <-first.done:
		default:
		}
	}
	y.end()
	y.abandonOthers()
	y.lastCount()
	if o.failed != nil {
		first.discard()
		return sandbox.Result{}, notStarted(first.argv[0], o.failed)
	}
	res := first.result(o)
	res.Name = y.spec.Name
	oom := 0
	if y.group != nil {
		res.PeakRSS = max(res.PeakRSS, y.group.peak())
		if res.Exit != 0 {
			oom = y.group.oomKills()
		}
	}
	y.judge(&res, o, oom)
	y.b.event("exited", y.spec.Name, "exit %d after %.0f ms", res.Exit, res.Ms)
	return res, nil
}

// judge says what ended the program. A program that exited well exited well, whatever was asked meanwhile; but what it
// wrote beyond the bound stays written, and that is told.
func (y *body) judge(res *sandbox.Result, o outcome, oom int) {
	reason := y.reason()
	if o.exit == nil && reason == "" && y.stoppedByOther() {
		reason = sandbox.KilledStop
	}
	switch {
	case o.exit == nil && reason == "" && oom > 0, o.exit != nil && oom > 0 && res.Exit != 0 && reason == "":
		reason = sandbox.KilledOOM
	case o.exit != nil && o.exit.Status == 0 && reason != sandbox.KilledDisk:
		reason = ""
	}
	res.KilledBy = reason
	switch {
	case reason != "":
		res.Status = "killed"
		y.b.event("killed", y.spec.Name, "by %s", reason)
	case o.exit == nil:
		res.Status = "killed"
		res.KilledBy = "unknown" // someone on the host killed stage two
	case res.Exit == 0:
		res.Status = "ok"
	default:
		res.Status = "failed"
	}
}

// stoppedByOther says whether another process stopped the body.
func (y *body) stoppedByOther() bool {
	r, err := y.b.readRecord(y.id)
	return err == nil && r.Stopped
}

// abandonOthers ends what exec started and the end of the box ended.
func (y *body) abandonOthers() {
	y.mu.Lock()
	rest := y.programs
	y.programs = map[uint64]*running{}
	y.mu.Unlock()
	for _, r := range rest {
		r.done <- outcome{}
	}
}
