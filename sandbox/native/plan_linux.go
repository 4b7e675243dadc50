package native

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// hostDirs are what a box without an image sees of the host. A link is copied as a link.
var hostDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"}

// hostEtc are the files of the host's /etc that programs need to start. Others (accounts, keys, configuration of
// services) are not shown.
var hostEtc = []string{"/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs",
	"/etc/pki/ca-trust", "/etc/localtime", "/etc/protocols", "/etc/services", "/etc/mime.types", "/etc/java-*-openjdk"}

// view is what a box without an image sees, as far as this host has it: found once.
type view struct {
	links []stage2.Pair
	binds []stage2.Bind
}

func findView() *view {
	v := &view{}
	for _, d := range hostDirs {
		if target, err := os.Readlink(d); err == nil {
			v.links = append(v.links, stage2.Pair{Name: d, Target: target})
		} else if _, err := os.Stat(d); err == nil {
			v.binds = append(v.binds, bind(d))
		}
	}
	for _, pattern := range hostEtc {
		found, _ := filepath.Glob(pattern)
		for _, f := range found {
			v.binds = append(v.binds, bind(f))
		}
	}
	return v
}

// bundles are where certificates are on the usual systems.
var bundles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"}

// maxInodes bounds the files outside of the volume: each costs kernel memory.
const maxInodes = 200000

// plan makes of a spec what stage two is told. Mounts that only the host can make are added by the launcher.
func (b *Backend) plan(s *sandbox.Spec) (*stage2.Config, error) {
	read, write, err := b.real(s)
	if err != nil {
		return nil, err
	}
	if err := checkRead(s.Read, read); err != nil {
		return nil, err
	}
	if err := b.give(write); err != nil {
		return nil, err
	}
	filter, err := b.host.filter(s.Seccomp, !b.host.cgroups.usable(), len(s.Write) > 0)
	if err != nil {
		return nil, err
	}
	c := &stage2.Config{
		Hostname:   or(s.Name, "box"),
		Ranged:     b.host.root,
		UID:        s.User,
		GID:        s.User,
		RootBytes:  uint64(min(s.Disk, s.Memory)), // it is memory: more could not be used
		RootInodes: uint64(min(maxInodes, max(4096, s.Disk/4096))),
		Workdir:    s.Workdir,
		Landlock:   b.host.landlock > 0,
		Seccomp:    filter,
	}
	addRoot(c, s, b.host.view)
	for i, p := range s.Read {
		c.Binds = append(c.Binds, stage2.Bind{Source: stage2.Source{Path: read[i], FD: -1, NoLinks: true}, Dst: p})
	}
	for i, p := range s.Write {
		c.Binds = append(c.Binds, stage2.Bind{Source: stage2.Source{Path: write[i], FD: -1, NoLinks: true}, Dst: p, Write: true})
	}
	addOwnFiles(c, s)
	c.Rlimits, c.Affinity = b.rlimits(s)
	c.Program = stage2.Program{Argv: s.Argv, Env: environment(s), Dir: or(s.Dir, s.Workdir)}
	return c, nil
}

// addRoot adds what the root is made of. Layers are sources; descriptors are given later, see launch.
func addRoot(c *stage2.Config, s *sandbox.Spec, v *view) {
	for _, l := range s.Root.Layers {
		c.Layers = append(c.Layers, stage2.Source{Path: l, FD: -1})
	}
	if len(s.Root.Layers) == 0 {
		c.Symlinks = append(c.Symlinks, v.links...)
		c.Binds = append(c.Binds, v.binds...)
	}
}

func bind(path string) stage2.Bind {
	return stage2.Bind{Source: stage2.Source{Path: path, FD: -1}, Dst: path, Optional: true}
}

// addOwnFiles adds what the box has of its own.
func addOwnFiles(c *stage2.Config, s *sandbox.Spec) {
	c.Dirs = []stage2.Dir{{Name: "/tmp", Mode: 0o1777}, {Name: "/var/tmp", Mode: 0o1777}, {Name: "/run", Mode: 0o755},
		{Name: s.Workdir, Mode: 0o755, Owned: true}}
	c.Writable = append([]string{"/tmp", "/var/tmp", "/run", "/dev", s.Workdir}, s.Write...)
	file := func(name, text string) {
		c.Files = append(c.Files, stage2.File{Name: name, Mode: 0o644, Content: []byte(text)})
	}
	host := len(s.Root.Layers) == 0
	if host {
		passwd, group := accounts(s)
		file("/etc/passwd", passwd)
		file("/etc/group", group)
		file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
	} else {
		c.Writable = append(c.Writable, "/bin", "/etc", "/home", "/lib", "/opt", "/root", "/sbin", "/srv", "/usr", "/var")
	}
	name := or(s.Name, "box")
	file("/etc/hostname", name+"\n")
	file("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 "+name+"\n")
	if s.Proxy == nil {
		file("/etc/resolv.conf", "# no network\n")
		return
	}
	file("/etc/resolv.conf", "nameserver "+sandbox.DNSAddr+"\noptions timeout:2 attempts:2 single-request\n")
	file(sandbox.CAPath, string(s.Proxy.CA()))
	c.Net = stage2.Net{Listen: true, Ports: ports(s.Proxy), Bundles: bundles, BundleAt: sandbox.BundlePath, Extra: s.Proxy.CA()}
}

