package stage2

import (
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// table knows which process is which program's.
type table struct {
	mu   sync.Mutex
	pids map[int]uint64
}

// start runs on the template thread. The lock is held over the fork, so that the reaper cannot see a process before the
// table has it.
func (b *box) start(r request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := r.program
	sendMessage(MsgStarted, PutNumbers(p.ID)) // before: whoever hears from the program may count on it that zeno did
	pid, err := forkExec(p, r.std)
	for _, fd := range r.std {
		unix.Close(fd)
	}
	if err != nil {
		sendMessage(MsgFailed, append(PutNumbers(p.ID, uint64(fail("", err).err)), p.Argv[0]...))
		return
	}
	b.pids[pid] = p.ID
	select {
	case b.some <- struct{}{}:
	default:
	}
}

// forkExec finds argv[0] in the program's PATH, as execvp does: the first that can be run, else the reason of the last
// that was there.
func forkExec(p *Program, std []int) (int, error) {
	attr := &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: []uintptr{uintptr(std[0]), uintptr(std[1]), uintptr(std[2])},
		Sys: &syscall.SysProcAttr{Setsid: true}}
	name := p.Argv[0]
	if strings.Contains(name, "/") {
		return syscall.ForkExec(name, p.Argv, attr)
	}
	last := error(unix.ENOENT)
	for dir := range strings.SplitSeq(path(p.Env), ":") {
		if dir == "" {
			dir = "."
		}
		full := dir + "/" + name
		var st unix.Stat_t
		if err := unix.Stat(full, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
			continue
		}
		pid, err := syscall.ForkExec(full, p.Argv, attr)
		if err == nil {
			return pid, nil
		}
		last = err
	}
	return 0, last
}

func path(env []string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], "PATH="); ok {
			return v
		}
	}
	return "/usr/local/bin:/usr/bin:/bin"
}

// reap waits for processes until the first program has ended; with it the kernel ends everything else in the box.
func (b *box) reap() {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, 0, &usage)
		if err == syscall.EINTR {
			continue
		}
		if err != nil { // no child: the first program could not be started, or others may still be asked for
			<-b.some
			continue
		}
		b.mu.Lock()
		id, ours := b.pids[pid]
		delete(b.pids, pid)
		b.mu.Unlock()
		if !ours {
			continue // an orphan
		}
		e := Exit{ID: id, Status: int(status), MaxRSS: uint64(usage.Maxrss) << 10,
			CPU: uint64(usage.Utime.Nano()+usage.Stime.Nano()) / 1000}
		sendMessage(MsgExit, e.Encode())
		if id == 0 {
			exit(0)
		}
	}
}

// answer serves the host's requests; the end of the host is the end of the box.
func (b *box) answer() {
	for {
		kind, body, fds := receive()
		switch kind {
		case MsgProgram:
			b.another(fds)
		case MsgSignal:
			b.signal(body)
		default:
			exit(1)
		}
	}
}

func (b *box) another(fds []int) {
	if len(fds) != 4 {
		exit(1)
	}
	text, errno := readAll(fds[0])
	p, err := DecodeProgram(text)
	if errno != 0 || err != nil || len(p.Argv) == 0 {
		exit(1)
	}
	done := make(chan struct{})
	b.spawn <- request{program: p, std: fds[1:], done: done}
	<-done
}

// signal asks the template thread to signal the session that a program leads: that thread alone has the program's ids.
func (b *box) signal(body []byte) {
	n, _, err := Numbers(body, 2)
	if err != nil {
		exit(1)
	}
	done := make(chan struct{})
	b.spawn <- request{id: n[0], signal: syscall.Signal(n[1]), done: done}
	<-done
}

func (b *box) kill(r request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for pid, id := range b.pids {
		if id == r.id {
			syscall.Kill(-pid, r.signal)
		}
	}
}
