package stdlib

import (
	"os"
	"path/filepath"
)

// path is where p lies, seen from the host's directory.
func (h *Host) path(p string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dir == "" || p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(h.dir, p)
}

// cwd is the host's directory.
func (h *Host) cwd() (string, error) {
	h.mu.Lock()
	dir := h.dir
	h.mu.Unlock()
	if dir != "" {
		return filepath.Abs(dir)
	}
	return os.Getwd()
}

// abs is path made absolute.
func (h *Host) abs(p string) (string, error) {
	dir, err := h.cwd()
	if err != nil || filepath.IsAbs(p) {
		return filepath.Clean(p), err
	}
	return filepath.Join(dir, p), nil
}

func (h *Host) getenv(key string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.env[key]
}
