package stage2

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// bases are directories of the host over which the new root may be put for a moment, in this mount namespace only.
var bases = []string{"/tmp", "/run", "/mnt", "/var", "/usr"}

// devices are shown in the box's /dev. Nodes cannot be made in a user namespace, so the host's are bound.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// devLinks are the links that every /dev has.
var devLinks = []Pair{{"dev/fd", "/proc/self/fd"}, {"dev/stdin", "/proc/self/fd/0"}, {"dev/stdout", "/proc/self/fd/1"},
	{"dev/stderr", "/proc/self/fd/2"}, {"dev/ptmx", "pts/ptmx"}}

// readOnlyProc are parts of /proc that concern the machine: the box sees them and writes none. Landlock says so too; other
// files of the machine belong to the host's root, whom no box has.
var readOnlyProc = []string{"sys", "sysrq-trigger"}

// maskedProc are files of /proc that say more of the machine than a program needs, and that anyone may read.
var maskedProc = []string{"kcore", "keys", "key-users", "timer_list", "sched_debug", "kallsyms"}

const quiet = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// buildRoot makes the box's file system and goes into it. Everything that comes from the host is opened first, and put in
// its place only when the box's root is the root: a hostile link in an image then leads nowhere but into the box.
func buildRoot(cfg *Config, passed []int) *failure {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fail("mount: make / private", err)
	}
	src, f := openSources(cfg, passed)
	if f != nil {
		return f
	}
	if f := enterRoot(cfg, src); f != nil {
		return f
	}
	unix.Umask(0)
	if f := populate(cfg, src); f != nil {
		return f
	}
	unix.Umask(0o022)
	return nil
}

// sources are mounts that stand nowhere yet.
type sources struct {
	layers, binds, devices []int
	proc, pts              int
}

