package stdlib

import (
	"os"
	"syscall"

	"github.com/reflection-dev/zeno/lisp/value"
)

// osProcess tells about this process and signals others.
func (h *Host) osProcess() []value.Builtin {
	return []value.Builtin{
		def("exit", "([code] [])", "Ends the program with an exit code; 0 without one.", h.exit),
		def("pid", "([])", "The number of this process.", os.Getpid),
		def("ppid", "([])", "The number of the process that started this one.", os.Getppid),
		def("uid", "([])", "The number of the user.", os.Getuid),
		def("gid", "([])", "The number of the user's group.", os.Getgid),
		def("euid", "([])", "The number of the user whose rights the process has.", os.Geteuid),
		def("egid", "([])", "The number of the group whose rights the process has.", os.Getegid),
		def("groups", "([])", "The numbers of all groups of the user.", os.Getgroups),
		def("hostname", "([])", "The name of this machine.", os.Hostname),
		def("executable", "([])", "The path of the program that runs.", os.Executable),
		def("pagesize", "([])", "The size of a page of memory, in bytes.", os.Getpagesize),
		def("path-separator?", "([c])", "Whether the character c parts the names in a path.",
			func(c Value) bool { return c.Kind() == value.KindChar && c.Char() == os.PathSeparator }),
		def("kill", "([pid])", "Ends the process with this number at once, but none that it has started.",
			func(pid int) { h.signal("kill", pid, int(syscall.SIGKILL)) }),
		def("signal", "([pid signal])", "Sends a signal, such as SIGTERM, to the process with this number.",
			func(pid, sig int) { h.signal("signal", pid, sig) }),
	}
}

func (h *Host) exit(code *int) {
	if h.Exit == nil {
		panic(value.Errorf("UnsupportedOperationException", "exit: this program does not let its code end it"))
	}
	n := 0
	if code != nil {
		n = *code
	}
	h.Exit(n)
}

func (h *Host) signal(who string, pid, sig int) {
	if pid <= 0 {
		panic(value.ArgError("%s: got the process number %d, want one above 0", who, pid))
	}
	if err := syscall.Kill(pid, syscall.Signal(sig)); err != nil {
		panic(value.Errorf("IOException", "%s: failed to signal process %d: %s", who, pid, err))
	}
}

func signals() []Const {
	list := []struct {
		name string
		sig  syscall.Signal
	}{
		{"SIGABRT", syscall.SIGABRT}, {"SIGALRM", syscall.SIGALRM}, {"SIGFPE", syscall.SIGFPE}, {"SIGHUP", syscall.SIGHUP},
		{"SIGILL", syscall.SIGILL}, {"SIGINT", syscall.SIGINT}, {"SIGKILL", syscall.SIGKILL}, {"SIGPIPE", syscall.SIGPIPE},
		{"SIGQUIT", syscall.SIGQUIT}, {"SIGSEGV", syscall.SIGSEGV}, {"SIGTERM", syscall.SIGTERM}, {"SIGTRAP", syscall.SIGTRAP},
	}
	var out []Const
	for _, s := range list {
		out = append(out, Const{s.name, value.Int(int64(s.sig)), "The number of the signal " + s.name + "."})
	}
	return out
}
