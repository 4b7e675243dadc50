//go:build unix

package nix

import "syscall"

var errNotDir error = syscall.ENOTDIR
