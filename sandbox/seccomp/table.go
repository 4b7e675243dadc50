package seccomp

//go:generate ./generate.sh

// number is one system call of an architecture.
type number struct {
	name string
	nr   uint32
}

// machine is what a filter has to know of an architecture.
type machine struct {
	audit   uint32 // AUDIT_ARCH_*
	x32     bool   // numbers from 1<<30 on are those of another ABI
	numbers []number
}

var machines = map[string]machine{
	"amd64": {audit: 0xc000003e, x32: true, numbers: numbersAmd64},
	"arm64": {audit: 0xc00000b7, numbers: numbersArm64},
}
