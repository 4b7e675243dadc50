package native

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// namespaces are those of a box.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWCGROUP

// setupCaps are the capabilities, over the box's own namespaces, that stage two builds the box with. It is not yet id 0
// there when it is executed, so that it has to be given them as ambient ones.
var setupCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETUID, unix.CAP_SETGID,
	unix.CAP_SETPCAP, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_SYS_RESOURCE}

// stageEnv keeps the Go runtime of stage two small, and from reading the machine's mounts for a cgroup.
var stageEnv = []string{"GOMAXPROCS=1", "GODEBUG=containermaxprocs=0,updatemaxprocs=0"}

// process is the first process of a box, seen from the host.
type process struct {
	pid    int
	start  uint64
	ctl    *os.File // the control socket, in non-blocking mode; nil of a runsc
	ended  bool     // and reaped, with status and usage
	status syscall.WaitStatus
	usage  syscall.Rusage
}

// fork starts stage two in new namespaces. The child shares this process's memory until it executes, as vfork's does:
// copying the page tables of a large zeno would take longer than all the rest. That is why the ids are mapped after.
func fork(p *program, g *group, base int, dumpable uintptr) (*process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("failed to make the control socket: %w", err)
	}
	defer unix.Close(pair[1])
	// The flag belongs to the end, not to the pair: stage two waits, zeno does not.
	if err := unix.SetNonblock(pair[1], false); err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	ctl := os.NewFile(uintptr(pair[0]), "box control")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ctl.Close()
		return nil, err
	}
	defer null.Close()
	n := null.Fd()
	attr := &syscall.ProcAttr{Dir: "/", Env: stageEnv, Files: []uintptr{n, n, n, uintptr(pair[1])},
		Sys: &syscall.SysProcAttr{Cloneflags: namespaces | unix.CLONE_VM | unix.CLONE_VFORK, Setsid: true, AmbientCaps: setupCaps}}
	pid, err := forkApart(p, attr, g, base, dumpable)
	if err != nil {
		ctl.Close()
		return nil, cloneError(err)
	}
	return &process{pid: pid, start: startOf(pid), ctl: ctl}, nil
}

// forkApart forks from a thread that has the cgroups of the box and, as root, the ids of the box: its child is born with
// them. The thread is of no other use after, so it ends.
func forkApart(p *program, attr *syscall.ProcAttr, g *group, base int, dumpable uintptr) (pid int, err error) {
	if g != nil && g.dirs[""] != "" {
		fd, err := unix.Open(g.dirs[""], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, fmt.Errorf("failed to open cgroup: %w", err)
		}
		defer unix.Close(fd)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
		g = nil
	}
	if g == nil && base == 0 {
		return syscall.ForkExec(p.path, p.argv, attr)
	}
	onThread(func() {
		if g != nil {
			err = g.enter()
		}
		if err == nil && base > 0 {
			err = takeIDs(base)
		}
		if err == nil {
			pid, err = syscall.ForkExec(p.path, p.argv, attr)
		}
	})
	unix.Prctl(unix.PR_SET_DUMPABLE, dumpable, 0, 0, 0) // a change of ids clears it for all threads
	return pid, err
}