// ports are those to listen on, each once.
func ports(p sandbox.Proxy) []int {
	out := []int{443, 80}
	for _, port := range p.Ports() {
		seen := false
		for _, o := range out {
			seen = seen || o == port
		}
		if !seen {
			out = append(out, port)
		}
	}
	return out
}

func accounts(s *sandbox.Spec) (passwd, group string) {
	passwd, group = "root:x:0:0:root:/root:/bin/sh\n", "root:x:0:\n"
	if s.User == 0 {
		passwd = "root:x:0:0:root:" + s.Workdir + ":/bin/sh\n"
	} else {
		passwd += fmt.Sprintf("agent:x:%d:%d::%s:/bin/sh\n", s.User, s.User, s.Workdir)
		group += fmt.Sprintf("agent:x:%d:\n", s.User)
	}
	return passwd + "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", group + "tty:x:5:\nnogroup:x:65534:\n"
}

// environment is the image's, ours, the spec's and the proxy's, the later over the earlier. Nothing of zeno's own
// environment is in it.
func environment(s *sandbox.Spec) []string {
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": s.Workdir,
		"TMPDIR": "/tmp", "LANG": "C.UTF-8", "USER": "root"}
	if s.User != 0 {
		env["USER"] = "agent"
	}
	layers := []map[string]string{s.Root.Env, s.Env}
	if s.Proxy != nil {
		layers = append(layers, s.Proxy.Env())
	}
	for _, l := range layers {
		for k, v := range l {
			env[k] = v
		}
	}
	env["PATH"] = strings.Join(append([]string{env["PATH"]}, s.Path...), ":")
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}

// threads is how many stage two has at most; they count where processes are counted.
const threads = 12

// rlimits are the bounds that hold without cgroups too, and those that stand in for them.
func (b *Backend) rlimits(s *sandbox.Spec) ([]stage2.Rlimit, []uint64) {
	out := []stage2.Rlimit{
		capped(unix.RLIMIT_CORE, 1), // not 0: that lets the kernel call the host's handler of core dumps
		capped(unix.RLIMIT_FSIZE, uint64(s.Disk)),
		capped(unix.RLIMIT_NOFILE, 65536),
		capped(unix.RLIMIT_MEMLOCK, 8<<20),
		capped(unix.RLIMIT_MSGQUEUE, 1<<20),
		capped(unix.RLIMIT_SIGPENDING, 4096),
		capped(unix.RLIMIT_RTPRIO, 0),
		capped(unix.RLIMIT_NICE, 0),
	}
	if b.host.cgroups.usable() {
		return out, nil
	}
	out = append(out, capped(unix.RLIMIT_NPROC, uint64(s.Pids+threads)), capped(unix.RLIMIT_DATA, uint64(s.Memory)))
	return out, affinity(int(math.Ceil(s.CPUs)))
}

// capped is a limit no higher than this process's own: a hard limit cannot be raised.
func capped(resource int, most uint64) stage2.Rlimit {
	var own unix.Rlimit
	if err := unix.Prlimit(0, resource, nil, &own); err == nil && own.Max < most {
		most = own.Max
	}
	return stage2.Rlimit{Resource: resource, Soft: most, Hard: most}
}

// affinity is a mask of n of the processors that this process may use; nil where it may use no more.
func affinity(n int) []uint64 {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil || own.Count() <= n {
		return nil
	}
	mask := make([]uint64, len(own))
	first := rand.IntN(own.Count()) // boxes spread over the processors
	for i, seen := 0, 0; n > 0; i++ {
		cpu := i % (len(mask) * 64)
		if !own.IsSet(cpu) {
			continue
		}
		if seen++; seen > first {
			mask[cpu/64] |= 1 << (cpu % 64)
			n--
		}
	}
	return mask
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