func openSources(cfg *Config, passed []int) (*sources, *failure) {
	s := &sources{}
	for _, l := range cfg.Layers {
		fd, f := l.open(passed, false)
		if f != nil {
			return nil, f
		}
		s.layers = append(s.layers, fd)
	}
	for _, b := range cfg.Binds {
		fd, f := b.open(passed, b.Optional)
		if f != nil {
			return nil, f
		}
		s.binds = append(s.binds, fd)
	}
	for _, d := range devices {
		fd, f := Source{Path: "/dev/" + d, FD: -1}.open(nil, d == "tty")
		if f != nil {
			return nil, f
		}
		s.devices = append(s.devices, fd)
	}
	var f *failure
	if s.proc, f = newMount("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, nil); f != nil {
		return nil, f
	}
	s.pts, f = newMount("devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, []Pair{{"mode", "0620"}, {"ptmxmode", "0666"}})
	return s, f
}

// open gives a mount of the source that stands nowhere; -1 where it is optional and missing.
func (s Source) open(passed []int, optional bool) (int, *failure) {
	if s.FD >= 0 {
		if s.FD >= len(passed) {
			return -1, &failure{"mount: descriptor " + s.Path, unix.EBADF}
		}
		return passed[s.FD], nil
	}
	fd, err := s.Tree(unix.AT_RECURSIVE)
	if err == unix.ENOENT && optional {
		return -1, nil
	}
	if err != nil {
		return -1, fail("open_tree "+s.Path, err)
	}
	return fd, nil
}

// Tree opens a mount of the path that stands nowhere.
func (s Source) Tree(flags uint) (int, error) {
	flags |= unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
	if !s.NoLinks {
		return unix.OpenTree(unix.AT_FDCWD, s.Path, flags)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, s.Path, &how)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return unix.OpenTree(fd, "", flags|unix.AT_EMPTY_PATH)
}

// newMount makes a file system that stands nowhere.
func newMount(kind string, attrs int, options []Pair) (int, *failure) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fail("fsopen "+kind, err)
	}
	defer unix.Close(fs)
	for _, o := range options {
		if err := unix.FsconfigSetString(fs, o.Name, o.Target); err != nil {
			return -1, fail("fsconfig "+kind+" "+o.Name+"="+o.Target, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fail("mount "+kind, err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attrs)
	if err != nil {
		return -1, fail("fsmount "+kind, err)
	}
	return fd, nil
}

// enterRoot makes the root, a tmpfs of bounded size or an overlay on one, and pivots into it.
func enterRoot(cfg *Config, s *sources) *failure {
	fd, f := newMount("tmpfs", quiet, []Pair{{"size", strconv.FormatUint(cfg.RootBytes, 10)},
		{"nr_inodes", strconv.FormatUint(cfg.RootInodes, 10)}, {"mode", "0755"}})
	if f != nil {
		return f
	}
	err := error(unix.ENOENT)
	for _, base := range bases {
		if err = unix.MoveMount(fd, "", unix.AT_FDCWD, base, unix.MOVE_MOUNT_F_EMPTY_PATH); err == nil {
			break
		}
	}
	if err != nil {
		return fail("move_mount: no directory of "+strings.Join(bases, " ")+" can be mounted on", err)
	}
	if err := unix.Fchdir(fd); err != nil {
		return fail("fchdir", err)
	}
	if len(s.layers) > 0 {
		if f := overlay(s.layers); f != nil {
			return f
		}
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fail("pivot_root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fail("umount old root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fail("chdir /", err)
	}
	return nil
}

// overlay mounts the layers, the lowest first in the list, at ./r and goes there. Its names are short: the options of a
// mount are one page.
func overlay(layers []int) *failure {
	for _, d := range []string{"u", "w", "r"} {
		if err := unix.Mkdir(d, 0o755); err != nil {
			return fail("mkdir "+d, err)
		}
	}
	names := make([]string, len(layers))
	for i, fd := range layers {
		n := strconv.FormatInt(int64(i), 36) + "_"
		if err := unix.Mkdir(n, 0o755); err != nil {
			return fail("mkdir "+n, err)
		}
		if err := unix.MoveMount(fd, "", unix.AT_FDCWD, n, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fail("move_mount layer", err)
		}
		names[len(layers)-1-i] = n
	}
	opts := "lowerdir=" + strings.Join(names, ":") + ",upperdir=u,workdir=w,userxattr"
	if err := unix.Mount("overlay", "r", "overlay", unix.MS_NOSUID|unix.MS_NODEV, opts); err != nil {
		return fail("mount overlay "+opts, err)
	}
	if err := unix.Chdir("r"); err != nil {
		return fail("chdir overlay", err)
	}
	return nil
}

// populate fills the root: the root is already the box's.
func populate(cfg *Config, s *sources) *failure {
	for _, d := range []Dir{{"proc", 0o555, false}, {"dev", 0o755, false}, {"tmp", 0o1777, false}} {
		if f := makeDir(cfg, d); f != nil {
			return f
		}
	}
	for i, b := range cfg.Binds {
		if s.binds[i] < 0 {
			continue
		}
		if f := attach(s.binds[i], b.Dst, b.Write); f != nil {
			return f
		}
	}
	for _, l := range cfg.Symlinks {
		if err := unix.Symlink(l.Target, l.Name); err != nil && err != unix.EEXIST {
			return fail("symlink "+l.Name, err)
		}
	}
	if f := populateDev(cfg, s); f != nil {
		return f
	}
	for _, d := range cfg.Dirs {
		if f := makeDir(cfg, d); f != nil {
			return f
		}
	}
	for _, file := range cfg.Files {
		if f := writeFile(&file); f != nil {
			return f
		}
	}
	if f := bundle(&cfg.Net); f != nil {
		return f
	}
	return populateProc(s)
}

func populateDev(cfg *Config, s *sources) *failure {
	if len(s.layers) > 0 { // an image's own /dev is hidden
		fd, f := newMount("tmpfs", quiet, []Pair{{"size", "1m"}, {"nr_inodes", "1k"}, {"mode", "0755"}})
		if f != nil {
			return f
		}
		if err := unix.MoveMount(fd, "", unix.AT_FDCWD, "dev", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fail("move_mount dev", err)
		}
	}
	for i, d := range devices {
		if s.devices[i] < 0 {
			continue
		}
		if f := touch("dev/" + d); f != nil {
			return f
		}
		if err := unix.MoveMount(s.devices[i], "", unix.AT_FDCWD, "dev/"+d, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fail("move_mount dev/"+d, err)
		}
	}
	for _, l := range devLinks {
		if err := unix.Symlink(l.Target, l.Name); err != nil && err != unix.EEXIST {
			return fail("symlink "+l.Name, err)
		}
	}
	if f := makeDir(cfg, Dir{"dev/pts", 0o755, false}); f != nil {
		return f
	}
	if err := unix.MoveMount(s.pts, "", unix.AT_FDCWD, "dev/pts", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fail("move_mount dev/pts", err)
	}
	return makeDir(cfg, Dir{"dev/shm", 0o1777, false})
}

// populateProc puts /proc in place, read-only and masked where it is about the machine.
func populateProc(s *sources) *failure {
	if err := unix.MoveMount(s.proc, "", unix.AT_FDCWD, "proc", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fail("move_mount proc", err)
	}
	for _, p := range readOnlyProc {
		if f := overProc("proc/"+p, "proc/"+p, true); f != nil {
			return f
		}
	}
	for _, p := range maskedProc {
		if f := overProc("dev/null", "proc/"+p, false); f != nil {
			return f
		}
	}
	return nil
}

// overProc binds from over at; what this kernel has not needs no cover.
func overProc(from, at string, readOnly bool) *failure {
	var st unix.Stat_t
	if unix.Lstat(at, &st) != nil {
		return nil
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, from, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fail("open_tree "+from, err)
	}
	defer unix.Close(fd)
	if readOnly {
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
			return fail("mount_setattr "+at, err)
		}
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fail("move_mount "+at, err)
	}
	return nil
}

// attach puts the mount fd at dst, made to be there.
func attach(fd int, dst string, write bool) *failure {
	attr := unix.MountAttr{Attr_set: quiet}
	if !write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return fail("mount_setattr "+dst, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail("fstat "+dst, err)
	}
	f := parents(dst)
	if f == nil {
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			f = mkdir(dst, 0o755)
		} else {
			f = touch(dst)
		}
	}
	if f != nil {
		return f
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, dst, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_SYMLINKS); err != nil {
		return fail("move_mount "+dst, err)
	}
	return nil
}
