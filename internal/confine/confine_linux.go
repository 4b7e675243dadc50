package confine

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights that are taken away: everything that changes a file system.
const (
	writes = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	file = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// Exec replaces this process by path with argv and env, which can write below dirs and to the harmless devices. It
// returns only where that cannot be done; nothing of this process is changed then but that it gains no privileges.
func Exec(dirs []string, path string, argv, env []string) error {
	runtime.LockOSThread() // the rules are a thread's, and an exec keeps those of the thread that makes it
	defer runtime.UnlockOSThread()
	version, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 || version < Least {
		return fmt.Errorf("confine: got landlock version %d (%v), want at least %d: Linux 5.19 or newer with landlock in its lsm= list", int(version)*b2i(e == 0), e, Least)
	}
	rights := uint64(writes)
	if version >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	attr := [1]uint64{rights}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if e != 0 {
		return fmt.Errorf("confine: failed to make the rules: %w", e)
	}
	defer unix.Close(int(fd))
	for _, dir := range dirs {
		if err := allow(int(fd), dir, rights); err != nil {
			return err
		}
	}
	for _, dev := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty"} {
		if _, err := os.Stat(dev); err == nil {
			if err := allow(int(fd), dev, rights&file); err != nil {
				return err
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("confine: failed to give up new privileges: %w", err)
	}
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); e != 0 {
		return fmt.Errorf("confine: failed to set the rules: %w", e)
	}
	return fmt.Errorf("confine: failed to start %s: %w", path, unix.Exec(path, argv, env))
}

func allow(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("confine: failed to open %s: %w", path, err)
	}
	defer unix.Close(fd)
	rule := struct {
		rights uint64
		fd     int32
	}{rights, int32(fd)}
	if _, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); e != 0 {
		return fmt.Errorf("confine: failed to allow %s: %w", path, e)
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
