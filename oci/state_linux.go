package oci

import (
	"os"
	"syscall"
)

func stateOf(f *os.File) (fileState, bool) {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return fileState{}, false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fileState{}, false
	}
	return fileState{Device: uint64(sys.Dev), Inode: sys.Ino, Size: st.Size(), Changed: sys.Ctim.Nano()}, true
}
