package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminal tells whether f is one.
func terminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
