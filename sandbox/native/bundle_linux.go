package native

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// write makes the bundle: what the box has of its own in a root, and config.json.
func (g *guest) write(c *stage2.Config, s *sandbox.Spec, volume string) error {
	own := g.root()
	if g.layers = c.Layers; len(c.Layers) > 0 {
		own = g.upper()
	}
	for _, d := range []string{g.root(), own, g.bottom()} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("failed to make the bundle: %w", err)
		}
	}
	if err := fill(own, c); err != nil {
		return fmt.Errorf("failed to make the bundle: %w", err)
	}
	text, err := json.MarshalIndent(bundleSpec(c, s, volume), "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(g.dir, "config.json"), text, 0o600)
}

// fill writes links, directories and files. It stays in root whatever they are called.
func fill(root string, c *stage2.Config) error {
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	in := func(name string) string { return strings.TrimPrefix(filepath.Clean(name), "/") }
	for _, l := range c.Symlinks {
		if err := r.MkdirAll(filepath.Dir(in(l.Name)), 0o755); err != nil {
			return err
		}
		if err := r.Symlink(l.Target, in(l.Name)); err != nil {
			return err
		}
	}
	for _, d := range c.Dirs {
		if err := r.MkdirAll(in(d.Name), 0o755); err != nil {
			return err
		}
		if err := r.Chmod(in(d.Name), os.FileMode(d.Mode&0o777)); err != nil {
			return err
		}
	}
	for _, f := range c.Files {
		if err := r.MkdirAll(filepath.Dir(in(f.Name)), 0o755); err != nil {
			return err
		}
		if err := r.WriteFile(in(f.Name), f.Content, os.FileMode(f.Mode&0o777)); err != nil {
			return err
		}
	}
	return nil
}

// bundleSpec says in OCI's words what the box is. Its root is read-only; what may be written to is memory of the size that
// :disk says, and the volume.
func bundleSpec(c *stage2.Config, s *sandbox.Spec, volume string) *specs.Spec {
	none := []string{}
	return &specs.Spec{
		Version:  "1.0.2",
		Hostname: c.Hostname,
		Root:     &specs.Root{Path: "rootfs", Readonly: true},
		Process: &specs.Process{
			User: specs.User{UID: uint32(c.UID), GID: uint32(c.GID)}, Args: c.Program.Argv, Env: c.Program.Env, Cwd: c.Program.Dir,
			NoNewPrivileges: true, Rlimits: bundleRlimits(c.Rlimits),
			Capabilities: &specs.LinuxCapabilities{Bounding: none, Effective: none, Permitted: none, Inheritable: none, Ambient: none},
		},
		Mounts: bundleMounts(c, s, volume),
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.MountNamespace}, {Type: specs.NetworkNamespace}},
			MaskedPaths:   []string{"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi"},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
}

func bundleMounts(c *stage2.Config, s *sandbox.Spec, volume string) []specs.Mount {
	memory := func(dst, mode string, more ...string) specs.Mount {
		size := fmt.Sprintf("size=%d", min(s.Disk, s.Memory))
		return specs.Mount{Destination: dst, Type: "tmpfs", Source: "tmpfs", Options: append([]string{"nosuid", "nodev", "mode=" + mode, size}, more...)}
	}
	own := fmt.Sprintf("uid=%d,gid=%d", c.UID, c.GID)
	out := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "nodev", "noexec"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "noexec", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		memory("/dev/shm", "1777"), memory("/tmp", "1777"), memory("/var/tmp", "1777"), memory("/run", "755"),
	}
	for _, b := range c.Binds {
		if _, err := os.Stat(b.Path); err != nil && b.Optional {
			continue
		}
		out = append(out, bindMount(b.Path, b.Dst, b.Write))
	}
	if volume != "" {
		return append(out, bindMount(volume, c.Workdir, true))
	}
	return append(out, memory(c.Workdir, "755", strings.Split(own, ",")...))
}

func bindMount(from, to string, write bool) specs.Mount {
	mode := "ro"
	if write {
		mode = "rw"
	}
	return specs.Mount{Destination: to, Type: "bind", Source: from, Options: []string{"rbind", mode, "nosuid", "nodev"}}
}

// rlimitNames are those that a box has.
var rlimitNames = map[int]string{unix.RLIMIT_CORE: "RLIMIT_CORE", unix.RLIMIT_FSIZE: "RLIMIT_FSIZE", unix.RLIMIT_NOFILE: "RLIMIT_NOFILE",
	unix.RLIMIT_MEMLOCK: "RLIMIT_MEMLOCK", unix.RLIMIT_MSGQUEUE: "RLIMIT_MSGQUEUE", unix.RLIMIT_SIGPENDING: "RLIMIT_SIGPENDING",
	unix.RLIMIT_RTPRIO: "RLIMIT_RTPRIO", unix.RLIMIT_NICE: "RLIMIT_NICE"}

func bundleRlimits(in []stage2.Rlimit) (out []specs.POSIXRlimit) {
	for _, r := range in {
		if name := rlimitNames[r.Resource]; name != "" {
			out = append(out, specs.POSIXRlimit{Type: name, Soft: r.Soft, Hard: r.Hard})
		}
	}
	slices.SortFunc(out, func(a, b specs.POSIXRlimit) int { return strings.Compare(a.Type, b.Type) })
	return out
}
