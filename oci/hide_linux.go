package oci

import (
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// whiteout makes the device 0:0, which overlayfs reads as "gone". Anyone may make it since Linux 5.8.
func (u *unpacker) whiteout(name string) error {
	dir, err := u.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Mknodat(int(dir.Fd()), path.Base(name), unix.S_IFCHR, 0); err != nil {
		return fmt.Errorf("failed to mark %s as removed (this takes Linux 5.8 and a file system with device files): %w", cut(name), err)
	}
	return nil
}

// opaque marks a directory as one that shows nothing of lower layers.
func (u *unpacker) opaque(name string) error {
	dir, err := u.root.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Fsetxattr(int(dir.Fd()), "user.overlay.opaque", []byte("y"), 0); err != nil {
		return fmt.Errorf("failed to mark %s as opaque (this takes a file system with user attributes: ext4, xfs, btrfs; tmpfs from Linux 6.6 on): %w", cut(name), err)
	}
	return nil
}
