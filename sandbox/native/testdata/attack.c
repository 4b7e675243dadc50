// The attack program: one sub-command for each way out of a box. Exit 0: the attack worked; 1: it was refused (errno on
// stdout); 3: this machine does not have what it needs. Attacks do nothing that lasts: a file opened for writing is not
// written, a time is not set. argv[2] and argv[3] are what the attack is told of the host, such as a process or an address.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static char *a1, *a2;

// done turns a system call's result into an exit code.
static int done(long r) {
	if (r >= 0) { printf("worked\n"); return 0; }
	printf("refused: %s\n", strerror(errno));
	return 1;
}
static int absent(void) { printf("absent\n"); return 3; }
static int opened(const char *path, int flags) {
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return done(fd);
}
static int writable(const char *path) { return opened(path, O_WRONLY); }
// readable needs at least a byte: an empty cover of a file is as good as none.
static int readable(const char *path) {
	char c;
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0) return done(-1);
	long n = read(fd, &c, 1);
	if (n == 0) { printf("refused: empty\n"); return 1; }
	return done(n < 0 ? -1 : 0);
}
// apart makes mounts of an attack harmless outside: inside, where it is refused, the attack goes on without.
static void apart(void) {
	if (unshare(CLONE_NEWNS) == 0) mount("", "/", "", MS_REC | MS_PRIVATE, "");
}

static int mount_tmpfs(void) { apart(); return done(mount("x", "/tmp", "tmpfs", 0, "")); }
static int mount_bind(void) { apart(); return done(mount("/usr", "/tmp", "", MS_BIND, "")); }
static int mount_proc(void) { apart(); return done(mount("proc", "/tmp", "proc", 0, "")); }
static int mount_sysfs(void) { apart(); return done(mount("sys", "/tmp", "sysfs", 0, "")); }
static int mount_cgroup(void) {
	apart();
	if (mount("c", "/tmp", "cgroup", 0, "memory") == 0) return done(0);
	return done(mount("c", "/tmp", "cgroup2", 0, ""));
}
static int mount_overlay(void) {
	apart();
	mkdir("/tmp/atk-u", 0755); mkdir("/tmp/atk-w", 0755);
	int r = mount("o", "/tmp", "overlay", 0, "lowerdir=/usr,upperdir=/tmp/atk-u,workdir=/tmp/atk-w");
	int e = errno;
	if (r != 0) { rmdir("/tmp/atk-u"); rmdir("/tmp/atk-w/work"); rmdir("/tmp/atk-w"); }
	errno = e;
	return done(r);
}
static int mount_device(void) {
	apart();
	if (access("/dev/vda", F_OK) != 0) return done(-1);
	return done(mount("/dev/vda", "/tmp", "ext4", MS_RDONLY, ""));
}
static int remount_usr(void) { apart(); mount("/usr", "/usr", "", MS_BIND, ""); return done(mount("", "/usr", "", MS_REMOUNT | MS_BIND, "")); }
static int umount_sys(void) { apart(); return done(umount2("/proc/sys", MNT_DETACH)); }
static int umount_root(void) { return done(umount2("/", MNT_DETACH)); }
static int do_fsopen(void) { return done(syscall(SYS_fsopen, "tmpfs", 0)); }
static int do_open_tree(void) { apart(); return done(syscall(SYS_open_tree, AT_FDCWD, "/usr", 1)); }
static int do_fspick(void) { apart(); return done(syscall(SYS_fspick, AT_FDCWD, "/", 0)); }
static int do_mount_setattr(void) {
	struct { unsigned long long set, clr, prop, ns; } at = {0, 1, 0, 0};
	apart();
	mount("/usr", "/tmp", "", MS_BIND, "");
	return done(syscall(442, AT_FDCWD, "/tmp", 0, &at, sizeof at));
}
static int do_pivot(void) {
	apart();
	if (mount("x", "/tmp", "tmpfs", 0, "") != 0) return done(-1);
	mkdir("/tmp/old", 0755);
	return done(syscall(SYS_pivot_root, "/tmp", "/tmp/old"));
}
static int do_chroot(void) { return done(chroot("/tmp")); }
static int un_user(void) { return done(unshare(CLONE_NEWUSER)); }
static int un_mount(void) { return done(unshare(CLONE_NEWNS)); }
static int un_net(void) { return done(unshare(CLONE_NEWNET)); }
static int un_pid(void) { return done(unshare(CLONE_NEWPID)); }
static int un_cgroup(void) { return done(unshare(CLONE_NEWCGROUP)); }
static int cloned(unsigned long flags) {
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) _exit(0);
	if (pid > 0) waitpid(pid, NULL, 0);
	return done(pid);
}
static int clone_user(void) { return cloned(CLONE_NEWUSER); }
static int clone_user_mount(void) { return cloned(CLONE_NEWUSER | CLONE_NEWNS); }
static int clone3_user(void) {
	unsigned long long args[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
	long pid = syscall(435, args, 64);
	if (pid == 0) _exit(0);
	if (pid > 0) waitpid(pid, NULL, 0);
	return done(pid);
}
static int setns_file(void) {
	int fd = open(a1 ? a1 : "/proc/1/ns/uts", O_RDONLY);
	if (fd < 0) return done(-1);
	return done(setns(fd, 0));
}
static int setns_pidfd(void) {
	int fd = syscall(434, 1, 0);
	if (fd < 0) return done(-1);
	return done(setns(fd, CLONE_NEWUTS));
}
static int uid_map(void) {
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) != 0) _exit(1);
		int fd = open("/proc/self/uid_map", O_WRONLY);
		char text[64];
		int n = snprintf(text, sizeof text, "0 %d 1", atoi(a1 ? a1 : "0"));
		_exit(fd >= 0 && write(fd, text, n) == n ? 0 : 1);
	}
	int st;
	waitpid(pid, &st, 0);
	errno = EPERM;
	return done(st == 0 ? 0 : -1);
}

