package stage2

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// What landlock may allow a directory's content. Handled rights grow with the kernel's ABI.
const (
	llRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	llV1   = 1<<13 - 1 // every right of ABI 1
)

// rulesetAttr is struct landlock_ruleset_attr of ABI 6.
type rulesetAttr struct{ accessFS, accessNet, scoped uint64 }

// landlock lets the thread read everywhere in the box and write only under writable, and keeps its signals and abstract
// sockets inside. /proc and /sys take no write at all, whatever their own rules say.
func landlock(writable []string) *failure {
	abi, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return &failure{"landlock", errno}
	}
	attr := rulesetAttr{accessFS: llV1}
	if abi >= 2 {
		attr.accessFS |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		attr.accessFS |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 6 {
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	size := unsafe.Sizeof(attr)
	if abi < 4 {
		size = 8
	} else if abi < 6 {
		size = 16
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return &failure{"landlock_create_ruleset", errno}
	}
	defer unix.Close(int(fd))
	if f := allow(int(fd), "/", llRead); f != nil {
		return f
	}
	for _, w := range writable {
		if f := allow(int(fd), w, attr.accessFS); f != nil {
			return f
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return &failure{"landlock_restrict_self", errno}
	}
	return nil
}

// fileRights are those that a rule on a file, not a directory, may hold.
const fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
	unix.LANDLOCK_ACCESS_FS_TRUNCATE

// allow adds a rule; a path that the box does not have needs none. A link is not followed: a hostile image would have one
// to / or /proc where a directory is usual. Where it leads, another rule allows, or nothing does.
func allow(ruleset int, path string, rights uint64) *failure {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err == unix.ENOENT || err == unix.ELOOP || err == unix.ENOTDIR {
		return nil
	}
	if err != nil {
		return fail("landlock: open "+path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail("landlock: stat "+path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return &failure{"landlock_add_rule " + path, errno}
	}
	return nil
}
