package stage2

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// request asks the template thread for a program, or for a signal to one.
type request struct {
	program *Program
	std     []int
	id      uint64
	signal  syscall.Signal
	done    chan struct{}
}

// template is the one thread that starts programs. It builds the box, gives up, for itself, everything that a program
// must not have, and forks from there: a child has what its thread has, so the first program and every later one are
// confined alike. That all of it happens on one thread also spares a short program the waiting for others.
func (b *box) template(cfg *Config, fds []int) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// Not this one: it stands for the process when a program asks whom it may signal or trace.
		go b.template(cfg, fds)
		select {}
	}
	if f := build(cfg, fds[3:]); f != nil {
		sendMessage(MsgError, append(PutNumbers(uint64(f.err)), f.step...))
		exit(1)
	}
	b.start(request{program: &cfg.Program, std: fds[:3]})
	go dropLater()
	go b.answer()
	for r := range b.spawn {
		if r.program != nil {
			b.start(r)
		} else {
			b.kill(r)
		}
		close(r.done)
	}
}

// confine strips this thread. The order matters: landlock and the bounding set need what the later steps take away, and
// after the filter no step of it would be allowed.
func confine(cfg *Config) *failure {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fail("no_new_privs", err)
	}
	if cfg.Landlock {
		if f := landlock(cfg.Writable); f != nil {
			return f
		}
	}
	if f := ownKeyring(); f != nil {
		return f
	}
	if len(cfg.Affinity) > 0 {
		_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, 0, uintptr(8*len(cfg.Affinity)), uintptr(unsafe.Pointer(&cfg.Affinity[0])))
		if errno != 0 {
			return &failure{"sched_setaffinity", errno}
		}
	}
	if f := dropBounding(); f != nil {
		return f
	}
	if cfg.Ranged && (cfg.UID != 0 || cfg.GID != 0) {
		if f := threadIDs(cfg.UID, cfg.GID); f != nil {
			return f
		}
	}
	if f := dropCaps(); f != nil {
		return f
	}
	return filter(cfg.Seccomp)
}

// threadIDs changes the ids of this thread alone.
func threadIDs(uid, gid int) *failure {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); errno != 0 {
		return &failure{"setresgid", errno}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
		return &failure{"setresuid", errno}
	}
	return nil
}

// ownKeyring leaves the session keyring of the host's user. A kernel without keyrings has none to leave.
func ownKeyring() *failure {
	_, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	if errno != 0 && errno != unix.ENOSYS {
		return &failure{"keyctl: join a new session keyring", errno}
	}
	return nil
}

func dropBounding() *failure {
	for c := uintptr(0); c < 64; c++ {
		if _, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); errno == unix.EINVAL {
			return nil // past the last one that this kernel knows
		} else if errno != 0 {
			return &failure{"drop bounding capability", errno}
		}
	}
	return nil
}

var noCaps [2]unix.CapUserData

// dropCaps empties the capability sets of this thread.
func dropCaps() *failure {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if _, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0); errno != 0 {
		return &failure{"clear ambient capabilities", errno}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&h)), uintptr(unsafe.Pointer(&noCaps)), 0); errno != 0 {
		return &failure{"capset", errno}
	}
	return nil
}

// dropAll empties the capability sets of every thread of stage two: from here on it only starts, waits and reports.
func dropAll() *failure {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&h)), uintptr(unsafe.Pointer(&noCaps)), 0)
	if errno != 0 && errno != unix.ENOTSUP { // a zeno with cgo that re-executed itself cannot, and keeps rights that none can reach
		return &failure{"capset", errno}
	}
	return nil
}

func filter(prog []byte) *failure {
	if len(prog) == 0 || len(prog)%8 != 0 {
		return &failure{"seccomp: no filter", unix.EINVAL}
	}
	f := unix.SockFprog{Len: uint16(len(prog) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&prog[0]))}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&f)))
	if errno != 0 {
		return &failure{"seccomp", errno}
	}
	return nil
}
