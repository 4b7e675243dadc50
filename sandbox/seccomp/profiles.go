package seccomp

import "strings"

// Named gives a shipped profile: "default" or "strict".
func Named(name string) (Profile, bool) {
	switch name {
	case "default":
		return Default(), true
	case "strict":
		return Strict(), true
	}
	return Profile{}, false
}

// Namespaces: what clone must not ask for.
const newNamespaces = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000 | 0x00000080

// Families of sockets.
const (
	afUnix, afInet, afInet6, afNetlink = 1, 2, 10, 16
)

// everyday are the calls that programs make.
const everyday = `
read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn pread64
pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise shmget shmat shmctl dup dup2 pause nanosleep
getitimer alarm setitimer getpid sendfile connect accept sendto recvfrom sendmsg recvmsg shutdown bind listen
getsockname getpeername socketpair getsockopt fork vfork execve exit wait4 kill uname semget semop semctl shmdt
msgget msgsnd msgrcv msgctl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir
creat link unlink symlink readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit getrusage sysinfo times getuid
getgid setuid setgid geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups setgroups setresuid getresuid
setresgid getresgid getpgid setfsuid setfsgid getsid capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend
sigaltstack utime statfs fstatfs getpriority setpriority sched_setparam sched_getparam sched_setscheduler
sched_getscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock mlockall munlockall
prctl arch_prctl setrlimit sync gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr
flistxattr removexattr lremovexattr fremovexattr tkill time futex sched_setaffinity sched_getaffinity set_thread_area
get_thread_area io_setup io_destroy io_getevents io_submit io_cancel epoll_create epoll_ctl_old epoll_wait_old remap_file_pages
getdents64 set_tid_address restart_syscall semtimedop fadvise64 timer_create timer_settime timer_gettime timer_getoverrun
timer_delete clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes mq_open
mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr waitid ioprio_set ioprio_get inotify_init inotify_add_watch
inotify_rm_watch openat mkdirat fchownat futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat fchmodat
faccessat pselect6 ppoll set_robust_list get_robust_list splice tee sync_file_range utimensat epoll_pwait signalfd
timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1 dup3 pipe2
inotify_init1 preadv pwritev rt_tgsigqueueinfo recvmmsg prlimit64 syncfs sendmmsg getcpu sched_setattr sched_getattr renameat2
seccomp getrandom memfd_create execveat membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free
statx rseq pidfd_send_signal pidfd_open close_range openat2 faccessat2 epoll_pwait2 landlock_create_ruleset landlock_add_rule
landlock_restrict_self process_mrelease futex_waitv cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue
mseal setxattrat getxattrat listxattrat removexattrat`

// refused are the calls that exist and that no program in a box has a use for: most need a capability that the box has
// not; they are refused here too, so that an error in one is out of reach.
const refused = `
mount umount2 pivot_root chroot swapon swapoff reboot sethostname setdomainname init_module finit_module delete_module
kexec_load kexec_file_load bpf perf_event_open add_key request_key keyctl iopl ioperm acct syslog quotactl quotactl_fd
open_by_handle_at name_to_handle_at lookup_dcookie fanotify_init fanotify_mark settimeofday clock_settime clock_adjtime adjtimex
unshare setns open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr statmount listmount
userfaultfd move_pages migrate_pages mbind set_mempolicy get_mempolicy set_mempolicy_home_node kcmp pidfd_getfd vhangup
nfsservctl modify_ldt uselib ustat sysfs _sysctl get_kernel_syms query_module create_module afs_syscall tuxcall security
getpmsg putpmsg vserver memfd_secret process_madvise`

// debugging are calls on other processes of the box.
const debugging = `ptrace process_vm_readv process_vm_writev`