// onThread runs f on a thread that ends with it. That must not be the first thread of the process: Go keeps it for ever,
// and it would be in the box's cgroup for ever.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			onThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// takeIDs gives this thread the first id of a range, as user and group, and no other group. It has no right on the host then.
func takeIDs(base int) error {
	id := uintptr(base)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return fmt.Errorf("failed to leave the groups of root: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id); errno != 0 {
		return fmt.Errorf("failed to take group %d: %w", base, errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); errno != 0 {
		return fmt.Errorf("failed to take id %d: %w", base, errno)
	}
	return nil
}

// cloneError says what stands in the way of new namespaces and how to take it away.
func cloneError(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	fix := ""
	switch errno {
	case unix.EPERM, unix.EACCES:
		fix = namespaceFix()
	case unix.ENOSPC, unix.EUSERS:
		fix = "raise user.max_user_namespaces and the other user.max_*_namespaces with sysctl, or end other boxes"
	case unix.EAGAIN, unix.ENOMEM:
		fix = "the machine or this user has too many processes, or too little memory"
	}
	return &sandbox.Unenforceable{Backend: "native", What: "namespaces", Why: "clone: " + errno.Error(), Fix: fix}
}

// namespaceFix looks for the setting that forbids user namespaces.
func namespaceFix() string {
	read := func(name string) string {
		b, _ := os.ReadFile(name)
		return string(b)
	}
	switch {
	case read("/proc/sys/kernel/unprivileged_userns_clone") == "0\n":
		return "run: sysctl -w kernel.unprivileged_userns_clone=1 (Debian)"
	case read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1\n":
		return "AppArmor forbids it (Ubuntu): install a profile for zeno with `userns,`, or run: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	case read("/proc/sys/user/max_user_namespaces") == "0\n":
		return "run: sysctl -w user.max_user_namespaces=15000"
	}
	return "in a container, start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or use :backend :msb"
}

// mapIDs gives the box its ids: a range that starts at base, or only the caller's as uid.
func (p *process) mapIDs(base, uid int) error {
	write := func(file, text string) error {
		if err := writeFile("/proc/"+strconv.Itoa(p.pid)+"/"+file, text); err != nil {
			return &sandbox.Unenforceable{Backend: "native", What: "ids of the box's own", Why: "writing " + file + ": " + err.Error(), Fix: namespaceFix()}
		}
		return nil
	}
	if base > 0 {
		text := fmt.Sprintf("0 %d %d", base, idWidth)
		if err := write("uid_map", text); err != nil {
			return err
		}
		return write("gid_map", text)
	}
	if err := write("setgroups", "deny"); err != nil {
		return err
	}
	if err := write("uid_map", fmt.Sprintf("%d %d 1", uid, os.Geteuid())); err != nil {
		return err
	}
	return write("gid_map", fmt.Sprintf("%d %d 1", uid, os.Getegid()))
}

// mapped opens a source as a mount on which the box's ids stand for those on disk: what the box's root writes belongs to id 0
// of a directory that no user of the host can enter, not to the range, which is another at the next run.
func (p *process) mapped(from stage2.Source, write bool) (int, error) {
	path := from.Path
	user, err := unix.Open("/proc/"+strconv.Itoa(p.pid)+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("failed to open the box's user namespace: %w", err)
	}
	defer unix.Close(user)
	fd, err := from.Tree(0)
	if err != nil {
		return -1, fmt.Errorf("failed to open %s: %w", path, err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Userns_fd: uint64(user)}
	if !write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		unix.Close(fd)
		return -1, &sandbox.Unenforceable{Backend: "native", What: "ids of the box's own on " + path, Why: "mount_setattr: " + err.Error(),
			Fix: "keep the state directory on a file system that maps ids (ext4, xfs, btrfs; Linux 5.12 or later), or run zeno as an ordinary user"}
	}
	return fd, nil
}

// send writes one message. Messages are small and few: the socket's buffer takes them.
func (p *process) send(kind byte, body []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	raw, err := p.ctl.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Write(func(fd uintptr) bool {
		_, sent = unix.SendmsgN(int(fd), append([]byte{kind}, body...), oob, nil, unix.MSG_NOSIGNAL)
		return sent != unix.EAGAIN
	})
	return errors.Join(err, sent)
}

// receive waits for a message. An error means that the box has ended.
func (p *process) receive() (kind byte, body []byte, fds []int, err error) {
	raw, err := p.ctl.SyscallConn()
	if err != nil {
		return 0, nil, nil, err
	}
	buf, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(253*4))
	n, oobn := 0, 0
	var got error
	err = raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, got = unix.Recvmsg(int(fd), buf, oob, unix.MSG_CMSG_CLOEXEC)
		if got == unix.ECONNRESET { // it ended with something unread; what it said before that comes after the error
			n, oobn, _, _, got = unix.Recvmsg(int(fd), buf, oob, unix.MSG_CMSG_CLOEXEC)
		}
		return got != unix.EAGAIN
	})
	if err = errors.Join(err, got); err != nil {
		return 0, nil, nil, err
	}
	if n == 0 {
		return 0, nil, nil, errors.New("the control socket was closed")
	}
	if oobn > 0 {
		cmsgs, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return 0, nil, nil, err
		}
		for i := range cmsgs {
			more, _ := unix.ParseUnixRights(&cmsgs[i])
			fds = append(fds, more...)
		}
	}
	return buf[0], buf[1:n], fds, nil
}

// sendText sends a text of any length, as a memory file before the other descriptors.
func (p *process) sendText(kind byte, text []byte, fds ...int) error {
	mem, err := unix.MemfdCreate("zeno-message", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(mem)
	for b := text; len(b) > 0; {
		n, err := unix.Write(mem, b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return p.send(kind, nil, append([]int{mem}, fds...)...)
}

// configure sends the config, with the streams of the first program and the mounts that only the host can make.
func (p *process) configure(c *stage2.Config, std [3]*os.File, mounts []int) error {
	fds := []int{int(std[0].Fd()), int(std[1].Fd()), int(std[2].Fd())}
	if err := p.sendText(stage2.MsgConfig, c.Encode(), append(fds, mounts...)...); err != nil {
		return fmt.Errorf("failed to configure the box: %w", err)
	}
	return nil
}

// end kills the box and waits until the kernel has ended everything in it. Called again it does nothing.
func (p *process) end() {
	if p.ended {
		return
	}
	p.ended = true
	syscall.Kill(p.pid, syscall.SIGKILL) // not reaped yet: the number is still its own
	for {
		if _, err := syscall.Wait4(p.pid, &p.status, 0, &p.usage); err != syscall.EINTR {
			break
		}
	}
	if p.ctl != nil {
		p.ctl.Close()
	}
}
