package seccomp

import "testing"

func TestWithoutSetUserID(t *testing.T) {
	const allow, deny = retAllow, retErrno | eperm
	for _, goarch := range []string{"amd64", "arm64"} {
		nr := map[string]uint32{}
		for _, n := range machines[goarch].numbers {
			nr[n.name] = n.nr
		}
		prog, err := Assemble(Default().WithoutSetUserID(), goarch)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			call string
			args []uint32
			want uint32
		}{
			{"chmod", []uint32{0, 0o755}, allow}, {"chmod", []uint32{0, 0o4755}, deny}, {"chmod", []uint32{0, 0o2755}, allow},
			{"fchmod", []uint32{3, 0o4700}, deny}, {"fchmod", []uint32{3, 0o1777}, allow},
			{"fchmodat", []uint32{0, 0, 0o4755}, deny}, {"fchmodat2", []uint32{0, 0, 0o4755}, deny},
			{"creat", []uint32{0, 0o4755}, deny}, {"creat", []uint32{0, 0o644}, allow},
			{"open", []uint32{0, 0x41, 0o4755}, deny}, {"open", []uint32{0, 0x41, 0o644}, allow},
			{"open", []uint32{0, 0, 0o4755}, allow}, // the mode is not looked at: it may be anything
			{"openat", []uint32{0, 0, 0x41, 0o4755}, deny}, {"openat", []uint32{0, 0, 0x410002, 0o4755}, deny}, {"openat", []uint32{0, 0, 0x10000, 0o4755}, allow},
			{"openat2", nil, retErrno | enosys},
			{"mknod", []uint32{0, 0o104755}, deny}, {"mknod", []uint32{0, 0o100644}, allow}, {"mknod", []uint32{0, 0o020644}, deny},
			{"mknodat", []uint32{0, 0, 0o104755}, deny}, {"clone", []uint32{0x10000000}, deny},
		} {
			n, ok := nr[c.call]
			if !ok {
				continue // this architecture has it not
			}
			if got := run(t, prog, machines[goarch].audit, n, c.args...); got != c.want {
				t.Errorf("%s %s %#x: got %#x, want %#x", goarch, c.call, c.args, got, c.want)
			}
		}
	}
	if _, err := Assemble(Strict().WithoutSetUserID(), "amd64"); err != nil {
		t.Error(err)
	}
}
