//go:build !linux

package egress

func helper() bool { return false }
