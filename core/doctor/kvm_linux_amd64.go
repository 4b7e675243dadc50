package doctor

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	kvmGetSregs = 0x8138ae83
	kvmSetSregs = 0x4138ae84
	kvmSetRegs  = 0x4090ae82
)

// instructions runs, in real mode, a guest that says 42 at a port.
func instructions(vm, cpu int, state []byte) (string, error) {
	const port, answer = 0x10, 42
	const reasonIO = 2
	memory, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return "", err
	}
	defer unix.Munmap(memory)
	copy(memory, []byte{0xb0, answer, 0xe6, port, 0xf4}) // mov al, 42; out 0x10, al; hlt

	region := struct {
		slot, flags            uint32
		guest, size, userspace uint64
	}{size: 4096, userspace: uint64(uintptr(unsafe.Pointer(&memory[0])))}
	if _, err := ioctl(vm, kvmMemory, uintptr(unsafe.Pointer(&region)), "giving it memory"); err != nil {
		return "", err
	}
	var sregs [312]byte // struct kvm_sregs begins with cs: its base, limit and selector
	if _, err := ioctl(cpu, kvmGetSregs, uintptr(unsafe.Pointer(&sregs)), "reading its registers"); err != nil {
		return "", err
	}
	binary.LittleEndian.PutUint64(sregs[0:], 0)
	binary.LittleEndian.PutUint16(sregs[12:], 0)
	if _, err := ioctl(cpu, kvmSetSregs, uintptr(unsafe.Pointer(&sregs)), "setting its registers"); err != nil {
		return "", err
	}
	var regs [18]uint64 // struct kvm_regs: rip and rflags are the last
	regs[17] = 2
	if _, err := ioctl(cpu, kvmSetRegs, uintptr(unsafe.Pointer(&regs)), "setting its registers"); err != nil {
		return "", err
	}
	reason, err := enter(cpu, state)
	if err != nil {
		return "", err
	}
	const ioPort, ioData = 32 + 2, 32 + 8 // offsets in struct kvm_run
	data := binary.LittleEndian.Uint64(state[ioData:])
	if reason != reasonIO || binary.LittleEndian.Uint16(state[ioPort:]) != port || data >= uint64(len(state)) || state[data] != answer {
		return "", fmt.Errorf("its first instructions failed: got the exit reason %d, want %d", reason, reasonIO)
	}
	return "a virtual machine ran", nil
}
