//go:build !linux

package oci

import "errors"

var errLinux = errors.New("unpacked layers are for boxes on Linux; elsewhere write an archive and load it into a microVM or a container engine")

func (u *unpacker) whiteout(string) error { return errLinux }

func (u *unpacker) opaque(string) error { return errLinux }