static int node(mode_t kind, dev_t dev) {
	const char *name = "/tmp/atk-node";
	unlink(name);
	int r = mknod(name, kind | 0600, dev);
	if (r == 0) {
		int fd = open(name, O_RDONLY | O_NONBLOCK);
		unlink(name);
		return done(fd);
	}
	return done(r);
}
static int node_block(void) { return node(S_IFBLK, makedev(254, 0)); }
static int node_kmsg(void) { return node(S_IFCHR, makedev(1, 11)); }
static int dev_kmsg(void) { return opened("/dev/kmsg", O_RDONLY); }
static int dev_mem(void) { return opened("/dev/mem", O_RDONLY); }
static int dev_disk(void) { return opened("/dev/vda", O_RDONLY); }
static int dev_kvm(void) { return opened("/dev/kvm", O_RDWR); }
static int dev_fuse(void) { return opened("/dev/fuse", O_RDWR); }
static int dev_tun(void) { return opened("/dev/net/tun", O_RDWR); }
static int dev_loop(void) { return opened("/dev/loop-control", O_RDWR); }

static int core_pattern(void) { return writable("/proc/sys/kernel/core_pattern"); }
static int modprobe_path(void) { return writable("/proc/sys/kernel/modprobe"); }
static int sys_hostname(void) { return writable("/proc/sys/kernel/hostname"); }
static int sys_forward(void) { return writable("/proc/sys/net/ipv4/ip_forward"); }
static int sys_userns(void) { return writable("/proc/sys/user/max_user_namespaces"); }
static int sysrq(void) { return access("/proc/sysrq-trigger", F_OK) ? absent() : writable("/proc/sysrq-trigger"); }
static int irq(void) { return writable("/proc/irq/default_smp_affinity"); }
static int kcore(void) { return readable("/proc/kcore"); }
static int proc_keys(void) { return readable("/proc/keys"); }
static int kallsyms(void) {
	char line[64];
	FILE *f = fopen("/proc/kallsyms", "r");
	if (!f || !fgets(line, sizeof line, f)) return done(-1);
	errno = EPERM;
	return done(strtoull(line, NULL, 16) ? 0 : -1);
}
static int uevent_helper(void) { return writable("/sys/kernel/uevent_helper"); }
static int cgroup_procs(void) {
	if (access("/sys/fs/cgroup", F_OK) != 0) return done(-1);
	int r = writable("/sys/fs/cgroup/cgroup.procs");
	return r == 0 ? r : writable("/sys/fs/cgroup/memory/cgroup.procs");
}
static int oom_adj(void) {
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);
	if (fd < 0) return done(-1);
	return done(write(fd, "-900", 4));
}
static int init_mem(void) { return opened("/proc/1/mem", O_RDWR); }
static int init_environ(void) { return readable("/proc/1/environ"); }
static int init_root(void) { return opened("/proc/1/root/etc", O_RDONLY | O_DIRECTORY); }
static int init_cwd(void) { return opened("/proc/1/cwd", O_RDONLY | O_DIRECTORY); }
static int init_exe(void) { return opened("/proc/1/exe", O_RDONLY); }
static int init_fds(void) { char b[64]; return done(readlink("/proc/1/fd/3", b, sizeof b)); }
static int init_fd3(void) { return opened("/proc/1/fd/3", O_RDWR); }
static int init_maps(void) { return readable("/proc/1/maps"); }

