package native

import (
	"fmt"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
)

// enforceable refuses a spec that this host cannot hold. What can only be found by trying (namespaces, mounts) refuses
// when it is tried.
func (b *Backend) enforceable(s *sandbox.Spec) error {
	refuse := func(what, why, fix string) error {
		return &sandbox.Unenforceable{Backend: "native", What: what, Why: why, Fix: fix}
	}
	if b.host.rootErr != nil {
		return b.host.rootErr
	}
	switch {
	case s.Backend != "" && s.Backend != "native":
		return refuse(":backend :"+s.Backend, "this is the native backend", "")
	case s.Image != "" && s.Image != "host" && len(s.Root.Layers) == 0:
		return refuse(":image", fmt.Sprintf("%q is not loaded", s.Image), "load it with zeno image load, or leave :image out for a view of this host")
	case s.Egress.Default != sandbox.EgressNone && s.Proxy == nil:
		return refuse(":egress :"+s.Egress.Default, "there is no proxy for the box's network", "give the run a Proxy")
	case s.Runtime == "runsc":
	case b.host.landlock == 0:
		return refuse("that /proc and /sys take no write", "this kernel has no landlock",
			"boot with lsm=landlock,… (Linux 5.13 or later has it), or use :backend :msb")
	}
	if err := checkPassed(s); err != nil {
		return err
	}
	if s.Runtime == "runsc" {
		return b.refuseGuest(s)
	}
	if b.host.cgroups.usable() {
		return nil
	}
	if whole := s.CPUs == math.Trunc(s.CPUs); !whole && s.CPUs < float64(runtime.NumCPU()) {
		return refuse(fmt.Sprintf(":cpus %v", s.CPUs), "without a cgroup only whole processors can be given: "+b.host.cgroups.reason,
			"give a whole number, or give zeno a cgroup (systemd-run --user --scope -p Delegate=yes zeno …)")
	}
	return nil
}

// maxPassed is how many descriptors one message carries, less those of the config and the three streams.
const maxPassed = 253 - 4

// checkPassed refuses what needs more descriptors at once than a message of the kernel carries.
func checkPassed(s *sandbox.Spec) error {
	if n := len(s.Root.Layers) + len(s.Read) + len(s.Write) + 1; n > maxPassed {
		field := ":read"
		if len(s.Root.Layers) > len(s.Read) {
			field = ":image"
		}
		return &sandbox.FieldError{Field: field, Text: fmt.Sprintf("got %d layers and %d paths to show, want at most %d together: name directories instead of files, or an image of fewer layers",
			len(s.Root.Layers), len(s.Read), maxPassed-1-len(s.Write))}
	}
	if s.Proxy == nil {
		return nil
	}
	if n := len(ports(s.Proxy)); n > maxPassed {
		return &sandbox.FieldError{Field: ":egress :allow", Text: fmt.Sprintf("got rules for %d ports, want at most %d", n, maxPassed)}
	}
	return nil
}

// limitReport says how the bounds of a box are held here.
func (h *host) limitReport() []sandbox.Check {
	const delegate = "for exact limits give zeno a cgroup: run it as a systemd service with Delegate=yes, or as root"
	if h.cgroups.usable() {
		kind := "cgroup v1"
		if h.cgroups.v2 != "" {
			kind = "cgroup v2"
		}
		return []sandbox.Check{{What: "memory", OK: true, How: kind}, {What: "pids", OK: true, How: kind}, {What: "cpus", OK: true, How: kind}}
	}
	why := " (no cgroup can be written: " + h.cgroups.reason + ")"
	return []sandbox.Check{
		{What: "memory", OK: true, How: "RLIMIT_DATA for each process, and the sum is watched every 50 ms" + why, Fix: delegate},
		{What: "pids", OK: true, How: "RLIMIT_NPROC in the box's user namespace" + why, Fix: delegate},
		{What: "cpus", OK: true, How: "affinity, in whole processors" + why, Fix: delegate},
	}
}

// idReport says whose ids a box has.
func (h *host) idReport() sandbox.Check {
	switch {
	case h.rootErr != nil:
		c := sandbox.Check{What: "ids", How: h.rootErr.Error()}
		return c
	case h.root:
		return sandbox.Check{What: "ids", OK: true, How: fmt.Sprintf("each box has %d ids of its own from %d on", idWidth, idFirst)}
	}
	return sandbox.Check{What: "ids", OK: true, How: fmt.Sprintf("a box has one id, that of user %d", os.Geteuid())}
}

// landlockReport says how far landlock goes here.
func landlockReport(abi int) sandbox.Check {
	if abi == 0 {
		return sandbox.Check{What: "landlock", How: "this kernel has none", Fix: "boot with lsm=landlock,… on Linux 5.13 or later"}
	}
	c := sandbox.Check{What: "landlock", OK: true, How: fmt.Sprintf("ABI %d", abi)}
	if abi < 6 {
		c.How += "; signals and abstract sockets are kept in by the namespaces alone"
	}
	return c
}

// seccompReport tries whether a filter can be installed, without installing one.
func seccompReport() sandbox.Check {
	action := uint32(0x80000000)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, 2 /* SECCOMP_GET_ACTION_AVAIL */, 0, uintptr(pointerTo(&action)))
	if errno != 0 {
		return sandbox.Check{What: "seccomp", How: "asking the kernel for it: " + errno.Error(), Fix: "boot a kernel with CONFIG_SECCOMP_FILTER"}
	}
	return sandbox.Check{What: "seccomp", OK: true, How: "profiles default and strict"}
}
