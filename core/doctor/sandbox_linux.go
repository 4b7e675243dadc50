package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sandboxes tries what boxes are made of.
func sandboxes() []attempt {
	return []attempt{
		{"sandbox", "userns", false, userns},
		{"sandbox", "cgroups", false, cgroups},
		{"sandbox", "landlock", false, landlock},
		{"sandbox", "seccomp", false, seccomp},
		{"sandbox", "kvm", false, func(_ context.Context, c *Check) { kvmSystem{"/dev/kvm", "/sys/module"}.check(c) }},
	}
}

// userns makes the namespaces of a box and mounts something inside: some systems let the first succeed and refuse the
// second.
func userns(ctx context.Context, c *Check) {
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "mount -t tmpfs zeno-doctor /tmp && echo x >/tmp/x")
	cmd.Stderr = &limited{b: &errs}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   unix.SIGKILL,
	}
	err := cmd.Run()
	if err == nil {
		c.ok("made, with a mount inside")
		return
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		c.bad(Failed, usernsFix(true), "made, but nothing can be mounted inside: %s", firstLine(errs.String()))
		return
	}
	c.bad(Failed, usernsFix(false), "not made: %v", err)
}

// usernsFix looks for the switch that forbids it, now that it is known that something does.
func usernsFix(made bool) string {
	is := func(file, value string) bool {
		b, err := os.ReadFile(file)
		return err == nil && strings.TrimSpace(string(b)) == value
	}
	switch {
	case is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
		return "AppArmor forbids it: give the zeno binary a profile with `userns,`, or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
	case is("/proc/sys/kernel/unprivileged_userns_clone", "0"):
		return "`sysctl -w kernel.unprivileged_userns_clone=1`"
	case is("/proc/sys/user/max_user_namespaces", "0"):
		return "`sysctl -w user.max_user_namespaces=10000`"
	case made:
		return "in a container: run it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or with --privileged"
	}
	return "in a container: run it with --security-opt seccomp=unconfined, or with --privileged; on a machine: a kernel with CONFIG_USER_NS"
}

// cgroups makes and removes a group in each hierarchy.
func cgroups(_ context.Context, c *Check) {
	var can, cannot []string
	for name, dir := range hierarchies() {
		group := filepath.Join(dir, fmt.Sprintf("zeno-doctor-%d", os.Getpid()))
		if err := os.Mkdir(group, 0o755); err != nil {
			cannot = append(cannot, fmt.Sprintf("%s (%v)", name, errors.Unwrap(err)))
			continue
		}
		_ = os.Remove(group)
		can = append(can, name)
	}
	switch {
	case len(can) > 0 && len(cannot) == 0:
		c.ok("groups made in %s", list(can))
	case len(can) > 0:
		c.bad(Warn, cgroupFix, "groups made in %s, not in %s", list(can), list(cannot))
	case len(cannot) > 0:
		c.bad(Failed, cgroupFix, "no group can be made: %s; limits of a box fall back to rlimits", list(cannot))
	default:
		c.bad(Missing, "mount -t cgroup2 none /sys/fs/cgroup", "no hierarchy is mounted")
	}
}

const cgroupFix = "run zeno under a unit with Delegate=yes (`systemd-run --user --scope -p Delegate=yes zeno …`); in a container: --cgroupns=private and a writable /sys/fs/cgroup"

// hierarchies gives where this process's groups are, by the name of the hierarchy.
func hierarchies() map[string]string {
	out := map[string]string{}
	own, _ := os.ReadFile("/proc/self/cgroup")
	paths := map[string]string{} // controller -> path
	for line := range strings.Lines(string(own)) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			for _, name := range strings.Split(f[1], ",") {
				paths[name] = f[2]
			}
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		at := func(controller string) string {
			dir := filepath.Join(f[4], paths[controller])
			if _, err := os.Stat(dir); err != nil {
				return f[4] // a namespace of its own shows the group as the top
			}
			return dir
		}
		switch g[0] {
		case "cgroup2":
			out["v2"] = at("")
		case "cgroup":
			for _, name := range strings.Split(g[2], ",") {
				if name == "memory" || name == "pids" || name == "cpu" {
					out["v1 "+name] = at(name)
				}
			}
		}
	}
	return out
}

// landlock asks for the version by making a rule set's call.
func landlock(_ context.Context, c *Check) {
	const askVersion = 1
	v, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, askVersion)
	if e != 0 {
		c.bad(Missing, "a kernel from 5.13 on with landlock in its lsm= list; in a container the seccomp profile may hide it", "%v", e)
		return
	}
	rules := make([]byte, 8)
	rules[0] = 1 // execute
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules[0])), uintptr(len(rules)), 0)
	if e != 0 {
		c.bad(Failed, "", "version %d, but no rule set can be made: %v", v, e)
		return
	}
	_ = unix.Close(int(fd))
	c.ok("version %d", v)
}

// seccomp asks for the actions that filters use.
func seccomp(_ context.Context, c *Check) {
	const actionAvail = 2
	for name, action := range map[string]uint32{"errno": 0x00050000, "kill": 0x80000000} {
		if _, _, e := unix.Syscall(unix.SYS_SECCOMP, actionAvail, 0, uintptr(unsafe.Pointer(&action))); e != 0 {
			c.bad(Missing, "a kernel with CONFIG_SECCOMP_FILTER", "the action %s: %v", name, e)
			return
		}
	}
	c.ok("filters can be installed")
}

// synchronised tells whether something keeps the clock right.
func synchronised() bool {
	state, err := unix.Adjtimex(&unix.Timex{})
	return err == nil && state != unix.TIME_ERROR
}

// ownGroup makes the program's children end with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
}