static int pt_attach(void) {
	pid_t pid = atoi(a1);
	int r = ptrace(PTRACE_SEIZE, pid, 0, 0);
	if (r == 0) ptrace(PTRACE_DETACH, pid, 0, 0);
	return done(r);
}
static int vm_read(void) {
	char buf[8];
	struct iovec l = {buf, 8}, r = {(void *)0x400000, 8};
	long n = process_vm_readv(atoi(a1), &l, 1, &r, 1, 0);
	if (n < 0 && errno == EFAULT) n = 0; // it was let in
	return done(n);
}
static int signal_one(void) { return done(kill(1, SIGWINCH)); }
static int signal_host(void) { return done(kill(atoi(a1), 0)); }
static int pidfd_host(void) { return done(syscall(434, atoi(a1), 0)); }
static int pidfd_fd(void) {
	int fd = syscall(434, atoi(a1), 0);
	if (fd < 0) return done(-1);
	return done(syscall(438, fd, 0, 0));
}
static int host_environ(void) { char p[64]; snprintf(p, sizeof p, "/proc/%d/environ", atoi(a1)); return readable(p); }
static int see_host(void) { // more processes than a box has
	int n = 0;
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] >= '1' && e->d_name[0] <= '9';
	errno = ESRCH;
	return done(n > 6 ? 0 : -1);
}
static int realtime(void) { struct sched_param p = {1}; return done(sched_setscheduler(0, SCHED_FIFO, &p)); }
static int nice_up(void) { return done(setpriority(PRIO_PROCESS, 0, -5)); }
static int raise_limit(void) {
	struct rlimit r;
	getrlimit(RLIMIT_CORE, &r);
	r.rlim_cur = r.rlim_max = RLIM_INFINITY;
	return done(setrlimit(RLIMIT_CORE, &r));
}
static int become(void) { return done(setresuid(a1 ? atoi(a1) : 1234, 1234, 1234)); }
static int groups(void) { gid_t g = 0; return done(setgroups(1, &g)); }
static int raise_caps(void) {
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2] = {{1 << 21, 1 << 21, 0}, {0, 0, 0}};
	return done(syscall(SYS_capset, &h, d));
}
static int bounding(void) { errno = EPERM; return done(prctl(PR_CAPBSET_READ, 21) == 1 ? 0 : -1); }
static int privs(void) { errno = EPERM; return done(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : -1); }
static int creat_suid(void) {
	int r = open(a1, O_CREAT | O_WRONLY, 04755);
	if (r < 0) r = syscall(SYS_mknod, a1, S_IFREG | 04755, 0);
	return done(r);
}
static int euid(void) { errno = EPERM; return done(geteuid() != getuid() ? 0 : -1); }
static int setuid_file(void) { execl(a1, a1, "euid", NULL); return done(-1); }

