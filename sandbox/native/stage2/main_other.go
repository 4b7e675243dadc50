//go:build !linux

package stage2

import "syscall"

// Main exits: boxes are made of what Linux has.
func Main() { syscall.Exit(1) }

// MainAlone is Main.
func MainAlone() { Main() }
