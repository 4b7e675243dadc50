package doctor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// The calls of /dev/kvm that are the same on every machine.
const (
	kvmCreateVM   = 0xae01
	kvmRunSize    = 0xae04
	kvmCreateVCPU = 0xae41
	kvmMemory     = 0x4020ae46
	kvmRun        = 0xae80
)

// kvmTime bounds the run of the guest, which needs microseconds.
const kvmTime = 2 * time.Second

// kvmSystem is where a system shows what kvm checks.
type kvmSystem struct{ device, modules string }

// kvm makes a virtual machine and runs a few instructions in it: where virtualisation is nested the machine may be made
// and its first instruction fail.
func (s kvmSystem) check(c *Check) {
	device := s.device
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		c.bad(Missing, "a machine with virtualisation (in a virtual one: nested), and `modprobe kvm_intel` or kvm_amd; in a container: --device /dev/kvm", "no %s; microVMs do not start", device)
		return
	case err != nil:
		c.bad(Failed, "`usermod -aG kvm $USER`, and log in anew", "%v", err)
		return
	}
	defer f.Close()
	said, err := guest(int(f.Fd()))
	if err != nil {
		c.bad(Failed, "a machine whose virtualisation works: hardware, or a virtual one with nested virtualisation; :backend :native needs none",
			"microVMs do not start: %v", err)
		return
	}
	if s.has("kvm_pvm") && !s.has("kvm_intel") && !s.has("kvm_amd") {
		c.bad(Failed, "a machine with hardware virtualisation, or with nested; :backend :native needs none",
			"%s, but by kvm_pvm, which has no hardware under it: kernels that were not built for it do not boot, and microVMs' were not", said)
		return
	}
	c.ok("%s", said)
}

func (s kvmSystem) has(module string) bool {
	_, err := os.Stat(filepath.Join(s.modules, module))
	return err == nil
}

func ioctl(fd int, what, arg uintptr, name string) (int, error) {
	r, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), what, arg)
	if e != 0 {
		return 0, fmt.Errorf("%s: %w", name, e)
	}
	return int(r), nil
}

// guest makes a machine with one processor and runs it where it knows how to.
func guest(kvm int) (string, error) {
	vm, err := ioctl(kvm, kvmCreateVM, 0, "making a virtual machine")
	if err != nil {
		return "", err
	}
	defer unix.Close(vm)
	cpu, err := ioctl(vm, kvmCreateVCPU, 0, "giving it a processor")
	if err != nil {
		return "", err
	}
	defer unix.Close(cpu)
	size, err := ioctl(kvm, kvmRunSize, 0, "asking for its state")
	if err != nil {
		return "", err
	}
	state, err := unix.Mmap(cpu, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return "", fmt.Errorf("mapping its state: %w", err)
	}
	defer unix.Munmap(state)
	return instructions(vm, cpu, state)
}

// enter runs the processor until it comes back, at most kvmTime, and gives why it did.
func enter(cpu int, state []byte) (reason uint32, err error) {
	const immediateExit, exitReason = 1, 8 // offsets in struct kvm_run
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	late := time.AfterFunc(kvmTime, func() {
		state[immediateExit] = 1
		_ = unix.Tgkill(unix.Getpid(), thread, unix.SIGURG) // the runtime's own signal: harmless
	})
	defer late.Stop()
	for begin := time.Now(); ; {
		_, err = ioctl(cpu, kvmRun, 0, "running it")
		if !errors.Is(err, unix.EINTR) {
			break
		}
		if time.Since(begin) >= kvmTime {
			return 0, fmt.Errorf("running it: got no answer within %v", kvmTime)
		}
	}
	return binary.NativeEndian.Uint32(state[exitReason:]), err
}
