package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// A box under gVisor is an OCI bundle that runsc runs: its program sees gVisor's kernel, not the host's. What bounds it from
// outside is as for other boxes: the cgroups, the clock, the count of the disk, the record by which the next zeno reaps it.
// What a bundle cannot express with the same force is refused (see refuseGuest), and every flag that matters is given, so
// that runsc's own defaults do not.

// guestThreads are added to :pids for gVisor's own threads and processes, which are counted with the program's.
const guestThreads = 128

const gvisorFix = "install runsc (gvisor.dev/docs/user_guide/install) where zeno finds it on PATH, leave :runtime out for the native one, or use :backend :msb for a kernel of the box's own"

// runsc gives the program, or why there is none.
func (b *Backend) runsc() (string, error) {
	path, err := exec.LookPath(or(b.cfg.Runsc, "runsc"))
	if err != nil {
		return "", &sandbox.Unenforceable{Backend: "native", What: ":runtime :runsc", Why: "runsc is not installed", Fix: gvisorFix}
	}
	return filepath.Abs(path)
}

// refuseGuest refuses what a box under gVisor would not be held to.
func (b *Backend) refuseGuest(s *sandbox.Spec) error {
	refuse := func(what, why, fix string) error {
		return &sandbox.Unenforceable{Backend: "native", What: what + " with :runtime :runsc", Why: why, Fix: fix}
	}
	switch {
	case !b.host.root:
		return refuse(":memory, :pids and :cpus", "without root runsc makes no cgroup, and nothing else bounds it", "run zeno as root, or leave :runtime out")
	case !b.host.cgroups.usable():
		return refuse(":memory, :pids and :cpus", "no cgroup can be written: "+b.host.cgroups.reason, "give zeno a cgroup (systemd: Delegate=yes), or leave :runtime out")
	case s.Egress.Default != sandbox.EgressNone || s.Proxy != nil:
		return refuse(":egress :"+s.Egress.Default, "gVisor's network does not end at zeno's proxy", "leave :egress out: such a box has no network; or leave :runtime out")
	case len(s.Write) > 0:
		return refuse(":work in a directory of the host", "gVisor writes there as root: set-user-id files could be made", "give the box a :volume, or leave :runtime out")
	case s.Seccomp == "strict":
		return refuse(":seccomp :strict", "the program's system calls are answered by gVisor, before any filter", "leave :seccomp out, or :runtime")
	}
	return nil
}

// guest is the bundle of a box, and runsc's own state beside it.
type guest struct {
	runsc, dir, id string
	layers         []stage2.Source
}

func (b *Backend) guestDir(id string) string { return filepath.Join(b.recordDir(), id+".bundle") }

func (g *guest) root() string   { return filepath.Join(g.dir, "rootfs") }
func (g *guest) log() string    { return filepath.Join(g.dir, "log") }
func (g *guest) upper() string  { return filepath.Join(g.dir, "upper") }
func (g *guest) bottom() string { return filepath.Join(g.dir, "work") }

// global are the flags before the command. The program gets no network, no socket of the host's, and no file outside of
// the bundle's mounts; what it may write to is bounded, so that no overlay is needed.
func (g *guest) global() []string {
	return []string{g.runsc, "--root=" + filepath.Join(g.dir, "state"), "--log=" + g.log(), "--log-format=json",
		"--network=none", "--platform=systrap", "--ignore-cgroups=true", "--overlay2=none", "--host-uds=none", "--host-fifo=none"}
}

func (g *guest) run() []string {
	return append(g.global(), "run", "--bundle="+g.dir, g.id)
}

// delete removes what runsc knows of the box.
func (g *guest) delete() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	args := append(g.global(), "delete", "--force", g.id)
	if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("failed to delete the box: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// mount makes the root of an image, in the mount namespace of this thread. What is written there, before the program
// starts and to make room for mounts, goes beside the layers.
func (g *guest) mount() error {
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
		return fmt.Errorf("failed to make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("failed to make mounts private: %w", err)
	}
	if len(g.layers) == 0 {
		return nil
	}
	var lower []string
	for i := len(g.layers) - 1; i >= 0; i-- {
		path := g.layers[i].Path
		if strings.ContainsAny(path, ":,\\") {
			return fmt.Errorf("layer: got the path %q, want one without : , and \\", path)
		}
		lower = append(lower, path)
	}
	data := "lowerdir=" + strings.Join(lower, ":") + ",upperdir=" + g.upper() + ",workdir=" + g.bottom()
	if err := unix.Mount("overlay", g.root(), "overlay", unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return &sandbox.Unenforceable{Backend: "native", What: ":image with :runtime :runsc", Why: "mounting its layers: " + err.Error(),
			Fix: "leave :runtime out"}
	}
	return nil
}

// started is a runsc that runs: its process, and how it will have ended.
type started struct {
	pid int
	err error
}

// start starts runsc in the box's cgroups. It is this thread's child and ends with it; the thread waits for it, so that
// the two end together, and a killed zeno takes it along.
func (g *guest) start(cg *group, std [3]*os.File) (pid int, ended <-chan struct{}, err error) {
	out, over := make(chan started, 1), make(chan struct{})
	go onThread(func() {
		defer close(over)
		pid, err := g.fork(cg, std)
		out <- started{pid, err}
		if err != nil {
			return
		}
		for { // the corpse stays, for who asks how it ended
			err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	s := <-out
	return s.pid, over, s.err
}

func (g *guest) fork(cg *group, std [3]*os.File) (int, error) {
	if err := g.mount(); err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "TMPDIR=" + g.dir},
		Files: []uintptr{std[0].Fd(), std[1].Fd(), std[2].Fd()}, Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}}
	if dir := cg.dirs[""]; dir != "" {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, fmt.Errorf("failed to open cgroup: %w", err)
		}
		defer unix.Close(fd)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
	} else if err := cg.enter(); err != nil {
		return 0, err
	}
	args := g.run()
	return syscall.ForkExec(args[0], args, attr)
}
