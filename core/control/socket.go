package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// maxPath is how long a socket's path may be on every system: its field in the kernel has 104 bytes on some.
const maxPath = 103

// listen makes the socket in dir. It is made in a private directory and moved to its place, so that there is no moment at
// which others could connect, and the socket of a killed zeno is replaced in one step.
func listen(ctx context.Context, dir string) (net.Listener, error) {
	path := filepath.Join(dir, SocketFile)
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket == 0 {
		return nil, fmt.Errorf("control: %s: got a file that is no socket, want none; move it away", path)
	}
	private, err := os.MkdirTemp(dir, ".c")
	if err != nil {
		return nil, fmt.Errorf("control: failed to make the socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(private) }()
	part := filepath.Join(private, "s")
	var l net.Listener
	err = short(part, func(p string) (err error) {
		l, err = (&net.ListenConfig{}).Listen(ctx, "unix", p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("control: failed to listen on %s: %w", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	var info fs.FileInfo
	if err = os.Chmod(part, 0o600); err == nil {
		if info, err = os.Lstat(part); err == nil {
			err = os.Rename(part, path)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control: failed to put the socket to %s: %w", path, err), l.Close())
	}
	return &socket{l, path, info}, nil
}

// short calls f with a path to the same place that is not too long: where need be, through a link to its directory from
// the directory for temporary files.
func short(path string, f func(string) error) error {
	if len(path) <= maxPath {
		return f(path)
	}
	tmp, err := os.MkdirTemp("", "z")
	if err != nil {
		return fmt.Errorf("a path of %d bytes is too long for a socket (%d), and there is no shorter way: %w", len(path), maxPath, err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	link := filepath.Join(tmp, "d")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		return err
	}
	way := filepath.Join(link, filepath.Base(path))
	if len(way) > maxPath {
		return fmt.Errorf("got a path of %d bytes, and $TMPDIR makes one of %d, want at most %d; set a shorter TMPDIR or move the home", len(path), len(way), maxPath)
	}
	return f(way)
}

// socket removes its file when it closes, unless another has taken its place.
type socket struct {
	net.Listener
	path string
	info fs.FileInfo
}

func (s *socket) Close() error {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.info) {
		_ = os.Remove(s.path) // one that stays is stale, and the next zeno replaces it
	}
	return s.Listener.Close()
}