// Default is for ordinary programs, compilers, interpreters and debuggers.
func Default() Profile {
	return Profile{
		Name:  "default",
		Allow: append(strings.Fields(everyday), strings.Fields(debugging)...),
		Deny:  strings.Fields(refused),
		Rules: []Rule{
			{"clone", []Test{{Arg: 0, Op: NoBits, Values: []uint32{newNamespaces}}}},
			{"personality", []Test{{Arg: 0, Op: OneOf, Values: []uint32{0, 0xffffffff}}}},
			{"mknod", []Test{{Arg: 1, Op: NoBits, Values: []uint32{deviceBit}}}},
			{"mknodat", []Test{{Arg: 2, Op: NoBits, Values: []uint32{deviceBit}}}},
			{"ioctl", []Test{{Arg: 1, Op: NoneOf, Values: terminalInjection}}},
			{"socket", append([]Test{
				{Arg: 0, Op: OneOf, Values: []uint32{afUnix, afInet, afInet6, afNetlink}},
				{Arg: 2, Op: OneOf, Values: []uint32{0}, OnlyIf: &Equal{0, afNetlink}}, // NETLINK_ROUTE
			}, internet()...)},
			{"setsockopt", []Test{{Arg: 2, Op: NoneOf, Values: []uint32{upperLayer}, OnlyIf: &Equal{1, protoTCP}}}},
			{"fcntl", []Test{{Arg: 1, Op: NoneOf, Values: []uint32{setLease}}}},
		},
	}
}

// Protocols over IP; 255 is a raw one's, which takes a capability. Others (SCTP, DCCP, MPTCP, L2TP) lead nowhere from a box, and
// the kernel loads their code for whoever asks.
const protoICMP, protoTCP, protoUDP, protoICMPv6, protoRaw = 1, 6, 17, 58, 255

// internet are the tests of a socket's protocol.
func internet() []Test {
	var out []Test
	for _, family := range []uint32{afInet, afInet6} {
		out = append(out, Test{Arg: 2, Op: OneOf, Values: []uint32{0, protoTCP, protoUDP, protoICMP, protoICMPv6, protoRaw}, OnlyIf: &Equal{0, family}})
	}
	return out
}

// upperLayer is TCP_ULP, by which the kernel does TLS and loads code for it.
const upperLayer = 31

// setLease is F_SETLEASE: who has one on a file that is shown makes every program of the host that opens it to write wait.
const setLease = 1024

// deviceBit is set in the modes of character and block devices alone: pipes, sockets and files may be made.
const deviceBit = 0x2000

// terminalInjection are TIOCSTI and TIOCLINUX, which type into a terminal, and TIOCSETD, which loads line disciplines.
var terminalInjection = []uint32{0x5412, 0x541c, 0x5423}

// Strict is Default without debugging, asynchronous I/O, raw and netlink sockets, real-time scheduling, locked memory and
// the memory files that code can be run from.
func Strict() Profile {
	p := Default()
	p.Name = "strict"
	out := map[string]bool{}
	for _, n := range strings.Fields(debugging + ` io_setup io_destroy io_getevents io_submit io_cancel sched_setscheduler
		sched_setparam sched_setattr mlock mlock2 mlockall memfd_create execveat personality remap_file_pages ioprio_set shmget
		shmat shmctl shmdt msgget msgsnd msgrcv msgctl semget semop semctl semtimedop mq_open mq_unlink`) {
		out[n] = true
	}
	var allow []string
	for _, n := range p.Allow {
		if out[n] {
			p.Deny = append(p.Deny, n)
		} else {
			allow = append(allow, n)
		}
	}
	p.Allow = allow
	var rules []Rule
	for _, r := range p.Rules {
		if r.Name != "personality" && r.Name != "socket" {
			rules = append(rules, r)
		}
	}
	p.Rules = append(rules, Rule{"socket", append([]Test{
		{Arg: 0, Op: OneOf, Values: []uint32{afUnix, afInet, afInet6}},
		{Arg: 1, Op: OneOf, Values: streams()},
	}, internet()...)})
	p.Deny = append(p.Deny, "personality")
	return p
}

// streams are the kinds of socket but SOCK_RAW and SOCK_PACKET, with and without SOCK_CLOEXEC and SOCK_NONBLOCK.
func streams() []uint32 {
	var out []uint32
	for _, kind := range []uint32{1, 2, 5} {
		for _, flags := range []uint32{0, 0x80000, 0x800, 0x80800} {
			out = append(out, kind|flags)
		}
	}
	return out
}
