package oci

import (
	"os"

	"golang.org/x/sys/unix"
)

// settle brings the file system that dir is on to disk: a layer that has its name is whole after a loss of power too.
func settle(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
