package native

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
	"github.com/reflection-dev/zeno/sandbox/seccomp"
)

// host is what this machine has, found at the first use.
type host struct {
	noCgroups bool

	once     sync.Once
	root     bool // box ids come from a range of the host's; else the box has the caller's id only
	rootErr  error
	cgroups  *cgroups
	landlock int // ABI; 0 is none
	view     *view
	dumpable uintptr // whether this process is: forking changes it for a moment
	start    uint64  // when this process started
	ids      *idRanges

	mu      sync.Mutex
	stage2  *program
	filters map[string][]byte

	spare      *seat // see seat_linux.go
	making     bool
	closed     bool
	lastRun    time.Time
	background sync.WaitGroup
}

// program is the stage two program, held open, and how to call it.
type program struct {
	file *os.File
	path string
	argv []string
}

func (h *host) look() {
	h.once.Do(func() {
		h.root = os.Geteuid() == 0
		if h.root {
			h.ids, h.rootErr = newIDRanges()
		}
		h.landlock = landlockABI()
		h.view = findView()
		if d, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && d == 1 {
			h.dumpable = 1 // 2 cannot be set
		}
		h.start = startOf(os.Getpid())
		if h.noCgroups {
			h.cgroups = &cgroups{reason: "the configuration says to use none"}
			return
		}
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		own, _ := os.ReadFile("/proc/self/cgroup")
		h.cgroups = findCgroups(string(mounts), string(own))
	})
}

func (h *host) close() error {
	h.endSpares()
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	if h.stage2 != nil && h.stage2.file != nil {
		errs = append(errs, h.stage2.file.Close())
		h.stage2 = nil
	}
	if h.ids != nil {
		errs = append(errs, h.ids.close())
		h.ids = nil
	}
	return errors.Join(errs...)
}

func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// filter gives an assembled profile. pinned is for where no cgroup bounds a box: processors are bounded by affinity alone,
// which must not be changed, and memory that is nobody's (memory files, System V segments, queues and semaphores) would be
// counted by no one. shared is for boxes that write to directories of the host.
func (h *host) filter(name string, pinned, shared bool) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := fmt.Sprint(name, pinned, shared)
	if f := h.filters[key]; f != nil {
		return f, nil
	}
	p, ok := seccomp.Named(name)
	if !ok {
		return nil, &sandbox.FieldError{Field: ":seccomp", Text: fmt.Sprintf("got %q, want default or strict", name)}
	}
	if pinned {
		p = p.Without("sched_setaffinity", "sched_setattr", "memfd_create", "shmget", "msgget", "semget")
	}
	if shared {
		p = p.WithoutSetUserID()
	}
	f, err := seccomp.Assemble(p, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	if h.filters == nil {
		h.filters = map[string][]byte{}
	}
	h.filters[key] = f
	return f, nil
}

// stageTwo gives the program that goes into boxes.
func (h *host) stageTwo(path string, self bool) (*program, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stage2 != nil {
		return h.stage2, nil
	}
	var p *program
	var err error
	switch {
	case path != "":
		p, err = openProgram(path, []string{"zeno-box"})
	case len(builtIn) > 0:
		p, err = memoryProgram(builtIn)
	case self:
		p, err = openProgram("/proc/self/exe", []string{"zeno-box", stage2.Word})
	default:
		return nil, &sandbox.Unenforceable{Backend: "native", What: "anything", Why: "no stage two program was built in",
			Fix: "build zeno with make, or give native.Config a Stage2 or Self"}
	}
	if err != nil {
		return nil, fmt.Errorf("failed to open stage two: %w", err)
	}
	h.stage2 = p
	return p, nil
}

func openProgram(path string, argv []string) (*program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &program{file: f, path: "/proc/self/fd/" + strconv.Itoa(int(f.Fd())), argv: argv}, nil
}

// memoryProgram holds the built-in program in a sealed memory file: there is no file to clean up, or to change.
func memoryProgram(text []byte) (*program, error) {
	fd, err := unix.MemfdCreate("zeno-stage2", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("zeno-stage2", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "zeno-stage2")
	if _, err := f.Write(text); err != nil {
		f.Close()
		return nil, err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, err
	}
	return &program{file: f, path: "/proc/self/fd/" + strconv.Itoa(fd), argv: []string{"zeno-box"}}, nil
}