static int key_add(void) { return done(syscall(SYS_add_key, "user", "atk", "x", 1, KEY_SPEC_PROCESS_KEYRING)); }
static int key_session(void) { return done(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0)); }
static int key_request(void) { // refused or not found: a refusal is EPERM
	long r = syscall(SYS_request_key, "user", "no-such-key-atk", NULL, 0);
	return done(r < 0 && errno == ENOKEY ? 0 : r);
}
static int bpf_load(void) {
	struct bpf_insn prog[2] = {{0xb7, 0, 0, 0, 0}, {0x95, 0, 0, 0, 0}};
	union bpf_attr at;
	memset(&at, 0, sizeof at);
	at.prog_type = 1; at.insn_cnt = 2; at.insns = (unsigned long)prog; at.license = (unsigned long)"GPL";
	return done(syscall(SYS_bpf, 5, &at, sizeof at));
}
static int bpf_map(void) {
	union bpf_attr at;
	memset(&at, 0, sizeof at);
	at.map_type = 2; at.key_size = 4; at.value_size = 8; at.max_entries = 1;
	return done(syscall(SYS_bpf, 0, &at, sizeof at));
}
static int perf(void) {
	struct perf_event_attr at;
	memset(&at, 0, sizeof at);
	at.size = sizeof at; at.type = 1; at.config = 0; at.exclude_kernel = 1;
	return done(syscall(SYS_perf_event_open, &at, 0, -1, -1, 0));
}
static int uring(void) { char p[256]; memset(p, 0, sizeof p); return done(syscall(425, 4, p)); }
static int uffd(void) { return done(syscall(SYS_userfaultfd, 1)); }
static int secret_mem(void) { return done(syscall(447, 0)); }
static int kexec(void) { return done(syscall(SYS_kexec_load, 0, 0UL, NULL, 0UL)); }
static int kexec_file(void) { return done(syscall(SYS_kexec_file_load, -1, -1, 0UL, "", 0x4UL)); }
// An image that is none: with the right to load one the answer is ENOEXEC or EFAULT.
static int module(void) {
	long r = syscall(SYS_init_module, "x", 1UL, "");
	return done(r < 0 && (errno == ENOEXEC || errno == EINVAL) ? 0 : r);
}
static int unmodule(void) {
	long r = syscall(SYS_delete_module, "no_such_module_atk", O_NONBLOCK);
	return done(r < 0 && errno == ENOENT ? 0 : r);
}
static int fanotify(void) { return done(syscall(SYS_fanotify_init, 0, 0)); }
static int by_handle(void) {
	struct { struct file_handle h; char b[128]; } f;
	int id;
	f.h.handle_bytes = 128;
	if (name_to_handle_at(AT_FDCWD, "/usr", &f.h, &id, 0) != 0) return done(-1);
	int dir = open("/usr", O_RDONLY);
	return done(open_by_handle_at(dir, &f.h, O_RDONLY));
}
static int quota(void) { // Q_SYNC of everything: harmless; without the right EPERM
	long r = syscall(SYS_quotactl, 0x80000100U, NULL, 0, NULL);
	return done(r < 0 && errno != EPERM && errno != ENOSYS ? 0 : r);
}
static int swap(void) { // of a file that is none: with the right ENOENT
	long r = syscall(SYS_swapon, "/no/such/atk", 0);
	return done(r < 0 && errno == ENOENT ? 0 : r);
}
static int boot(void) { // bad magic numbers: with the right EINVAL, and nothing happens either way
	long r = syscall(SYS_reboot, 0, 0, 0, 0);
	return done(r < 0 && errno == EINVAL ? 0 : r);
}
static int set_clock(void) { // to a time that is none: with the right EINVAL
	struct timespec t = {0, -1};
	long r = syscall(SYS_clock_settime, CLOCK_REALTIME, &t);
	return done(r < 0 && errno == EINVAL && geteuid() == 0 ? 0 : r);
}
static int set_day(void) {
	struct timeval t = {0, -1};
	long r = syscall(SYS_settimeofday, &t, NULL);
	return done(r < 0 && errno == EINVAL && geteuid() == 0 ? 0 : r);
}
static int adjust(void) { struct timex t; memset(&t, 0, sizeof t); return done(syscall(SYS_adjtimex, &t)); }
static int accounting(void) { // to a file that is none: with the right ENOENT
	long r = syscall(SYS_acct, "/no/such/atk");
	return done(r < 0 && errno == ENOENT ? 0 : r);
}
static int klog(void) { char b[16]; return done(syscall(SYS_syslog, 3, b, sizeof b)); }
static int do_iopl(void) { return done(syscall(SYS_iopl, 3)); }
static int do_ioperm(void) { return done(syscall(SYS_ioperm, 0x80UL, 1UL, 1)); }
static int no_random(void) { return done(personality(ADDR_NO_RANDOMIZE)); }
static int ldt(void) { char b[64]; return done(syscall(SYS_modify_ldt, 0, b, 64UL)); }
static int host_name(void) { unshare(CLONE_NEWUTS); return done(sethostname("atk", 3)); }
static int domain(void) { unshare(CLONE_NEWUTS); return done(setdomainname("atk", 3)); }
static int compare(void) { return done(syscall(SYS_kcmp, getpid(), atoi(a1), 0, 0, 0)); }
static int int80(void) {
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory", "r8", "r9", "r10", "r11"); // getpid of i386
	errno = ENOSYS;
	return done(r > 0 ? 0 : -1);
}
static int x32(void) { // any number of that ABI, even where the kernel has it not
	long r = syscall(0x40000000 | SYS_getpid);
	return done(r);
}

