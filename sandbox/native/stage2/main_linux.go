package stage2

import (
	"math"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// failure is a step that could not be done.
type failure struct {
	step string
	err  syscall.Errno
}

// Main runs stage two in a program that is more than that: it must be called before anything else. It does not return.
// What the program's packages opened while they were initialised stays open in it, out of reach of the box's programs.
func Main() { run(unix.CLOSE_RANGE_CLOEXEC) }

// MainAlone is Main for a program that is nothing else: what zeno had open without close-on-exec is closed.
func MainAlone() { run(0) }

func run(others uint) {
	unix.CloseOnExec(ControlFD)
	if err := unix.CloseRange(ControlFD+1, math.MaxInt32, others); err != nil {
		sendMessage(MsgError, append(PutNumbers(uint64(fail("", err).err)), "close_range"...))
		exit(1)
	}
	cfg, fds := firstMessage()
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // not before: the host could not write the maps of ids
	b := &box{table: table{pids: map[int]uint64{}}, some: make(chan struct{}, 1), spawn: make(chan request)}
	go b.template(cfg, fds)
	b.reap()
}

// firstMessage waits for the Config. Where the host goes away meanwhile there is nothing to do.
func firstMessage() (*Config, []int) {
	kind, _, fds := receive()
	if kind != MsgConfig || len(fds) < 4 {
		exit(1)
	}
	text, errno := readAll(fds[0])
	if errno != 0 {
		exit(1)
	}
	cfg, err := DecodeConfig(text)
	if err != nil {
		sendMessage(MsgError, append(PutNumbers(uint64(unix.EPROTO)), err.Error()...))
		exit(1)
	}
	return cfg, fds[1:]
}

// box is stage two once the program runs.
type box struct {
	table
	spawn chan request
	some  chan struct{} // a program was started
}

// build does everything up to the start of the program, on the thread that will start it.
func build(cfg *Config, mounts []int) *failure {
	if err := unix.Sethostname([]byte(cfg.Hostname)); err != nil {
		return fail("sethostname", err)
	}
	if f := buildRoot(cfg, mounts); f != nil {
		return f
	}
	if f := buildNet(&cfg.Net); f != nil {
		return f
	}
	if f := limits(cfg); f != nil {
		return f
	}
	return confine(cfg)
}

// settle is how long stage two waits before it gives up its own capabilities: stopping all its threads for that costs as
// much as the start of a short program. No program can reach them meanwhile; afterwards there is nothing to reach.
const settle = 20 * time.Millisecond

func dropLater() {
	time.Sleep(settle)
	if dropAll() != nil {
		exit(1)
	}
}

// limits sets what all processes of the box inherit, stage two among them.
func limits(cfg *Config) *failure {
	for _, l := range cfg.Rlimits {
		r := unix.Rlimit{Cur: l.Soft, Max: l.Hard}
		if err := unix.Prlimit(0, l.Resource, &r, nil); err != nil {
			return fail("prlimit", err)
		}
	}
	return nil
}

func fail(step string, err error) *failure {
	errno, ok := err.(syscall.Errno)
	if !ok {
		errno = unix.EINVAL
	}
	return &failure{step: step, err: errno}
}

func exit(code int) {
	syscall.Exit(code)
}

func readAll(fd int) ([]byte, syscall.Errno) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err.(syscall.Errno)
	}
	b := make([]byte, st.Size)
	for n := 0; n < len(b); {
		m, err := unix.Pread(fd, b[n:], int64(n))
		if err != nil {
			return nil, err.(syscall.Errno)
		}
		if m == 0 {
			return b[:n], 0
		}
		n += m
	}
	unix.Close(fd)
	return b, 0
}

// sendMessage writes one message with descriptors. Without descriptors an error means that the host has gone, which receive
// sees too.
func sendMessage(kind byte, body []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(ControlFD, append([]byte{kind}, body...), oob, nil, unix.MSG_NOSIGNAL)
}

// receive reads one message; kind is 0 where the host has gone.
func receive() (kind byte, body []byte, fds []int) {
	buf := make([]byte, 4096)
	oob := make([]byte, unix.CmsgSpace(253*4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(ControlFD, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return 0, nil, nil
		}
		cmsgs, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return 0, nil, nil
		}
		for i := range cmsgs {
			got, err := unix.ParseUnixRights(&cmsgs[i])
			if err != nil {
				return 0, nil, nil
			}
			fds = append(fds, got...)
		}
		return buf[0], buf[1:n], fds
	}
}
