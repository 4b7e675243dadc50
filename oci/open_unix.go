//go:build unix

package oci

import "syscall"

const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