static int sock(int family, int type, int proto) { return done(socket(family, type, proto)); }
static int s_packet(void) { return sock(AF_PACKET, SOCK_RAW, 0x300); }
static int s_alg(void) { int r = socket(AF_ALG, SOCK_SEQPACKET, 0); return r < 0 && errno == EAFNOSUPPORT ? absent() : done(r); }
static int s_vsock(void) { return sock(40, SOCK_STREAM, 0); }
static int s_raw(void) { return sock(AF_INET, SOCK_RAW, IPPROTO_ICMP); }
static int s_nft(void) { return sock(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER); }
static int s_uevent(void) { return sock(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT); }
static int s_audit(void) { return sock(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT); }
static int s_xfrm(void) { return sock(AF_NETLINK, SOCK_RAW, NETLINK_XFRM); }
static int s_key(void) { return sock(15, SOCK_RAW, 2); }
static int link_new(void) { // a dummy interface, in a namespace of its own where it may have one
	unshare(CLONE_NEWNET);
	struct { struct nlmsghdr h; struct ifinfomsg i; char at[64]; } m;
	memset(&m, 0, sizeof m);
	m.h.nlmsg_type = RTM_NEWADDR; m.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
	struct ifaddrmsg *ad = (struct ifaddrmsg *)&m.i;
	ad->ifa_family = AF_INET; ad->ifa_prefixlen = 32; ad->ifa_index = 1;
	struct rtattr *r = (struct rtattr *)((char *)ad + sizeof *ad);
	r->rta_type = IFA_LOCAL; r->rta_len = 8;
	inet_pton(AF_INET, "10.9.9.9", RTA_DATA(r));
	m.h.nlmsg_len = sizeof m.h + sizeof *ad + 8;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	if (fd < 0 || send(fd, &m, m.h.nlmsg_len, 0) < 0) return done(-1);
	char buf[512];
	if (recv(fd, buf, sizeof buf, 0) < 0) return done(-1);
	errno = -((struct nlmsgerr *)NLMSG_DATA((struct nlmsghdr *)buf))->error;
	return done(errno ? -1 : 0);
}
static int s_abstract(void) {
	struct sockaddr_un u = {AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strncpy(u.sun_path + 1, a1, sizeof u.sun_path - 2);
	return done(connect(fd, (void *)&u, sizeof(sa_family_t) + 1 + strlen(a1)));
}
static int s_path(void) {
	struct sockaddr_un u = {AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strncpy(u.sun_path, a1, sizeof u.sun_path - 1);
	return done(connect(fd, (void *)&u, sizeof u));
}
static int s_tcp(void) {
	struct sockaddr_in in = {AF_INET, htons(atoi(a2))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	inet_pton(AF_INET, a1, &in.sin_addr);
	return done(connect(fd, (void *)&in, sizeof in));
}
static int s_shm(void) { return done(shmget(atoi(a1), 1, 0)); }

static int read_file(void) { return readable(a1); }
static int dots(void) {
	char p[512];
	snprintf(p, sizeof p, "../../../../../../../..%s", a1);
	if (chdir("/work") != 0) chdir("/tmp");
	return readable(p);
}
static int via_link(void) {
	unlink("atk-link");
	if (symlink(a1, "atk-link") != 0) return done(-1);
	int r = readable("atk-link");
	unlink("atk-link");
	return r;
}
static int via_root(void) { char p[512]; snprintf(p, sizeof p, "/proc/self/root%s", a1); return readable(p); }
static int via_fd(void) { // out of the directory that is open as a stream, if one is
	char p[512];
	for (int i = 0; i < 1024; i++) {
		snprintf(p, sizeof p, "/proc/self/fd/%d/..%s", i, a1);
		if (access(p, R_OK) == 0) return done(0);
	}
	errno = ENOENT;
	return done(-1);
}
static int hard_link(void) {
	unlink("atk-hard");
	int r = link(a1, "atk-hard"), e = errno;
	unlink("atk-hard");
	errno = e;
	return done(r);
}
static int usr_write(void) {
	int fd = open("/usr/local/atk-file", O_CREAT | O_WRONLY, 0600);
	if (fd >= 0) unlink("/usr/local/atk-file");
	return done(fd);
}
static int usr_chmod(void) { struct stat s; stat(a1, &s); return done(chmod(a1, s.st_mode & 07777)); }
static int usr_chown(void) { return done(chown(a1, 0, 0)); }
static int usr_utime(void) { struct stat s; stat(a1, &s); struct timespec t[2] = {s.st_atim, s.st_mtim}; return done(utimensat(AT_FDCWD, a1, t, 0)); }
static int usr_xattr(void) {
	int r = setxattr(a1, "user.atk", "x", 1, 0);
	if (r == 0) removexattr(a1, "user.atk");
	return done(r);
}
static int usr_open(void) { return writable(a1); }
static int usr_trunc(void) { struct stat s; stat(a1, &s); return done(truncate(a1, s.st_size)); }
static int leaked(void) {
	for (int fd = 3; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0) { printf("descriptor %d\n", fd); return done(0); }
	errno = EBADF;
	return done(-1);
}
static int tiocsti(void) {
	int m = posix_openpt(O_RDWR | O_NOCTTY);
	if (m < 0 || grantpt(m) != 0 || unlockpt(m) != 0) return absent();
	int s = open(ptsname(m), O_RDWR | O_NOCTTY);
	if (s < 0) return absent();
	setsid();
	ioctl(s, TIOCSCTTY, 0);
	long r = ioctl(s, TIOCSTI, "x");
	return done(r);
}
static int raw_memory(void) { // executable memory made of data is allowed: this shows that the program can see a success
	return done(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
}

#include "attack_new.c"

static const struct { const char *name; int (*f)(void); } attacks[] = {
#define A(f) {#f, f}
	A(mount_tmpfs), A(mount_bind), A(mount_proc), A(mount_sysfs), A(mount_cgroup), A(mount_overlay), A(mount_device), A(remount_usr),
	A(umount_sys), A(umount_root), A(do_fsopen), A(do_open_tree), A(do_fspick), A(do_mount_setattr), A(do_pivot), A(do_chroot),
	A(un_user), A(un_mount), A(un_net), A(un_pid), A(un_cgroup), A(clone_user), A(clone_user_mount), A(clone3_user), A(setns_file),
	A(setns_pidfd), A(uid_map), A(node_block), A(node_kmsg), A(dev_kmsg), A(dev_mem), A(dev_disk), A(dev_kvm), A(dev_fuse), A(dev_tun),
	A(dev_loop), A(core_pattern), A(modprobe_path), A(sys_hostname), A(sys_forward), A(sys_userns), A(sysrq), A(irq), A(kcore),
	A(proc_keys), A(kallsyms), A(uevent_helper), A(cgroup_procs), A(oom_adj), A(init_mem), A(init_environ), A(init_root), A(init_cwd),
	A(init_exe), A(init_fds), A(init_fd3), A(init_maps), A(pt_attach), A(vm_read), A(signal_one), A(signal_host), A(pidfd_host),
	A(pidfd_fd), A(host_environ), A(see_host), A(realtime), A(nice_up), A(raise_limit), A(become), A(groups), A(raise_caps),
	A(bounding), A(privs), A(creat_suid), A(euid), A(setuid_file), A(key_add), A(key_session), A(key_request), A(bpf_load), A(bpf_map), A(perf),
	A(uring), A(uffd), A(secret_mem), A(kexec), A(kexec_file), A(module), A(unmodule), A(fanotify), A(by_handle), A(quota), A(swap),
	A(boot), A(set_clock), A(set_day), A(adjust), A(accounting), A(klog), A(do_iopl), A(do_ioperm), A(no_random), A(ldt),
	A(host_name), A(domain), A(compare), A(int80), A(x32), A(s_packet), A(s_alg), A(s_vsock), A(s_raw), A(s_nft), A(s_uevent),
	A(s_audit), A(s_xfrm), A(s_key), A(link_new), A(s_abstract), A(s_path), A(s_tcp), A(s_shm), A(read_file), A(dots), A(via_link),
	A(via_root), A(via_fd), A(hard_link), A(usr_write), A(usr_chmod), A(usr_chown), A(usr_utime), A(usr_xattr), A(usr_open),
	A(usr_trunc), A(leaked), A(tiocsti), A(raw_memory),
	NEW_ATTACKS
};

int main(int argc, char **argv) {
	if (argc < 2) return 2;
	a1 = argc > 2 ? argv[2] : NULL;
	a2 = argc > 3 ? argv[3] : NULL;
	for (unsigned i = 0; i < sizeof attacks / sizeof *attacks; i++)
		if (strcmp(argv[1], attacks[i].name) == 0) return attacks[i].f();
	fprintf(stderr, "no such attack: %s\n", argv[1]);
	return 2;
}
