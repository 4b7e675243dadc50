package seccomp

import (
	"encoding/binary"
	"testing"
)

// run interprets a program as the kernel does.
func run(t *testing.T, prog []byte, arch, nr uint32, args ...uint32) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.NativeEndian.PutUint32(data[0:], nr)
	binary.NativeEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.NativeEndian.PutUint32(data[16+8*i:], a)
	}
	var acc uint32
	for pc := 0; ; pc++ {
		if pc*8 >= len(prog) {
			t.Fatalf("ran past the end at %d", pc)
		}
		i := prog[pc*8:]
		code, jt, jf, k := binary.NativeEndian.Uint16(i), i[2], i[3], binary.NativeEndian.Uint32(i[4:])
		cond := false
		switch code {
		case loadWord:
			acc = binary.NativeEndian.Uint32(data[k:])
			continue
		case ret:
			return k
		case jump:
			pc += int(k)
			continue
		case jeq:
			cond = acc == k
		case jge:
			cond = acc >= k
		case jset:
			cond = acc&k != 0
		default:
			t.Fatalf("unknown instruction %#x", code)
		}
		if cond {
			pc += int(jt)
		} else {
			pc += int(jf)
		}
	}
}

func TestEveryCallHasTheVerdictOfItsProfile(t *testing.T) {
	for _, goarch := range []string{"amd64", "arm64"} {
		for _, name := range []string{"default", "strict"} {
			p, ok := Named(name)
			if !ok {
				t.Fatal(name)
			}
			prog, err := Assemble(p, goarch)
			if err != nil {
				t.Fatal(err)
			}
			if len(prog)/8 > 1000 {
				t.Errorf("%s %s: %d instructions, want at most 1000", goarch, name, len(prog)/8)
			}
			checkVerdicts(t, p, goarch, prog)
		}
	}
}

func checkVerdicts(t *testing.T, p Profile, goarch string, prog []byte) {
	t.Helper()
	m := machines[goarch]
	want := map[string]uint32{}
	for _, n := range p.Allow {
		want[n] = retAllow
	}
	for _, n := range p.Deny {
		want[n] = retErrno | eperm
	}
	ruled := map[string]bool{}
	for _, r := range p.Rules {
		ruled[r.Name] = true
	}
	seen := map[uint32]bool{}
	for _, n := range m.numbers {
		seen[n.nr] = true
		if ruled[n.name] {
			continue
		}
		w := want[n.name]
		if w == 0 {
			w = retErrno | enosys
		}
		if got := run(t, prog, m.audit, n.nr); got != w {
			t.Errorf("%s %s %s: got %#x, want %#x", goarch, p.Name, n.name, got, w)
		}
	}
	for nr := uint32(0); nr < 600; nr++ {
		if !seen[nr] {
			if got := run(t, prog, m.audit, nr); got != retErrno|enosys {
				t.Errorf("%s: unknown call %d: got %#x, want ENOSYS", goarch, nr, got)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	const allow, deny = retAllow, retErrno | eperm
	nr := map[string]uint32{}
	for _, n := range numbersAmd64 {
		nr[n.name] = n.nr
	}
	for _, c := range []struct {
		profile, call string
		args          []uint32
		want          uint32
	}{
		{"default", "clone", []uint32{0x11}, allow},
		{"default", "clone", []uint32{0x10000000 | 0x11}, deny}, // CLONE_NEWUSER
		{"default", "clone", []uint32{0x00020000}, deny},        // CLONE_NEWNS
		{"strict", "clone", []uint32{0x40000000}, deny},         // CLONE_NEWNET
		{"default", "clone3", nil, retErrno | enosys},
		{"default", "io_uring_setup", nil, retErrno | enosys},
		{"default", "socket", []uint32{1, 1, 0}, allow},
		{"default", "socket", []uint32{2, 2, 17}, allow},
		{"default", "socket", []uint32{16, 3, 0}, allow},
		{"default", "socket", []uint32{16, 3, 12}, deny}, // NETLINK_NETFILTER
		{"default", "socket", []uint32{17, 3, 0}, deny},  // AF_PACKET
		{"default", "socket", []uint32{38, 5, 0}, deny},  // AF_ALG
		{"default", "socket", []uint32{40, 1, 0}, deny},  // AF_VSOCK
		{"default", "socket", []uint32{2, 1, 6}, allow},
		{"default", "socket", []uint32{10, 3, 58}, allow}, // the kernel decides about raw ones
		{"default", "socket", []uint32{2, 1, 132}, deny},  // SCTP
		{"default", "socket", []uint32{10, 1, 262}, deny}, // MPTCP
		{"strict", "socket", []uint32{2, 6, 33}, deny},    // DCCP
		{"strict", "socket", []uint32{10, 1, 262}, deny},
		{"default", "setsockopt", []uint32{3, 6, 1}, allow}, // TCP_NODELAY
		{"default", "setsockopt", []uint32{3, 6, 31}, deny}, // TCP_ULP
		{"default", "setsockopt", []uint32{3, 1, 31}, allow},
		{"strict", "setsockopt", []uint32{3, 6, 31}, deny},
		{"default", "fcntl", []uint32{3, 3}, allow},
		{"default", "fcntl", []uint32{3, 1030}, allow}, // F_DUPFD_CLOEXEC
		{"default", "fcntl", []uint32{3, 1024}, deny},  // F_SETLEASE
		{"strict", "fcntl", []uint32{3, 1024}, deny},
		{"strict", "socket", []uint32{16, 3, 0}, deny},
		{"strict", "socket", []uint32{2, 1 | 0x80000, 0}, allow},
		{"strict", "socket", []uint32{2, 3, 255}, deny}, // SOCK_RAW
		{"default", "personality", []uint32{0xffffffff}, allow},
		{"default", "personality", []uint32{8}, deny},
		{"default", "ioctl", []uint32{0, 0x5401}, allow},
		{"default", "ioctl", []uint32{0, 0x5412}, deny},
		{"default", "ioctl", []uint32{0, 0x541c}, deny},
		{"default", "ioctl", []uint32{0, 0x5423}, deny},
		{"default", "mknod", []uint32{0, 0x1000 | 0o600}, allow}, // a pipe
		{"default", "mknodat", []uint32{0, 0, 0xc000}, allow},    // a socket
		{"default", "mknod", []uint32{0, 0x2000}, deny},          // a character device
		{"strict", "mknodat", []uint32{0, 0, 0x6000}, deny},      // a block device
		{"default", "ptrace", nil, allow},
		{"strict", "ptrace", nil, deny},
	} {
		p, _ := Named(c.profile)
		prog, err := Assemble(p, "amd64")
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, prog, 0xc000003e, nr[c.call], c.args...); got != c.want {
			t.Errorf("%s %s %#x: got %#x, want %#x", c.profile, c.call, c.args, got, c.want)
		}
	}
}

func TestForeignABIsAreKilled(t *testing.T) {
	prog, err := Assemble(Default(), "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, prog, 0x40000003, 1); got != retKill { // i386
		t.Errorf("i386: got %#x, want kill", got)
	}
	if got := run(t, prog, 0xc000003e, 1<<30|1); got != retKill { // x32
		t.Errorf("x32: got %#x, want kill", got)
	}
}

func TestBadProfiles(t *testing.T) {
	if _, err := Assemble(Default(), "mips"); err == nil {
		t.Error("an unknown architecture was accepted")
	}
	if _, err := Assemble(Profile{Name: "x", Allow: []string{"read"}, Deny: []string{"read"}}, "amd64"); err == nil {
		t.Error("a call in two lists was accepted")
	}
}
