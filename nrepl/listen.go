package nrepl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// listenUnix listens on a socket that only its owner can reach. It is made in a private directory and moved to its place,
// so that there is no moment at which others could connect. One that nobody listens on any more is replaced.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if err := stale(ctx, path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".nrepl-")
	if err != nil {
		return nil, fmt.Errorf("nrepl: failed to make the socket %s: %w", path, err)
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, "s")
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", part)
	if err != nil {
		return nil, fmt.Errorf("nrepl: failed to listen on %s: %w", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	var info fs.FileInfo
	if err = os.Chmod(part, 0o600); err == nil {
		if info, err = os.Lstat(part); err == nil {
			err = os.Rename(part, path)
		}
	}
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("nrepl: failed to make the socket %s: %w", path, err)
	}
	return &socket{l, path, info}, nil
}

// stale refuses a path that is in use: a socket somebody listens on, or a file of another kind.
func stale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("nrepl: failed to look at %s: %w", path, err)
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("nrepl: got %s, which is no socket, want a path that is free", path)
	}
	d := net.Dialer{Timeout: time.Second}
	if nc, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = nc.Close()
		return fmt.Errorf("nrepl: got %s, which another server listens on, want a path that is free", path)
	}
	return nil
}

// socket removes its file when it closes, unless another has taken its place.
type socket struct {
	net.Listener
	path string
	info fs.FileInfo
}

func (s *socket) Close() error {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.info) {
		_ = os.Remove(s.path) // a file that stays is stale, and the next server replaces it
	}
	return s.Listener.Close()
}

// writePortFile writes the port for editors to find. They see the old file or the new one, never half of one.
func writePortFile(path string, n int) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".nrepl-port-")
	if err != nil {
		return fmt.Errorf("nrepl: failed to write the port file: %w", err)
	}
	_, err = f.WriteString(port(n))
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("nrepl: failed to write the port file %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// portFileRetry is how long it is waited before another attempt at a port file that cannot be written: on a full disk, say.
const portFileRetry = time.Second

func (s *Server) retryPortFile() {
	tick := time.NewTicker(portFileRetry)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		if writePortFile(s.conf.PortFile, s.addr.Port) == nil {
			s.conf.OnPortFile(nil)
			return
		}
	}
}

// removePortFile removes the file if it still names the port.
func removePortFile(path string, n int) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(b) != port(n) {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("nrepl: failed to remove the port file: %w", err)
	}
	return nil
}
